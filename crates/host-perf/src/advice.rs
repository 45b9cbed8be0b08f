//! What the user of a host can do so that it counts.

use std::fmt;

use crate::event::Level;

/// A capability that lifts a restriction of `kernel.perf_event_paranoid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// CAP_PERFMON (Linux 5.8 and later): levels up to 2.
    Perfmon,
    /// CAP_SYS_ADMIN: all levels, also level 3 of distribution kernels.
    SysAdmin,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Capability::Perfmon => "CAP_PERFMON",
            Capability::SysAdmin => "CAP_SYS_ADMIN",
        })
    }
}

/// What would make the host count. Displayed as an imperative without a full stop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// The host shows no hardware PMU.
    UseHostWithPmu,
    /// The host's PERF_METRICS has fewer fields, or there is none.
    UseHostWithMetrics(Level),
    /// The kernel was built without perf, or hides it.
    UseKernelWithPerf,
    /// The PMU cannot count the event.
    CountAnotherEvent,
    /// The group is larger than the kernel takes.
    CountFewerEvents,
    /// `kernel.perf_event_paranoid` is above `level`.
    LowerParanoid {
        /// The highest level that allows the event.
        level: i32,
        /// The capability that lifts the restriction instead.
        capability: Capability,
    },
    /// The thread belongs to another user.
    RunAsThreadOwner,
    /// A filter around the process refuses the system call.
    AllowSystemCall,
    /// KVM gives the hardware counters to guests.
    DisableMediatedPmu,
    /// Other users of the PMU hold counters.
    FreeCounters,
    /// Out of file descriptors.
    RaiseFileLimit,
    /// RDPMC from user space is switched off.
    EnableRdpmc {
        /// The PMU's device name in sysfs.
        pmu: String,
    },
    /// The page of the event cannot be used now.
    ReadBySystemCall,
    /// Only the big cores of a hybrid host have the counters.
    PinThreads {
        /// The big cores, as in sysfs: `0-15`.
        cpus: String,
    },
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Advice::UseHostWithPmu => {
                "use a host that shows its PMU: bare metal, or a virtual machine with a virtual PMU"
            }
            Advice::UseHostWithMetrics(Level::One) => "use a host with Ice Lake or later big cores",
            Advice::UseHostWithMetrics(Level::Two) => {
                "use a host with Golden Cove or later big cores, such as Sapphire Rapids"
            }
            Advice::UseKernelWithPerf => "use a kernel with CONFIG_PERF_EVENTS, outside a sandbox",
            Advice::CountAnotherEvent => "count another event or use another host",
            Advice::CountFewerEvents => "use fewer events",
            Advice::LowerParanoid { level, capability } => {
                return write!(
                    f,
                    "run `sysctl kernel.perf_event_paranoid={level}` or give the process {capability}"
                );
            }
            Advice::RunAsThreadOwner => "run as the owner of that thread, or give the process CAP_PERFMON",
            Advice::AllowSystemCall => "allow the system call or give the process CAP_PERFMON",
            Advice::DisableMediatedPmu => {
                "stop VMs with a mediated vPMU, or reload kvm_intel or kvm_amd with enable_mediated_pmu=0"
            }
            Advice::FreeCounters => {
                "stop other profilers, and the NMI watchdog with `sysctl kernel.nmi_watchdog=0`"
            }
            Advice::RaiseFileLimit => "raise `ulimit -n` (each event of each vCPU needs one)",
            Advice::EnableRdpmc { pmu } => {
                return write!(f, "write 1 to /sys/bus/event_source/devices/{pmu}/rdpmc");
            }
            Advice::ReadBySystemCall => "read it by system call",
            Advice::PinThreads { cpus } => return write!(f, "pin the vCPU threads: `taskset -c {cpus} ...`"),
        })
    }
}
