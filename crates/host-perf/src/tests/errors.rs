use super::{NO_PMU, TID, icelake, probe, sapphire_rapids};
use crate::fake::FakeConfig;
use crate::{Counter, Event, EventSpec, HostPerfError, Level, Privileges, Scope, SlotsGroup, SoftwareEvent};

const INSTRUCTIONS: EventSpec = EventSpec::new(Event::Instructions);

/// Opens on a host whose kernel refuses with `errno`.
fn refused(errno: i32) -> HostPerfError {
    let (host, kernel) = sapphire_rapids();
    kernel.refuse_next_open(errno);
    let refusal = Counter::open(&host, INSTRUCTIONS).unwrap_err();
    assert_eq!(kernel.open_events(), 0);
    refusal
}

#[test]
fn every_errno_has_its_own_explanation() {
    let event = Event::Instructions;
    assert_eq!(refused(libc::ENOENT), HostPerfError::UnknownEvent { event });
    assert_eq!(refused(libc::ENOSYS), HostPerfError::NoPerf);
    assert_eq!(refused(libc::EACCES), HostPerfError::Denied { event, tid: 0 });
    assert_eq!(refused(libc::EPERM), HostPerfError::Blocked);
    assert!(matches!(refused(libc::EINVAL), HostPerfError::Rejected { .. }));
    assert_eq!(refused(libc::EOPNOTSUPP), HostPerfError::Unsupported { event });
    assert_eq!(refused(libc::EBUSY), HostPerfError::Busy { event });
    assert!(matches!(refused(libc::EMFILE), HostPerfError::TooManyFiles { .. }));
    assert!(matches!(refused(libc::ENFILE), HostPerfError::TooManyFiles { .. }));
    assert_eq!(refused(libc::E2BIG), HostPerfError::TooBig { event });
    assert_eq!(refused(libc::ENODEV), HostPerfError::Gone { event });
    assert_eq!(refused(libc::ESRCH), HostPerfError::NoThread { tid: 0 });
    let other = refused(libc::ENOMEM);
    assert_eq!(other.to_string(), "perf_event_open failed for `instructions`: ENOMEM");
    assert_eq!(refused(9999).to_string(), "perf_event_open failed for `instructions`: errno 9999");
}

#[test]
fn known_refusals_come_with_advice() {
    let known = [
        libc::ENOENT,
        libc::ENOSYS,
        libc::EACCES,
        libc::EPERM,
        libc::EOPNOTSUPP,
        libc::EBUSY,
        libc::EMFILE,
        libc::E2BIG,
    ];
    for errno in known {
        let refusal = refused(errno);
        let advice = refusal.advice().unwrap_or_else(|| panic!("no advice for {refusal}"));
        assert!(!refusal.to_string().contains(&advice.to_string()), "{refusal}");
        assert_eq!(refusal.with_advice(), format!("{refusal}; {advice}"));
    }
}

#[test]
fn the_modelled_kernel_refuses_by_itself() {
    let (host, _) = probe(NO_PMU, "", FakeConfig { counters: None, ..FakeConfig::default() });
    let open = |spec| Counter::open(&host, spec).map(drop);
    assert_eq!(open(INSTRUCTIONS), Err(HostPerfError::NoPmu));
    assert_eq!(open(EventSpec::new(Event::Software(SoftwareEvent::PageFaults))), Ok(()));

    let (host, kernel) = sapphire_rapids();
    let open = |spec| Counter::open(&host, spec).map(drop);
    assert_eq!(open(INSTRUCTIONS.thread(7)), Err(HostPerfError::NoThread { tid: 7 }));
    kernel.configure(|config| config.max_files = 0);
    assert!(matches!(open(INSTRUCTIONS), Err(HostPerfError::TooManyFiles { .. })));
}

#[test]
fn threads_of_other_users_are_denied() {
    let config =
        FakeConfig { foreign_threads: vec![7], privileges: Privileges::default(), ..FakeConfig::default() };
    let (host, _) = probe(super::ICELAKE, "", config);
    let event = Event::Instructions;
    let refusal = Counter::open(&host, INSTRUCTIONS.user_only().thread(7)).unwrap_err();
    assert_eq!(refusal, HostPerfError::Denied { event, tid: 7 });
    // The same errno for a spec that the paranoid level forbids: that is the cause to name.
    let refusal = Counter::open(&host, INSTRUCTIONS.thread(7)).unwrap_err();
    assert!(matches!(refusal, HostPerfError::Paranoid { level: 2, allowed: 1, .. }));
}

#[test]
fn not_supported_is_split_by_cause() {
    let event = Event::Instructions;
    let (host, kernel) = sapphire_rapids();
    kernel.configure(|config| config.overflow_interrupt = false);
    let open = |spec| Counter::open(&host, spec).map(drop);
    assert_eq!(open(INSTRUCTIONS.period(1000)), Err(HostPerfError::NoOverflow { event }));
    assert_eq!(open(INSTRUCTIONS), Ok(()));

    let mediated = "module/kvm_amd/parameters/enable_mediated_pmu = Y";
    let config = FakeConfig { mediated_vm: true, ..FakeConfig::default() };
    let (host, _) = probe(super::ZEN4, mediated, config);
    let open = |spec| Counter::open(&host, spec).map(drop);
    assert_eq!(open(INSTRUCTIONS), Err(HostPerfError::MediatedVm { event }));
    assert_eq!(open(INSTRUCTIONS.guest_only()), Err(HostPerfError::MediatedVm { event }));
    assert_eq!(open(INSTRUCTIONS.scope(Scope::HostOnly)), Ok(()));
}

#[test]
fn missing_metrics_are_refused_before_the_kernel_is_asked() {
    let (host, kernel) = icelake();
    let slots = EventSpec::new(Event::Slots).thread(TID);
    let refusal = SlotsGroup::open(&host, Level::Two, slots).unwrap_err();
    assert_eq!(
        refusal.with_advice(),
        "this host's PMU has no topdown level 2 metrics (only level 1); \
         use a host with Golden Cove or later big cores, such as Sapphire Rapids"
    );
    assert_eq!(kernel.open_events(), 0);
    let (host, _) = probe(super::ZEN4, "", FakeConfig { topdown: None, ..FakeConfig::default() });
    let refusal = SlotsGroup::open(&host, Level::One, slots).unwrap_err();
    assert_eq!(refusal, HostPerfError::NoTopdown { wanted: Level::One, has: None });
    let (host, _) = probe(NO_PMU, "", FakeConfig { counters: None, ..FakeConfig::default() });
    assert_eq!(SlotsGroup::open(&host, Level::One, slots).unwrap_err(), HostPerfError::NoPmu);
}
