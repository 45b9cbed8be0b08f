//! Streamlined freezing (perfmon version 4): a PMI sets CTR_Frz, and counting stops until the status
//! is acknowledged.
#![no_std]
#![no_main]

use guest_images::{
    counts::{Kind, kind},
    msr::{
        DEBUGCTL, FREEZE_PERFMON_ON_PMI, GLOBAL_CTRL, PERF_METRICS, PERFEVTSEL0, STATUS_RESET, STATUS_SET,
        event, fixed_ctrl,
        global::{self, CTR_FROZEN},
        select::{ALWAYS, INT},
    },
    pmi,
    pmu::{
        clear_metrics, count, count_fixed, count_metrics, fixed, gp, keeps, preset, preset_fixed, program,
        read, status, window, write,
    },
    work::busy,
};
use guest_runtime::{check, check_eq, guest_test, skip};

guest_runtime::image!();

/// Occurrences until an overflow in these tests.
const SOON: u32 = 1_000;
/// PMC0, PMC1 and fixed counter 0.
const COUNTERS: u64 = 0b11 | global::fixed(0);

/// Has a PMI of PMC0 come while PMC1 and fixed counter 0 count too, with freezing as told.
#[track_caller]
fn overflow_with(debugctl: u64) {
    pmi::as_nmi();
    write(DEBUGCTL, debugctl);
    program(0, event::INSTRUCTIONS, ALWAYS | INT);
    preset(0, SOON);
    count(1, event::INSTRUCTIONS);
    count_fixed(0b1);
    write(GLOBAL_CTRL, COUNTERS);
    pmi::wait_for_one();
}

fn counters() -> [u64; 3] {
    [gp(0), gp(1), fixed(0)]
}

/// Fails the test unless PMC0, PMC1 and fixed counter 0 stand still or all count, as told.
#[track_caller]
fn check_running(running: bool) {
    let before = counters();
    busy();
    let after = counters();
    if running {
        check!(after.iter().zip(&before).all(|(after, before)| after > before), "{before:?}, {after:?}");
    } else {
        check_eq!(after, before, "frozen counters");
    }
}

/// A PMI with FREEZE_PERFMON_ON_PMI freezes every counter, not only the one that overflowed.
#[guest_test(needs(streamlined_freeze))]
fn pmi_freezes_all_counters() {
    overflow_with(FREEZE_PERFMON_ON_PMI);
    check_eq!(status(), CTR_FROZEN | 1);
    check_running(false);
}

/// The handler already sees CTR_Frz.
#[guest_test(needs(streamlined_freeze))]
fn handler_sees_the_freeze() {
    pmi::as_nmi();
    write(DEBUGCTL, FREEZE_PERFMON_ON_PMI);
    program(0, event::INSTRUCTIONS, ALWAYS | INT);
    preset(0, SOON);
    write(GLOBAL_CTRL, 1);
    check_eq!(pmi::wait_for_one().status, CTR_FROZEN | 1);
}

/// Freezing leaves GLOBAL_CTRL and the event selects as they are (legacy freezing cleared them).
#[guest_test(needs(streamlined_freeze))]
fn freezing_keeps_the_enables() {
    overflow_with(FREEZE_PERFMON_ON_PMI);
    check_eq!(read(GLOBAL_CTRL), COUNTERS);
    check_eq!(read(PERFEVTSEL0), event::INSTRUCTIONS | ALWAYS | INT);
    check_eq!(read(DEBUGCTL), FREEZE_PERFMON_ON_PMI);
}

/// Clearing CTR_Frz through STATUS_RESET lets all counters go on.
#[guest_test(needs(streamlined_freeze))]
fn status_reset_unfreezes() {
    overflow_with(FREEZE_PERFMON_ON_PMI);
    write(STATUS_RESET, CTR_FROZEN | 1);
    check_eq!(status(), 0);
    check_running(true);
}

/// Clearing only the overflow bit does not unfreeze.
#[guest_test(needs(streamlined_freeze))]
fn overflow_bit_alone_does_not_unfreeze() {
    overflow_with(FREEZE_PERFMON_ON_PMI);
    write(STATUS_RESET, 1);
    check_eq!(status(), CTR_FROZEN);
    check_running(false);
}

/// Rewriting GLOBAL_CTRL, as software for legacy freezing does, does not unfreeze.
#[guest_test(needs(streamlined_freeze))]
fn global_ctrl_does_not_unfreeze() {
    overflow_with(FREEZE_PERFMON_ON_PMI);
    write(GLOBAL_CTRL, 0);
    write(GLOBAL_CTRL, COUNTERS);
    check_running(false);
}

/// Without FREEZE_PERFMON_ON_PMI a PMI freezes nothing.
#[guest_test(needs(streamlined_freeze))]
fn no_freeze_unless_asked() {
    overflow_with(0);
    check_eq!(status(), 1);
    check_running(true);
}

/// An overflow that requests no PMI freezes nothing.
#[guest_test(needs(streamlined_freeze))]
fn no_freeze_without_a_pmi() {
    write(DEBUGCTL, FREEZE_PERFMON_ON_PMI);
    count(0, event::INSTRUCTIONS);
    preset(0, SOON);
    count(1, event::INSTRUCTIONS);
    count_fixed(0b1);
    write(GLOBAL_CTRL, COUNTERS);
    busy();
    check_eq!(status(), 1);
    check_running(true);
}

/// A fixed counter's PMI freezes as well.
#[guest_test(needs(streamlined_freeze))]
fn fixed_counter_freezes() {
    pmi::as_nmi();
    write(DEBUGCTL, FREEZE_PERFMON_ON_PMI);
    count(0, event::INSTRUCTIONS);
    count(1, event::INSTRUCTIONS);
    write(0x38D, fixed_ctrl::OS | fixed_ctrl::USR | fixed_ctrl::PMI);
    preset_fixed(0, SOON.into());
    write(GLOBAL_CTRL, COUNTERS);
    check_eq!(pmi::wait_for_one().status, CTR_FROZEN | global::fixed(0));
    check_running(false);
}

/// STATUS_SET freezes by hand, and STATUS_RESET thaws.
#[guest_test(needs(streamlined_freeze))]
fn status_set_freezes_by_hand() {
    count(0, event::INSTRUCTIONS);
    count(1, event::INSTRUCTIONS);
    count_fixed(0b1);
    write(GLOBAL_CTRL, COUNTERS);
    check_running(true);
    write(STATUS_SET, CTR_FROZEN);
    check_eq!(status(), CTR_FROZEN);
    check_running(false);
    write(STATUS_RESET, CTR_FROZEN);
    check_running(true);
}

/// A frozen counter can be written and keeps what was written.
#[guest_test(needs(streamlined_freeze))]
fn frozen_counter_can_be_written() {
    overflow_with(FREEZE_PERFMON_ON_PMI);
    write(0xC1, 77);
    busy();
    check_eq!(gp(0), 77);
}

/// Slots and PERF_METRICS freeze with the counters.
#[guest_test(needs(streamlined_freeze, metrics))]
fn metrics_freeze() {
    count_metrics();
    window(global::SLOTS_AND_METRICS, || {
        busy();
        write(STATUS_SET, CTR_FROZEN);
        let frozen = (read(0x30C), read(PERF_METRICS));
        busy();
        check_eq!((read(0x30C), read(PERF_METRICS)), frozen);
        clear_metrics();
        busy();
        check_eq!((read(0x30C), read(PERF_METRICS)), (0, 0));
        write(STATUS_RESET, CTR_FROZEN);
        busy();
        check!(read(0x30C) > 0, "slots stand still after the freeze");
    });
}

/// Counting stops at the overflow, not when the handler runs: little is counted after it.
#[guest_test(needs(streamlined_freeze))]
fn freeze_leaves_no_skid() {
    if kind() == Kind::Hardware {
        skip!("hardware counters stop when the VMM hears of the overflow");
    }
    overflow_with(FREEZE_PERFMON_ON_PMI);
    // At most what one cycle, or one nanosecond of time-driven counts, adds.
    check!(gp(0) <= 64, "{} instructions after the overflow", gp(0));
    check!(gp(1) <= u64::from(SOON) + 64, "PMC1 counted {} instead of {SOON}", gp(1));
}

/// A new overflow after the acknowledge freezes again.
#[guest_test(needs(streamlined_freeze))]
fn freezes_again_and_again() {
    for _ in 0..5 {
        overflow_with(FREEZE_PERFMON_ON_PMI);
        check_eq!(status(), CTR_FROZEN | 1);
        write(GLOBAL_CTRL, 0);
        write(STATUS_RESET, CTR_FROZEN | 1);
    }
}

/// DEBUGCTL keeps FREEZE_PERFMON_ON_PMI.
#[guest_test(needs(pmu))]
fn debugctl_keeps_the_freeze_bit() {
    keeps(DEBUGCTL, FREEZE_PERFMON_ON_PMI);
    keeps(DEBUGCTL, 0);
}
