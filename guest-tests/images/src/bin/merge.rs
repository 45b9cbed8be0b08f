//! Large Increment per Cycle: pairs of AMD counters that count 64 bits.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::arch::asm;

use guest_images::{
    amd::{COUNTER_MAX, INSTRUCTIONS, MERGE, count, ctl, ctr, enable_globally, flops},
    msr::select::{ALWAYS, EN, INT},
    pmi,
    pmu::{read, write},
};
use guest_runtime::{Frame, check, check_eq, guest_test, rdpmc_ring0, ring0_window};

guest_runtime::image!();

/// Additions of the long loop, and lanes of one.
const ADDITIONS: u64 = 100_000_000;
const LANES: u64 = 4;

/// `8 * iterations` packed single-precision additions of 128 bits, each of which waits for the one before: of four that
/// retired in one cycle, a counter that is not merged would lose one operation, as it counts 15 at most.
fn add_packed(iterations: u64) {
    // SAFETY: touches the named registers only.
    unsafe {
        asm!(
            "xorps xmm0, xmm0", "xorps xmm1, xmm1",
            "2:",
            "addps xmm0, xmm1", "addps xmm0, xmm1", "addps xmm0, xmm1", "addps xmm0, xmm1",
            "addps xmm0, xmm1", "addps xmm0, xmm1", "addps xmm0, xmm1", "addps xmm0, xmm1",
            "dec {n}",
            "jnz 2b",
            n = inout(reg) iterations => _,
            out("xmm0") _, out("xmm1") _,
        );
    }
}

/// Merges counters `even` and `even + 1` in the documented order: the odd control first.
#[track_caller]
fn merge(even: u32, control: u64) {
    write(ctl(even + 1), MERGE);
    write(ctl(even), control);
}

/// 100 million additions of four lanes count 400 million, past 2^48; one counter alone has wrapped by then.
#[guest_test(needs(amd, exact))]
fn a_pair_counts_flops_past_48_bits() {
    enable_globally();
    let start = COUNTER_MAX - 99;
    for n in [0, 2] {
        write(ctr(n), start);
    }
    merge(0, flops() | ALWAYS);
    write(ctl(2), flops() | ALWAYS);
    add_packed(ADDITIONS / 8);
    write(ctl(0), 0);
    write(ctl(2), 0);
    check_eq!(count(0), start + ADDITIONS * LANES, "the pair");
    check_eq!(rdpmc_ring0(0), Ok(start + ADDITIONS * LANES), "RDPMC of the pair");
    check_eq!(count(1), 1, "bits 63:48 in the odd counter");
    check_eq!(count(2), ADDITIONS * LANES - 100, "one counter wraps at 48 bits");
}

/// Each kind of operation counts under its own unit mask, scalar ones once, packed ones for each lane.
#[guest_test(needs(amd, exact))]
fn kinds_of_flops_are_told_apart() {
    enable_globally();
    // add_sub, mult, div and square root
    for (n, umask) in [(0, 1), (2, 2), (4, 4)] {
        write(ctr(n + 1), 0);
        merge(n, umask << 8 | 0x03 | ALWAYS);
    }
    // SAFETY: touches the named registers only.
    unsafe {
        asm!(
            "xorps xmm0, xmm0", "addss xmm0, xmm0", "addsd xmm0, xmm0", "subpd xmm0, xmm0", "haddps xmm0, xmm0",
            "mulss xmm0, xmm0", "mulps xmm0, xmm0", "sqrtsd xmm0, xmm0", "sqrtps xmm0, xmm0",
            "maxps xmm0, xmm0", "cvtps2pd xmm0, xmm0", "paddd xmm0, xmm0",
            out("xmm0") _,
        );
    }
    for n in [0, 2, 4] {
        write(ctl(n), 0);
    }
    check_eq!((count(0), count(2), count(4)), (1 + 1 + 2 + 4, 1 + 4, 1 + 4));
}

/// A write of the even counter sets bits 47:0, one of the odd counter bits 63:48.
#[guest_test(needs(amd))]
fn each_half_is_written_for_itself() {
    merge(4, 0);
    write(ctr(5), 0xABCD_0000_1234);
    write(ctr(4), 0x5555);
    check_eq!(count(4), 0x1234_0000_0000_5555);
    write(ctr(4), u64::MAX);
    check_eq!(count(4), 0x1234_FFFF_FFFF_FFFF, "bits 63:48 of the write are dropped");
    write(ctr(5), 7);
    check_eq!(count(4), 0x0007_FFFF_FFFF_FFFF);
    write(ctl(5), 0);
    check_eq!((count(4), count(5)), (COUNTER_MAX, 7), "parted");
}

/// Event FFFH merges in an enabled odd counter only; elsewhere it counts nothing, and the neighbours stay alone.
#[guest_test(needs(amd, exact))]
fn mispairing_merges_nothing() {
    enable_globally();
    write(ctl(1), MERGE & !EN);
    write(ctl(2), MERGE);
    write(ctl(3), INSTRUCTIONS | ALWAYS);
    check_eq!(ring0_window(ctl(0), INSTRUCTIONS | ALWAYS, 10, 0), Ok(()));
    write(ctl(3), 0);
    check_eq!((count(0), count(1), count(2)), (103, 0, 0));
    check!((103..1 << 40).contains(&count(3)), "{:#x} in counter 3", count(3));
}

/// A pair of any event overflows out of bit 63: what Linux does for sampling, with all ones in the odd counter.
#[guest_test(needs(amd, exact))]
fn a_pair_overflows_out_of_bit_63() {
    enable_globally();
    pmi::as_nmi_to(|frame: &mut Frame| pmi::arrived(frame));
    write(ctr(1), 0xFFFF);
    write(ctr(0), COUNTER_MAX - 999);
    write(ctl(1), MERGE);
    check_eq!(ring0_window(ctl(0), INSTRUCTIONS | ALWAYS | INT, 99, 0), Ok(()));
    check_eq!(pmi::arrivals(), 0, "993 of 1000 instructions");
    check_eq!(ring0_window(ctl(0), INSTRUCTIONS | ALWAYS | INT, 9, 0), Ok(()));
    check_eq!(pmi::arrivals(), 1);
    check!(read(ctr(0)) < 1 << 16, "{:#x}", read(ctr(0)));
    check_eq!(count(1), 0);
}

/// Nothing is lost when the pair is stopped in the documented order and started again.
#[guest_test(needs(amd, exact))]
fn a_pair_goes_on_after_a_stop() {
    enable_globally();
    write(ctr(0), COUNTER_MAX);
    write(ctr(1), 0);
    merge(0, 0);
    check_eq!(ring0_window(ctl(0), INSTRUCTIONS | ALWAYS, 1, 0), Ok(()));
    check_eq!(count(0), COUNTER_MAX + 13);
    write(ctl(1), 0);
    check_eq!((count(0), count(1)), (12, 1), "parted");
    write(ctl(1), MERGE);
    check_eq!(ring0_window(ctl(0), INSTRUCTIONS | ALWAYS, 1, 0), Ok(()));
    check_eq!(count(0), COUNTER_MAX + 26);
}
