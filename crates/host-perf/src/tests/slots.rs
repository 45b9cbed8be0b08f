use proptest::prelude::*;

use super::{TID, icelake, sapphire_rapids};
use crate::fake::Work;
use crate::{
    Event, EventSpec, HostPerfError, HostPmu, Level, Level2Counts, Metric, SlotCounts, SlotsGroup,
    SlotsReading,
};

const SLOTS: EventSpec = EventSpec::new(Event::Slots);

/// 1000 units of 255 slots: every fraction is exact.
const EXACT: SlotCounts = SlotCounts {
    slots: 255_000,
    retiring: 100_000,
    bad_spec: 25_000,
    fe_bound: 50_000,
    be_bound: 80_000,
    level2: Some(Level2Counts { heavy_ops: 10_000, br_mispredict: 20_000, fetch_lat: 0, mem_bound: 80_000 }),
};

fn open(host: &HostPmu, level: Level) -> SlotsGroup {
    let mut group = SlotsGroup::open(host, level, SLOTS).unwrap();
    group.enable().unwrap();
    group
}

fn work(counts: SlotCounts) -> Work {
    Work::new(TID, 1000).slots(counts)
}

#[test]
fn level_2_reads_all_nine_counts_at_once() {
    let (host, kernel) = sapphire_rapids();
    let mut group = open(&host, Level::Two);
    kernel.run(&work(EXACT));
    assert_eq!(group.read().unwrap(), SlotsReading { counts: EXACT, enabled: 1000, running: 1000 });
    kernel.run(&work(EXACT));
    assert_eq!(group.read().unwrap().counts.since(&EXACT), EXACT);
}

#[test]
fn level_1_has_no_second_level() {
    let (host, kernel) = icelake();
    let mut group = open(&host, Level::One);
    kernel.run(&work(EXACT));
    let counts = group.read().unwrap().counts;
    assert_eq!(counts, SlotCounts { level2: None, ..EXACT });
    assert_eq!((counts.level(), counts.get(Metric::MemBound)), (Level::One, None));
}

#[test]
fn guest_only_counts_the_guest() {
    let (host, kernel) = sapphire_rapids();
    let mut group = SlotsGroup::open(&host, Level::Two, SLOTS.guest_only().thread(TID).pinned()).unwrap();
    group.enable().unwrap();
    kernel.run(&work(EXACT));
    kernel.run(&work(EXACT).guest());
    assert_eq!(group.total().unwrap(), EXACT);
}

#[test]
fn reading_often_keeps_what_a_long_interval_would_round_away() {
    let (host, kernel) = sapphire_rapids();
    let small = SlotCounts { slots: 255_000, retiring: 255_000, ..SlotCounts::default() };
    let rare = SlotCounts { slots: 1000, bad_spec: 1000, ..SlotCounts::default() };
    let counted = |read_between: bool| {
        let mut group = open(&host, Level::One);
        kernel.run(&work(small));
        if read_between {
            group.read().unwrap();
        }
        kernel.run(&work(rare));
        group.read().unwrap().counts.bad_spec
    };
    // 1000 of 256000 slots is one step of 1/255; read separately they are all of theirs.
    assert_eq!(counted(true), 1000);
    assert_eq!(counted(false), 256_000 / 255);
}

#[test]
fn two_groups_share_the_slots_counter_and_are_scaled() {
    let (host, kernel) = sapphire_rapids();
    let mut groups = [open(&host, Level::Two), open(&host, Level::Two)];
    kernel.run(&work(EXACT));
    let not_counted = groups[1].read().unwrap();
    assert_eq!((not_counted.is_multiplexed(), not_counted.scaled()), (true, None));
    assert_eq!(groups[1].total().unwrap().slots, 0);
    kernel.run(&work(EXACT));
    for group in &mut groups {
        let reading = group.read().unwrap();
        assert_eq!(reading, SlotsReading { counts: EXACT, enabled: 2000, running: 1000 });
        let total = group.total().unwrap();
        assert_eq!(total, reading.scaled().unwrap());
        assert_eq!((total.slots, total.level2.unwrap().mem_bound), (510_000, 160_000));
    }
}

#[test]
fn totals_hold_their_value_when_the_estimate_drops() {
    let (host, kernel) = sapphire_rapids();
    let mut group = open(&host, Level::One);
    let _rival = open(&host, Level::One);
    kernel.run(&work(EXACT)); // ours
    kernel.run(&work(EXACT)); // the rival's
    let high = group.total().unwrap();
    kernel.run(&work(SlotCounts::default())); // ours, idle: the estimate drops to 3/2 of EXACT
    assert_eq!(group.read().unwrap().scaled().unwrap().slots, 382_500);
    assert_eq!(group.total().unwrap(), high);
}

#[test]
fn a_pinned_group_that_lost_the_counter_says_so() {
    let (host, kernel) = sapphire_rapids();
    let mut first = SlotsGroup::open(&host, Level::One, SLOTS.pinned()).unwrap();
    let mut second = SlotsGroup::open(&host, Level::One, SLOTS.pinned()).unwrap();
    first.enable().unwrap();
    second.enable().unwrap();
    kernel.run(&work(EXACT));
    assert!(first.read().is_ok());
    assert_eq!(second.read(), Err(HostPerfError::PinnedEvicted { event: Event::Slots }));
    drop(first);
    second.enable().unwrap();
    kernel.run(&work(EXACT));
    assert_eq!(second.total().unwrap().slots, EXACT.slots);
}

#[test]
fn only_slots_can_lead() {
    let (host, _) = sapphire_rapids();
    let refusal = SlotsGroup::open(&host, Level::One, EventSpec::new(Event::CpuCycles)).unwrap_err();
    assert!(matches!(refusal, HostPerfError::BadGroup { event: Event::CpuCycles, .. }));
    let refusal = SlotsGroup::open(&host, Level::One, SLOTS.period(100)).unwrap_err();
    assert!(matches!(refusal, HostPerfError::BadGroup { event: Event::Slots, .. }));
}

#[test]
fn metrics_of_known_counts() {
    assert_eq!(EXACT.to_metrics(), u64::from_le_bytes([100, 25, 50, 80, 10, 20, 0, 80]));
    assert_eq!(SlotCounts::from_metrics(255_000, EXACT.to_metrics(), Level::Two), EXACT);
    assert_eq!(SlotCounts { level2: None, ..EXACT }.to_metrics(), EXACT.to_metrics() & 0xFFFF_FFFF);
    assert_eq!(SlotCounts::default().to_metrics(), 0);
    // The kernel's formula rounds down: 1000 * 100 / 255 = 392.16.
    assert_eq!(SlotCounts::from_metrics(1000, 100, Level::One).retiring, 392);
    // Nonsense stays in range.
    assert_eq!(SlotCounts { slots: 1, retiring: u64::MAX, ..SlotCounts::default() }.to_metrics(), 255);
    assert_eq!(SlotCounts::from_metrics(u64::MAX, u64::MAX, Level::One).retiring, u64::MAX);
}

proptest! {
    #[test]
    fn raw_to_counts_and_back_is_off_by_one_step_at_most(slots in 255_u64.., metrics: u64) {
        let back = SlotCounts::from_metrics(slots, metrics, Level::Two).to_metrics();
        for metric in Metric::ALL {
            let (was, is) = (metric.of(metrics), metric.of(back));
            prop_assert!(was.abs_diff(is) <= 1, "{:?}: {} became {}", metric, was, is);
            prop_assert!(slots < 510 || was == is, "{:?}: {} became {} of {} slots", metric, was, is, slots);
        }
    }

    #[test]
    fn counts_to_raw_and_back_is_off_by_half_a_step(slots in 1_u64..1 << 48, share in 0.0..=1.0_f64) {
        let retiring = ((slots as f64 * share) as u64).min(slots);
        let counts = SlotCounts { slots, retiring, ..SlotCounts::default() };
        let back = SlotCounts::from_metrics(slots, counts.to_metrics(), Level::One);
        prop_assert!(back.retiring.abs_diff(retiring) <= slots / 510 + 1, "{} became {}", retiring, back.retiring);
    }

    #[test]
    fn a_part_never_exceeds_its_parent(slots in 1_u64.., parent: u64, part: u64) {
        let (parent, part) = (parent.min(slots), part.min(parent).min(slots));
        let level2 = Some(Level2Counts { heavy_ops: part, ..Level2Counts::default() });
        let metrics = SlotCounts { slots, retiring: parent, level2, ..SlotCounts::default() }.to_metrics();
        prop_assert!(Metric::HeavyOps.of(metrics) <= Metric::Retiring.of(metrics));
    }
}
