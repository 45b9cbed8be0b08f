//! The OS and USR bits decide in which rings a counter counts.
#![no_std]
#![no_main]

use guest_images::{
    counts::check_same,
    msr::{
        FIXED_CTR_CTRL, FIXED_CTR0, GLOBAL_CTRL, PERFEVTSEL0, event, fixed_ctrl, global,
        select::{ALWAYS, EN, OS, USR},
    },
    pmu::{fixed, gp, program, window, write},
    work::{busy_in_ring0, busy_in_ring3},
};
use guest_runtime::{check, check_eq, guest_test, ring0_window};

guest_runtime::image!();

/// Time-driven counts learn the ring from one sample a millisecond, and the way into a window and
/// out of it is ring 0: up to a quarter of a lengthy run may land in the wrong ring.
const MISPLACED: u64 = 4;
/// A host that takes the CPU away delays samples. One window in which it does not is enough.
const ATTEMPTS: u32 = 10;

/// What a window counted.
struct Split {
    /// In the ring that was busy.
    busy: u64,
    /// In the other ring.
    other: u64,
    /// In both.
    both: u64,
}

/// Fails the test unless nearly all was counted in the ring that was busy, and little in the other.
#[track_caller]
fn check_split(what: &str, measure: impl Fn() -> Split) {
    for attempt in 1..=ATTEMPTS {
        let Split { busy, other, both } = measure();
        check!(both > 0, "{what}: nothing counted");
        if busy >= both - both / MISPLACED && other <= both / MISPLACED {
            return;
        }
        check!(
            attempt < ATTEMPTS,
            "{what}: of {both}, {busy} in the ring that was busy, {other} in the other"
        );
    }
}

/// OS, USR and both, of one event, on three general-purpose counters.
fn count_in_each_ring(code: u64, work: fn()) -> [u64; 3] {
    program(0, code, OS | EN);
    program(1, code, USR | EN);
    program(2, code, ALWAYS);
    window(0b111, work);
    [gp(0), gp(1), gp(2)]
}

fn ring3_split(code: u64) -> Split {
    let [other, busy, both] = count_in_each_ring(code, busy_in_ring3);
    Split { busy, other, both }
}

fn ring0_split(code: u64) -> Split {
    let [busy, other, both] = count_in_each_ring(code, busy_in_ring0);
    Split { busy, other, both }
}

/// Event selects for ring 0 do not count a program in ring 3.
#[guest_test(needs(pmu))]
fn general_counters_in_ring3() {
    check_split("C0/00", || ring3_split(event::INSTRUCTIONS));
}

/// Event selects for ring 3 do not count the kernel.
#[guest_test(needs(pmu))]
fn general_counters_in_ring0() {
    check_split("C0/00", || ring0_split(event::INSTRUCTIONS));
}

/// Core cycles obey the ring bits too.
#[guest_test(needs(pmu))]
fn cycles_in_both_rings() {
    check_split("3C/00 in ring 3", || ring3_split(event::CYCLES));
    check_split("3C/00 in ring 0", || ring0_split(event::CYCLES));
}

/// What counts in ring 0 and what counts in ring 3 add up to what counts in both.
#[guest_test(needs(pmu))]
fn rings_add_up() {
    let [os, usr, both] = count_in_each_ring(event::INSTRUCTIONS, || {
        busy_in_ring0();
        busy_in_ring3();
    });
    check!(os > 0 && usr > 0, "{os} in ring 0, {usr} in ring 3");
    check_same("OS plus USR, and both", os + usr, both);
}

/// Fixed counter 1 with one ring bit, and event 3C/00 in both rings.
fn count_fixed_in(ring: u64, work: fn()) -> (u64, u64) {
    program(0, event::CYCLES, ALWAYS);
    write(FIXED_CTR_CTRL, fixed_ctrl::of(1, ring));
    write(FIXED_CTR0 + 1, 0);
    window(1 | global::fixed(1), work);
    (fixed(1), gp(0))
}

/// A fixed counter with the USR bit counts ring 3 and not ring 0.
#[guest_test(needs(pmu))]
fn fixed_counter_of_ring3() {
    check_split("USR while ring 3 is busy", || {
        let (busy, both) = count_fixed_in(fixed_ctrl::USR, busy_in_ring3);
        Split { busy, other: 0, both }
    });
    check_split("USR while ring 0 is busy", || {
        let (other, both) = count_fixed_in(fixed_ctrl::USR, busy_in_ring0);
        Split { busy: both, other, both }
    });
}

/// A fixed counter with the OS bit counts ring 0 and not ring 3.
#[guest_test(needs(pmu))]
fn fixed_counter_of_ring0() {
    check_split("OS while ring 0 is busy", || {
        let (busy, both) = count_fixed_in(fixed_ctrl::OS, busy_in_ring0);
        Split { busy, other: 0, both }
    });
    check_split("OS while ring 3 is busy", || {
        let (other, both) = count_fixed_in(fixed_ctrl::OS, busy_in_ring3);
        Split { busy: both, other, both }
    });
}

/// A fixed counter with both ring bits counts as much as two event selects, one for each ring.
#[guest_test(needs(pmu))]
fn fixed_counter_of_both_rings() {
    program(0, event::INSTRUCTIONS, OS | EN);
    program(1, event::INSTRUCTIONS, USR | EN);
    write(FIXED_CTR_CTRL, 0b11);
    window(0b11 | global::fixed(0), || {
        busy_in_ring0();
        busy_in_ring3();
    });
    check_same("FIXED_CTR0, and OS plus USR", fixed(0), gp(0) + gp(1));
}

/// Slots obey the ring bits of fixed counter 3.
#[guest_test(needs(metrics))]
fn slots_of_one_ring() {
    check_split("slots with OS while ring 3 is busy", || {
        program(0, event::SLOTS, ALWAYS);
        write(FIXED_CTR_CTRL, fixed_ctrl::of(3, fixed_ctrl::OS));
        write(FIXED_CTR0 + 3, 0);
        window(1 | global::fixed(3), busy_in_ring3);
        Split { busy: gp(0), other: fixed(3), both: gp(0) }
    });
}

/// Changing the ring bits of a running counter keeps what it has counted.
#[guest_test(needs(pmu))]
fn new_filter_keeps_the_count() {
    program(0, event::INSTRUCTIONS, USR | EN);
    write(FIXED_CTR_CTRL, fixed_ctrl::USR);
    write(FIXED_CTR0, 0);
    window(1 | global::fixed(0), || {
        busy_in_ring3();
        let before = [gp(0), fixed(0)];
        write(PERFEVTSEL0, event::INSTRUCTIONS | OS | EN);
        write(FIXED_CTR_CTRL, fixed_ctrl::OS);
        let after = [gp(0), fixed(0)];
        check!(after[0] >= before[0] && after[1] >= before[1], "{after:?} after {before:?}");
        busy_in_ring0();
        check!(gp(0) > after[0] && fixed(0) > after[1], "{} {} after {after:?}", gp(0), fixed(0));
    });
}

/// Ring 0 between two WRMSRs counts for OS to the instruction, and not at all for USR.
#[guest_test(needs(pmu, exact))]
fn ring0_window_is_ring0_only() {
    program(0, event::INSTRUCTIONS, OS | EN);
    program(1, event::INSTRUCTIONS, USR | EN);
    check_eq!(ring0_window(GLOBAL_CTRL, 0b11, 500, 0), Ok(()));
    check_eq!((gp(0), gp(1)), (5_003, 0));
}
