//! PEBS: what announces it, its registers, and the records in the debug store.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::arch::global_asm;

use guest_images::{
    debug_store::{DebugStore, FIRST_RESET},
    msr::{
        DS_AREA, FIXED_CTR_CTRL, GLOBAL_CTRL, MISC_ENABLE, PEBS_DATA_CFG, PEBS_ENABLE, PERF_CAPABILITIES,
        PERFEVTSEL0, STATUS_RESET, event, fixed_ctrl, global, select::ALWAYS,
    },
    pmi,
    pmu::{
        fixed, gp, gp_counters, has_arch_lbr, is_absent, keeps, preset, preset_fixed, program, read, refuses,
        status, write,
    },
};
use guest_runtime::{check, check_eq, cpuid, guest_test, skip};

guest_runtime::image!();

/// GLOBAL_STATUS.OvfBuf
const BUFFER_FULL: u64 = 1 << 62;
/// PERFEVTSEL.ADAPTIVE
const ADAPTIVE: u64 = 1 << 34;
/// Iterations of the loop, which has two instructions.
const ROUNDS: u64 = 5_000;
/// Period of the samples in instructions: no multiple of the loop's.
const PERIOD: u64 = 101;

type Buffer = DebugStore<8_192>;

static STORE: Buffer = Buffer::new();

// RAX: how often. RBX is the loop's number of the round.
global_asm!(
    ".pushsection .text.pebs_loop, \"ax\"",
    ".global pebs_loop, pebs_loop_branch, pebs_loop_end",
    "pebs_loop:",
    "    mov rax, rdi",
    "pebs_loop_body:",
    "    dec rax",
    "pebs_loop_branch:",
    "    jnz pebs_loop_body",
    "pebs_loop_end:",
    "    ret",
    ".popsection",
);

unsafe extern "C" {
    fn pebs_loop(rounds: u64);
    static pebs_loop_branch: u8;
    static pebs_loop_end: u8;
}

/// Addresses of the loop's two instructions, and of its end.
fn places() -> [u64; 3] {
    let branch = &raw const pebs_loop_branch as u64;
    [branch - 3, branch, &raw const pebs_loop_end as u64]
}

fn run() {
    // SAFETY: it uses RAX and RDI, as functions may.
    unsafe { pebs_loop(ROUNDS) }
}

fn adaptive() -> bool {
    read(PERF_CAPABILITIES) & 1 << 14 != 0
}

/// An empty buffer of `bytes`, with a threshold.
fn prepare(bytes: u64, threshold: u64) {
    STORE.prepare(bytes, threshold, PERIOD);
}

/// Samples instructions of the loop on PMC0, with these bits of PERFEVTSEL.
fn sample(bits: u64) {
    program(0, event::INSTRUCTIONS, ALWAYS | bits);
    preset(0, 101);
    write(PEBS_ENABLE, 1);
    write(GLOBAL_CTRL, 1);
    run();
    write(GLOBAL_CTRL, 0);
    write(PEBS_ENABLE, 0);
}

/// CPUID, PERF_CAPABILITIES and MISC_ENABLE agree.
#[guest_test(needs(pmu))]
fn it_is_announced_in_three_places() {
    let leaf = cpuid(1, 0);
    check_eq!(leaf.edx >> 21 & 1, 1, "DS");
    check_eq!(leaf.ecx >> 2 & 1, 1, "DTES64");
    check_eq!(read(MISC_ENABLE) >> 11 & 3, 1, "no branch trace store, but PEBS");
    let format = read(PERF_CAPABILITIES) >> 8 & 0xF;
    check_eq!(format, if adaptive() { 4 } else { 3 });
    check_eq!(read(PERF_CAPABILITIES) >> 6 & 3, 3, "trap-like, architectural registers");
}

/// Each register keeps what it has, and refuses the rest.
#[guest_test(needs(pmu))]
fn registers_have_their_bits_and_no_others() {
    let counters = (1 << gp_counters()) - 1;
    keeps(PEBS_ENABLE, counters);
    refuses(PEBS_ENABLE, 1 << gp_counters());
    refuses(PEBS_ENABLE, 1 << 63);
    // Fixed counters with adaptive PEBS, the latency of loads before it.
    keeps(PEBS_ENABLE, 0xF << 32);
    refuses(PEBS_ENABLE, 1 << 44);
    write(PEBS_ENABLE, 0);
    keeps(DS_AREA, 0xFFFF_8000_1234_5678);
    refuses(DS_AREA, 1 << 62);
    if adaptive() {
        keeps(PEBS_DATA_CFG, 0xFF00_000F);
        refuses(PEBS_DATA_CFG, 1 << 8);
        write(PEBS_DATA_CFG, 0);
        keeps(PERFEVTSEL0, ADAPTIVE);
        keeps(FIXED_CTR_CTRL, 1 << 32);
        refuses(FIXED_CTR_CTRL, 1 << 33);
    } else {
        is_absent(PEBS_DATA_CFG);
        refuses(PERFEVTSEL0, ADAPTIVE);
        refuses(FIXED_CTR_CTRL, 1 << 32);
    }
}

/// One record for each period, each about an instruction of the loop.
#[guest_test(needs(pmu, exact))]
fn every_period_has_its_record() {
    prepare(Buffer::BYTES, u64::MAX >> 1);
    sample(0);
    let (size, at) = if adaptive() { (32, 1) } else { (200, 22) };
    let [first, branch, end] = places();
    // After the overflow comes the event that is sampled: a period and one.
    let expected = 2 * ROUNDS / (PERIOD + 1);
    let records = STORE.filled() / size;
    check!(records.abs_diff(expected) <= 1, "{records} records instead of {expected}");
    check_eq!(STORE.filled() % size, 0);
    for n in 0..records as usize {
        let ip = STORE.word(n * size as usize / 8 + at);
        let inside = ip == first || ip == branch;
        check!(inside || ip < first || ip >= end, "{ip:#x} is no instruction");
        check!(inside || n == 0 || n + 1 == records as usize, "record {n} is about {ip:#x}");
    }
    check_eq!(status(), 0, "neither OVF_PMC0 nor OvfBuf");
    check!(gp(0) > PERIOD.wrapping_neg() & 0xFFFF_FFFF_FFFF, "the reset value, and what came since");
}

/// The registers of a record are those after its instruction.
#[guest_test(needs(pmu, exact))]
fn registers_are_those_of_the_moment() {
    prepare(Buffer::BYTES, u64::MAX >> 1);
    let [first, branch, end] = places();
    // Where the record has the sampled instruction, RIP and RAX.
    let (at, rip, rax, size) = if adaptive() {
        write(PEBS_DATA_CFG, 2);
        (1, 5, 6, 176 / 8)
    } else {
        (22, 1, 2, 200 / 8)
    };
    sample(if adaptive() { ADAPTIVE } else { 0 });
    let mut before = ROUNDS + 1;
    for n in 1..10 {
        let record = |offset: usize| STORE.word(n * size + offset);
        check!(record(rax) < before, "RAX counts down: {} after {before}", record(rax));
        before = record(rax);
        if record(at) == branch {
            // Which way it went is known from its counter.
            check_eq!(record(rip), if before == 0 { end } else { first }, "behind the branch");
        } else {
            check_eq!((record(at), record(rip)), (first, branch));
        }
    }
    if adaptive() {
        write(PEBS_DATA_CFG, 0);
    }
}

/// At the threshold the status says so, and a PMI comes.
#[guest_test(needs(pmu, exact))]
fn the_threshold_requests_a_pmi() {
    let size = if adaptive() { 32 } else { 200 };
    prepare(10 * size, 3 * size);
    pmi::as_nmi();
    sample(0);
    check!(pmi::arrivals() >= 1, "no PMI");
    check_eq!(status(), BUFFER_FULL);
    write(STATUS_RESET, BUFFER_FULL);
    check_eq!(status(), 0);
    // What did not fit is lost, and nothing behind the end is touched.
    check_eq!(STORE.filled(), 10 * size);
}

/// A debug store that is not mapped loses records; the guest sees no exception.
#[guest_test(needs(pmu, exact))]
fn an_unmapped_store_only_loses_records() {
    write(DS_AREA, 0xFFFF_F000_0000_0000);
    sample(0);
    check_eq!(status(), 0);
    write(DS_AREA, 0);
}

/// Adaptive records have the groups of PEBS_DATA_CFG, and say how large they are.
#[guest_test(needs(pmu, exact))]
fn adaptive_records_have_their_groups() {
    if !adaptive() {
        skip!("needs adaptive PEBS");
    }
    for (config, size) in [(0, 32), (1, 64), (2, 176), (4, 288), (8 | 3 << 24, 128), (0xF | 7 << 24, 656)] {
        prepare(Buffer::BYTES, u64::MAX >> 1);
        write(PEBS_DATA_CFG, config);
        sample(ADAPTIVE);
        check_eq!(STORE.word(0), size << 48 | config);
        check_eq!(STORE.word(2), 1, "PMC0");
        check_eq!(STORE.filled() % size, 0);
        // Without the counter's own bit the basic group is all.
        prepare(Buffer::BYTES, u64::MAX >> 1);
        sample(0);
        check_eq!(STORE.word(0), 32 << 48);
    }
    write(PEBS_DATA_CFG, 0);
}

/// The newest branch of a record is the loop's.
#[guest_test(needs(pmu, exact))]
fn records_hold_branches() {
    if !adaptive() || !has_arch_lbr() {
        skip!("needs adaptive PEBS and architectural branch records");
    }
    const LBR_CTL: u32 = 0x14CE;
    prepare(Buffer::BYTES, u64::MAX >> 1);
    write(PEBS_DATA_CFG, 8 | 1 << 24);
    write(LBR_CTL, 0x7F_0007);
    sample(ADAPTIVE);
    write(LBR_CTL, 0);
    write(PEBS_DATA_CFG, 0);
    let [first, branch, _] = places();
    for n in 1..10 {
        let record = |offset: usize| STORE.word(n * 10 + offset);
        for entry in 0..2 {
            check_eq!((record(4 + 3 * entry), record(5 + 3 * entry)), (branch, first), "entry {entry}");
        }
    }
}

/// Adaptive PEBS samples on fixed counters, whose reset values come behind those of eight others. On the first one the
/// record is about the instruction that makes it overflow.
#[guest_test(needs(pmu, exact))]
fn fixed_counter_0_samples() {
    if !adaptive() {
        skip!("needs adaptive PEBS");
    }
    prepare(Buffer::BYTES, u64::MAX >> 1);
    STORE.set_area(FIRST_RESET, 0);
    write(FIXED_CTR_CTRL, fixed_ctrl::of(0, fixed_ctrl::OS | fixed_ctrl::USR));
    preset_fixed(0, PERIOD);
    write(PEBS_ENABLE, 1 << 32);
    write(GLOBAL_CTRL, global::fixed(0));
    run();
    write(GLOBAL_CTRL, 0);
    write(PEBS_ENABLE, 0);
    // Besides the loop's some instructions around it.
    let (records, expected) = (STORE.filled() / 32, 2 * ROUNDS / PERIOD);
    check!(records == expected || records == expected + 1, "{records} records instead of {expected}");
    check_eq!(STORE.word(2), 1 << 32);
    check!(fixed(0) > PERIOD.wrapping_neg() & 0xFFFF_FFFF_FFFF);
}
