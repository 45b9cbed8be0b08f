use super::{TID, icelake, probe, sapphire_rapids};
use crate::fake::{FakeConfig, Work};
use crate::{
    Advice, Counter, Event, EventSpec, HostPerfError, Level, Metric, RawMetrics, SlotCounts, SlotsGroup,
    SoftwareEvent,
};

const INSTRUCTIONS: EventSpec = EventSpec::new(Event::Instructions);
const SLOTS: EventSpec = EventSpec::new(Event::Slots);

fn instructions(count: u64) -> Work {
    Work::new(TID, 1000).event(Event::Instructions, count)
}

#[test]
fn user_and_kernel_read_the_same_count() {
    let (host, kernel) = sapphire_rapids();
    // Another event first, so that the second one is not on counter 0.
    let mut other = Counter::open(&host, EventSpec::new(Event::Branches)).unwrap();
    let mut counter = Counter::open(&host, INSTRUCTIONS).unwrap();
    let page = counter.user_page(&host).unwrap();
    other.enable().unwrap();
    counter.enable().unwrap();
    assert_eq!(page.read().unwrap().value, 0);
    for count in [1, 5_000_000_000, 1 << 46, 1 << 46] {
        kernel.run(&instructions(count));
        let user = page.read().unwrap();
        assert_eq!(user.value, counter.read().unwrap().value);
        assert_eq!(user.enabled, user.running);
    }
    assert_eq!(kernel.rdpmc_faults(), 0);
}

#[test]
fn an_event_that_is_not_on_the_pmu_cannot_be_read() {
    let (host, kernel) = sapphire_rapids();
    let mut counter = Counter::open(&host, INSTRUCTIONS).unwrap();
    let page = counter.user_page(&host).unwrap();
    let absent = Err(HostPerfError::NotOnPmu { event: Event::Instructions });
    assert_eq!(page.read(), absent);
    counter.enable().unwrap();
    kernel.run(&instructions(5));
    assert_eq!(page.read().unwrap().value, 5);
    counter.disable().unwrap();
    assert_eq!(page.read(), absent);
    assert_eq!(kernel.rdpmc_faults(), 0);
}

#[test]
fn a_context_switch_during_the_read_is_noticed() {
    let (host, kernel) = sapphire_rapids();
    let mut counter = Counter::open(&host, INSTRUCTIONS).unwrap();
    counter.enable().unwrap();
    kernel.run(&instructions(42));
    let page = counter.user_page(&host).unwrap();
    kernel.disturb_rdpmc(3);
    assert_eq!(page.read().unwrap().value, 42);
    kernel.disturb_rdpmc(usize::MAX);
    assert_eq!(page.read(), Err(HostPerfError::Contended { event: Event::Instructions }));
}

#[test]
fn only_the_counted_thread_may_read() {
    let config = FakeConfig { threads: vec![TID, 101], ..FakeConfig::default() };
    let (host, kernel) = probe(super::SAPPHIRE_RAPIDS, "", config);
    let event = Event::Instructions;
    let other = Counter::open(&host, INSTRUCTIONS.thread(101)).unwrap();
    let own = Counter::open(&host, INSTRUCTIONS).unwrap();
    assert_eq!(
        other.user_page(&host).unwrap_err(),
        HostPerfError::WrongThread { event, target: 101, caller: TID }
    );
    assert!(own.user_page(&host).is_ok());
    kernel.switch_to(101);
    assert!(other.user_page(&host).is_ok());
    assert_eq!(
        own.user_page(&host).unwrap_err(),
        HostPerfError::WrongThread { event, target: TID, caller: 101 }
    );
}

#[test]
fn without_permission_rdpmc_is_never_executed() {
    let (host, kernel) = sapphire_rapids();
    let mut counter = Counter::open(&host, INSTRUCTIONS).unwrap();
    counter.enable().unwrap();
    kernel.run(&instructions(1));
    let page = counter.user_page(&host).unwrap();
    kernel.configure(|config| config.user_rdpmc = false);
    let refusal = HostPerfError::NoUserRdpmc { event: Event::Instructions, pmu: "cpu".to_owned() };
    assert_eq!(page.read(), Err(refusal.clone()));
    assert_eq!(counter.user_page(&host).unwrap_err(), refusal);
    assert_eq!(refusal.advice(), Some(Advice::EnableRdpmc { pmu: "cpu".to_owned() }));
    let software = Counter::open(&host, EventSpec::new(Event::Software(SoftwareEvent::TaskClock))).unwrap();
    assert!(matches!(software.user_page(&host), Err(HostPerfError::NoUserRdpmc { .. })));
    assert_eq!(kernel.rdpmc_faults(), 0);
}

#[test]
fn raw_metrics_are_the_register_without_conversion() {
    let (host, kernel) = icelake();
    let mut group = SlotsGroup::open(&host, Level::One, SLOTS).unwrap();
    let pages = group.user_metrics(&host).unwrap();
    assert_eq!(pages.read(), Err(HostPerfError::NotOnPmu { event: Event::Slots }));
    group.enable().unwrap();
    let counts = SlotCounts { slots: 1000, retiring: 392, be_bound: 608, ..SlotCounts::default() };
    kernel.run(&Work::new(TID, 1000).slots(counts));
    let raw = pages.read().unwrap();
    assert_eq!(raw, RawMetrics { slots: 1000, metrics: u64::from_le_bytes([100, 0, 0, 155, 0, 0, 0, 0]) });
    assert_eq!(raw.counts(Level::One).retiring, 392);
    // Reading in user space resets nothing; the system call does.
    assert_eq!(pages.read().unwrap(), raw);
    group.read().unwrap();
    assert_eq!(pages.read().unwrap(), RawMetrics { slots: 0, metrics: 0 });
    assert_eq!(kernel.rdpmc_faults(), 0);
}

#[test]
fn raw_metrics_keep_what_two_conversions_lose() {
    let (host, kernel) = sapphire_rapids();
    let mut group = SlotsGroup::open(&host, Level::Two, SLOTS).unwrap();
    group.enable().unwrap();
    let pages = group.user_metrics(&host).unwrap();
    // 118 of 300 slots are 100 of 255; the kernel makes 117 of them, every time it reads.
    let counts = SlotCounts { slots: 300, retiring: 118, ..SlotCounts::default() };
    for _ in 0..100 {
        kernel.run(&Work::new(TID, 1000).slots(counts));
        assert_eq!(Metric::Retiring.of(pages.read().unwrap().metrics), 100);
        group.read().unwrap();
    }
    let rebuilt = group.total().unwrap();
    assert_eq!((rebuilt.slots, rebuilt.retiring), (30_000, 11_700));
    assert_eq!(Metric::Retiring.of(rebuilt.to_metrics()), 99);
}
