//! What the totals are, and what holds for them at every instant.

use super::*;
use crate::counts::Source;
use crate::machine::pmu::{Origin, PmuDevice};
use vpmu::metrics::field;
use vpmu::{Provenance, ReadOutcome, WriteOutcome};

const SECOND: Slice = Slice { os: 0, usr: 1_000_000_000 };

fn user_total(source: &mut SyntheticSource, request: EventRequest) -> u64 {
    source.total(&request, USR)
}

#[test]
fn one_second_gives_the_configured_rates_exactly() {
    let mut source = uneven(&ICELAKE_SP);
    source.advance(SECOND);
    assert_eq!(user_total(&mut source, fixed(0)), 3_571_851_825, "2893200003 Hz x 1.234567891, rounded down");
    assert_eq!(user_total(&mut source, fixed(1)), 2_893_200_003);
    assert_eq!(user_total(&mut source, fixed(2)), TSC_HZ);
    assert_eq!(user_total(&mut source, fixed(3)), 5 * 2_893_200_003);
    assert_eq!(user_total(&mut source, gp(&ICELAKE_SP, Event::CpuClkUnhaltedRefXclk)), 25_000_000);
    assert_eq!(user_total(&mut source, gp(&ICELAKE_SP, Event::BrMispRetiredAllBranches)), 8_679_600);
    assert_eq!(source.total(&fixed(1), OS), 0, "nothing ran at CPL 0");
}

#[test]
fn a_rate_holds_over_a_year() {
    let mut source = built_in(&ICELAKE_SP);
    let year = 365 * 24 * 3600;
    source.advance(Slice { os: year * 1_000_000_000, usr: 0 });
    assert_eq!(source.total(&fixed(0), OS), year * 3_750_000_000);
}

#[test]
fn privilege_levels_have_their_own_rates() {
    let mut source = uneven(&ICELAKE_SP);
    source.advance(Slice { os: 1_000_000_000, usr: 1_000_000_000 });
    let request = gp(&ICELAKE_SP, Event::BrMispRetiredAllBranches);
    assert_eq!(source.total(&request, USR), 8_679_600);
    assert_eq!(source.total(&request, OS), 31_825_200);
    assert_eq!(source.total(&request, PrivilegeFilter::ALL), 8_679_600 + 31_825_200);
}

#[test]
fn a_sum_of_configured_events_is_known() {
    let mut source = uneven(&ICELAKE_SP);
    source.advance(SECOND);
    let parts = [Event::BrInstRetiredCondTaken, Event::BrInstRetiredCondNtaken];
    let sum: u64 = parts.into_iter().map(|part| user_total(&mut source, gp(&ICELAKE_SP, part))).sum();
    assert_eq!(user_total(&mut source, gp(&ICELAKE_SP, Event::BrInstRetiredCond)), sum);
    assert_eq!(sum, 289_320_000 + 202_524_000);
}

#[test]
fn unit_masks_of_several_events_add_their_rates() {
    let mut source = built_in(&ICELAKE_SP);
    source.advance(SECOND);
    // C4/0A: near calls and near returns, 0.02 of a cycle each.
    let both = programmed(&ICELAKE_SP, EventCode::new(0xC4, 0x0A));
    assert_eq!(user_total(&mut source, both), 2 * 60_000_000);
    // C4/42: the table has no rate of far branches.
    let far = programmed(&ICELAKE_SP, EventCode::new(0xC4, 0x42));
    assert_eq!(source.provenance(&far), Provenance::Unknown);
}

#[test]
fn a_counter_adds_no_more_in_a_cycle_than_its_limit() {
    const FLOPS: &str = "[rates]
\"fp_ret_sse_avx_ops.add_sub_flops\" = 12
\"fp_ret_sse_avx_ops.mult_flops\" = 8";
    let text = UNEVEN.replace("2893.200003", "1000").replace("[rates]", FLOPS);
    let mut source = SyntheticSource::new(&ZEN4, &Rates::parse("test", &text).unwrap(), TSC_HZ);
    source.advance(SECOND);
    let flops = |umask| programmed(&ZEN4, EventCode::new(0x03, umask));
    let mut count = |request, limit| user_total(&mut source, EventRequest { limit: Some(limit), ..request });
    // Additions 12 and products 8 a cycle, of a billion cycles.
    assert_eq!([15, 255].map(|limit| count(flops(1), limit)), [12_000_000_000, 12_000_000_000]);
    assert_eq!([15, 255].map(|limit| count(flops(3), limit)), [15_000_000_000, 20_000_000_000]);
}

#[test]
fn what_has_no_rate_is_unknown() {
    let source = uneven(&SAPPHIRE_RAPIDS);
    let unknown = |request| assert_eq!(source.provenance(&request), Provenance::Unknown, "{request}");
    unknown(gp(&SAPPHIRE_RAPIDS, Event::L2RqstsMiss));
    unknown(gp(&SAPPHIRE_RAPIDS, Event::UopsRetiredStalls));
    unknown(programmed(&SAPPHIRE_RAPIDS, EventCode::new(0xFF, 0xFF)));
    let modified = |select, umask, cmask, inv, edge| EventCode { select, umask, cmask, inv, edge };
    unknown(programmed(&SAPPHIRE_RAPIDS, modified(0xC0, 0, 1, false, false)));
    unknown(programmed(&SAPPHIRE_RAPIDS, modified(0x3C, 0, 1, false, true)));
    assert_eq!(source.provenance(&fixed(0)), Provenance::Synthetic);
}

#[test]
fn counter_masks_of_cycles_and_slots_count_all_cycles_or_none() {
    let mut source = uneven(&ICELAKE_SP);
    source.advance(SECOND);
    let cycles = user_total(&mut source, fixed(1));
    let table = [
        // event select, unit mask, counter mask, invert, expected
        (0x3C, 0x00, 1, false, cycles),
        (0x3C, 0x00, 2, false, 0),
        (0x3C, 0x00, 2, true, cycles),
        (0xA4, 0x01, 5, false, cycles),
        (0xA4, 0x01, 6, false, 0),
        (0xA4, 0x01, 5, true, 0),
    ];
    for (select, umask, cmask, inv, expected) in table {
        let request = programmed(&ICELAKE_SP, EventCode { select, umask, cmask, inv, edge: false });
        assert_eq!(source.provenance(&request), Provenance::Synthetic);
        assert_eq!(source.total(&request, USR), expected, "{request}");
    }
}

#[test]
fn level_2_is_absent_where_the_profile_has_none() {
    let (mut ice_lake, mut sapphire_rapids) = (built_in(&ICELAKE_SP), built_in(&SAPPHIRE_RAPIDS));
    ice_lake.advance(SECOND);
    sapphire_rapids.advance(SECOND);
    assert_eq!(ice_lake.topdown(USR).unwrap().fields[4..], [0; 4]);
    assert_eq!(sapphire_rapids.topdown(USR).unwrap().fields[7], 4_500_000_000);
    let without = ICELAKE_SP.with_intel(|pmu| pmu.metrics_level = 0);
    assert_eq!(built_in(&without).topdown(USR), None);
    let memory_bound = EventRequest::named(Event::TopdownMemoryBoundSlots, EventCode::new(0xA4, 0x10));
    assert_eq!(ice_lake.provenance(&memory_bound), Provenance::Unknown);
}

#[test]
fn no_field_goes_down_from_one_slot_to_the_next() {
    // One slot a nanosecond: each slot must go to exactly one category.
    let profile = Profile { slots_per_cycle: 1, ..SAPPHIRE_RAPIDS };
    let text = UNEVEN.replace("2893.200003", "1000");
    let mut source = SyntheticSource::new(&profile, &Rates::parse("test", &text).unwrap(), TSC_HZ);
    let mut before = source.topdown(PrivilegeFilter::ALL).unwrap();
    for ns in 0..20_000 {
        source.advance(if ns % 3 == 0 { Slice { os: 1, usr: 0 } } else { Slice { os: 0, usr: 1 } });
        let now = source.topdown(PrivilegeFilter::ALL).unwrap();
        let added = (0..4).map(|index| now.fields[index].checked_sub(before.fields[index]).unwrap());
        assert_eq!(added.sum::<u64>(), 1, "slot {ns}");
        for index in 4..8 {
            assert!(now.fields[index] >= before.fields[index], "field {index} at slot {ns}");
        }
        before = now;
    }
}

/// What a guest reads from PERF_METRICS after running `slice` with all fixed counters on.
fn guest_metrics(profile: &Profile, source: SyntheticSource, filter_bits: u64, slice: Slice) -> u64 {
    let mut device = PmuDevice::new(profile.clone(), Box::new(source), None);
    let origin = Origin::default();
    for (msr, value) in
        [(0x38F, 0), (0x38D, filter_bits << 12), (0x30C, 0), (0x329, 0), (0x38F, 1 << 48 | 1 << 35)]
    {
        assert_eq!(device.wrmsr(msr, value, origin).into_parts().0, WriteOutcome::Done, "{msr:#x}");
    }
    assert_eq!(device.advance(slice).count(), 0);
    match device.rdmsr(0x329, origin).into_parts().0 {
        ReadOutcome::Value(value) => value,
        other => panic!("PERF_METRICS: {other:?}"),
    }
}

#[test]
fn the_guest_reads_the_configured_fractions() {
    let slice = Slice { os: 123_456_789, usr: 987_654_321 };
    let user = [0.337, 0.041, 0.2119, 0.4101, 0.1, 0.041, 0.1001, 0.3];
    let kernel = [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0, 0.2, 0.0, 1.0 / 3.0, 0.0];
    for (filter_bits, expected) in [(2, user), (1, kernel)] {
        let metrics = guest_metrics(&SAPPHIRE_RAPIDS, uneven(&SAPPHIRE_RAPIDS), filter_bits, slice);
        for (index, fraction) in expected.into_iter().enumerate() {
            let read = field(metrics, index) as f64 / 255.0;
            assert!((read - fraction).abs() <= 1.0 / 255.0, "field {index}: {read} for {fraction}");
        }
        assert_eq!((0..4).map(|index| field(metrics, index)).sum::<u64>(), 255);
    }
}

proptest! {
    #[test]
    fn totals_never_go_down(first in slices(), second in slices(), filter in filters()) {
        let mut source = uneven(&SAPPHIRE_RAPIDS);
        let requests = known(&source);
        source.advance(first);
        let before: Vec<u64> = requests.iter().map(|request| source.total(request, filter)).collect();
        source.advance(second);
        for (request, before) in requests.iter().zip(before) {
            prop_assert!(source.total(request, filter) >= before, "{}", request);
        }
    }

    #[test]
    fn the_cut_into_slices_does_not_matter(first in slices(), second in slices(), filter in filters()) {
        let (mut cut, mut whole) = (uneven(&SAPPHIRE_RAPIDS), uneven(&SAPPHIRE_RAPIDS));
        cut.advance(first);
        cut.advance(second);
        whole.advance(plus(first, second));
        for request in known(&cut) {
            prop_assert_eq!(cut.total(&request, filter), whole.total(&request, filter));
        }
        prop_assert_eq!(cut.topdown(filter), whole.topdown(filter));
    }

    #[test]
    fn categories_add_up_to_the_slots_and_parts_stay_below_their_parents(run in slices(), filter in filters()) {
        let mut source = uneven(&SAPPHIRE_RAPIDS);
        source.advance(run);
        let topdown = source.topdown(filter).unwrap();
        prop_assert_eq!(topdown.fields[..4].iter().sum::<u64>(), topdown.slots);
        for index in 0..4 {
            prop_assert!(topdown.fields[4 + index] <= topdown.fields[index]);
        }
        prop_assert_eq!(topdown.slots, source.total(&fixed(3), filter));
        prop_assert_eq!(topdown.slots, 6 * source.total(&fixed(1), filter));
    }

    #[test]
    fn every_view_of_a_quantity_agrees(run in slices(), filter in filters()) {
        let profile = &SAPPHIRE_RAPIDS;
        let mut source = uneven(profile);
        source.advance(run);
        let fields = source.topdown(filter).unwrap().fields;
        let views = [
            (fixed(0), Event::InstRetiredAnyP),
            (fixed(1), Event::CpuClkUnhaltedThreadP),
            (fixed(2), Event::CpuClkUnhaltedRefTscP),
            (fixed(3), Event::TopdownSlotsP),
        ];
        for (fixed, event) in views {
            prop_assert_eq!(source.total(&fixed, filter), source.total(&gp(profile, event), filter));
        }
        let slots = [
            (Event::UopsRetiredSlots, 0),
            (Event::TopdownBadSpecSlots, 1),
            (Event::IdqUopsNotDeliveredCore, 2),
            (Event::TopdownBackendBoundSlots, 3),
            (Event::TopdownBrMispredictSlots, 5),
            (Event::TopdownMemoryBoundSlots, 7),
        ];
        for (event, index) in slots {
            prop_assert_eq!(source.total(&gp(profile, event), filter), fields[index], "{}", event);
        }
    }

    #[test]
    fn levels_add_up_to_both(run in slices()) {
        let mut source = uneven(&SAPPHIRE_RAPIDS);
        source.advance(run);
        for request in known(&source) {
            let sum = source.total(&request, OS) + source.total(&request, USR);
            prop_assert_eq!(sum, source.total(&request, PrivilegeFilter::ALL));
        }
    }

    #[test]
    fn the_guest_reads_any_configured_fractions(weights in prop::array::uniform4(0..1000_u64), usr in 1_000..u32::MAX) {
        let sum: u64 = weights.iter().sum();
        prop_assume!(sum > 0);
        let scale = |weight: u64| weight * 1_000_000_000 / sum;
        let [retiring, bad_spec, fe_bound, _] = weights.map(scale);
        let be_bound = 1_000_000_000 - retiring - bad_spec - fe_bound;
        let level1 = [retiring, bad_spec, fe_bound, be_bound];
        let keys = ["retiring", "bad-spec", "fe-bound", "be-bound"];
        let mut table = String::new();
        for (key, nanos) in keys.iter().zip(level1) {
            table += &format!("{key} = {}.{:09}\n", nanos / 1_000_000_000, nanos % 1_000_000_000);
        }
        table += "heavy-ops = 0\nbr-mispredict = 0\nfetch-lat = 0\nmem-bound = 0\n";
        let text = format!("[core]\nfrequency_mhz = 3000\n[topdown.user]\n{table}[topdown.kernel]\n{table}");
        let source = SyntheticSource::new(&ICELAKE_SP, &Rates::parse("test", &text).unwrap(), TSC_HZ);
        let metrics = guest_metrics(&ICELAKE_SP, source, 3, Slice { os: 0, usr: usr.into() });
        for (index, nanos) in level1.into_iter().enumerate() {
            let (read, wanted) = (field(metrics, index) * 1_000_000_000, nanos * 255);
            prop_assert!(read.abs_diff(wanted) <= 1_000_000_000, "field {} of {:#x}", index, metrics);
        }
    }
}
