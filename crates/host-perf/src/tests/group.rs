use super::{TID, sapphire_rapids};
use crate::fake::Work;
use crate::{Event, EventSpec, Group, GroupReading, HostPerfError, Metric};

const SLOTS: EventSpec = EventSpec::new(Event::Slots);
const CYCLES: EventSpec = EventSpec::new(Event::CpuCycles);
const RETIRING: EventSpec = EventSpec::new(Event::Topdown(Metric::Retiring));

fn work(cycles: u64) -> Work {
    Work::new(TID, 500).event(Event::CpuCycles, cycles).event(Event::Branches, 2 * cycles)
}

#[test]
fn values_come_in_the_order_of_the_request() {
    let (host, kernel) = sapphire_rapids();
    let siblings = [Event::Instructions, Event::Branches, Event::CacheMisses].map(EventSpec::new);
    let mut group = Group::open(&host, CYCLES, &siblings).unwrap();
    kernel.run(&work(1000));
    group.enable().unwrap();
    kernel.run(&work(4).event(Event::Instructions, 7));
    let reading = group.read().unwrap();
    assert_eq!(reading, GroupReading { values: vec![4, 7, 8, 0], enabled: 500, running: 500 });
    group.disable().unwrap();
    kernel.run(&work(1000));
    assert_eq!(group.read().unwrap(), reading);
    group.reset().unwrap();
    assert_eq!(group.read().unwrap().values, [0; 4]);
    drop(group);
    assert_eq!(kernel.open_events(), 0);
}

#[test]
fn a_group_is_on_the_pmu_as_a_whole_or_not_at_all() {
    let (host, kernel) = sapphire_rapids();
    kernel.configure(|config| config.counters = Some(3));
    let pair = |host| Group::open(host, CYCLES, &[EventSpec::new(Event::Branches)]).unwrap();
    let mut groups = [pair(&host), pair(&host)];
    groups.iter_mut().for_each(|group| group.enable().unwrap());
    for _ in 0..4 {
        kernel.run(&work(10));
    }
    for group in &mut groups {
        let reading = group.read().unwrap();
        assert_eq!(reading, GroupReading { values: vec![20, 40], enabled: 2000, running: 1000 });
        assert!(reading.is_multiplexed());
        assert_eq!(reading.scaled(), Some(vec![40, 80]));
    }
}

#[test]
fn a_pinned_group_loses_all_its_events_at_once() {
    let (host, kernel) = sapphire_rapids();
    let mut group = Group::open(&host, CYCLES.pinned(), &[EventSpec::new(Event::Branches)]).unwrap();
    kernel.configure(|config| config.counters = Some(1));
    group.enable().unwrap();
    kernel.run(&work(10));
    assert_eq!(group.read(), Err(HostPerfError::PinnedEvicted { event: Event::CpuCycles }));
    kernel.configure(|config| config.counters = Some(2));
    group.enable().unwrap();
    kernel.run(&work(10));
    assert_eq!(group.read().unwrap().values, [10, 20]);
}

#[test]
fn more_events_than_counters_are_rejected_with_the_usual_cause() {
    let (host, kernel) = sapphire_rapids();
    kernel.configure(|config| config.counters = Some(2));
    let refusal = Group::open(&host, CYCLES, &[CYCLES, CYCLES]).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the kernel rejected `cpu-cycles` (EINVAL): the group needs more counters than the PMU has, \
         or the combination of attributes is not supported"
    );
    assert_eq!(kernel.open_events(), 0, "a half-open group is closed again");
}

#[test]
fn broken_group_rules_are_named() {
    let (host, kernel) = sapphire_rapids();
    let rule = |leader, sibling| match Group::open(&host, leader, &[sibling]).unwrap_err() {
        HostPerfError::BadGroup { rule, .. } => rule,
        HostPerfError::NeedsSlotsLeader { .. } => "needs slots leader",
        other => panic!("{other}"),
    };
    assert_eq!(rule(CYCLES, RETIRING), "needs slots leader");
    assert_eq!(rule(RETIRING, SLOTS), "needs slots leader");
    assert_eq!(rule(SLOTS, RETIRING.period(9)), "topdown metrics cannot have a period");
    assert_eq!(rule(SLOTS.period(9), RETIRING), "the leader of topdown metrics cannot have a period");
    assert_eq!(rule(SLOTS, CYCLES.pinned()), "only the leader can be pinned");
    assert_eq!(rule(SLOTS, CYCLES.thread(5)), "all events of a group count the same thread");
    assert_eq!(rule(SLOTS, SLOTS), "there is only one slots counter");
    assert_eq!(kernel.open_events(), 0);
    // Slots may sample as long as no metric is with it, and other events may join the metrics.
    assert!(Group::open(&host, SLOTS.period(9), &[CYCLES]).is_ok());
    assert!(Group::open(&host, SLOTS, &[RETIRING, CYCLES]).is_ok());
}

/// What [`Group::open`] refuses, the kernel refuses too: the checks only add the reason.
#[test]
fn the_kernel_agrees_with_the_rules() {
    use crate::host::READ_GROUP;
    let (host, _) = sapphire_rapids();
    let pairs = [
        (CYCLES, RETIRING),
        (SLOTS, RETIRING.period(9)),
        (SLOTS.period(9), RETIRING),
        (SLOTS, CYCLES.pinned()),
        (SLOTS, SLOTS),
    ];
    for (leader, sibling) in pairs {
        let fd = host.open(&leader, None, READ_GROUP).unwrap();
        let refusal = host.open(&sibling, Some(fd.raw_fd()), READ_GROUP).unwrap_err();
        assert!(matches!(refusal, HostPerfError::Rejected { .. }), "{} with {}", leader.event, sibling.event);
    }
}
