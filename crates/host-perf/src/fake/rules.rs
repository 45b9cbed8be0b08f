//! What `perf_event_open` checks, roughly in the order of `kernel/events/core.c` and
//! `arch/x86/events/intel/core.c`.

use std::os::fd::RawFd;

use perf_event_open_sys::bindings as sys;

use super::State;
use super::hardware::{FakeEvent, Kind};
use crate::errno::Errno;
use crate::event::{Metric, SLOTS_CONFIG};
use crate::kernel::perf_event_attr;

const SIGN: u64 = 1 << 63;

impl State {
    pub(super) fn open(
        &mut self,
        attr: &perf_event_attr,
        tid: i32,
        leader: Option<RawFd>,
    ) -> Result<RawFd, Errno> {
        if let Some(errno) = self.refusals.pop() {
            return Err(errno);
        }
        self.permit(attr)?;
        if attr.sample_period & SIGN != 0 {
            return Err(Errno(libc::EINVAL));
        }
        if self.events.len() >= self.config.max_files {
            return Err(Errno(libc::EMFILE));
        }
        let tid = if tid == 0 { self.current } else { tid };
        if self.config.foreign_threads.contains(&tid) && !self.config.privileges.perfmon {
            return Err(Errno(libc::EACCES));
        }
        if !self.config.threads.contains(&tid) && !self.config.foreign_threads.contains(&tid) {
            return Err(Errno(libc::ESRCH));
        }
        let kind = self.kind(attr)?;
        if let Some(leader) = leader {
            self.join(attr, kind, tid, leader)?;
        } else if matches!(kind, Kind::Metric(_)) {
            return Err(Errno(libc::EINVAL));
        }
        let fd = self.next;
        self.next += 1;
        self.events.insert(fd, FakeEvent::new(attr, kind, tid, leader.unwrap_or(fd), fd));
        if self.counters_needed(leader.unwrap_or(fd)) > self.config.counters.unwrap_or(0) {
            self.events.remove(&fd);
            return Err(Errno(libc::EINVAL));
        }
        Ok(fd)
    }

    /// The paranoid levels.
    fn permit(&self, attr: &perf_event_attr) -> Result<(), Errno> {
        let held = self.config.privileges;
        let refuse_all = self.config.strict_paranoid && self.config.paranoid >= 3 && !held.sys_admin;
        let refuse_kernel = self.config.paranoid >= 2 && !held.perfmon && !held.sys_admin;
        if refuse_all || (refuse_kernel && attr.exclude_kernel() == 0) {
            return Err(Errno(libc::EACCES));
        }
        Ok(())
    }

    /// Finds the PMU, which may refuse the event.
    fn kind(&self, attr: &perf_event_attr) -> Result<Kind, Errno> {
        let own = attr.type_ == self.config.pmu_type;
        match attr.type_ {
            sys::PERF_TYPE_SOFTWARE => return Ok(Kind::Software(attr.config)),
            _ if self.config.counters.is_none() => return Err(Errno(libc::ENOENT)),
            sys::PERF_TYPE_HARDWARE => {
                let (pmu, id) = (attr.config >> 32, attr.config & 0xFFFF_FFFF);
                let other = pmu != 0 && pmu != u64::from(self.config.pmu_type);
                if other || id >= sys::PERF_COUNT_HW_MAX.into() {
                    return Err(Errno(libc::ENOENT));
                }
            }
            _ if !own => return Err(Errno(libc::ENOENT)),
            _ => {}
        }
        if attr.sample_period != 0 && !self.config.overflow_interrupt {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        if self.config.mediated_vm && attr.exclude_guest() == 0 {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        if !own {
            return Ok(Kind::Generic(attr.config & 0xFFFF_FFFF));
        }
        if attr.config == SLOTS_CONFIG {
            return if self.config.topdown.is_some() { Ok(Kind::Slots) } else { Err(Errno(libc::EINVAL)) };
        }
        let Some(metric) = Metric::ALL.into_iter().find(|metric| metric.config() == attr.config) else {
            // Event 0 with these unit masks and any modifier is reserved for the metrics.
            let reserved = attr.config & 0xFF == 0 && attr.config & 0x8400 != 0;
            return if reserved { Err(Errno(libc::EINVAL)) } else { Ok(Kind::Raw(attr.config)) };
        };
        let offered = self.config.topdown.is_some_and(|level| level.metrics().contains(&metric));
        if !offered || attr.sample_period != 0 {
            return Err(Errno(libc::EINVAL));
        }
        Ok(Kind::Metric(metric))
    }

    /// Checks a sibling against its leader.
    fn join(&self, attr: &perf_event_attr, kind: Kind, tid: i32, leader_fd: RawFd) -> Result<(), Errno> {
        let leader = self.events.get(&leader_fd).ok_or(Errno(libc::EBADF))?;
        let invalid = leader.leader != leader_fd
            || leader.tid != tid
            || attr.pinned() != 0
            || attr.exclusive() != 0
            || (kind == Kind::Slots && leader.kind == Kind::Slots)
            || (matches!(kind, Kind::Metric(_)) && (leader.kind != Kind::Slots || leader.period != 0));
        if invalid { Err(Errno(libc::EINVAL)) } else { Ok(()) }
    }
}
