//! What to count, where, and at which privilege: the request that becomes a `perf_event_attr`.

use perf_event_open_sys::bindings as sys;

use crate::error::HostPerfError;
use crate::event::Event;
use crate::sys::perf_event_attr;
use crate::sysfs::CorePmu;

/// Privilege levels that are counted. For [`Scope::GuestOnly`] these are the guest's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Count at CPL 0.
    pub os: bool,
    /// Count at CPL 1 to 3.
    pub usr: bool,
}

impl Filter {
    /// CPL 0 and CPL 3.
    pub const ALL: Filter = Filter { os: true, usr: true };
    /// Everything above CPL 0.
    pub const USR: Filter = Filter { os: false, usr: true };
    /// CPL 0 only.
    pub const OS: Filter = Filter { os: true, usr: false };
}

/// Which side of VM entry is counted.
///
/// The kernel switches the counters in the VM-entry and VM-exit machinery, so some host instructions next to
/// an entry may leak in. A KVM that interprets guest ring 0 has no guest mode for it: such work counts as host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Only while the CPU is in guest mode (`exclude_host`).
    GuestOnly,
    /// Only outside guest mode (`exclude_guest`): the VMM and the host kernel.
    HostOnly,
    /// Both sides.
    Both,
}

/// The thread whose work is counted, on whichever CPU it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The thread that opens the event.
    CurrentThread,
    /// The thread with this kernel thread id (`gettid`), for example a vCPU thread.
    Thread(i32),
}

impl Target {
    pub(crate) fn tid(self) -> i32 {
        match self {
            Target::CurrentThread => 0,
            Target::Thread(tid) => tid,
        }
    }
}

/// Everything that [`Counter::open`](crate::Counter::open) needs to know about one event.
///
/// Default: the opening thread, both privilege levels, both sides of VM entry, not pinned, counting only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventSpec {
    /// What is counted.
    pub event: Event,
    /// At which privilege levels.
    pub filter: Filter,
    /// On which side of VM entry.
    pub scope: Scope,
    /// For which thread.
    pub target: Target,
    /// Always on the PMU while the thread runs, or in error state (see [`HostPerfError::PinnedEvicted`]).
    /// For group leaders and single events.
    pub pinned: bool,
    /// Overflow every that many events; 0 counts without overflows.
    pub period: u64,
}

impl EventSpec {
    /// The default request for `event`.
    pub const fn new(event: Event) -> Self {
        EventSpec {
            event,
            filter: Filter::ALL,
            scope: Scope::Both,
            target: Target::CurrentThread,
            pinned: false,
            period: 0,
        }
    }

    /// Counts at these privilege levels.
    pub const fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Counts above CPL 0 only. Needs no privileges up to `perf_event_paranoid` 2.
    pub const fn user_only(self) -> Self {
        self.filter(Filter::USR)
    }

    /// Counts on this side of VM entry.
    pub const fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Counts in guest mode only.
    pub const fn guest_only(self) -> Self {
        self.scope(Scope::GuestOnly)
    }

    /// Counts the thread with this kernel thread id.
    pub const fn thread(mut self, tid: i32) -> Self {
        self.target = Target::Thread(tid);
        self
    }

    /// Demands a hardware counter at all times.
    pub const fn pinned(mut self) -> Self {
        self.pinned = true;
        self
    }

    /// Overflows every `period` events (see [`Counter::arm`](crate::Counter::arm)).
    pub const fn period(mut self, period: u64) -> Self {
        self.period = period;
        self
    }

    /// The kernel's form of the request. `read_format` is a set of `PERF_FORMAT_*` bits.
    pub(crate) fn attr(
        &self,
        pmu: Option<&CorePmu>,
        place: Place,
        read_format: u64,
    ) -> Result<perf_event_attr, HostPerfError> {
        let event = self.event;
        if !self.filter.os && !self.filter.usr {
            return Err(HostPerfError::EmptyFilter { event });
        }
        if self.period > crate::MAX_PERIOD {
            return Err(HostPerfError::BadPeriod { period: self.period });
        }
        let (type_, config) = event.encode(pmu)?;
        let mut attr = perf_event_attr {
            type_,
            size: size_of::<perf_event_attr>() as u32,
            config,
            read_format,
            ..Default::default()
        };
        attr.sample_period = self.period;
        // Siblings start and stop with their leader.
        attr.set_disabled(u64::from(place == Place::Leader));
        attr.set_pinned(u64::from(self.pinned));
        attr.set_exclude_user(u64::from(!self.filter.usr));
        attr.set_exclude_kernel(u64::from(!self.filter.os));
        attr.set_exclude_host(u64::from(self.scope == Scope::GuestOnly));
        attr.set_exclude_guest(u64::from(self.scope == Scope::HostOnly));
        Ok(attr)
    }
}

/// Place of an event in its group. A single event is its own leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Leader,
    Sibling,
}

/// Both times, so that multiplexing can be seen.
pub(crate) const READ_SINGLE: u64 =
    (sys::PERF_FORMAT_TOTAL_TIME_ENABLED | sys::PERF_FORMAT_TOTAL_TIME_RUNNING) as u64;
/// The same for a group, with an id next to each value.
pub(crate) const READ_GROUP: u64 = READ_SINGLE | (sys::PERF_FORMAT_GROUP | sys::PERF_FORMAT_ID) as u64;
