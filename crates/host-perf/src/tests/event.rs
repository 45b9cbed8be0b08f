use proptest::prelude::*;

use super::{ALDERLAKE, ZEN4, icelake, probe, sapphire_rapids};
use crate::fake::FakeConfig;
use crate::host::{Place, READ_GROUP, READ_SINGLE};
use crate::{Event, EventSpec, Filter, Format, HostPerfError, Level, Metric, RawEvent, Scope};

#[test]
fn generic_events_have_the_kernels_ids() {
    let ids = [
        (Event::CpuCycles, 0),
        (Event::Instructions, 1),
        (Event::CacheReferences, 2),
        (Event::CacheMisses, 3),
        (Event::Branches, 4),
        (Event::BranchMisses, 5),
        (Event::RefCycles, 9),
    ];
    for (event, id) in ids {
        assert_eq!(event.encode(None).unwrap(), (0, id), "{event}");
    }
}

#[test]
fn hybrid_hosts_get_the_big_cores_pmu_in_the_upper_half() {
    let (host, _) = probe(ALDERLAKE, "", FakeConfig::default());
    assert_eq!(Event::Instructions.encode(host.core_pmu()).unwrap(), (0, 4 << 32 | 1));
    assert_eq!(Event::Slots.encode(host.core_pmu()).unwrap(), (4, 0x400));
}

#[test]
fn topdown_events_have_the_documented_encodings() {
    let (host, _) = icelake();
    assert_eq!(Event::Slots.encode(host.core_pmu()).unwrap(), (4, 0x0400));
    let configs = Metric::ALL.map(|metric| Event::Topdown(metric).encode(host.core_pmu()).unwrap().1);
    assert_eq!(configs, [0x8000, 0x8100, 0x8200, 0x8300, 0x8400, 0x8500, 0x8600, 0x8700]);
    assert_eq!(Event::Slots.encode(None), Err(HostPerfError::NoPmu));
    assert_eq!(Level::One.metrics().len(), 4);
    assert_eq!(Level::Two.metrics().len(), 8);
    assert_eq!(Metric::BeBound.of(0x8877_6655_4433_2211), 0x44);
}

#[test]
fn raw_events_follow_the_format_files_of_the_host() {
    let (intel, _) = sapphire_rapids();
    let intel = intel.core_pmu().unwrap();
    let event = RawEvent { cmask: 0x14, inv: true, edge: true, ..RawEvent::new(0xA3, 0x14) };
    assert_eq!(intel.encode(event).unwrap(), 0x1484_14A3);
    let refused = intel.encode(RawEvent::new(0x1C7, 0)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "event=0x1c7 does not fit into the 8 bits that the host's PMU has for it"
    );

    let (amd, _) = probe(ZEN4, "", FakeConfig { topdown: None, ..FakeConfig::default() });
    let amd = amd.core_pmu().unwrap();
    assert_eq!(amd.encode(RawEvent::new(0x1C7, 0x21)).unwrap(), 0x1_0000_21C7);
}

#[test]
fn a_field_that_the_pmu_lacks_is_named() {
    let bare =
        "bus/event_source/devices/cpu/type = 4\nbus/event_source/devices/cpu/format/event = config:0-7";
    let (host, _) = probe(bare, "", FakeConfig::default());
    let pmu = host.core_pmu().unwrap();
    assert_eq!(pmu.encode(RawEvent::new(0xC0, 0)), Ok(0xC0));
    let refused = pmu.encode(RawEvent::new(0xC0, 1)).unwrap_err();
    assert_eq!(refused.to_string(), "PMU cpu has no `umask` field (see its format/ directory in sysfs)");
}

#[test]
fn malformed_formats_are_ignored() {
    for text in
        ["", "config", "config:", "config:7-0", "config:0-64", "config:a", "config1:0-7", "config:0-,3"]
    {
        assert_eq!(Format::parse(text), None, "{text:?}");
    }
    assert_eq!(Format::parse("config:0-63").unwrap().place(u64::MAX), Some(u64::MAX));
}

#[test]
fn filter_and_scope_become_exclude_bits() {
    let attr = |spec: EventSpec| spec.attr(None, Place::Leader, READ_SINGLE).unwrap();
    let base = EventSpec::new(Event::Instructions);

    let all = attr(base);
    assert_eq!(
        (all.exclude_user(), all.exclude_kernel(), all.exclude_host(), all.exclude_guest()),
        (0, 0, 0, 0)
    );
    assert_eq!((all.disabled(), all.pinned(), all.read_format), (1, 0, 3));
    let guest_user = attr(base.guest_only().user_only().pinned());
    assert_eq!((guest_user.exclude_user(), guest_user.exclude_kernel()), (0, 1));
    assert_eq!((guest_user.exclude_host(), guest_user.exclude_guest(), guest_user.pinned()), (1, 0, 1));
    let host_os = attr(base.scope(Scope::HostOnly).filter(Filter::OS));
    assert_eq!((host_os.exclude_user(), host_os.exclude_kernel()), (1, 0));
    assert_eq!((host_os.exclude_host(), host_os.exclude_guest()), (0, 1));
    assert_eq!(attr(base.period(5000)).sample_period, 5000);

    let sibling = base.attr(None, Place::Sibling, READ_GROUP).unwrap();
    assert_eq!((sibling.disabled(), sibling.read_format), (0, 15));
}

#[test]
fn requests_that_can_never_count_are_refused() {
    let attr = |spec: EventSpec| spec.attr(None, Place::Leader, READ_SINGLE).map(|_| ());
    let base = EventSpec::new(Event::Branches);
    let nothing = Filter { os: false, usr: false };
    assert_eq!(attr(base.filter(nothing)), Err(HostPerfError::EmptyFilter { event: Event::Branches }));
    assert_eq!(attr(base.period(1 << 63)), Err(HostPerfError::BadPeriod { period: 1 << 63 }));
}

proptest! {
    #[test]
    fn a_placed_field_can_be_taken_apart_again(event in 0_u64..4096) {
        let config = Format::parse("config:0-7,32-35").unwrap().place(event).unwrap();
        prop_assert_eq!(config & 0xFF | config >> 32 << 8, event);
        prop_assert_eq!(config & !0x0F_0000_00FF, 0);
    }
}
