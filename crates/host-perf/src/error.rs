//! Why the host cannot count.

use thiserror::Error;

use crate::advice::{Advice, Capability};
use crate::errno::Errno;
use crate::event::{Event, Level};
use crate::spec::MAX_PERIOD;

/// A refusal of the host, or a request that no host would accept.
///
/// The message says what is wrong; [`advice`](Self::advice) is what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HostPerfError {
    /// No core PMU in sysfs.
    #[error("this host has no hardware PMU (no /sys/bus/event_source/devices/cpu)")]
    NoPmu,

    /// There is a PMU, but it does not know the event.
    #[error("the host's PMU does not offer `{event}`")]
    UnknownEvent {
        /// The event.
        event: Event,
    },

    /// The kernel was built without perf, or a sandbox hides the system call.
    #[error("this kernel has no perf_event_open (ENOSYS)")]
    NoPerf,

    /// `kernel.perf_event_paranoid` forbids the event to this process.
    #[error("kernel.perf_event_paranoid is {level} and forbids `{event}` ({})", match .needed {
        Capability::Perfmon => "privilege level 0, also that of a guest",
        Capability::SysAdmin => "any event without privileges",
    })]
    Paranoid {
        /// The event.
        event: Event,
        /// The present level.
        level: i32,
        /// The highest level that would allow it.
        allowed: i32,
        /// The capability that lifts the restriction.
        needed: Capability,
    },

    /// Permission denied although the paranoid level would allow the event.
    #[error("no permission to count `{event}` of thread {tid} (EACCES)")]
    Denied {
        /// The event.
        event: Event,
        /// The thread; 0 is the caller.
        tid: i32,
    },

    /// EPERM: not perf's own check but a filter around the process.
    #[error(
        "perf_event_open is blocked for this process (EPERM), usually by a container's seccomp profile or a \
         security module"
    )]
    Blocked,

    /// The kernel calls the event invalid. The message names the usual cause for such an event.
    #[error("the kernel rejected `{event}` (EINVAL): {}", match .event {
        Event::Slots | Event::Topdown(_) => {
            "slots must lead the group, metrics cannot sample, and nothing else may use fixed counter 3"
        }
        Event::Raw(_) => {
            "a bit of the encoding is reserved on this CPU, or the group needs more counters than exist"
        }
        _ => "the group needs more counters than the PMU has, or the combination of attributes is not supported",
    })]
    Rejected {
        /// The event.
        event: Event,
    },

    /// The counters cannot interrupt.
    #[error("the host's PMU cannot signal overflows of `{event}` (EOPNOTSUPP): it has no interrupt")]
    NoOverflow {
        /// The event.
        event: Event,
    },

    /// A VM with a mediated vPMU owns the counters in guest mode.
    #[error(
        "`{event}` would count in guest mode while a VM with a mediated vPMU owns the counters (EOPNOTSUPP)"
    )]
    MediatedVm {
        /// The event.
        event: Event,
    },

    /// Not supported for another reason.
    #[error("the host does not support `{event}` in this form (EOPNOTSUPP)")]
    Unsupported {
        /// The event.
        event: Event,
    },

    /// Another user holds the resource.
    #[error("the counters that `{event}` needs are taken by another user (EBUSY)")]
    Busy {
        /// The event.
        event: Event,
    },

    /// Out of file descriptors.
    #[error("no file descriptor left for `{event}` ({errno})")]
    TooManyFiles {
        /// The event.
        event: Event,
        /// EMFILE or ENFILE.
        errno: Errno,
    },

    /// The attribute structure, or the group's read size, is too big for the kernel.
    #[error("the kernel is too old for this request, or the group is too large (E2BIG at `{event}`)")]
    TooBig {
        /// The event.
        event: Event,
    },

    /// The group leader is dead or the CPU is offline.
    #[error("`{event}` cannot be opened (ENODEV): its group leader is closed or the CPU is offline")]
    Gone {
        /// The event.
        event: Event,
    },

    /// The thread does not exist (any more).
    #[error("thread {tid} does not exist or has ended (ESRCH)")]
    NoThread {
        /// The thread id.
        tid: i32,
    },

    /// Any other failed system call.
    #[error("{call} failed for `{event}`: {errno}")]
    Os {
        /// What was called.
        call: &'static str,
        /// The event.
        event: Event,
        /// Its errno.
        errno: Errno,
    },

    /// Neither privilege level is selected.
    #[error("`{event}` would count nothing: select at least one of user and kernel")]
    EmptyFilter {
        /// The event.
        event: Event,
    },

    /// The PMU has no such field.
    #[error("PMU {pmu} has no `{field}` field (see its format/ directory in sysfs)")]
    FieldMissing {
        /// Device name.
        pmu: String,
        /// The field.
        field: &'static str,
    },

    /// The value does not fit.
    #[error("{field}={value:#x} does not fit into the {bits} bits that the host's PMU has for it")]
    FieldTooBig {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// Its width on this host.
        bits: u32,
    },

    /// A topdown metric without the slots leader, or a slots group on a host without them.
    #[error("`{event}` counts only in a group led by `slots`, as a SlotsGroup opens it")]
    NeedsSlotsLeader {
        /// The metric.
        event: Event,
    },

    /// The host has no (or not so many) PERF_METRICS fields.
    #[error("this host's PMU has no topdown {wanted} metrics ({})", match .has {
        Some(level) => format!("only {level}"),
        None => "no `slots` event in sysfs".to_owned(),
    })]
    NoTopdown {
        /// What was asked for.
        wanted: Level,
        /// What the host has.
        has: Option<Level>,
    },

    /// Rules for groups.
    #[error("`{event}` cannot be in this group: {rule}")]
    BadGroup {
        /// The offending event.
        event: Event,
        /// The broken rule.
        rule: &'static str,
    },

    /// The period is zero or has bit 63 set.
    #[error("a period of {period} events is out of range: use 1 to {MAX_PERIOD}")]
    BadPeriod {
        /// The value.
        period: u64,
    },

    /// A period was set on an event that was opened without one.
    #[error("`{event}` was opened without a period (EventSpec::period), so it cannot signal overflows")]
    NotSampling {
        /// The event.
        event: Event,
    },

    /// Not a signal number.
    #[error("signal {signal} does not exist: use SIGIO or one of the real-time signals")]
    BadSignal {
        /// The number.
        signal: i32,
    },

    /// A pinned event could not get its counter.
    #[error(
        "pinned `{event}` lost its hardware counter to another user of the PMU, such as the NMI watchdog, and counts \
         again once it is enabled again"
    )]
    PinnedEvicted {
        /// The event.
        event: Event,
    },

    /// The kernel answered in a form that the request excludes.
    #[error("unexpected answer when reading `{event}`: {what}")]
    BadRead {
        /// The event.
        event: Event,
        /// What is wrong.
        what: &'static str,
    },

    /// User-space RDPMC is switched off, or the architecture has none.
    #[error("`{event}` cannot be read with RDPMC from user space (cap_user_rdpmc is 0)")]
    NoUserRdpmc {
        /// The event.
        event: Event,
        /// Device name of the core PMU.
        pmu: String,
    },

    /// RDPMC reads the counters of the CPU it runs on, so only the counted thread itself may use it.
    #[error(
        "`{event}` counts thread {target}, so RDPMC can read it on that thread only, not on thread {caller}"
    )]
    WrongThread {
        /// The event.
        event: Event,
        /// The counted thread.
        target: i32,
        /// The calling thread.
        caller: i32,
    },

    /// The event is not on the PMU at this moment (disabled, or multiplexed out).
    #[error("`{event}` is disabled or not on the PMU at this moment (index 0)")]
    NotOnPmu {
        /// The event.
        event: Event,
    },

    /// The page changed during every attempt.
    #[error("the kernel kept changing the page of `{event}` while it was read")]
    Contended {
        /// The event.
        event: Event,
    },
}

impl HostPerfError {
    /// What the user can do about it; `None` where the request or the kernel's answer is at fault, not the host.
    pub fn advice(&self) -> Option<Advice> {
        Some(match self {
            Self::NoPmu => Advice::UseHostWithPmu,
            Self::UnknownEvent { .. } | Self::Unsupported { .. } => Advice::CountAnotherEvent,
            Self::NoPerf => Advice::UseKernelWithPerf,
            Self::Paranoid { allowed, needed, .. } => {
                Advice::LowerParanoid { level: *allowed, capability: *needed }
            }
            Self::Denied { .. } => Advice::RunAsThreadOwner,
            Self::Blocked => Advice::AllowSystemCall,
            Self::MediatedVm { .. } => Advice::DisableMediatedPmu,
            Self::Busy { .. } | Self::PinnedEvicted { .. } => Advice::FreeCounters,
            Self::TooManyFiles { .. } => Advice::RaiseFileLimit,
            Self::TooBig { .. } => Advice::CountFewerEvents,
            Self::NoTopdown { wanted, .. } => Advice::UseHostWithMetrics(*wanted),
            Self::NoUserRdpmc { pmu, .. } => Advice::EnableRdpmc { pmu: pmu.clone() },
            Self::NotOnPmu { .. } | Self::Contended { .. } => Advice::ReadBySystemCall,
            Self::Rejected { .. }
            | Self::NoOverflow { .. }
            | Self::Gone { .. }
            | Self::NoThread { .. }
            | Self::Os { .. }
            | Self::EmptyFilter { .. }
            | Self::FieldMissing { .. }
            | Self::FieldTooBig { .. }
            | Self::NeedsSlotsLeader { .. }
            | Self::BadGroup { .. }
            | Self::BadPeriod { .. }
            | Self::NotSampling { .. }
            | Self::BadSignal { .. }
            | Self::BadRead { .. }
            | Self::WrongThread { .. } => return None,
        })
    }

    /// Cause and advice in one sentence, for a log.
    pub fn with_advice(&self) -> String {
        match self.advice() {
            Some(advice) => format!("{self}; {advice}"),
            None => self.to_string(),
        }
    }

    /// Explains a failed operation on an open event.
    pub(crate) fn on_event(call: &'static str, event: Event, errno: Errno) -> Self {
        match errno.0 {
            libc::ENOSPC => {
                Self::BadRead { event, what: "the group is larger than the read buffer (ENOSPC)" }
            }
            _ => Self::Os { call, event, errno },
        }
    }
}
