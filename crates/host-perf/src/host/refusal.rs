//! Why the kernel refused to open an event, from its errno and what is known of the host.

use super::HostPmu;
use crate::advice::Capability;
use crate::errno::Errno;
use crate::error::HostPerfError;
use crate::spec::{EventSpec, Scope};

/// Explains a failed `perf_event_open` of `spec`.
pub(super) fn explain(errno: Errno, spec: &EventSpec, host: &HostPmu) -> HostPerfError {
    let event = spec.event;
    let tid = spec.target.tid();
    match errno.0 {
        // The kernel looks at permissions first; lifting them would not make a PMU appear.
        libc::ENOENT | libc::EACCES if event.is_hardware() && host.core_pmu().is_none() => {
            HostPerfError::NoPmu
        }
        libc::ENOENT => HostPerfError::UnknownEvent { event },
        libc::ENOSYS => HostPerfError::NoPerf,
        libc::EACCES => paranoid(spec, host).unwrap_or(HostPerfError::Denied { event, tid }),
        libc::EPERM => HostPerfError::Blocked,
        libc::EINVAL => HostPerfError::Rejected { event },
        libc::EOPNOTSUPP if !event.is_hardware() => HostPerfError::Unsupported { event },
        // The kernel refuses guest-mode events while a mediated VM exists; ask for the likelier cause first.
        libc::EOPNOTSUPP if spec.scope != Scope::HostOnly && host.mediated_pmu() => {
            HostPerfError::MediatedVm { event }
        }
        libc::EOPNOTSUPP if spec.period != 0 => HostPerfError::NoOverflow { event },
        libc::EOPNOTSUPP => HostPerfError::Unsupported { event },
        libc::EBUSY => HostPerfError::Busy { event },
        libc::EMFILE | libc::ENFILE => HostPerfError::TooManyFiles { event, errno },
        libc::E2BIG => HostPerfError::TooBig { event },
        libc::ENODEV => HostPerfError::Gone { event },
        libc::ESRCH => HostPerfError::NoThread { tid },
        _ => HostPerfError::Os { call: "perf_event_open", event, errno },
    }
}

/// The paranoid level as the reason for an EACCES, if it can be.
fn paranoid(spec: &EventSpec, host: &HostPmu) -> Option<HostPerfError> {
    let level = host.paranoid()?;
    let held = host.privileges();
    let (allowed, needed) = if level >= 3 && !held.sys_admin {
        // Distribution kernels only; some of them also accept CAP_PERFMON here.
        (if spec.filter.os { 1 } else { 2 }, Capability::SysAdmin)
    } else if level >= 2 && spec.filter.os && !held.perfmon && !held.sys_admin {
        (1, Capability::Perfmon)
    } else {
        return None;
    };
    Some(HostPerfError::Paranoid { event: spec.event, level, allowed, needed })
}
