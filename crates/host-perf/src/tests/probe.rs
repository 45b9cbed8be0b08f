use super::{ALDERLAKE, ICELAKE, NO_PMU, SAPPHIRE_RAPIDS, SKYLAKE, ZEN4, icelake, probe, sapphire_rapids};
use crate::fake::FakeConfig;
use crate::{Advice, Capability, Finding, HostPerfError, HostPmu, Level, Privileges, Status};

fn no_pmu() -> FakeConfig {
    FakeConfig { counters: None, topdown: None, ..FakeConfig::default() }
}

fn unprivileged(paranoid: i32) -> FakeConfig {
    FakeConfig { paranoid, privileges: Privileges::default(), ..FakeConfig::default() }
}

fn find(host: &HostPmu, words: &str) -> Finding {
    let list = host.findings();
    list.iter()
        .find(|f| f.what.contains(words))
        .cloned()
        .unwrap_or_else(|| panic!("no {words:?} in {list:#?}"))
}

#[test]
fn sapphire_rapids_has_everything() {
    let (host, kernel) = sapphire_rapids();
    let pmu = host.core_pmu().unwrap();
    assert_eq!((pmu.name.as_str(), pmu.pmu_type, pmu.model.as_deref()), ("cpu", 4, Some("sapphire_rapids")));
    assert_eq!((pmu.branches, pmu.max_precise, pmu.rdpmc), (Some(32), Some(3), Some(1)));
    assert_eq!(host.topdown_level(), Some(Level::Two));
    assert_eq!((host.can_count_user(), host.can_count_guest()), (Ok(()), Ok(())));
    for finding in host.findings() {
        assert_eq!((finding.status, &finding.advice), (Status::Ok, &None), "{finding}");
    }
    assert_eq!(kernel.open_events(), 0, "trial events are closed");
}

#[test]
fn levels_are_told_apart() {
    assert_eq!(icelake().0.topdown_level(), Some(Level::One));
    assert_eq!(probe(ZEN4, "", FakeConfig::default()).0.topdown_level(), None);
    assert_eq!(probe(NO_PMU, "", no_pmu()).0.topdown_level(), None);
}

#[test]
fn topdown_names_with_other_encodings_do_not_count() {
    let (host, _) = probe(SKYLAKE, "", FakeConfig { topdown: None, ..FakeConfig::default() });
    assert_eq!(host.topdown_level(), None);
    let finding = find(&host, "no slots event");
    assert_eq!(finding.status, Status::Warn);
    // The names of Ice Lake on other events.
    let other = "bus/event_source/devices/cpu/events/topdown-retiring = event=0xc2,umask=0x0";
    assert_eq!(probe(ICELAKE, other, FakeConfig::default()).0.topdown_level(), None);
}

#[test]
fn hybrid_hosts_use_the_big_cores() {
    let (host, _) = probe(ALDERLAKE, "", FakeConfig::default());
    assert_eq!(host.core_pmu().unwrap().name, "cpu_core");
    assert_eq!(host.small_cores(), ["cpu_atom"]);
    assert!(!sapphire_rapids().0.findings().iter().any(|finding| finding.what.contains("hybrid host")));
    assert_eq!(host.topdown_level(), Some(Level::Two));
    assert_eq!(host.can_count_guest(), Ok(()));
    let finding = find(&host, "hybrid host");
    assert_eq!(
        finding.to_string(),
        "warn    hybrid host: `cpu_core` counts on CPUs 0-15 only (others: cpu_atom); \
         pin the vCPU threads: `taskset -c 0-15 ...`"
    );
}

#[test]
fn a_host_without_a_pmu_says_so_and_what_to_do() {
    let (host, _) = probe(NO_PMU, "", no_pmu());
    assert!(host.core_pmu().is_none());
    assert_eq!(host.can_count_guest(), Err(HostPerfError::NoPmu));
    let lines: Vec<_> = host.findings().iter().map(Finding::to_string).collect();
    assert_eq!(
        lines,
        [
            "ok      perf_event_open works (software event task-clock)",
            "ok      kernel.perf_event_paranoid is 2, lifted by CAP_PERFMON",
            "missing this host has no hardware PMU (no /sys/bus/event_source/devices/cpu); \
             use a host that shows its PMU: bare metal, or a virtual machine with a virtual PMU",
        ]
    );
}

#[test]
fn paranoid_3_forbids_everything_and_names_the_sysctl() {
    let (host, _) = probe(ICELAKE, "", unprivileged(3));
    let refusal = host.can_count_guest().unwrap_err();
    assert_eq!(
        refusal.with_advice(),
        "kernel.perf_event_paranoid is 3 and forbids `instructions` (any event without privileges); \
         run `sysctl kernel.perf_event_paranoid=1` or give the process CAP_SYS_ADMIN"
    );
    let lower = |level| Some(Advice::LowerParanoid { level, capability: Capability::SysAdmin });
    assert_eq!(host.can_count_user().unwrap_err().advice(), lower(2));
    let finding = find(&host, "kernel.perf_event_paranoid is 3: ");
    assert_eq!(finding.status, Status::Missing);
    assert_eq!(finding.advice, lower(1));
}

#[test]
fn paranoid_2_leaves_the_user_level() {
    let (host, _) = probe(ICELAKE, "", unprivileged(2));
    assert_eq!(host.can_count_user(), Ok(()));
    let refusal = host.can_count_guest().unwrap_err();
    assert_eq!(refusal.advice(), Some(Advice::LowerParanoid { level: 1, capability: Capability::Perfmon }));
    assert_eq!(find(&host, "paranoid is 2").status, Status::Warn);
    assert_eq!(find(&host, "guest instructions").status, Status::Missing);
    let (host, _) = probe(ICELAKE, "", unprivileged(1));
    assert_eq!(host.can_count_guest(), Ok(()));
}

#[test]
fn paranoid_3_of_an_upstream_kernel_is_no_more_than_2() {
    let (host, _) = probe(ICELAKE, "", FakeConfig { strict_paranoid: false, ..unprivileged(3) });
    assert_eq!(host.can_count_user(), Ok(()));
    assert!(matches!(host.can_count_guest(), Err(HostPerfError::Paranoid { allowed: 1, .. })));
    let finding = find(&host, "paranoid is 3: user level only");
    assert_eq!(finding.status, Status::Warn);
}

#[test]
fn sys_admin_lifts_level_3_and_perfmon_does_not() {
    for (perfmon, sys_admin, status) in [(false, true, Status::Ok), (true, false, Status::Missing)] {
        let privileges = Privileges { perfmon, sys_admin };
        let config = FakeConfig { paranoid: 3, privileges, ..FakeConfig::default() };
        let (host, _) = probe(ICELAKE, "", config);
        assert_eq!(host.privileges(), privileges);
        assert_eq!(find(&host, "paranoid is 3").status, status);
        match host.can_count_guest() {
            Ok(()) => assert_eq!(status, Status::Ok),
            Err(refusal) => assert!(matches!(refusal, HostPerfError::Paranoid { level: 3, .. }), "{refusal}"),
        }
    }
}

#[test]
fn rivals_for_the_counters_are_reported() {
    let extra = "proc/sys/kernel/nmi_watchdog = 1\nmodule/kvm_intel/parameters/enable_mediated_pmu = Y";
    let (host, _) = probe(SAPPHIRE_RAPIDS, extra, FakeConfig { mediated_vm: true, ..FakeConfig::default() });
    assert_eq!(find(&host, "NMI watchdog").advice, Some(Advice::FreeCounters));
    assert_eq!(find(&host, "mediated vPMU enabled").status, Status::Warn);
    assert!(matches!(host.can_count_guest(), Err(HostPerfError::MediatedVm { .. })));
}

#[test]
fn rdpmc_that_is_switched_off_is_reported() {
    let (host, _) = probe(SKYLAKE, "", FakeConfig { user_rdpmc: false, ..FakeConfig::default() });
    let advice = find(&host, "RDPMC").advice.unwrap();
    assert_eq!(advice.to_string(), "write 1 to /sys/bus/event_source/devices/cpu/rdpmc");
}

#[test]
fn a_broken_sysfs_is_no_pmu() {
    let (host, _) = probe("bus/event_source/devices/cpu/type = many", "", no_pmu());
    assert!(host.core_pmu().is_none());
}
