//! What to count, where, and at which privilege: the request that becomes a `perf_event_attr`.

use crate::event::Event;

/// The largest period: the kernel refuses bit 63.
pub const MAX_PERIOD: u64 = i64::MAX as u64;

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
    /// Always on the PMU while the thread runs, or in error state (see
    /// [`HostPerfError::PinnedEvicted`](crate::HostPerfError::PinnedEvicted)). For group leaders and single events.
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
}
