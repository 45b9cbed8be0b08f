//! What is made of totals that were retired.

use super::*;
use crate::counts::Source as _;
use serde_json::json;
use vpmu::event::{Event as E, EventCode};
use vpmu::profile::{CASCADE_LAKE, ICELAKE_SP, SAPPHIRE_RAPIDS, SKYLAKE_SP, ZEN4, ZEN5};
use vpmu::{Active, CounterId, CountsSource as _, Provenance};

const ALL: PrivilegeFilter = PrivilegeFilter::ALL;

/// 700 instructions and 300 iterations of REP at CPL 3, a few of other kinds.
fn source(profile: &Profile) -> ModelSource {
    let nothing = json!({
        "instructions": 0, "loads": 0, "stores": 0, "events": 0, "branches": vec![0; BranchKind::COUNT + 1],
    });
    let user = json!({
        "instructions": 700, "loads": 310, "stores": 305, "repetitions": 300, "x87": 11, "mmx": 12, "sse": 13,
        "branches": vec![1; BranchKind::COUNT + 1], "arithmetic": [1, 2, 4, 8, 16, 32, 64, 128],
    });
    let totals = serde_json::from_value(json!({ "modes": [nothing, user] })).expect("totals");
    let retired = Retired::default();
    retired.set(&totals);
    ModelSource::new(profile, retired)
}

/// As a counter asks.
fn request(profile: &Profile, code: EventCode) -> EventRequest {
    let resolved = profile.events.resolve(code);
    EventRequest::resolved(code, &resolved, resolved.counters.trailing_zeros())
}

/// What a profile's event has counted.
fn count(profile: &Profile, event: Event) -> u64 {
    let encoding = profile.events.by_event(event).unwrap_or_else(|| panic!("{}: {event}", profile.name));
    let request = request(profile, encoding.code);
    let mut source = source(profile);
    assert_ne!(source.provenance(&request), Provenance::Unknown, "{}: {event}", profile.name);
    source.total(&request, ALL)
}

/// Level 1 of perf's `TopdownL1` of Skylake-SP and Cascade Lake: four categories, which add up to the slots.
#[test]
fn the_events_of_skylake_s_formulas_add_up() {
    for profile in [&SKYLAKE_SP, &CASCADE_LAKE] {
        let of = |event| count(profile, event) as i64;
        let slots = 4 * of(E::CpuClkUnhaltedThreadP);
        let retiring = of(E::UopsRetiredSlots);
        let bad_speculation = of(E::UopsIssuedAny) - retiring + 4 * of(E::IntMiscRecoveryCycles);
        let front_end = of(E::IdqUopsNotDeliveredCore);
        let back_end = slots - front_end - of(E::UopsIssuedAny) - 4 * of(E::IntMiscRecoveryCycles);
        assert_eq!([slots, retiring, bad_speculation, front_end, back_end], [4000, 700, 0, 0, 3300]);
        // Of these perf makes the core's cycles, which are the thread's where it is alone.
        let [alone, reference] = [E::CpuClkUnhaltedOneThreadActive, E::CpuClkUnhaltedRefXclk].map(of);
        assert!(reference > 0 && alone == reference, "{alone} of {reference}");
    }
}

/// Those of cores with PERF_METRICS take corrections from two events.
#[test]
fn the_events_beside_perf_metrics_are_known() {
    for (profile, width) in [(&ICELAKE_SP, 5), (&SAPPHIRE_RAPIDS, 6)] {
        for correction in [E::IntMiscUopDropping, E::IntMiscClearsCount, E::IntMiscRecoveryCycles] {
            assert_eq!(count(profile, correction), 0);
        }
        let slots = source(profile).topdown(ALL).expect("metrics");
        assert_eq!((slots.slots, slots.fields[0], slots.fields[3]), (1000 * width, 700, 1000 * width - 700));
        assert_eq!(count(profile, E::TopdownSlotsP), slots.slots);
        assert_eq!(count(profile, E::UopsRetiredSlots), 700);
        assert_eq!(count(profile, E::TopdownBackendBoundSlots), slots.fields[3]);
    }
}

/// `PipelineL1` of Zen 4 and 5: five categories.
#[test]
fn the_events_of_amd_s_formulas_add_up() {
    for (profile, width) in [(&ZEN4, 6), (&ZEN5, 8)] {
        let of = |event| count(profile, event);
        let parts = [
            of(E::DeNoDispatchPerSlotNoOpsFromFrontend),
            of(E::DeSrcOpDispAll) - of(E::ExRetOps),
            of(E::DeNoDispatchPerSlotBackendStalls),
            of(E::DeNoDispatchPerSlotSmtContention),
            of(E::ExRetOps),
        ];
        assert_eq!(parts, [0, 0, 1000 * width - 700, 0, 700], "{}", profile.name);
        assert_eq!(parts.iter().sum::<u64>(), width * of(E::LsNotHaltedCyc));
    }
}

#[test]
fn kinds_of_instructions_are_exact() {
    let mut source = source(&ZEN5);
    for (umask, expected) in [(1, 11), (2, 12), (4, 13), (7, 36), (0x87, 36)] {
        let request = request(&ZEN5, EventCode::new(0xCB, umask));
        assert_eq!((source.provenance(&request), source.total(&request, ALL)), (Provenance::Exact, expected));
    }
    for profile in [&SKYLAKE_SP, &SAPPHIRE_RAPIDS] {
        // Each width has a bit, whose total is the bit here.
        for (umask, expected) in [1, 2, 3, 4, 5, 8, 0x10, 0x18, 0x20, 0x40, 0x60, 0x80, 0xFC, 0xFF]
            .map(|umask| (umask, umask.into()))
        {
            let request = request(profile, EventCode::new(0xC7, umask));
            let mut source = self::source(profile);
            let counted = (source.provenance(&request), source.total(&request, ALL));
            assert_eq!(counted, (Provenance::Exact, expected), "{}: C7/{umask:02X}", profile.name);
        }
    }
}

/// In a cycle an instruction retires or an iteration of REP is done.
#[test]
fn cycles_with_and_without_an_instruction() {
    let mut source = source(&ICELAKE_SP);
    let mut count = |cmask, inv| {
        let code = EventCode { cmask, inv, ..EventCode::new(0xC0, 0) };
        source.total(&request(&ICELAKE_SP, code), ALL)
    };
    assert_eq!([count(1, false), count(1, true), count(2, false), count(16, true)], [700, 300, 0, 1000]);
}

/// Distances of counters that grow with cycles are in cycles.
#[test]
fn deadlines_are_in_what_counters_grow_with() {
    let mut source = source(&SAPPHIRE_RAPIDS);
    let active = |event, until_overflow| Active {
        counter: CounterId::Gp(0),
        request: EventRequest::named(event, EventCode::default()),
        filter: ALL,
        until_overflow,
        interrupts: true,
    };
    source.rearm(&[
        active(E::InstRetiredAny, 50),
        active(E::CpuClkUnhaltedThread, 40),
        active(E::TopdownSlots, 60),
    ]);
    assert_eq!((source.instructions_to_overflow(), source.cycles_to_overflow()), (Some(50), Some(10)));
    source.rearm(&[active(E::FpArithInstRetiredVector, 50)]);
    assert_eq!((source.instructions_to_overflow(), source.cycles_to_overflow()), (Some(25), None));
}
