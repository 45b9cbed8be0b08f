//! Fixed counter 3 (SLOTS) and PERF_METRICS: fractions, enables, the rules that bind the pair.
#![no_std]
#![no_main]

use guest_images::{
    counts::{check_same, check_within},
    msr::{
        COUNTER_MAX, FIXED_CTR_CTRL, GLOBAL_CTRL, PERF_METRICS, SLOTS, STATUS_RESET, STATUS_SET, event,
        fixed_ctrl,
        global::{self, METRICS, SLOTS_AND_METRICS},
    },
    pmi,
    pmu::{clear_metrics, count, count_metrics, gp, keeps, read, status, window, write},
    work::{brief, busy},
};
use guest_runtime::{check, check_eq, cpu, guest_test, skip, spin_for};

guest_runtime::image!();

/// The four fractions of level 1: retiring, bad speculation, frontend bound, backend bound.
fn level1(metrics: u64) -> [u64; 4] {
    [0, 8, 16, 24].map(|shift| metrics >> shift & 0xFF)
}

/// The four fractions of level 2: heavy operations, branch mispredicts, fetch latency, memory bound.
fn level2(metrics: u64) -> [u64; 4] {
    level1(metrics >> 32)
}

fn level1_sum(metrics: u64) -> u64 {
    level1(metrics).iter().sum()
}

/// Fails the test unless the level-1 fractions add up to about one. 252 to 258 is what KVM's
/// selftest accepts: rounding each of four fields moves the sum by 2 on either side.
#[track_caller]
fn check_fractions(metrics: u64) {
    let sum = level1_sum(metrics);
    check!((0xFC..=0x102).contains(&sum), "level 1 of {metrics:#x} adds up to {sum}");
}

fn pair() -> (u64, u64) {
    (read(SLOTS), read(PERF_METRICS))
}

/// True on CPUs whose PERF_METRICS has level 1 only: Ice Lake, Tiger Lake, Rocket Lake.
fn is_level1_only() -> bool {
    matches!(cpu::family_model(), (6, 0x6A | 0x6C | 0x7D | 0x7E | 0x8C | 0x8D | 0xA7))
}

/// After both registers are written 0 they read 0, until something is counted.
#[guest_test(needs(metrics))]
fn starts_from_zero() {
    count_metrics();
    check_eq!(pair(), (0, 0));
    busy();
    check_eq!(pair(), (0, 0), "while disabled");
}

/// The level-1 fractions of what was counted add up to one.
#[guest_test(needs(metrics))]
fn level1_adds_up_to_one() {
    count_metrics();
    window(SLOTS_AND_METRICS, busy);
    let (slots, metrics) = pair();
    check!(slots > 0, "no slots");
    check_fractions(metrics);
}

/// Something retires while instructions execute.
#[guest_test(needs(metrics))]
fn retiring_is_not_zero() {
    count_metrics();
    window(SLOTS_AND_METRICS, || spin_for(4 * brief()));
    let metrics = read(PERF_METRICS);
    check!(level1(metrics)[0] > 0, "PERF_METRICS is {metrics:#x}");
}

/// The fractions keep adding up while the pair runs, read by read.
#[guest_test(needs(metrics))]
fn adds_up_while_running() {
    count_metrics();
    window(SLOTS_AND_METRICS, || {
        busy();
        for _ in 0..20 {
            check_fractions(read(PERF_METRICS));
        }
    });
}

/// With GLOBAL_CTRL off the pair stands still.
#[guest_test(needs(metrics))]
fn stands_still_when_disabled() {
    count_metrics();
    window(SLOTS_AND_METRICS, busy);
    let stopped = pair();
    busy();
    check_eq!(pair(), stopped);
}

/// Without GLOBAL_CTRL bit 48 slots are counted and metrics are not.
#[guest_test(needs(metrics))]
fn metrics_need_bit_48() {
    count_metrics();
    window(global::fixed(3), busy);
    let (slots, metrics) = pair();
    check!(slots > 0, "no slots");
    check_eq!(metrics, 0);
}

/// Without GLOBAL_CTRL bit 35 there are no slots, and no metrics of them.
#[guest_test(needs(metrics))]
fn metrics_need_the_slots_enable() {
    count_metrics();
    window(METRICS, busy);
    check_eq!(pair(), (0, 0));
}

/// Without a ring bit for fixed counter 3 nothing is counted.
#[guest_test(needs(metrics))]
fn metrics_need_a_ring() {
    count_metrics();
    for control in [0, fixed_ctrl::of(2, 0b11)] {
        write(FIXED_CTR_CTRL, control);
        window(SLOTS_AND_METRICS, busy);
        check_eq!(pair(), (0, 0), "FIXED_CTR_CTRL {control:#x}");
    }
}

/// Other counters leave the pair alone.
#[guest_test(needs(metrics))]
fn other_counters_do_not_disturb() {
    count_metrics();
    window(SLOTS_AND_METRICS, busy);
    let stopped = pair();
    count(0, event::SLOTS);
    window(1, busy);
    write(0x309, 77);
    check_eq!(pair(), stopped);
}

/// A written value reads back as it is, until slots are counted.
#[guest_test(needs(metrics))]
fn written_value_reads_back() {
    clear_metrics();
    for value in [0xDEAD_DEAD, 0xFFFF_FFFF, 0x0102_0304, 0x0000_00FF, 0] {
        keeps(PERF_METRICS, value);
    }
    write(SLOTS, 1_000_000);
    keeps(PERF_METRICS, 0xDEAD_DEAD);
    check_eq!(read(SLOTS), 1_000_000);
    // Too few slots to tell 256 fractions apart.
    write(SLOTS, 1);
    keeps(PERF_METRICS, 0x0403_0201);
}

/// Level 2: all eight bytes read back, and no bit is reserved.
#[guest_test(needs(metrics_l2))]
fn all_eight_bytes_read_back() {
    clear_metrics();
    (0..64).for_each(|bit| keeps(PERF_METRICS, 1 << bit));
    keeps(PERF_METRICS, 0x0123_4567_89AB_CDEF);
}

/// Clearing the pair starts a new interval.
#[guest_test(needs(metrics))]
fn clearing_starts_a_new_interval() {
    count_metrics();
    window(SLOTS_AND_METRICS, busy);
    clear_metrics();
    check_eq!(pair(), (0, 0));
    count(0, event::SLOTS);
    window(SLOTS_AND_METRICS | 1, busy);
    let (slots, metrics) = pair();
    check!(slots > 0, "no slots");
    check_same("slots since the clear and A4/01", slots, gp(0));
    check_fractions(metrics);
}

/// A saved pair, written back slots first, reads as it was and goes on from there.
#[guest_test(needs(metrics))]
fn saved_pair_can_be_restored() {
    count_metrics();
    window(SLOTS_AND_METRICS, busy);
    let saved = pair();
    // Another task uses the pair meanwhile.
    clear_metrics();
    window(SLOTS_AND_METRICS, busy);
    write(SLOTS, saved.0);
    write(PERF_METRICS, saved.1);
    check_eq!(pair(), saved);
    window(SLOTS_AND_METRICS, busy);
    let (slots, metrics) = pair();
    check!(slots > saved.0, "{slots} slots, {} restored", saved.0);
    check_fractions(metrics);
}

/// Restored fractions weigh as much as the slots they come with: a long past is not forgotten.
#[guest_test(needs(vpmu, metrics))]
fn restored_fractions_keep_their_weight() {
    count_metrics();
    // A past of 2^46 slots that all retired; what a brief run adds is far below 1/255 of it.
    write(SLOTS, 1 << 46);
    write(PERF_METRICS, 0xFF);
    window(SLOTS_AND_METRICS, busy);
    check!(read(SLOTS) > 1 << 46);
    check_eq!(read(PERF_METRICS) & 0xFFFF_FFFF, 0xFF);
}

/// Clearing only PERF_METRICS makes the fractions too small: they cover less than the slots do.
#[guest_test(needs(vpmu, metrics))]
fn clearing_only_metrics_is_inconsistent() {
    count_metrics();
    window(SLOTS_AND_METRICS, || spin_for(10 * brief()));
    write(PERF_METRICS, 0);
    window(SLOTS_AND_METRICS, busy);
    let sum = level1_sum(read(PERF_METRICS));
    // A tenth of the interval; a host that takes the CPU away makes it more, but not all.
    check!(sum < 0xFC, "level 1 adds up to {sum}");
}

/// Clearing only the slots makes the fractions too large: they cover more than the slots do.
#[guest_test(needs(vpmu, metrics))]
fn clearing_only_slots_is_inconsistent() {
    count_metrics();
    window(SLOTS_AND_METRICS, || spin_for(10 * brief()));
    write(SLOTS, 0);
    window(SLOTS_AND_METRICS, busy);
    let sum = level1_sum(read(PERF_METRICS));
    check!(sum > 0x102, "level 1 adds up to {sum}");
}

/// Slots times a fraction is the number of slots of that category, within the 1/255 of the byte.
#[guest_test(needs(metrics))]
fn fractions_agree_with_slot_events() {
    count_metrics();
    count(0, event::RETIRING_SLOTS);
    count(1, event::BACKEND_BOUND_SLOTS);
    window(SLOTS_AND_METRICS | 0b11, || spin_for(4 * brief()));
    let (slots, metrics) = pair();
    let [retiring, _, _, backend] = level1(metrics);
    // One step of the byte for rounding, and 1 % for hardware counters that do not start together.
    let tolerance = slots / 255 + slots / 100;
    check_within("retiring and C2/02", slots * retiring / 255, gp(0), tolerance);
    check_within("backend bound and A4/02", slots * backend / 255, gp(1), tolerance);
}

/// GLOBAL_CTRL and GLOBAL_STATUS have bit 48.
#[guest_test(needs(metrics, streamlined_freeze))]
fn bit_48_is_legal() {
    keeps(GLOBAL_CTRL, METRICS);
    write(GLOBAL_CTRL, 0);
    write(STATUS_SET, METRICS);
    check_eq!(status(), METRICS);
    write(STATUS_RESET, METRICS);
    check_eq!(status(), 0);
}

/// Slots overflow like any fixed counter: status bit 35.
#[guest_test(needs(metrics))]
fn slots_overflow_sets_bit_35() {
    count_metrics();
    write(SLOTS, COUNTER_MAX - 999);
    window(SLOTS_AND_METRICS, busy);
    check_eq!(status(), global::fixed(3));
    check!(read(SLOTS) < 1 << 47, "{:#x} after the overflow", read(SLOTS));
}

/// A metric's own overflow sets status bit 48 and raises a PMI.
#[guest_test(needs(vpmu, metrics))]
fn metrics_overflow_sets_bit_48() {
    pmi::as_nmi();
    count_metrics();
    // All 2^48 - 1 slots retired; then the slots alone start over, so that they do not overflow first.
    write(SLOTS, COUNTER_MAX);
    write(PERF_METRICS, 0xFF);
    write(SLOTS, 0);
    write(GLOBAL_CTRL, SLOTS_AND_METRICS);
    check_eq!(pmi::wait_for_one().status, METRICS);
    write(GLOBAL_CTRL, 0);
    // As Linux does on this bit: start both over.
    clear_metrics();
    write(STATUS_RESET, METRICS);
    window(SLOTS_AND_METRICS, busy);
    check_eq!(status(), 0);
    check_fractions(read(PERF_METRICS));
}

/// Level 2: each fraction is part of its level-1 parent.
#[guest_test(needs(metrics_l2))]
fn children_never_exceed_their_parents() {
    count_metrics();
    window(SLOTS_AND_METRICS, || {
        for _ in 0..10 {
            busy();
            let metrics = read(PERF_METRICS);
            let fits = level2(metrics).iter().zip(level1(metrics)).all(|(child, parent)| *child <= parent);
            check!(fits, "PERF_METRICS is {metrics:#x}");
        }
    });
    check_fractions(read(PERF_METRICS));
}

/// Level 1 only: counting leaves the upper four bytes 0.
#[guest_test(needs(metrics))]
fn level1_only_has_no_upper_half() {
    if !is_level1_only() {
        skip!("the CPU has level 2");
    }
    count_metrics();
    window(SLOTS_AND_METRICS, busy);
    check_eq!(read(PERF_METRICS) >> 32, 0);
}

/// Linux reads and clears the pair again and again: each interval stands for itself.
#[guest_test(needs(metrics))]
fn read_and_clear_like_linux() {
    count_metrics();
    for interval in 0..10 {
        window(SLOTS_AND_METRICS, busy);
        let (slots, metrics) = pair();
        check!(slots > 0, "no slots in interval {interval}");
        check_fractions(metrics);
        clear_metrics();
    }
}
