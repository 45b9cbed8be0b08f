//! Last branch records, model-specific and architectural: the registers, and what they hold after known
//! branches.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::{
    arch::global_asm,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use guest_images::{
    msr::{DEBUGCTL, STATUS_RESET, event, global, select},
    pmi,
    pmu::{count, gp, has_arch_lbr, is_absent, keeps, preset, program, read, refuses, status, window, write},
    work::busy,
};
use guest_runtime::{
    Frame, PerfMon, check, check_eq, cpuid, guest_test, rdmsr, ring3_loop, set_handler, skip,
};

guest_runtime::image!();

/// MSR_LBR_SELECT, MSR_LASTBRANCH_TOS
const SELECT: u32 = 0x1C8;
const TOS: u32 = 0x1C9;
/// IA32_LBR_CTL, IA32_LBR_DEPTH
const CTL: u32 = 0x14CE;
const DEPTH: u32 = 0x14CF;
/// FROM, TO and INFO of entry 0.
const LEGACY_ROWS: [u32; 3] = [0x680, 0x6C0, 0xDC0];
const ARCH_ROWS: [u32; 3] = [0x1500, 0x1600, 0x1200];
/// IA32_LER_FROM_IP, IA32_LER_TO_IP, IA32_LER_INFO
const LER_FROM: u32 = 0x1DD;
const LER_TO: u32 = 0x1DE;
const LER_INFO: u32 = 0x1E0;
const FREEZE_LBRS_ON_PMI: u64 = 1 << 11;
/// Both kinds of stacks are this deep.
const RECORDS: u32 = 32;

/// By branch type as IA32_LBR_x_INFO numbers them, 6 for "other": bit in MSR_LBR_SELECT and IA32_LBR_CTL.
const FILTER_BITS: [(u32, u32); 7] = [(2, 16), (6, 18), (7, 17), (4, 20), (3, 19), (5, 21), (8, 22)];
const CALLS_AND_RETURNS: u32 = 0b11_1000;
const OTHER: u32 = 1 << 6;
const EVERY_TYPE: u32 = 0x7F;

// Each of the table's rows: where a branch is, where it goes, its type.
global_asm!(
    ".pushsection .text.lbr_code, \"ax\"",
    ".global lbr_code, lbr_code_end, lbr_sequence, lbr_nested, lbr_stepped",
    "lbr_code:",
    "20: ret",
    "30: call 20b",
    "31: ret",
    "lbr_sequence:",
    "    push rax",
    "    xor eax, eax",
    "    jnz 7f", // not taken: no record
    "21: jz 2f",
    "    ud2",
    "2:  jmp 3f",
    "    ud2",
    "3:  lea rax, [rip + 5f]",
    "4:  jmp rax",
    "    ud2",
    "5:  call 20b",
    "    lea rax, [rip + 30b]",
    "6:  call rax",
    "7:  pop rax",
    "70: jmp 8f",
    "lbr_nested:",
    "    push rax",
    "40: call 50f",
    "    pop rax",
    "    jmp 8f",
    "50: push rax",
    "    lea rax, [rip + 20b]",
    "    call rax", // has returned when recording stops
    "51: call 60f",
    "    pop rax",
    "    ret",
    "60: push rax",
    "61: call {stop}",
    "    pop rax",
    "    ret",
    // With RFLAGS.TF from the POPFQ on.
    "lbr_stepped:",
    "    pushfq",
    "    or qword ptr [rsp], 0x100",
    "    popfq",
    "    nop",
    "90: jmp 91f",
    "    ud2",
    "91: nop",
    "92: jmp 93f",
    "    ud2",
    "93: nop",
    "    ret",
    "lbr_code_end:",
    "8:  ret",
    ".popsection",
    ".pushsection .rodata.lbr_table, \"a\"",
    ".global lbr_table, lbr_chain, lbr_steps",
    ".balign 4",
    "lbr_table:",
    ".long 21b - lbr_code, 2b - lbr_code, 0",
    ".long 2b - lbr_code, 3b - lbr_code, 2",
    ".long 4b - lbr_code, 5b - lbr_code, 1",
    ".long 5b - lbr_code, 20b - lbr_code, 4",
    ".long 20b - lbr_code, 5b + 5 - lbr_code, 5",
    ".long 6b - lbr_code, 30b - lbr_code, 3",
    ".long 30b - lbr_code, 20b - lbr_code, 4",
    ".long 20b - lbr_code, 31b - lbr_code, 5",
    ".long 31b - lbr_code, 7b - lbr_code, 5",
    ".long 70b - lbr_code, 8b - lbr_code, 2",
    "lbr_chain:",
    ".long 40b - lbr_code, 51b - lbr_code, 61b - lbr_code",
    "lbr_steps:",
    ".long 90b - lbr_code, 91b - lbr_code, 93b - lbr_code",
    ".popsection",
    stop = sym stop,
);

unsafe extern "C" {
    static lbr_code: u8;
    static lbr_code_end: u8;
    static lbr_table: [[u32; 3]; 10];
    static lbr_chain: [u32; 3];
    /// Where each of the first steps ends: the first instruction, and two jumps.
    static lbr_steps: [u32; 3];
    fn lbr_sequence();
    fn lbr_nested();
    fn lbr_stepped();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lbr {
    None,
    Legacy,
    Arch,
}

fn lbr() -> Lbr {
    match PerfMon::discover().capabilities & 0x3F {
        0 => Lbr::None,
        0x3F => Lbr::Arch,
        _ => Lbr::Legacy,
    }
}

fn rows() -> [u32; 3] {
    if lbr() == Lbr::Legacy { LEGACY_ROWS } else { ARCH_ROWS }
}

fn needs_lbr() {
    if lbr() == Lbr::None {
        skip!("PERF_CAPABILITIES announces no branch records");
    }
}

fn clear() {
    if lbr() == Lbr::Arch {
        write(DEPTH, u64::from(RECORDS));
        return;
    }
    write(TOS, 0);
    LEGACY_ROWS.iter().for_each(|row| (0..RECORDS).for_each(|n| write(row + n, 0)));
}

/// Records these branch types (bit: type) from now on, in ring 3 or in both.
fn record(types: u32, both_rings: bool, call_stack: bool) {
    clear();
    let chosen = |n: &usize| types >> n & 1 == 1;
    if lbr() == Lbr::Arch {
        let filter: u64 = (0..7).filter(chosen).map(|n| 1 << FILTER_BITS[n].1).sum();
        write(CTL, filter | 1 | 1 << 2 | u64::from(both_rings) << 1 | u64::from(call_stack) << 3);
    } else {
        let left_out: u64 = (0..7).filter(|n| !chosen(n)).map(|n| 1 << FILTER_BITS[n].0).sum();
        write(SELECT, left_out | u64::from(!both_rings) | u64::from(call_stack) << 9);
        write(DEBUGCTL, 1);
    }
}

extern "C" fn stop() {
    if lbr() == Lbr::Arch { write(CTL, 0) } else { write(DEBUGCTL, 0) }
}

/// FROM, TO and INFO, youngest first.
fn records() -> [[u64; 3]; RECORDS as usize] {
    let newest = if lbr() == Lbr::Legacy { read(TOS) as u32 } else { 0 };
    core::array::from_fn(|age| {
        let age = age as u32;
        let n = if lbr() == Lbr::Legacy { newest.wrapping_sub(age) % RECORDS } else { age };
        rows().map(|row| read(row + n))
    })
}

/// The records of branches in `lbr_code`, youngest first: how many, and where they are from and to.
fn own_records() -> (usize, [[u64; 3]; RECORDS as usize]) {
    let start = &raw const lbr_code as u64;
    let end = &raw const lbr_code_end as u64;
    let mut own = [[0; 3]; RECORDS as usize];
    let mut count = 0;
    for [from, to, info] in records() {
        if (start..end).contains(&from) {
            own[count] = [from - start, to.wrapping_sub(start), info];
            count += 1;
        }
    }
    (count, own)
}

/// Fails the test unless the known sequence leaves its branches of these types, in order.
#[track_caller]
fn check_sequence(types: u32) {
    record(types, false, false);
    // SAFETY: keeps every register that the ABI wants kept.
    unsafe { lbr_sequence() };
    stop();
    let (count, own) = own_records();
    // SAFETY: constant data.
    let table = unsafe { &lbr_table };
    let mut expected = table.iter().rev().filter(|[_, _, kind]| types >> kind & 1 == 1);
    check_eq!(count, expected.clone().count(), "records of types {types:#b}");
    for [from, to, info] in &own[..count] {
        let Some([wanted_from, wanted_to, kind]) = expected.next() else { return };
        check_eq!(*from, u64::from(*wanted_from), "FROM, types {types:#b}");
        check_eq!(*to, u64::from(*wanted_to), "TO, types {types:#b}");
        if lbr() == Lbr::Arch {
            check_eq!(info >> 56 & 0xF, u64::from(*kind), "branch type");
        }
    }
}

/// LBR_FMT, CPUID and the registers agree: one kind of records or none.
#[guest_test(needs(vpmu, pmu))]
fn registers_exist_as_announced() {
    check_eq!(has_arch_lbr(), lbr() == Lbr::Arch, "CPUID.07H:EDX[19]");
    let leaf = cpuid(0x1C, 0);
    check_eq!(cpuid(0, 0).eax >= 0x1C && leaf.eax != 0, lbr() == Lbr::Arch, "CPUID.1CH");
    if cpuid(0, 0).eax >= 0xD && cpuid(0xD, 1).ecx & 1 << 15 != 0 {
        check!(lbr() == Lbr::Arch, "XSAVES of the records");
        // Linux uses XSAVES only if this is the size of the layout that it knows.
        check_eq!(cpuid(0xD, 15).eax, 40 + 24 * RECORDS, "bytes of component 15");
    }
    if lbr() != Lbr::Legacy {
        [SELECT, TOS].into_iter().for_each(is_absent);
        LEGACY_ROWS.iter().for_each(|row| [0, 31].iter().for_each(|n| is_absent(row + n)));
    }
    if lbr() != Lbr::Arch {
        [CTL, DEPTH].into_iter().for_each(is_absent);
        ARCH_ROWS.iter().for_each(|row| [0, 31].iter().for_each(|n| is_absent(row + n)));
    }
    // Beyond the deepest stack there is nothing of it; the register behind a row of TO is the TSC deadline.
    const TSC_DEADLINE: u32 = 0x6E0;
    let behind = rows().into_iter().map(|row| row + RECORDS).filter(|&register| register != TSC_DEADLINE);
    behind.for_each(|register| check!(rdmsr(register).is_err(), "{register:#x}"));
}

/// The control registers keep their bits and refuse the others.
#[guest_test(needs(vpmu, pmu))]
fn control_registers_refuse_reserved_bits() {
    needs_lbr();
    let (register, bits) = if lbr() == Lbr::Arch { (CTL, 0x7F_000E_u64) } else { (SELECT, 0x3FF) };
    keeps(register, bits);
    write(register, 0);
    (23..64).for_each(|bit| refuses(register, 1 << bit));
    refuses(register, 1 << 10);
    let info = rows()[2];
    for bit in 40..56 {
        // Undefined in the architectural records, where they never fault.
        if lbr() == Lbr::Arch { write(info, 1 << bit) } else { refuses(info, 1 << bit) }
    }
    rows()[..2].iter().for_each(|row| keeps(row + 7, 0x1234_5678_9ABC));
    keeps(info + 7, 1 << 63 | 0x1234);
    clear();
}

/// Every write of the depth clears the records; only the depths of CPUID.1CH are taken.
#[guest_test(needs(vpmu, pmu))]
fn depth_clears_and_limits() {
    if lbr() != Lbr::Arch {
        skip!("no architectural branch records");
    }
    let mask = cpuid(0x1C, 0).eax & 0xFF;
    for depth in 0..=72_u64 {
        let listed = depth.is_multiple_of(8) && depth > 0 && depth <= 64 && mask >> (depth / 8 - 1) & 1 == 1;
        if !listed {
            refuses(DEPTH, depth);
            continue;
        }
        write(ARCH_ROWS[0], 1);
        keeps(DEPTH, depth);
        check_eq!(read(ARCH_ROWS[0]), 0, "FROM 0 after the depth was set");
        for row in ARCH_ROWS {
            check!(rdmsr(row + depth as u32 - 1).is_ok(), "the last entry of {depth}");
            check!(rdmsr(row + depth as u32).is_err(), "an entry beyond {depth}");
        }
    }
    clear();
}

/// The top of the stack takes an index and drops the bits above.
#[guest_test(needs(vpmu, pmu))]
fn top_of_stack_is_an_index() {
    if lbr() != Lbr::Legacy {
        skip!("no model-specific branch records");
    }
    write(TOS, 0xFFFF_FFFF_FFFF_FFE9);
    check_eq!(read(TOS), 9);
    clear();
}

/// A known sequence of branches is what the records hold, whole and for every single type.
#[guest_test(needs(vpmu, pmu))]
fn records_are_the_branches_taken() {
    needs_lbr();
    check_sequence(EVERY_TYPE);
    (0..7).for_each(|kind| check_sequence(1 << kind));
    check_sequence(CALLS_AND_RETURNS);
}

/// Whether each instruction takes one cycle, as without a model of the core.
fn an_instruction_is_a_cycle() -> bool {
    count(0, event::INSTRUCTIONS);
    count(1, event::CYCLES);
    window(0b11, || ring3_loop(1_000));
    gp(0) == gp(1)
}

/// Each record counts the cycles since the one before: those of the instructions in between, where an instruction
/// is a cycle, and elsewhere no more than a few cache misses take.
#[guest_test(needs(vpmu, exact))]
fn cycles_lie_between_records() {
    needs_lbr();
    let plain = an_instruction_is_a_cycle();
    record(EVERY_TYPE, false, false);
    // SAFETY: keeps every register that the ABI wants kept.
    unsafe { lbr_sequence() };
    stop();
    let (_, own) = own_records();
    // Youngest first: POP, JMP; RET; RET; CALL; LEA, CALL; RET; CALL; LEA, JMP; JMP.
    let cycles = [2_u64, 1, 1, 1, 2, 1, 1, 2, 1];
    for (record, instructions) in own.iter().zip(cycles) {
        let between = record[2] & 0xFFFF;
        if plain {
            check_eq!(between, instructions, "cycles of the branch at {:#x}", record[0]);
        } else {
            check!(between < 5_000, "{between} cycles of the branch at {:#x}", record[0]);
        }
    }
}

/// In call-stack mode the records are the calls that have not returned.
#[guest_test(needs(vpmu, pmu))]
fn call_stack_is_the_chain_of_callers() {
    needs_lbr();
    record(CALLS_AND_RETURNS, false, true);
    // SAFETY: keeps every register that the ABI wants kept.
    unsafe { lbr_nested() };
    let (count, own) = own_records();
    // SAFETY: constant data.
    let chain = unsafe { &lbr_chain };
    check_eq!(count, chain.len(), "open calls");
    for (record, call) in own.iter().zip(chain.iter().rev()) {
        check_eq!(record[0], u64::from(*call), "caller");
    }
}

/// Going to ring 0 and back are far branches, and each begins where the other ended.
#[guest_test(needs(vpmu, pmu))]
fn ring_changes_are_far_branches() {
    needs_lbr();
    record(OTHER, true, false);
    read(DEBUGCTL);
    stop();
    let [entry, exit, before] = [0, 1, 2].map(|age| records()[age]);
    // The firmware is called by INT3, one byte.
    check_eq!(exit[1], before[0] + 1, "IRET goes behind the INT3 before");
    check_eq!(entry[1], before[1], "both enter the same gate");
    if lbr() == Lbr::Arch {
        check_eq!([entry, exit, before].map(|record| record[2] >> 56 & 0xF), [8; 3]);
    }
}

/// Branches into ring 0 are left out when only ring 3 is recorded.
#[guest_test(needs(vpmu, pmu))]
fn ring_filter_goes_by_the_target() {
    needs_lbr();
    let returns = |calls: usize| {
        record(OTHER, false, false);
        (0..calls).for_each(|_| {
            read(DEBUGCTL);
        });
        stop();
        records().iter().filter(|record| record[0] != 0).count()
    };
    // One IRET for each call, besides those of starting and stopping.
    check_eq!(returns(3), returns(0) + 3);
}

/// With ring 3 alone recorded, the architectural records hide where a branch out of ring 0 was.
#[guest_test(needs(vpmu, pmu))]
fn ring_0_does_not_leak_through_its_branches_to_ring_3() {
    needs_lbr();
    record(OTHER, false, false);
    (0..3).for_each(|_| {
        read(DEBUGCTL);
    });
    stop();
    for [from, to, _] in records().into_iter().filter(|record| record[1] != 0) {
        // IRETs of the firmware.
        check_eq!(from == u64::MAX, lbr() == Lbr::Arch, "FROM {from:#x}, TO {to:#x}");
    }
}

/// The last-exception record is the newest record at the last exception or interrupt: here the INT3 that calls the
/// firmware to stop recording.
#[guest_test(needs(vpmu, pmu))]
fn last_exception_is_the_branch_before_it() {
    needs_lbr();
    write(LER_FROM, 0);
    record(EVERY_TYPE, false, false);
    // SAFETY: keeps every register that the ABI wants kept.
    unsafe { lbr_sequence() };
    stop();
    let [from, to, info] = records()[0];
    check!(from != 0, "something was recorded");
    check_eq!(read(LER_FROM), from, "FROM");
    check_eq!(read(LER_TO), to, "TO");
    if lbr() == Lbr::Arch {
        check_eq!(read(LER_INFO), info & 0xEF << 56, "INFO without the cycle count");
    }
    // What is not recorded anew stays.
    read(DEBUGCTL);
    check_eq!(read(LER_FROM), from, "FROM after interrupts while nothing is recorded");
}

/// Instruction pointers at the first debug exceptions, and how many there were.
static STEPS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
static STEPPED: AtomicUsize = AtomicUsize::new(0);
/// What the handler writes to IA32_DEBUGCTL when it has run less often than that; else it ends stepping.
static AGAIN: AtomicUsize = AtomicUsize::new(0);
const BTF: u64 = 1 << 1;
const TF: u64 = 1 << 8;

fn on_debug(frame: &mut Frame) {
    let n = STEPPED.fetch_add(1, Relaxed);
    if let Some(step) = STEPS.get(n) {
        step.store(frame.rip, Relaxed);
    }
    if n + 1 < AGAIN.load(Relaxed) {
        write(DEBUGCTL, BTF);
    } else {
        frame.rflags &= !TF;
    }
}

/// Where the first `count` steps ended, in `lbr_code`.
fn steps(count: usize) -> [u64; 3] {
    STEPPED.store(0, Relaxed);
    AGAIN.store(count, Relaxed);
    set_handler(1, Some(on_debug));
    // SAFETY: keeps every register that the ABI wants kept; the handler ends the single steps.
    unsafe { lbr_stepped() };
    check_eq!(STEPPED.load(Relaxed), count, "debug exceptions");
    [0, 1, 2].map(|n| STEPS[n].load(Relaxed).wrapping_sub(&raw const lbr_code as u64))
}

/// IA32_DEBUGCTL.BTF makes a single step end with the next taken branch, and #DB clears it: what PTRACE_SINGLEBLOCK
/// is made of. AMD's CPUs have it too.
#[guest_test(needs(vpmu))]
fn single_steps_end_with_branches() {
    write(DEBUGCTL, BTF);
    if read(DEBUGCTL) & BTF == 0 {
        skip!("BTF is dropped");
    }
    // SAFETY: constant data.
    let ends = unsafe { &lbr_steps }.map(u64::from);
    let [first, second, _] = steps(2);
    check_eq!([first, second], [ends[1], ends[2]], "steps with BTF");
    check_eq!(read(DEBUGCTL), 0, "BTF after #DB");
    check_eq!(steps(1)[0], ends[0], "a step without BTF");
}

/// #DB stops recording before its handler runs, and is not recorded.
#[guest_test(needs(vpmu, pmu))]
fn debug_exceptions_stop_recording() {
    needs_lbr();
    record(EVERY_TYPE, true, false);
    if lbr() == Lbr::Arch {
        write(DEBUGCTL, BTF);
    } else {
        write(DEBUGCTL, BTF | 1);
    }
    steps(1);
    let enable = if lbr() == Lbr::Arch { CTL } else { DEBUGCTL };
    check_eq!(read(enable) & 1, 0, "the enable in {enable:#x}");
    let (count, own) = own_records();
    // SAFETY: constant data.
    let [jump, target, _] = unsafe { &lbr_steps }.map(u64::from);
    check!(count > 0, "the jump is recorded");
    check_eq!([own[0][0], own[0][1]], [jump, target], "the newest record of this code");
    check_eq!(records()[0][0], &raw const lbr_code as u64 + jump, "the newest record");
    stop();
}

/// With FREEZE_LBRS_ON_PMI a PMI stops recording until LBR_Frz is cleared.
#[guest_test(needs(vpmu, streamlined_freeze))]
fn pmi_freezes_the_records() {
    needs_lbr();
    pmi::as_nmi();
    record(EVERY_TYPE, true, false);
    write(DEBUGCTL, FREEZE_LBRS_ON_PMI | u64::from(lbr() == Lbr::Legacy));
    program(0, event::INSTRUCTIONS, select::ALWAYS | select::INT);
    preset(0, 1_000);
    write(guest_images::msr::GLOBAL_CTRL, 1);
    check_eq!(pmi::wait_for_one().status, global::LBR_FROZEN | 1);
    let frozen = records();
    check!(frozen.iter().all(|record| record[0] != 0 && record[1] != 0), "a full stack");
    busy();
    check_eq!(records() == frozen, true, "records stand still");
    check_eq!(status() & global::LBR_FROZEN, global::LBR_FROZEN);
    write(STATUS_RESET, global::LBR_FROZEN | 1);
    busy();
    stop();
    check!(records() != frozen, "recording goes on");
}

/// Branch records are registers like others: saving and restoring the vPMU keeps them.
#[guest_test(needs(vpmu, pmu))]
fn records_survive_saving() {
    needs_lbr();
    check_sequence(EVERY_TYPE);
    let before = records();
    check!(guest_runtime::control::save_restore().is_ok(), "the machine saved and restored");
    check_eq!(records() == before, true, "records after save and restore");
}
