//! What this host can count, from sysfs, procfs and a few trial events.

mod attr;
mod core_pmu;
mod findings;
mod refusal;

use std::fs;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(test)]
pub(crate) use attr::Place;
pub(crate) use attr::{READ_GROUP, READ_SINGLE};
use core_pmu::{CORE_PMUS, DEVICES, number, text};
pub use core_pmu::{CorePmu, Format, Formats};
pub use findings::{Finding, Status};

use crate::error::HostPerfError;
use crate::event::{Event, Level, SoftwareEvent};
use crate::kernel::{LinuxSys, PerfFd, PerfSys};
use crate::spec::EventSpec;

/// Where sysfs and procfs are mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// Usually `/sys`.
    pub sysfs: PathBuf,
    /// Usually `/proc`.
    pub procfs: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Roots { sysfs: "/sys".into(), procfs: "/proc".into() }
    }
}

/// Effective capabilities that matter for perf. Those of a user namespace do not help; the trial opens tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Privileges {
    /// CAP_PERFMON (Linux 5.8 and later).
    pub perfmon: bool,
    /// CAP_SYS_ADMIN.
    pub sys_admin: bool,
}

impl Privileges {
    /// From the mask that `CapEff` in `/proc/self/status` shows.
    pub fn from_mask(mask: u64) -> Self {
        const CAP_SYS_ADMIN: u32 = 21;
        const CAP_PERFMON: u32 = 38;
        Privileges { perfmon: mask >> CAP_PERFMON & 1 != 0, sys_admin: mask >> CAP_SYS_ADMIN & 1 != 0 }
    }

    fn read(procfs: &Path) -> Self {
        let status = text(&procfs.join("self/status")).unwrap_or_default();
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("CapEff:"))
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        Self::from_mask(mask.unwrap_or(0))
    }
}

/// A host, examined once. All events are opened through it, so that a refusal can be explained.
#[derive(Debug)]
pub struct HostPmu {
    sys: Arc<dyn PerfSys>,
    core: Option<CorePmu>,
    small_cores: Vec<String>,
    paranoid: Option<i32>,
    privileges: Privileges,
    nmi_watchdog: bool,
    mediated_pmu: bool,
    trials: Trials,
}

/// Results of opening (and closing) an event for the calling thread.
#[derive(Debug)]
struct Trials {
    /// `task-clock`: does perf work at all?
    software: Result<(), HostPerfError>,
    /// `instructions` above privilege level 0.
    user: Result<(), HostPerfError>,
    /// `instructions` at all levels in guest mode: what a virtual PMU needs.
    guest: Result<(), HostPerfError>,
}

impl HostPmu {
    /// Examines the running system. Never fails: what is missing becomes a [finding](Self::findings).
    pub fn detect() -> Self {
        Self::detect_in(&Roots::default(), Arc::new(LinuxSys))
    }

    /// Examines the system described by `roots`, with `sys` as its kernel.
    pub fn detect_in(roots: &Roots, sys: Arc<dyn PerfSys>) -> Self {
        let Roots { sysfs, procfs } = roots;
        let mut host = HostPmu {
            sys,
            core: CORE_PMUS.iter().find_map(|name| CorePmu::read(sysfs, name)),
            small_cores: small_cores(sysfs),
            paranoid: number(&procfs.join("sys/kernel/perf_event_paranoid")),
            privileges: Privileges::read(procfs),
            nmi_watchdog: number(&procfs.join("sys/kernel/nmi_watchdog")) == Some(1),
            mediated_pmu: ["kvm_intel", "kvm_amd"].iter().any(|module| {
                let parameter = sysfs.join("module").join(module).join("parameters/enable_mediated_pmu");
                matches!(text(&parameter).as_deref(), Some("Y" | "1"))
            }),
            trials: Trials { software: Ok(()), user: Ok(()), guest: Ok(()) },
        };
        // After the rest: the reasons for a refusal come from it.
        let attempt = |spec: EventSpec| host.open(&spec, None, READ_SINGLE).map(drop);
        let instructions = EventSpec::new(Event::Instructions);
        host.trials = Trials {
            software: attempt(EventSpec::new(Event::Software(SoftwareEvent::TaskClock)).user_only()),
            user: attempt(instructions.user_only()),
            guest: attempt(instructions.guest_only()),
        };
        log::debug!("host PMU: {host:?}");
        host
    }

    /// The PMU of the (big) cores.
    pub fn core_pmu(&self) -> Option<&CorePmu> {
        self.core.as_ref()
    }

    /// PMUs of other core types on a hybrid host, for example `cpu_atom`.
    pub fn small_cores(&self) -> &[String] {
        &self.small_cores
    }

    /// How many topdown metrics can be counted; `None` without the slots event.
    pub fn topdown_level(&self) -> Option<Level> {
        self.core.as_ref().and_then(CorePmu::topdown_level)
    }

    /// `kernel.perf_event_paranoid`, -1 to 4; `None` when the kernel has no perf.
    pub fn paranoid(&self) -> Option<i32> {
        self.paranoid
    }

    /// The capabilities of this process.
    pub fn privileges(&self) -> Privileges {
        self.privileges
    }

    /// Whether the NMI watchdog occupies a counter.
    pub fn nmi_watchdog(&self) -> bool {
        self.nmi_watchdog
    }

    /// Whether KVM may give the hardware counters to guests (Linux 7.0 and later).
    pub fn mediated_pmu(&self) -> bool {
        self.mediated_pmu
    }

    /// Whether guest work can be counted here: instructions at all privilege levels in guest mode.
    ///
    /// # Errors
    /// The reason why not.
    pub fn can_count_guest(&self) -> Result<(), HostPerfError> {
        self.trials.guest.clone()
    }

    /// Whether the calling process can count its own instructions above privilege level 0.
    ///
    /// # Errors
    /// The reason why not.
    pub fn can_count_user(&self) -> Result<(), HostPerfError> {
        self.trials.user.clone()
    }

    /// Everything above as a list for humans, in the order in which to fix it.
    pub fn findings(&self) -> Vec<Finding> {
        findings::of(self, &self.trials)
    }

    /// Opens an event, as a sibling of `leader` if there is one, and explains a refusal.
    pub(crate) fn open(
        &self,
        spec: &EventSpec,
        leader: Option<RawFd>,
        read_format: u64,
    ) -> Result<Box<dyn PerfFd>, HostPerfError> {
        let place = if leader.is_none() { attr::Place::Leader } else { attr::Place::Sibling };
        let mut attr = spec.attr(self.core_pmu(), place, read_format)?;
        self.sys
            .open(&mut attr, spec.target.tid(), leader)
            .map_err(|errno| refusal::explain(errno, spec, self))
    }

    /// Kernel id of the calling thread.
    pub(crate) fn current_tid(&self) -> i32 {
        self.sys.current_tid()
    }
}

fn small_cores(sysfs: &Path) -> Vec<String> {
    let entries = fs::read_dir(sysfs.join(DEVICES)).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with("cpu_") && !CORE_PMUS.contains(&name.as_str()))
        .collect();
    names.sort();
    names
}
