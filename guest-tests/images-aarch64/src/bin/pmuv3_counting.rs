//! What counts, what stops it and what it is filtered by: fixed loops at EL1 and EL0, of which every instruction is
//! known.
#![no_std]
#![no_main]

use guest_images_aarch64::{
    checks, counted,
    counting::{
        Level::{self, Kernel, User},
        WINDOW_INSTRUCTIONS, count, counts_in_loop, program, program_cycles, run, run_loop,
    },
    pmu::{
        COUNTER_MAX, ID_AA64PFR0, PMCCNTR, PMCNTENCLR, PMCNTENSET, PMCR, PMEVTYPER0, PMOVSCLR, PMSWINC,
        PMUSERENR, announces, counter, event, event_type, filter, need_counter, need_event,
        need_short_cycles, pmcr, read, write,
    },
    table::{Register, is_vpmu},
};
use guest_runtime::{
    Frame, LOOP_BRANCHES, LOOP_INSTRUCTIONS, at_el0, check, check_eq, counters, counting_loop, guest_test,
    is_falkor, registers, skip, vectors::set_synchronous_handler,
};

guest_runtime::image!();

const ITERATIONS: u64 = 1_000;

/// The table's filter number: bit 3 is P, 2 is U, 1 is NSK, 0 is NSU.
fn filter_bits(number: u32) -> u64 {
    u64::from(number) << 28
}

/// The rule for non-secure EL0 and EL1: counted iff NSU equals U, iff NSK equals P.
fn passes(number: u32, level: Level) -> bool {
    match level {
        User => (number >> 2 ^ number) & 1 == 0,
        Kernel => (number >> 3 ^ number >> 1) & 1 == 0,
    }
}

/// NSK and NSU mean something only with EL3, or where a hypervisor keeps them as KVM does.
fn need_security_states(number: u32) {
    let el3 = read(ID_AA64PFR0) >> 12 & 0xF;
    if number & 3 != 0 && el3 == 0 && !is_falkor() {
        skip!("EL3 is not implemented");
    }
}

#[track_caller]
fn filters_instructions(number: u32) {
    need_event(event::INST_RETIRED);
    need_security_states(number);
    for level in [Kernel, User] {
        let each = if passes(number, level) { LOOP_INSTRUCTIONS } else { 0 };
        counts_in_loop(level, event::INST_RETIRED | filter_bits(number), each);
    }
}

#[track_caller]
fn filters_cycles(number: u32) {
    need_security_states(number);
    for level in [Kernel, User] {
        program_cycles(filter_bits(number));
        run_loop(level, ITERATIONS);
        let cycles = read(PMCCNTR);
        // An EL0 window begins and ends with instructions of EL0, an EL1 window with those of EL1.
        check_eq!(cycles != 0, passes(number, level), "{level:?}: {cycles} cycles");
    }
}

checks! {
    "INST_RETIRED.filter_" [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] @ PMEVTYPER0 {
        "P_U_NSK_NSU" => |r| filters_instructions(r.n);
    }
    "PMCCNTR.filter_" [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] @ PMEVTYPER0 {
        "P_U_NSK_NSU" => |r| filters_cycles(r.n);
    }
    "PMEVCNTR" [0 1 2 3 4 5 6 7] @ PMEVTYPER0 {
        "counts_instructions" => |r| counts_instructions(r.n);
        "counts_SW_INCR" => |r| counts_increments(r.n);
        "stands_still_when_disabled" => |r| stands_still(r.n);
    }
}

/// Counter `n` alone counts instructions at both levels, and keeps its count while it is stopped.
#[track_caller]
fn counts_instructions(n: u32) {
    need_counter(n);
    need_event(event::INST_RETIRED);
    for level in [Kernel, User] {
        program(n, event::INST_RETIRED);
        run_loop(level, ITERATIONS);
        let first = count(n);
        run_loop(level, 3 * ITERATIONS);
        check_eq!(count(n) - 2 * first, 2 * ITERATIONS * LOOP_INSTRUCTIONS, "{level:?}");
        check_eq!(count(n), count(n), "stopped");
    }
}

/// 100 writes with bit `n` add 100 to counter `n` and nothing to the others.
#[track_caller]
fn counts_increments(n: u32) {
    need_counter(n);
    (0..counters()).for_each(|other| program(other, event::SW_INCR));
    run(|| (0..100).for_each(|_| write(PMSWINC, 1 << n)));
    (0..counters())
        .for_each(|other| check_eq!(count(other), if other == n { 100 } else { 0 }, "counter {other}"));
}

/// A counter whose bit in PMCNTENCLR was written does not count, and others do.
#[track_caller]
fn stands_still(n: u32) {
    need_counter(n);
    (0..counters()).for_each(|other| program(other, event::CPU_CYCLES));
    write(PMCNTENCLR, 1 << n);
    run_loop(Kernel, ITERATIONS);
    (0..counters()).for_each(|other| check_eq!(count(other) == 0, other == n, "counter {other}"));
}

/// The loop's branches are counted, at both levels.
#[guest_test(needs(pmu))]
fn branches_are_exact() {
    need_event(event::BR_RETIRED);
    counts_in_loop(Kernel, event::BR_RETIRED, LOOP_BRANCHES);
    counts_in_loop(User, event::BR_RETIRED, LOOP_BRANCHES);
}

/// Of a window, the loop is counted, the ISB, and one of the two MSRs: either the one that starts it or the one that
/// stops it.
#[guest_test(needs(pmu, exact))]
fn a_window_has_exact_edges() {
    need_event(event::INST_RETIRED);
    for level in [Kernel, User] {
        program(0, event::INST_RETIRED);
        run_loop(level, ITERATIONS);
        check_eq!(count(0), ITERATIONS * LOOP_INSTRUCTIONS + WINDOW_INSTRUCTIONS, "{level:?}");
    }
}

/// All counters of one event show the same number.
#[guest_test(needs(pmu))]
fn counters_agree() {
    need_event(event::INST_RETIRED);
    (0..counters()).for_each(|n| program(n, event::INST_RETIRED));
    run_loop(Kernel, ITERATIONS);
    (1..counters()).for_each(|n| check_eq!(count(n), count(0), "counter {n}"));
}

/// EL0 and EL1 add up: two counters with one level each, and one with both, over code of both.
#[guest_test(needs(pmu))]
fn levels_add_up() {
    need_event(event::INST_RETIRED);
    program(0, event::INST_RETIRED);
    program(1, event::INST_RETIRED | filter::P);
    need_counter(3);
    program(2, event::INST_RETIRED | filter::U);
    program(3, event::INST_RETIRED | filter::U | filter::P);
    run(|| {
        counting_loop(ITERATIONS);
        at_el0(|| counting_loop(2 * ITERATIONS));
    });
    check_eq!(count(1) + count(2), count(0), "EL0 and EL1");
    check!(count(1) >= 2 * ITERATIONS * LOOP_INSTRUCTIONS, "EL0: {}", count(1));
    check!(count(1) < 2 * ITERATIONS * LOOP_INSTRUCTIONS + 100, "EL0: {}", count(1));
    check_eq!(count(3), 0, "neither");
}

/// Nothing counts while PMCR.E is 0.
#[guest_test(needs(pmu))]
fn pmcr_e_stops_everything() {
    program(0, event::CPU_CYCLES);
    program(1, event::SW_INCR);
    program_cycles(0);
    counting_loop(ITERATIONS);
    write(PMSWINC, 2);
    check_eq!((count(0), count(1), read(PMCCNTR)), (0, 0, 0));
}

/// A disabled counter does not take increments, nor does one of another event.
#[guest_test(needs(pmu))]
fn increments_need_the_event_and_the_enable() {
    program(0, event::SW_INCR);
    program(1, event::CPU_CYCLES);
    write(PMCNTENCLR, 1);
    write(PMCNTENCLR, 2);
    run(|| write(PMSWINC, 3));
    check_eq!((count(0), count(1)), (0, 0));
    program(0, event::SW_INCR);
    run(|| {
        write(PMSWINC, 2);
        write(PMSWINC, 0);
        // The cycle counter takes none.
        write(PMSWINC, 1 << 31);
    });
    check_eq!((count(0), count(1)), (0, 0));
}

/// One write increments several counters.
#[guest_test(needs(pmu))]
fn one_write_increments_many() {
    let all = (1 << counters()) - 1;
    (0..counters()).for_each(|n| program(n, event::SW_INCR));
    run(|| (0..7).for_each(|_| write(PMSWINC, all)));
    (0..counters()).for_each(|n| check_eq!(count(n), 7, "counter {n}"));
}

/// EL0 increments with PMUSERENR.SW alone, under the filter of EL0.
#[guest_test(needs(pmu))]
fn el0_increments() {
    write(PMUSERENR, 2);
    program(0, event::SW_INCR);
    program(1, event::SW_INCR | filter::U);
    program(2 % counters(), event::SW_INCR);
    let written = run(|| at_el0(|| registers::write(PMSWINC, 3)));
    check_eq!(written, Ok(()));
    check_eq!((count(0), count(1)), (1, 0), "with and without EL0");
}

/// A counter goes on from what is written to it.
#[guest_test(needs(pmu))]
fn a_preset_counts_on() {
    program(0, event::SW_INCR);
    write(counter(0), 1_000);
    run(|| (0..5).for_each(|_| write(PMSWINC, 1)));
    check_eq!(count(0), 1_005);
}

/// Changing the event of a counter keeps its count and counts the new event from then on.
#[guest_test(needs(pmu))]
fn a_changed_event_keeps_the_count() {
    program(0, event::SW_INCR);
    run(|| {
        write(PMSWINC, 1);
        write(event_type(0), 0x3FF);
        write(PMSWINC, 1);
        write(event_type(0), event::SW_INCR);
        write(PMSWINC, 1);
    });
    check_eq!(count(0), 2);
}

/// The cycle counter grows while it runs, and CPU_CYCLES with it.
#[guest_test(needs(pmu))]
fn cycles_grow() {
    program_cycles(0);
    program(0, event::CPU_CYCLES);
    run_loop(Kernel, 10);
    let (short, short_event) = (read(PMCCNTR), count(0));
    check!(short > 0 && short < 1 << 32, "{short} cycles");
    run_loop(Kernel, 100_000);
    check!(read(PMCCNTR) > 2 * short, "{} cycles after {short}", read(PMCCNTR));
    check!(count(0) > 2 * short_event);
}

/// Reading the running cycle counter, it never goes back.
#[guest_test(needs(pmu))]
fn cycles_are_monotonic() {
    program_cycles(0);
    run(|| {
        let mut last = read(PMCCNTR);
        for _ in 0..1_000 {
            let now = read(PMCCNTR);
            check!(now >= last, "{now} after {last}");
            last = now;
        }
        check!(last > 0);
    });
}

/// The cycle counter stands still without its enable bit.
#[guest_test(needs(pmu))]
fn cycles_need_their_enable() {
    program_cycles(0);
    write(PMCNTENCLR, 1 << 31);
    run_loop(Kernel, ITERATIONS);
    check_eq!(read(PMCCNTR), 0);
    write(PMCNTENSET, 1 << 31);
    run_loop(Kernel, ITERATIONS);
    check!(read(PMCCNTR) != 0);
}

/// Cycles of the loop with this PMCR, to be compared with each other.
fn cycles_of_loop(pmcr: u64) -> u64 {
    write(PMCR, pmcr);
    program_cycles(0);
    run_loop(Kernel, 64_000);
    let cycles = read(PMCCNTR);
    write(PMCR, 0);
    cycles
}

/// With D the cycle counter counts every 64th cycle.
#[guest_test(needs(pmu))]
fn d_divides_cycles_by_64() {
    need_short_cycles();
    let (all, divided) = (cycles_of_loop(0), cycles_of_loop(pmcr::D));
    check!(all >= 64_000, "{all} cycles");
    check!((all / 64).abs_diff(divided) <= all / 640 + 1, "{all} and {divided}");
}

/// With LC the divider is ignored.
#[guest_test(needs(pmu))]
fn lc_ignores_d() {
    let (all, long) = (cycles_of_loop(pmcr::LC), cycles_of_loop(pmcr::LC | pmcr::D));
    check!(all.abs_diff(long) <= all / 10, "{all} and {long}");
}

/// Writing C while the counter runs starts it anew; P does the same for events.
#[guest_test(needs(pmu))]
fn c_and_p_work_while_counting() {
    program_cycles(0);
    program(0, event::SW_INCR);
    run(|| {
        write(PMSWINC, 1);
        counting_loop(100_000);
        write(PMCR, pmcr::E | pmcr::P | pmcr::C);
        write(PMSWINC, 1);
    });
    check_eq!(count(0), 1);
    check!(read(PMCCNTR) < 100_000, "{} cycles after C", read(PMCCNTR));
}

/// Passes over the instruction of an exception; SVC is behind it already.
fn go_on(frame: &mut Frame) {
    if frame.syndrome >> 26 != 0x15 {
        frame.pc += 4;
    }
}

/// Counts `code` over a body that runs once.
macro_rules! count_of {
    ($code:expr, [$($line:literal),* $(,)?] $(, $($operands:tt)*)?) => {{
        need_event($code & 0x3F);
        program(0, $code);
        counted!([$($line),*] $(, $($operands)*)?);
        count(0)
    }};
}

/// Loads and stores, each instruction once: pairs too.
#[guest_test(needs(pmu))]
fn loads_and_stores_are_exact() {
    let mut memory = [0_u64; 4];
    let loads = count_of!(event::LD_RETIRED,
        ["ldr x9, [{m}]", "ldp x9, x10, [{m}]", "ldrb w9, [{m}, #3]", "str x9, [{m}]", "nop"],
        m = in(reg) memory.as_mut_ptr(), out("x9") _, out("x10") _);
    check_eq!(loads, 3, "LD_RETIRED");
    let stores = count_of!(event::ST_RETIRED,
        ["str x9, [{m}]", "stp x9, x10, [{m}]", "ldr x9, [{m}]", "strh w9, [{m}, #2]", "nop"],
        m = in(reg) memory.as_mut_ptr(), out("x9") _, out("x10") _);
    check_eq!(stores, 3, "ST_RETIRED");
}

/// Twenty accesses are twenty accesses, on two counters alike.
#[guest_test(needs(pmu))]
fn memory_accesses_are_counted() {
    need_event(event::MEM_ACCESS);
    let mut memory = [0_u64; 4];
    program(0, event::MEM_ACCESS);
    program(1, event::MEM_ACCESS);
    counted!([".rept 10", "ldr x9, [{m}]", "str x9, [{m}, #8]", ".endr"],
        m = in(reg) memory.as_mut_ptr(), out("x9") _);
    check_eq!(count(0), count(1));
    check!(count(0) >= 20, "{} accesses", count(0));
}

/// Unaligned loads and stores, but not aligned ones.
#[guest_test(needs(pmu))]
fn unaligned_accesses_are_exact() {
    let mut memory = [0_u64; 4];
    let found = count_of!(event::UNALIGNED_LDST_RETIRED,
        ["ldr x9, [{m}, #1]", "str w9, [{m}, #6]", "ldrh w9, [{m}, #2]", "strb w9, [{m}, #5]", "ldr x9, [{m}]"],
        m = in(reg) memory.as_mut_ptr(), out("x9") _);
    check_eq!(found, 2);
}

/// Each kind of branch: immediate, indirect, return; taken or not.
#[guest_test(needs(pmu))]
fn kinds_of_branches_are_exact() {
    // Three immediate branches (B, BL, B.EQ not taken), an indirect one and a return.
    macro_rules! branches {
        ($event:expr) => {
            count_of!($event,
                ["b 2f", "2: bl 3f", "b 4f", "3: cmp x9, x9", "b.ne 4f", "ret", "4: adr x9, 5f", "br x9", "5: nop"],
                out("x9") _, out("x30") _)
        };
    }
    let found = [
        (event::BR_RETIRED, 6, "BR_RETIRED"),
        (event::BR_IMMED_RETIRED, 4, "BR_IMMED_RETIRED"),
        (event::BR_RETURN_RETIRED, 1, "BR_RETURN_RETIRED"),
        (event::PC_WRITE_RETIRED, 5, "PC_WRITE_RETIRED: what is taken"),
    ];
    for (code, expected, name) in found {
        if announces(code) {
            check_eq!(branches!(code), expected, "{name}");
        }
    }
    need_event(event::BR_RETIRED);
}

/// Exceptions taken and returned from, of both levels; each call is one of each.
#[guest_test(needs(pmu))]
fn exceptions_are_exact() {
    set_synchronous_handler(Some(go_on));
    let taken = count_of!(event::EXC_TAKEN, ["svc #1", "udf #0", "svc #2"]);
    check_eq!(taken, 3, "EXC_TAKEN");
    let returned = count_of!(event::EXC_RETURN, ["svc #1", "udf #0", "svc #2", "nop"]);
    check_eq!(returned, 3, "EXC_RETURN");
}

/// Writes of CONTEXTIDR and of TTBR.
#[guest_test(needs(pmu))]
fn context_writes_are_exact() {
    let found = count_of!(event::CID_WRITE_RETIRED,
        ["mrs x9, contextidr_el1", "msr contextidr_el1, x9", "msr contextidr_el1, x9", "isb"], out("x9") _);
    check_eq!(found, 2, "CID_WRITE_RETIRED");
    let found = count_of!(event::TTBR_WRITE_RETIRED,
        ["mrs x9, ttbr0_el1", "msr ttbr0_el1, x9", "isb"], out("x9") _);
    check_eq!(found, 1, "TTBR_WRITE_RETIRED");
}

/// Where nothing is announced nothing counts: every common event without a bit in PMCEID stays at zero.
#[guest_test(needs(pmu, vpmu))]
fn what_is_not_announced_does_not_count() {
    for code in (0..0x40).filter(|code| *code != event::CHAIN && !announces(*code)) {
        program(0, code);
        run(|| at_el0(|| counting_loop(ITERATIONS)));
        check_eq!(count(0), 0, "event {code:#x}");
    }
}

/// A counter that is stopped and read has no flag, and its neighbours neither.
#[guest_test(needs(pmu))]
fn counting_sets_no_flags() {
    (0..counters()).for_each(|n| program(n, event::CPU_CYCLES));
    program_cycles(0);
    run_loop(User, ITERATIONS);
    check_eq!(read(PMOVSCLR), 0);
    check!(count(0) < COUNTER_MAX);
}

/// Two runs of one loop count the same number of instructions.
#[guest_test(needs(pmu))]
fn counts_repeat() {
    need_event(event::INST_RETIRED);
    let mut last = None;
    for _ in 0..10 {
        program(0, event::INST_RETIRED);
        run_loop(User, ITERATIONS);
        check!(last.is_none_or(|last| last == count(0)), "{} after {last:?}", count(0));
        last = Some(count(0));
    }
    check!(!is_vpmu() || last.is_some_and(|last| last > ITERATIONS * LOOP_INSTRUCTIONS));
}
