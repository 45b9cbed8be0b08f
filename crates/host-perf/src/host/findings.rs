//! What works on a host, what does not, and what to do about it.

use std::fmt;

use super::core_pmu::CorePmu;
use super::{HostPmu, Trials};
use crate::advice::{Advice, Capability};
use crate::error::HostPerfError;
use crate::event::Level;

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
    pub advice: Option<Advice>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:7} {}", self.status, self.what)?;
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

fn ok(what: impl Into<String>) -> Finding {
    Finding { status: Status::Ok, what: what.into(), advice: None }
}

fn limited(status: Status, what: impl Into<String>, advice: Advice) -> Finding {
    Finding { status, what: what.into(), advice: Some(advice) }
}

fn refused(status: Status, what: &str, error: &HostPerfError) -> Finding {
    Finding { status, what: format!("{what}: {error}"), advice: error.advice() }
}

pub(super) fn of(host: &HostPmu, trials: &Trials) -> Vec<Finding> {
    let mut list = Vec::new();
    list.push(match &trials.software {
        Ok(()) => ok("perf_event_open works (software event task-clock)"),
        Err(error) => refused(Status::Missing, "perf_event_open", error),
    });
    list.push(paranoid(host, trials));
    let Some(pmu) = host.core_pmu() else {
        let error = HostPerfError::NoPmu;
        list.push(Finding { status: Status::Missing, what: error.to_string(), advice: error.advice() });
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
        list.push(limited(
            Status::Warn,
            "the NMI watchdog occupies a counter, so event groups may be multiplexed",
            Advice::FreeCounters,
        ));
    }
    if host.mediated_pmu() {
        list.push(limited(
            Status::Warn,
            "KVM has its mediated vPMU enabled: while such a VM runs, guest mode cannot be counted",
            Advice::DisableMediatedPmu,
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
        return limited(
            Status::Missing,
            "no /proc/sys/kernel/perf_event_paranoid: this kernel has no perf",
            Advice::UseKernelWithPerf,
        );
    };
    let held = host.privileges();
    let privileged = held.sys_admin || held.perfmon;
    let name = "kernel.perf_event_paranoid";
    match level {
        ..=1 => ok(format!("{name} is {level}")),
        _ if held.sys_admin || (level == 2 && privileged) => {
            let capability = if held.perfmon { Capability::Perfmon } else { Capability::SysAdmin };
            ok(format!("{name} is {level}, lifted by {capability}"))
        }
        // Level 3 is a patch of distributions; the upstream kernel accepts the number and does as for 2.
        _ if level == 2 || trials.software.is_ok() => limited(
            Status::Warn,
            format!("{name} is {level}: user level only, so not ring 0 of a guest"),
            Advice::LowerParanoid { level: 1, capability: Capability::Perfmon },
        ),
        _ => limited(
            Status::Missing,
            format!("{name} is {level}: no events without privileges"),
            Advice::LowerParanoid { level: 1, capability: Capability::SysAdmin },
        ),
    }
}

fn hybrid(host: &HostPmu, pmu: &CorePmu) -> Option<Finding> {
    if !pmu.is_hybrid() {
        return None;
    }
    let cpus = pmu.cpus.as_deref().unwrap_or("of the big cores");
    Some(limited(
        Status::Warn,
        format!(
            "hybrid host: `{}` counts on CPUs {cpus} only (others: {})",
            pmu.name,
            host.small_cores().join(", ")
        ),
        Advice::PinThreads { cpus: cpus.to_owned() },
    ))
}

fn topdown(pmu: &CorePmu) -> Finding {
    match pmu.topdown_level() {
        Some(Level::Two) => ok("slots and 8 topdown metrics (level 2)"),
        Some(Level::One) => ok("slots and 4 topdown metrics (level 1)"),
        None => limited(
            Status::Warn,
            "no slots event: PERF_METRICS cannot be backed by this host",
            Advice::UseHostWithMetrics(Level::One),
        ),
    }
}

fn rdpmc(pmu: &CorePmu) -> Finding {
    match pmu.rdpmc {
        Some(1 | 2) => ok("RDPMC from user space (raw PERF_METRICS)"),
        _ => limited(
            Status::Warn,
            "RDPMC from user space is switched off: metrics are converted by the kernel",
            Advice::EnableRdpmc { pmu: pmu.name.clone() },
        ),
    }
}
