//! Why the host cannot count, in words that say what to do next.

use thiserror::Error;

use crate::errno::Errno;
use crate::event::{Event, Level};
use crate::probe::HostPmu;
use crate::spec::{EventSpec, Scope};

/// Separates cause and next step in a message.
const STEP: &str = "; ";

/// A refusal of the host, or a request that no host would accept.
///
/// The message is "what is wrong; what to do".
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HostPerfError {
    /// No core PMU in sysfs.
    #[error(
        "this host has no hardware PMU (no /sys/bus/event_source/devices/cpu); \
         use a host that shows its PMU: bare metal, or a virtual machine with a virtual PMU"
    )]
    NoPmu,

    /// There is a PMU, but it does not know the event.
    #[error("the host's PMU does not offer `{event}`; count another event or use another host")]
    UnknownEvent {
        /// The event.
        event: Event,
    },

    /// The kernel was built without perf, or a sandbox hides the system call.
    #[error(
        "this kernel has no perf_event_open (ENOSYS); use a kernel with CONFIG_PERF_EVENTS, outside a sandbox"
    )]
    NoPerf,

    /// `kernel.perf_event_paranoid` forbids the event to this process.
    #[error(
        "kernel.perf_event_paranoid is {level} and forbids `{event}` ({what}); \
         run `sysctl kernel.perf_event_paranoid={allowed}` or give the process {capability}"
    )]
    Paranoid {
        /// The event.
        event: Event,
        /// The present level.
        level: i32,
        /// The highest level that would allow it.
        allowed: i32,
        /// What the level forbids.
        what: &'static str,
        /// The capability that lifts the restriction.
        capability: &'static str,
    },

    /// Permission denied although the paranoid level would allow the event.
    #[error(
        "no permission to count `{event}` of thread {tid} (EACCES); \
         run as the owner of that thread, or give the process CAP_PERFMON"
    )]
    Denied {
        /// The event.
        event: Event,
        /// The thread; 0 is the caller.
        tid: i32,
    },

    /// EPERM: not perf's own check but a filter around the process.
    #[error(
        "perf_event_open is blocked for this process (EPERM), usually by a container's seccomp profile or a \
         security module; allow the system call or give the process CAP_PERFMON"
    )]
    Blocked,

    /// The kernel calls the event invalid.
    #[error("the kernel rejected `{event}` (EINVAL): {hint}")]
    Rejected {
        /// The event.
        event: Event,
        /// The usual cause for such an event.
        hint: &'static str,
    },

    /// The counters cannot interrupt.
    #[error(
        "the host's PMU cannot signal overflows of `{event}` (EOPNOTSUPP): it has no interrupt; count without a period"
    )]
    NoOverflow {
        /// The event.
        event: Event,
    },

    /// A VM with a mediated vPMU owns the counters in guest mode.
    #[error(
        "`{event}` would count in guest mode while a VM with a mediated vPMU owns the counters (EOPNOTSUPP); \
         stop that VM, or reload kvm_intel/kvm_amd with enable_mediated_pmu=0"
    )]
    MediatedVm {
        /// The event.
        event: Event,
    },

    /// Not supported for another reason.
    #[error("the host does not support `{event}` in this form (EOPNOTSUPP); count another event")]
    Unsupported {
        /// The event.
        event: Event,
    },

    /// Somebody else holds the resource.
    #[error(
        "the counters that `{event}` needs are taken by another user (EBUSY); stop other profilers and try again"
    )]
    Busy {
        /// The event.
        event: Event,
    },

    /// Out of file descriptors.
    #[error(
        "no file descriptor left for `{event}` ({errno}); raise `ulimit -n` (each event of each vCPU needs one)"
    )]
    TooManyFiles {
        /// The event.
        event: Event,
        /// EMFILE or ENFILE.
        errno: Errno,
    },

    /// The attribute structure, or the group's read size, is too big for the kernel.
    #[error(
        "the kernel is too old for this request, or the group is too large (E2BIG at `{event}`); use fewer events"
    )]
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
    #[error("thread {tid} does not exist (ESRCH); open its events while it runs")]
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
    #[error("`{event}` counts only in a group led by `slots`; open a SlotsGroup")]
    NeedsSlotsLeader {
        /// The metric.
        event: Event,
    },

    /// The host has no (or not so many) PERF_METRICS fields.
    #[error("this host's PMU has no topdown {wanted} metrics ({}); use {}",
        match .has { Some(level) => format!("only {level}"), None => "no `slots` event in sysfs".to_owned() },
        match .has { Some(level) => level.to_string(), None => "Ice Lake or later big cores".to_owned() })]
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
    #[error("a period of {period} events is out of range: use 1 to {}", crate::MAX_PERIOD)]
    BadPeriod {
        /// The value.
        period: u64,
    },

    /// A period was set on an event that was opened without one.
    #[error(
        "`{event}` was opened without a period, so it cannot signal overflows; open it with EventSpec::period"
    )]
    NotSampling {
        /// The event.
        event: Event,
    },

    /// Not a signal number.
    #[error("signal {signal} does not exist; use SIGIO or one of the real-time signals")]
    BadSignal {
        /// The number.
        signal: i32,
    },

    /// A pinned event could not get its counter.
    #[error(
        "pinned `{event}` lost its hardware counter (other users of the PMU, such as the NMI watchdog, hold it); \
         run `sysctl kernel.nmi_watchdog=0`, stop other profilers, then enable the event again"
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
    #[error(
        "`{event}` cannot be read with RDPMC from user space (cap_user_rdpmc is 0); \
         write 1 to /sys/bus/event_source/devices/cpu/rdpmc or read it by system call"
    )]
    NoUserRdpmc {
        /// The event.
        event: Event,
    },

    /// RDPMC reads the counters of the CPU it runs on, so only the counted thread itself may use it.
    #[error(
        "`{event}` counts thread {target}, but thread {caller} wants to read it with RDPMC; read it on its own thread"
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
    #[error("`{event}` is not on the PMU at this moment (index 0); enable it, or read it by system call")]
    NotOnPmu {
        /// The event.
        event: Event,
    },

    /// The page changed during every attempt.
    #[error("the kernel kept changing the page of `{event}` while it was read; read it by system call")]
    Contended {
        /// The event.
        event: Event,
    },
}

impl HostPerfError {
    /// The first part of the message: what is wrong.
    pub fn cause(&self) -> String {
        let mut text = self.to_string();
        text.truncate(text.find(STEP).unwrap_or(text.len()));
        text
    }

    /// The second part of the message: what the user can do, if anything.
    pub fn next_step(&self) -> Option<String> {
        self.to_string().split_once(STEP).map(|(_, step)| step.to_owned())
    }

    /// Explains a failed `perf_event_open` of `spec`.
    pub(crate) fn open(errno: Errno, spec: &EventSpec, host: &HostPmu) -> Self {
        let event = spec.event;
        let tid = spec.target.tid();
        match errno.0 {
            // The kernel looks at permissions first; lifting them would not make a PMU appear.
            libc::ENOENT | libc::EACCES if event.is_hardware() && host.core_pmu().is_none() => Self::NoPmu,
            libc::ENOENT => Self::UnknownEvent { event },
            libc::ENOSYS => Self::NoPerf,
            libc::EACCES => Self::paranoid(spec, host).unwrap_or(Self::Denied { event, tid }),
            libc::EPERM => Self::Blocked,
            libc::EINVAL => Self::Rejected { event, hint: invalid_hint(event) },
            libc::EOPNOTSUPP if !event.is_hardware() => Self::Unsupported { event },
            // The kernel refuses guest-mode events while a mediated VM exists; ask for the likelier cause first.
            libc::EOPNOTSUPP if spec.scope != Scope::HostOnly && host.mediated_pmu() => {
                Self::MediatedVm { event }
            }
            libc::EOPNOTSUPP if spec.period != 0 => Self::NoOverflow { event },
            libc::EOPNOTSUPP => Self::Unsupported { event },
            libc::EBUSY => Self::Busy { event },
            libc::EMFILE | libc::ENFILE => Self::TooManyFiles { event, errno },
            libc::E2BIG => Self::TooBig { event },
            libc::ENODEV => Self::Gone { event },
            libc::ESRCH => Self::NoThread { tid },
            _ => Self::Os { call: "perf_event_open", event, errno },
        }
    }

    /// The paranoid level as the reason for an EACCES, if it can be.
    fn paranoid(spec: &EventSpec, host: &HostPmu) -> Option<Self> {
        let level = host.paranoid()?;
        let held = host.privileges();
        let (allowed, what, capability) = if level >= 3 && !held.sys_admin {
            // Distribution kernels only; some of them also accept CAP_PERFMON here.
            (if spec.filter.os { 1 } else { 2 }, "any event without privileges", "CAP_SYS_ADMIN")
        } else if level >= 2 && spec.filter.os && !held.perfmon && !held.sys_admin {
            (1, "privilege level 0, also that of a guest", "CAP_PERFMON")
        } else {
            return None;
        };
        Some(Self::Paranoid { event: spec.event, level, allowed, what, capability })
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

fn invalid_hint(event: Event) -> &'static str {
    match event {
        Event::Slots | Event::Topdown(_) => {
            "slots must lead the group, metrics cannot sample, and nothing else may use fixed counter 3"
        }
        Event::Raw(_) => {
            "a bit of the encoding is reserved on this CPU, or the group needs more counters than exist"
        }
        _ => {
            "the group needs more counters than the PMU has, or the combination of attributes is not supported"
        }
    }
}
