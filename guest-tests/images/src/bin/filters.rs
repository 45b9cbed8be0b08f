//! The OS and USR bits decide in which rings a counter counts.
#![no_std]
#![no_main]

use guest_images::{
    counts::check_same,
    msr::{
        FIXED_CTR_CTRL, FIXED_CTR0, GLOBAL_CTRL, PERFEVTSEL0, event, fixed_ctrl, global,
        select::{ALWAYS, EN, OS, USR},
    },
    pmu::{all_fixed, fixed, gp, program, window, write},
    work::{busy_in_ring0, busy_in_ring3},
};
use guest_runtime::{check, check_eq, guest_test, ring0_window};

guest_runtime::image!();

/// Time-driven counts learn the ring from one sample a millisecond, and the way into a window and
/// out of it is ring 0: up to a quarter of a lengthy run may land in the wrong ring.
const MISPLACED: u64 = 4;

/// Fails the test unless nearly all of `all` is in `most` and little in `least`.
#[track_caller]
fn check_split(what: &str, most: u64, least: u64, all: u64) {
    check!(all > 0, "{what}: nothing counted");
    check!(most >= all - all / MISPLACED, "{what}: {most} of {all} in the ring that was busy");
    check!(least <= all / MISPLACED, "{what}: {least} of {all} in the other ring");
}

/// Three counters of one event: OS, USR and both.
fn program_general(code: u64) {
    program(0, code, OS | EN);
    program(1, code, USR | EN);
    program(2, code, ALWAYS);
}

/// Event selects for ring 0 do not count a program in ring 3.
#[guest_test(needs(pmu))]
fn general_counters_in_ring3() {
    program_general(event::INSTRUCTIONS);
    window(0b111, busy_in_ring3);
    check_split("C0/00", gp(1), gp(0), gp(2));
}

/// Event selects for ring 3 do not count the kernel.
#[guest_test(needs(pmu))]
fn general_counters_in_ring0() {
    program_general(event::INSTRUCTIONS);
    window(0b111, busy_in_ring0);
    check_split("C0/00", gp(0), gp(1), gp(2));
}

/// Core cycles obey the ring bits too.
#[guest_test(needs(pmu))]
fn cycles_in_both_rings() {
    program_general(event::CYCLES);
    window(0b111, busy_in_ring3);
    check_split("3C/00 in ring 3", gp(1), gp(0), gp(2));
    program_general(event::CYCLES);
    window(0b111, busy_in_ring0);
    check_split("3C/00 in ring 0", gp(0), gp(1), gp(2));
}

/// What counts in ring 0 and what counts in ring 3 add up to what counts in both.
#[guest_test(needs(pmu))]
fn rings_add_up() {
    program_general(event::INSTRUCTIONS);
    window(0b111, || {
        busy_in_ring0();
        busy_in_ring3();
    });
    check!(gp(0) > 0 && gp(1) > 0, "{} in ring 0, {} in ring 3", gp(0), gp(1));
    check_same("OS plus USR, and both", gp(0) + gp(1), gp(2));
}

/// Fixed counters for ring 0 do not count a program in ring 3, and the other way round.
#[guest_test(needs(pmu))]
fn fixed_counters_in_ring3() {
    program(0, event::INSTRUCTIONS, ALWAYS);
    program(1, event::CYCLES, ALWAYS);
    let control = fixed_ctrl::of(0, fixed_ctrl::OS) | fixed_ctrl::of(1, fixed_ctrl::USR);
    write(FIXED_CTR_CTRL, control);
    window(0b11 | all_fixed(), busy_in_ring3);
    check!(fixed(0) <= gp(0) / MISPLACED, "{} of {} instructions in ring 0", fixed(0), gp(0));
    check!(fixed(1) >= gp(1) - gp(1) / MISPLACED, "{} of {} cycles in ring 3", fixed(1), gp(1));
}

/// The same while ring 0 is busy.
#[guest_test(needs(pmu))]
fn fixed_counters_in_ring0() {
    program(0, event::INSTRUCTIONS, ALWAYS);
    program(1, event::CYCLES, ALWAYS);
    let control = fixed_ctrl::of(0, fixed_ctrl::OS) | fixed_ctrl::of(1, fixed_ctrl::USR);
    write(FIXED_CTR_CTRL, control);
    window(0b11 | all_fixed(), busy_in_ring0);
    check!(fixed(0) >= gp(0) - gp(0) / MISPLACED, "{} of {} instructions in ring 0", fixed(0), gp(0));
    check!(fixed(1) <= gp(1) / MISPLACED, "{} of {} cycles in ring 3", fixed(1), gp(1));
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
fn slots_in_ring3() {
    program(0, event::SLOTS, ALWAYS);
    write(FIXED_CTR_CTRL, fixed_ctrl::of(3, fixed_ctrl::OS));
    window(1 | global::fixed(3), busy_in_ring3);
    check!(fixed(3) <= gp(0) / MISPLACED, "{} of {} slots in ring 0", fixed(3), gp(0));
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
