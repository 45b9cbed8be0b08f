//! When counters overflow, and when the engine has to look.

use super::*;
use crate::counts::Source;
use crate::machine::pmu::{Origin, PmuDevice};
use vpmu::{PmiRequests, ReadOutcome, WriteOutcome};

fn reached(start: Slice, then: Slice, counter: &Active) -> bool {
    let at = |run| {
        let mut other = uneven(&SAPPHIRE_RAPIDS);
        other.advance(run);
        match counter.counter {
            CounterId::Metric(index) => other.topdown(counter.filter).unwrap().fields[usize::from(index)],
            _ => other.total(&counter.request, counter.filter),
        }
    };
    at(plus(start, then)) - at(start) >= counter.until_overflow
}

/// Counters of every kind, with distances around what a second brings.
fn counters() -> impl Strategy<Value = Active> {
    let ids = prop_oneof![Just(CounterId::Gp(0)), (0..8_u8).prop_map(CounterId::Metric)];
    let until = prop_oneof![1..20_u64, 1..100_000_u64, 1..4_000_000_000_u64];
    let requests = prop::sample::select(known(&uneven(&SAPPHIRE_RAPIDS)));
    (ids, requests, filters(), until)
        .prop_map(|(id, request, filter, until)| Active { counter: id, ..active(request, filter, until) })
}

proptest! {
    #[test]
    fn the_part_ends_exactly_at_the_overflow(
        start in slices(),
        slice in slices(),
        counters in prop::collection::vec(counters(), 1..4),
    ) {
        let mut source = uneven(&SAPPHIRE_RAPIDS);
        source.advance(start);
        source.rearm(&counters);
        let overflowed = |part| counters.iter().any(|counter| reached(start, part, counter));
        match source.overflow_within(slice) {
            Some(part) => {
                prop_assert!(overflowed(part));
                prop_assert_eq!(part, slice.first(part.total()));
                prop_assert!(part.total() >= 1);
                prop_assert!(!overflowed(slice.first(part.total() - 1)), "one nanosecond less is enough");
            }
            None => prop_assert!(!overflowed(slice)),
        }
    }

    #[test]
    fn nothing_overflows_before_the_earliest_time(start in slices(), mix in 0..=100_u64, counter in counters()) {
        let mut source = uneven(&SAPPHIRE_RAPIDS);
        source.advance(start);
        source.rearm(&[counter]);
        let Some(earliest) = source.earliest_overflow() else {
            let hour = Slice { os: 3_600_000_000_000, usr: 3_600_000_000_000 };
            prop_assert_eq!(source.overflow_within(hour), None);
            return Ok(());
        };
        prop_assert!(earliest >= 1);
        let usr = (u128::from(earliest - 1) * u128::from(mix) / 100) as u64;
        let before = Slice { os: earliest - 1 - usr, usr };
        prop_assert_eq!(source.overflow_within(before), None);
    }

    #[test]
    fn the_distance_counts_from_the_last_rearm(before in slices(), ns in 1..1_000_000_u64) {
        let mut source = uneven(&SAPPHIRE_RAPIDS);
        source.advance(before);
        let slice = Slice { os: 0, usr: 1_000_000_000 };
        // 2893.200003 cycles in a microsecond, from wherever the clock stands.
        source.rearm(&[active(fixed(1), USR, ns * 2894)]);
        let whole = source.overflow_within(Slice { os: 0, usr: u64::from(u32::MAX) }).map(Slice::total);
        source.advance(slice);
        let rest = source.overflow_within(Slice { os: 0, usr: u64::from(u32::MAX) }).map(Slice::total);
        if let (Some(whole), Some(rest)) = (whole, rest) && whole > slice.usr {
            prop_assert_eq!(whole - slice.usr, rest, "time that has passed counts");
        }
    }
}

#[test]
fn the_bound_is_tight() {
    let mut source = uneven(&SAPPHIRE_RAPIDS);
    source.rearm(&[active(fixed(1), USR, 2_893_200_003)]);
    let earliest = source.earliest_overflow().unwrap();
    assert!(
        (999_999_990..=1_000_000_000).contains(&earliest),
        "{earliest} ns for a second's worth of cycles"
    );
}

#[test]
fn only_counters_that_interrupt_are_waited_for() {
    let mut source = uneven(&SAPPHIRE_RAPIDS);
    source.rearm(&[Active { interrupts: false, ..active(fixed(1), USR, 10) }]);
    assert_eq!(source.earliest_overflow(), None);
    assert_eq!(source.overflow_within(Slice { os: 0, usr: 1_000_000 }), None);
    source.rearm(&[active(fixed(1), USR, 10)]);
    assert!(source.earliest_overflow().is_some());
    source.rearm(&[]);
    assert_eq!(source.earliest_overflow(), None);
}

#[test]
fn an_event_that_never_happens_is_not_waited_for() {
    let mut source = uneven(&SAPPHIRE_RAPIDS);
    let counter = active(fixed(3), OS, 10);
    source.rearm(&[Active { counter: CounterId::Metric(3), ..counter }]);
    assert_eq!(source.earliest_overflow(), None, "be-bound is 0 at CPL 0");
}

#[test]
fn the_mix_is_sampled_while_it_matters() {
    let mut source = built_in(&SAPPHIRE_RAPIDS);
    let quiet = |request, filter| Active { interrupts: false, ..active(request, filter, 1 << 40) };
    assert_eq!(source.sample_interval(), None, "nothing counts");
    source.rearm(&[quiet(fixed(0), PrivilegeFilter::ALL), quiet(fixed(3), PrivilegeFilter::ALL)]);
    assert_eq!(source.sample_interval(), None, "both levels count and have the same rates");
    source.rearm(&[quiet(fixed(0), PrivilegeFilter::ALL), quiet(fixed(1), USR)]);
    assert_eq!(source.sample_interval(), Some(1_000_000));
    source.rearm(&[]);
    assert_eq!(source.sample_interval(), None);

    let mut source = uneven(&SAPPHIRE_RAPIDS);
    source.rearm(&[quiet(gp(&SAPPHIRE_RAPIDS, Event::BrMispRetiredAllBranches), PrivilegeFilter::ALL)]);
    assert_eq!(source.sample_interval(), Some(1_000_000), "the levels have different rates");
}

#[test]
fn a_guest_that_freezes_on_the_interrupt_reads_the_overflow_and_nothing_more() {
    let mut device = PmuDevice::new(ICELAKE_SP, Box::new(built_in(&ICELAKE_SP)), None);
    let origin = Origin::default();
    // Freeze on PMI; FIXED_CTR1 user with PMI, 3000 cycles (1 µs) before it wraps.
    for (msr, value) in
        [(0x38F, 0), (0x1D9, 1 << 12), (0x38D, 0xA0), (0x30A, (1 << 48) - 3000), (0x38F, 1 << 33)]
    {
        assert_eq!(device.wrmsr(msr, value, origin).into_parts(), (WriteOutcome::Done, PmiRequests::NONE));
    }
    assert_eq!(device.advance(Slice { os: 0, usr: 5_000_000 }).count(), 1);
    assert_eq!(
        device.rdmsr(0x30A, origin).into_parts(),
        (ReadOutcome::Value(0), PmiRequests::NONE),
        "frozen at the nanosecond of the overflow"
    );
    assert_eq!(device.rdmsr(0x38E, origin).into_parts().0, ReadOutcome::Value(1 << 33 | 1 << 59));
}
