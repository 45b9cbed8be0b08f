//! The probe's results for a `doctor` command: what works, what does not, and what to do about it.

use std::fmt;

use crate::error::HostPerfError;
use crate::event::Level;
use crate::probe::{HostPmu, Trials};
use crate::sysfs::CorePmu;

/// How good a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Works.
    Ok,
    /// Works with a limit.
    Warn,
    /// Does not work.
    Missing,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Missing => "missing",
        })
    }
}

/// One fact about the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How good it is.
    pub status: Status,
    /// The fact.
    pub what: String,
    /// What the user can do, when there is something to do.
    pub next_step: Option<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:7} {}", self.status, self.what)?;
        match &self.next_step {
            Some(step) => write!(f, "; {step}"),
            None => Ok(()),
        }
    }
}

fn ok(what: impl Into<String>) -> Finding {
    Finding { status: Status::Ok, what: what.into(), next_step: None }
}

fn with_step(status: Status, what: impl Into<String>, step: impl Into<String>) -> Finding {
    Finding { status, what: what.into(), next_step: Some(step.into()) }
}

fn refused(status: Status, what: &str, error: &HostPerfError) -> Finding {
    Finding { status, what: format!("{what}: {}", error.cause()), next_step: error.next_step() }
}

pub(crate) fn of(host: &HostPmu, trials: &Trials) -> Vec<Finding> {
    let mut list = Vec::new();
    list.push(match &trials.software {
        Ok(()) => ok("perf_event_open works (software event task-clock)"),
        Err(error) => refused(Status::Missing, "perf_event_open", error),
    });
    list.push(paranoid(host, trials));
    let Some(pmu) = host.core_pmu() else {
        let error = HostPerfError::NoPmu;
        list.push(Finding { status: Status::Missing, what: error.cause(), next_step: error.next_step() });
        return list;
    };
    list.push(ok(describe(pmu)));
    list.extend(hybrid(host, pmu));
    list.push(match &trials.user {
        Ok(()) => ok("counting own instructions at user level"),
        Err(error) => refused(Status::Missing, "counting own instructions at user level", error),
    });
    list.push(match &trials.guest {
        Ok(()) => ok("counting guest instructions at all privilege levels"),
        Err(error) => refused(Status::Missing, "counting guest instructions at all privilege levels", error),
    });
    list.push(topdown(pmu));
    list.push(rdpmc(pmu));
    if host.nmi_watchdog() {
        list.push(with_step(
            Status::Warn,
            "the NMI watchdog occupies a counter, so event groups may be multiplexed",
            "run `sysctl kernel.nmi_watchdog=0` while measuring",
        ));
    }
    if host.mediated_pmu() {
        list.push(with_step(
            Status::Warn,
            "KVM has its mediated vPMU enabled: while such a VM runs, guest mode cannot be counted",
            "reload kvm_intel or kvm_amd with enable_mediated_pmu=0 to use host counts",
        ));
    }
    list
}

fn describe(pmu: &CorePmu) -> String {
    let mut text = format!("hardware PMU `{}`, type {}", pmu.name, pmu.pmu_type);
    if let Some(model) = &pmu.model {
        text += &format!(", {model}");
    }
    if let Some(branches) = pmu.branches {
        text += &format!(", {branches} branch records");
    }
    if let Some(precise) = pmu.max_precise {
        text += &format!(", max_precise {precise}");
    }
    text
}

fn paranoid(host: &HostPmu, trials: &Trials) -> Finding {
    let Some(level) = host.paranoid() else {
        return with_step(
            Status::Missing,
            "no /proc/sys/kernel/perf_event_paranoid: this kernel has no perf",
            "use a kernel with CONFIG_PERF_EVENTS",
        );
    };
    let held = host.privileges();
    let privileged = held.sys_admin || held.perfmon;
    let name = "kernel.perf_event_paranoid";
    match level {
        ..=1 => ok(format!("{name} is {level}")),
        _ if held.sys_admin || (level == 2 && privileged) => {
            let capability = if held.perfmon { "CAP_PERFMON" } else { "CAP_SYS_ADMIN" };
            ok(format!("{name} is {level}, lifted by {capability}"))
        }
        // Level 3 is a patch of distributions; the upstream kernel accepts the number and does as for 2.
        _ if level == 2 || trials.software.is_ok() => with_step(
            Status::Warn,
            format!("{name} is {level}: user level only, so not ring 0 of a guest"),
            format!("run `sysctl {name}=1` or give the process CAP_PERFMON"),
        ),
        _ => with_step(
            Status::Missing,
            format!("{name} is {level}: no events without privileges"),
            format!("run `sysctl {name}=1` or give the process CAP_SYS_ADMIN"),
        ),
    }
}

fn hybrid(host: &HostPmu, pmu: &CorePmu) -> Option<Finding> {
    if !pmu.is_hybrid() {
        return None;
    }
    let cpus = pmu.cpus.as_deref().unwrap_or("of the big cores");
    Some(with_step(
        Status::Warn,
        format!(
            "hybrid host: `{}` counts on CPUs {cpus} only (others: {})",
            pmu.name,
            host.small_cores().join(", ")
        ),
        format!("pin the vCPU threads: `taskset -c {cpus} ...`"),
    ))
}

fn topdown(pmu: &CorePmu) -> Finding {
    match pmu.topdown_level() {
        Some(Level::Two) => ok("slots and 8 topdown metrics (level 2)"),
        Some(Level::One) => ok("slots and 4 topdown metrics (level 1)"),
        None => with_step(
            Status::Warn,
            "no slots event: PERF_METRICS cannot be backed by this host",
            "use a host with Ice Lake or later big cores",
        ),
    }
}

fn rdpmc(pmu: &CorePmu) -> Finding {
    match pmu.rdpmc {
        Some(1 | 2) => ok("RDPMC from user space (raw PERF_METRICS)"),
        _ => with_step(
            Status::Warn,
            "RDPMC from user space is switched off: metrics are converted by the kernel",
            format!("write 1 to /sys/bus/event_source/devices/{}/rdpmc", pmu.name),
        ),
    }
}
