//! Tests on simulated hosts.

use super::fake_host::{FakeHost, ZEN};
use super::progress::Progress;
use super::*;
use crate::machine::pmu::{Origin, PmuDevice};
use host_perf::fake::Work;
use host_perf::{Event as HostEvent, Level2Counts, RawEvent, SlotCounts};
use vpmu::event::{Event, EventCode, FixedEvent};
use vpmu::metrics::field;
use vpmu::profile::{ICELAKE_SP, SAPPHIRE_RAPIDS};
use vpmu::{ReadOutcome, WriteOutcome};

const USR: PrivilegeFilter = PrivilegeFilter { os: false, usr: true };
const OS: PrivilegeFilter = PrivilegeFilter { os: true, usr: false };
const ALL: PrivilegeFilter = PrivilegeFilter::ALL;

impl FakeHost {
    fn source(&self, profile: &Profile) -> HostSource {
        HostSource::new(self.detect(), profile, self.thread()).unwrap()
    }

    fn guest(&self, event: HostEvent, count: u64) {
        self.kernel.run(&Work::new(100, 1000).guest().event(event, count));
    }
}

fn fixed(index: u8) -> EventRequest {
    let fixed = FixedEvent::by_counter(index).unwrap();
    EventRequest::named(fixed.event, fixed.code)
}

fn programmed(profile: &Profile, code: EventCode) -> EventRequest {
    let resolved = profile.events.resolve(code);
    EventRequest::resolved(code, &resolved, resolved.counters.trailing_zeros())
}

fn gp(profile: &Profile, event: Event) -> EventRequest {
    programmed(profile, profile.events.by_event(event).unwrap().code)
}

fn active(request: EventRequest, filter: PrivilegeFilter) -> Active {
    Active { counter: CounterId::Gp(0), request, filter, until_overflow: 1 << 47, interrupts: false }
}

fn retiring(slots: u64) -> SlotCounts {
    SlotCounts { slots, retiring: slots / 2, fe_bound: slots / 2, ..SlotCounts::default() }
}

#[test]
fn events_are_opened_when_they_run_and_count_from_there() {
    let host = FakeHost::icelake(|_| {});
    let mut source = host.source(&ICELAKE_SP);
    assert_eq!(source.provenance(&fixed(0)), Provenance::Host);
    let start = source.total(&fixed(0), ALL);
    assert_eq!(host.kernel.open_events(), 0, "asking opens nothing for good");
    source.rearm(&[active(fixed(0), ALL)]);
    assert_eq!(host.kernel.open_events(), 1);
    host.guest(HostEvent::Instructions, 70);
    assert_eq!(source.total(&fixed(0), ALL) - start, 70);
}

#[test]
fn only_the_guest_and_only_the_privilege_level_counts() {
    let host = FakeHost::icelake(|_| {});
    let mut source = host.source(&ICELAKE_SP);
    source.rearm(&[]);
    let starts = [ALL, USR, OS].map(|filter| source.total(&fixed(0), filter));
    source.rearm(&[active(fixed(0), ALL), active(fixed(0), USR), active(fixed(0), OS)]);
    host.guest(HostEvent::Instructions, 5);
    host.kernel.run(&Work::new(100, 10).guest().os().event(HostEvent::Instructions, 300));
    host.kernel.run(&Work::new(100, 10).event(HostEvent::Instructions, 10_000));
    let ends = [ALL, USR, OS].map(|filter| source.total(&fixed(0), filter));
    assert_eq!([ends[0] - starts[0], ends[1] - starts[1], ends[2] - starts[2]], [305, 5, 300]);
}

#[test]
fn a_stopped_event_stands_still_and_goes_on_later() {
    let host = FakeHost::icelake(|_| {});
    let mut source = host.source(&ICELAKE_SP);
    let start = source.total(&fixed(0), USR);
    source.rearm(&[active(fixed(0), USR)]);
    host.guest(HostEvent::Instructions, 10);
    source.rearm(&[]);
    host.guest(HostEvent::Instructions, 1_000);
    assert_eq!(source.total(&fixed(0), USR) - start, 10);
    source.rearm(&[active(fixed(0), USR)]);
    host.guest(HostEvent::Instructions, 7);
    assert_eq!(source.total(&fixed(0), USR) - start, 17);
}

#[test]
fn totals_stay_monotonic_and_descriptors_bounded_whatever_the_guest_selects() {
    let host = FakeHost::icelake(|_| {});
    let mut source = host.source(&ICELAKE_SP);
    let requests: Vec<_> = (1..200)
        .map(|cmask| programmed(&ICELAKE_SP, EventCode { cmask, ..EventCode::new(0xC0, 0) }))
        .collect();
    let mut seen = vec![0; requests.len()];
    for round in 0..3 {
        for (request, seen) in requests.iter().zip(&mut seen) {
            let before = source.total(request, USR);
            assert!(before >= *seen, "round {round}, {request}: {before} after {seen}");
            source.rearm(&[active(*request, USR)]);
            let raw = RawEvent { cmask: request.code.cmask, ..RawEvent::new(0xC0, 0) };
            host.guest(HostEvent::Raw(raw), 9);
            *seen = source.total(request, USR);
            assert_eq!(*seen - before, 9);
            assert!(host.kernel.open_events() <= MAX_EVENTS);
        }
    }
}

#[test]
fn other_events_count_by_encoding_on_the_same_core_only() {
    let request = gp(&ICELAKE_SP, Event::L1dReplacement);
    let stalls = gp(&ICELAKE_SP, Event::UopsRetiredStalls);
    let nameless = programmed(&ICELAKE_SP, EventCode::new(0xFE, 0xED));
    let same = FakeHost::icelake(|_| {});
    let mut source = same.source(&ICELAKE_SP);
    assert_eq!(source.provenance(&nameless), Provenance::Unknown);
    let start = source.total(&stalls, USR);
    source.rearm(&[active(stalls, USR), active(request, USR)]);
    same.guest(HostEvent::Raw(RawEvent { cmask: 1, inv: true, ..RawEvent::new(0xC2, 0x02) }), 11);
    assert_eq!(source.total(&stalls, USR) - start, 11, "with its modifiers");

    let other = FakeHost::sapphire_rapids().source(&ICELAKE_SP);
    assert_eq!(other.provenance(&request), Provenance::Unknown);
    assert_eq!(other.provenance(&stalls), Provenance::Unknown);
    assert_eq!(other.provenance(&gp(&ICELAKE_SP, Event::LongestLatCacheMiss)), Provenance::Host);
}

#[test]
fn cache_events_of_another_vendor_are_unknown() {
    let host = FakeHost::new(ZEN, |config| config.topdown = None);
    let mut source = host.source(&ICELAKE_SP);
    assert_eq!(source.provenance(&gp(&ICELAKE_SP, Event::LongestLatCacheMiss)), Provenance::Unknown);
    assert_eq!(source.provenance(&gp(&ICELAKE_SP, Event::BrMispRetiredAllBranches)), Provenance::Host);
    assert_eq!(source.provenance(&fixed(3)), Provenance::Unknown);
    assert_eq!(source.topdown(ALL), None);
    assert!(source.warnings()[0].contains("no slots counter"), "{:?}", source.warnings());
}

#[test]
fn an_event_that_the_host_refuses_is_unknown_and_reported() {
    let host = FakeHost::icelake(|_| {});
    let source = host.source(&ICELAKE_SP);
    host.kernel.refuse_next_open(libc::EINVAL);
    let request = gp(&ICELAKE_SP, Event::L1dReplacement);
    assert_eq!(source.provenance(&request), Provenance::Unknown);
    assert_eq!(source.provenance(&request), Provenance::Unknown, "and stays so");
    assert!(source.warnings()[0].contains("the kernel rejected"), "{:?}", source.warnings());
}

#[test]
fn slots_and_metrics_come_from_one_group() {
    let host = FakeHost::sapphire_rapids();
    let mut source = host.source(&SAPPHIRE_RAPIDS);
    let start = source.topdown(USR).unwrap();
    assert_eq!(source.total(&fixed(3), USR), start.slots);
    source.rearm(&[active(fixed(3), USR)]);
    let counts = SlotCounts {
        slots: 25_500,
        retiring: 10_200,
        be_bound: 15_300,
        level2: Some(Level2Counts { mem_bound: 5_100, ..Level2Counts::default() }),
        ..SlotCounts::default()
    };
    host.kernel.run(&Work::new(100, 10).guest().slots(counts));
    let delta = source.topdown(USR).unwrap().since(&start);
    assert_eq!(delta.slots, 25_500);
    assert_eq!(delta.fields, [10_200, 0, 0, 15_300, 0, 0, 0, 5_100]);
    assert_eq!(source.total(&fixed(3), USR), source.topdown(USR).unwrap().slots);
    source.rearm(&[]);
    host.kernel.run(&Work::new(100, 10).guest().slots(counts));
    assert_eq!(source.topdown(USR).unwrap().since(&start).slots, 25_500, "stopped");
}

#[test]
fn a_host_with_fewer_metrics_has_slots_but_no_fractions() {
    let host = FakeHost::icelake(|_| {});
    let mut source = host.source(&SAPPHIRE_RAPIDS);
    assert_eq!(source.topdown(ALL), None, "four fields of eight would read as zeros");
    assert_eq!(source.provenance(&fixed(3)), Provenance::Host);
    assert!(source.warnings()[0].contains("PERF_METRICS of sapphire-rapids stands still"));
}

#[test]
fn a_level_1_profile_on_a_level_2_host_gets_four_fields() {
    let host = FakeHost::sapphire_rapids();
    let mut source = host.source(&ICELAKE_SP);
    source.topdown(ALL);
    source.rearm(&[active(fixed(3), ALL)]);
    let level2 = Some(Level2Counts { heavy_ops: 255_000, ..Level2Counts::default() });
    host.kernel.run(&Work::new(100, 10).guest().slots(SlotCounts { level2, ..retiring(510_000) }));
    let fields = source.topdown(ALL).unwrap().fields;
    assert_eq!(fields[4..], [0; 4]);
    assert!(fields[0] > 250_000);
}

#[test]
fn shared_counters_give_estimates_that_are_reported() {
    let host = FakeHost::icelake(|config| config.counters = Some(1));
    let mut source = host.source(&ICELAKE_SP);
    let requests = [fixed(0), gp(&ICELAKE_SP, Event::BrInstRetiredAllBranches)];
    let starts = requests.map(|request| source.total(&request, USR));
    assert_eq!(source.multiplexed(), []);
    source.rearm(&requests.map(|request| active(request, USR)));
    for _ in 0..10 {
        let work = Work::new(100, 1000).guest();
        host.kernel.run(&work.event(HostEvent::Instructions, 400).event(HostEvent::Branches, 100));
    }
    let ends = requests.map(|request| source.total(&request, USR));
    assert_eq!([ends[0] - starts[0], ends[1] - starts[1]], [4000, 1000], "scaled up from half the time");
    let shared = |event: &str| Multiplexed { event: event.to_owned(), counted_permille: 500 };
    assert_eq!(source.multiplexed(), [shared("instructions:u"), shared("branches:u")]);
    assert!(
        source.warnings()[0].starts_with("instructions:u shared a hardware counter and counted 50.0 % of")
    );
}

#[test]
fn an_event_that_never_got_a_counter_is_reported() {
    let host = FakeHost::icelake(|_| {});
    let mut source = host.source(&ICELAKE_SP);
    source.total(&fixed(0), USR);
    source.rearm(&[active(fixed(0), USR)]);
    host.kernel.configure(|config| config.counters = Some(0));
    host.guest(HostEvent::Instructions, 400);
    source.total(&fixed(0), USR);
    let never = Multiplexed { event: "instructions:u".to_owned(), counted_permille: 0 };
    assert_eq!(source.multiplexed(), [never]);
}

#[test]
fn a_stretch_without_contention_adds_its_exact_count() {
    let mut progress = Progress::starting_at([0]);
    let mut at = |value, enabled, running| {
        progress.update(progress::Sample { values: [value], enabled, running });
        progress.totals[0]
    };
    assert_eq!(at(10, 100, 50), 20);
    assert_eq!(at(17, 200, 150), 27, "7 in full time");
    assert_eq!(at(17, 300, 150), 27, "nothing is known about these 100 ns yet");
    assert_eq!(at(27, 400, 250), 47, "10 in half of 200 ns");
}

fn wrmsr(device: &mut PmuDevice, writes: &[(u32, u64)]) {
    for &(index, value) in writes {
        assert_eq!(
            device.wrmsr(index, value, Origin::default()).into_parts().0,
            WriteOutcome::Done,
            "{index:#x}"
        );
    }
}

fn rdmsr(device: &mut PmuDevice, index: u32) -> u64 {
    match device.rdmsr(index, Origin::default()).into_parts().0 {
        ReadOutcome::Value(value) => value,
        other => panic!("{index:#x}: {other:?}"),
    }
}

/// FIXED_CTR0 at CPL 3 with PMI, `distance` instructions before it wraps.
fn sampling(device: &mut PmuDevice, distance: u64) {
    wrmsr(device, &[(0x38F, 0), (0x38D, 0xA), (0x309, (1 << 48) - distance), (0x38F, 1 << 32)]);
}

#[test]
fn an_overflow_signals_the_vcpu_thread_and_becomes_a_pmi() {
    let host = FakeHost::icelake(|_| {});
    let mut device = PmuDevice::new(ICELAKE_SP, Box::new(host.source(&ICELAKE_SP)), None);
    sampling(&mut device, 1000);
    host.guest(HostEvent::Instructions, 999);
    assert_eq!(host.kernel.take_signals(), []);
    host.guest(HostEvent::Instructions, 1);
    let signals = host.kernel.take_signals();
    assert_eq!(signals.iter().map(|s| (s.tid, s.signal)).collect::<Vec<_>>(), [(100, 40)]);
    assert_eq!(device.poll().count(), 1);
    assert_eq!(rdmsr(&mut device, 0x38E), 1 << 32);
    // The counter goes on from 0: no signal until it wraps again.
    host.guest(HostEvent::Instructions, 5_000);
    assert_eq!(host.kernel.take_signals(), []);
    assert_eq!(rdmsr(&mut device, 0x309), 5_000);
}

#[test]
fn the_distance_survives_a_stop_and_a_look() {
    let host = FakeHost::icelake(|_| {});
    let mut device = PmuDevice::new(ICELAKE_SP, Box::new(host.source(&ICELAKE_SP)), None);
    sampling(&mut device, 1000);
    host.guest(HostEvent::Instructions, 400);
    assert_eq!(rdmsr(&mut device, 0x309), (1 << 48) - 600);
    wrmsr(&mut device, &[(0x38F, 0)]);
    host.guest(HostEvent::Instructions, 10_000);
    wrmsr(&mut device, &[(0x38F, 1 << 32)]);
    host.guest(HostEvent::Instructions, 599);
    assert_eq!(host.kernel.take_signals(), []);
    host.guest(HostEvent::Instructions, 1);
    assert_eq!(host.kernel.take_signals().len(), 1);
}

#[test]
fn a_counter_that_stops_interrupting_sends_no_more_signals() {
    let host = FakeHost::icelake(|_| {});
    let mut device = PmuDevice::new(ICELAKE_SP, Box::new(host.source(&ICELAKE_SP)), None);
    sampling(&mut device, 10);
    // Without the PMI bit, after a stop.
    wrmsr(&mut device, &[(0x38F, 0), (0x38D, 0x2), (0x309, 0), (0x38F, 1 << 32)]);
    host.guest(HostEvent::Instructions, 1_000);
    assert_eq!(host.kernel.take_signals(), []);
}

#[test]
fn the_nearest_of_two_counters_of_one_event_signals() {
    let host = FakeHost::icelake(|_| {});
    let mut device = PmuDevice::new(ICELAKE_SP, Box::new(host.source(&ICELAKE_SP)), None);
    // PMC0 and PMC1: instructions at CPL 3 with INT, 500 and 200 before they wrap (0xFFFF_FFFF... by sign).
    let select = 0x51_00C0;
    let start = |distance: u64| 0_u64.wrapping_sub(distance) & 0xFFFF_FFFF;
    wrmsr(
        &mut device,
        &[(0x38F, 0), (0xC1, start(500)), (0xC2, start(200)), (0x186, select), (0x187, select)],
    );
    wrmsr(&mut device, &[(0x38F, 3)]);
    host.guest(HostEvent::Instructions, 200);
    assert_eq!(host.kernel.take_signals().len(), 1);
    assert_eq!(device.poll().count(), 1);
    host.guest(HostEvent::Instructions, 300);
    assert_eq!(host.kernel.take_signals().len(), 1);
    assert_eq!(device.poll().count(), 1);
    assert_eq!(rdmsr(&mut device, 0x38E), 3);
}

#[test]
fn slots_signal_through_a_general_purpose_counter() {
    let host = FakeHost::icelake(|_| {});
    let mut device = PmuDevice::new(ICELAKE_SP, Box::new(host.source(&ICELAKE_SP)), None);
    wrmsr(&mut device, &[(0x38F, 0), (0x38D, 0xA000), (0x30C, (1 << 48) - 5_100), (0x38F, 1 << 35)]);
    let slots = |count| {
        let work = Work::new(100, 10).guest().slots(retiring(count));
        host.kernel.run(&work.event(mapping::SLOTS_P, count));
    };
    slots(5_098);
    assert_eq!(host.kernel.take_signals(), []);
    slots(2);
    assert_eq!(host.kernel.take_signals().len(), 1);
    assert_eq!(device.poll().count(), 1);
}

#[test]
fn the_guest_reads_the_hosts_fractions() {
    let host = FakeHost::icelake(|_| {});
    let mut device = PmuDevice::new(ICELAKE_SP, Box::new(host.source(&ICELAKE_SP)), None);
    wrmsr(&mut device, &[(0x38F, 0), (0x38D, 0x3000), (0x30C, 0), (0x329, 0), (0x38F, 1 << 48 | 1 << 35)]);
    let counts = SlotCounts { slots: 100_000, retiring: 20_000, be_bound: 80_000, ..SlotCounts::default() };
    host.kernel.run(&Work::new(100, 10).guest().slots(counts));
    let metrics = rdmsr(&mut device, 0x329);
    assert!(field(metrics, 0).abs_diff(51) <= 1, "{metrics:#x}");
    assert!(field(metrics, 3).abs_diff(204) <= 1, "{metrics:#x}");
    assert_eq!(rdmsr(&mut device, 0x30C), 100_000);
}

#[test]
fn without_counter_interrupts_it_counts_and_says_so() {
    let host = FakeHost::icelake(|config| config.overflow_interrupt = false);
    let mut source = host.source(&ICELAKE_SP);
    source.total(&fixed(0), USR);
    source.rearm(&[Active { interrupts: true, ..active(fixed(0), USR) }]);
    host.guest(HostEvent::Instructions, 30);
    assert_eq!(source.total(&fixed(0), USR), 30);
    assert!(source.warnings()[0].contains("noticed at the guest's next access"), "{:?}", source.warnings());
}

#[test]
fn a_host_without_a_pmu_is_refused_with_the_reason() {
    let host = FakeHost::new(super::fake_host::NO_PMU, |config| config.counters = None);
    let error = HostSource::new(host.detect(), &ICELAKE_SP, host.thread()).unwrap_err();
    assert_eq!(error, HostPerfError::NoPmu);
}
