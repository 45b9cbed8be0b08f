//! Breakpoints of a debugger outside the guest: the guest sees nothing of them, and nothing is written to its memory.
//!
//! What is not armed costs nothing; what is takes the slow paths of the guest's own
//! ([`breakpoints`](super::breakpoints)).

use crate::mmu::PAGE;

/// Where a debugger wants the CPU to stop.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DebugStops {
    /// Linear addresses of instructions, before which to stop.
    pub execute: Vec<u64>,
    /// Data, after whose access to stop.
    pub data: Vec<Watchpoint>,
    /// Stop after one instruction, or at the handler of the exception or interrupt that comes instead of it.
    pub step: bool,
}

/// Data that a debugger watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watchpoint {
    /// Linear address of the first byte.
    pub address: u64,
    /// Bytes; 0 is one.
    pub len: u64,
    /// Stop when it is read.
    pub read: bool,
    /// Stop when it is written.
    pub write: bool,
}

impl Watchpoint {
    pub(super) fn touches(&self, first: u64, last: u64) -> bool {
        first <= self.address.saturating_add(self.len.max(1) - 1) && last >= self.address
    }
}

/// Why a run ended for a debugger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugStop {
    /// The step is done.
    Step,
    /// The next instruction has a breakpoint.
    Breakpoint,
    /// The last instruction has accessed watched data.
    Watchpoint(Watchpoint),
}

/// What the run loop has of it.
#[derive(Debug, Default)]
pub(crate) struct Debugger {
    pub(super) stops: DebugStops,
    /// There is something to stop for.
    pub(crate) armed: bool,
    /// Instructions that had retired when it was armed.
    pub(super) since: u64,
    /// RIP at that time.
    pub(super) from: u64,
    /// An exception or interrupt has been delivered since.
    pub(crate) delivered: bool,
    /// Watched data has been accessed.
    pub(crate) hit: Option<Watchpoint>,
}

impl Debugger {
    /// Instructions have to be executed one by one.
    pub(crate) fn steps(&self) -> bool {
        self.stops.step
    }

    /// There are breakpoints.
    pub(crate) fn breaks(&self) -> bool {
        !self.stops.execute.is_empty()
    }

    /// There is data to watch.
    pub(crate) fn watches(&self) -> bool {
        !self.stops.data.is_empty()
    }

    /// Whether a breakpoint lies in the `len` bytes at a linear address.
    pub(crate) fn breaks_within(&self, linear: u64, len: u64) -> bool {
        let last = linear.saturating_add(len);
        self.stops.execute.iter().any(|address| (linear..=last).contains(address))
    }

    /// Whether accesses to the page of a linear address have to be looked at one by one.
    pub(crate) fn watches_page(&self, linear: u64) -> bool {
        let first = linear & !(PAGE - 1);
        self.stops.data.iter().any(|data| data.touches(first, first + (PAGE - 1)))
    }
}
