//! Breakpoints of a debugger outside the guest: the guest sees nothing of them, and nothing is written to its memory.

use crate::{OFFSET, PAGE};

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
    fn touches(&self, first: u64, last: u64) -> bool {
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

/// What an interpreter's run loop has of a debugger. What is not armed costs nothing.
#[derive(Debug, Default)]
pub struct Debugger {
    stops: DebugStops,
    /// There is something to stop for.
    pub armed: bool,
    /// Instructions that had retired when it was armed.
    since: u64,
    /// Where the CPU was at that time.
    from: u64,
    /// An exception or interrupt has been delivered since.
    pub delivered: bool,
    /// Watched data has been accessed.
    pub hit: Option<Watchpoint>,
}

impl Debugger {
    /// Stops the CPU there, which has retired so many instructions and is at that address.
    #[must_use]
    pub fn new(stops: DebugStops, instructions: u64, address: u64) -> Self {
        let armed = stops.step || !stops.execute.is_empty() || !stops.data.is_empty();
        Self { stops, armed, since: instructions, from: address, delivered: false, hit: None }
    }

    /// What is due after an instruction.
    pub fn stop_after(&mut self, instructions: u64) -> Option<DebugStop> {
        if let Some(data) = self.hit.take() {
            return Some(DebugStop::Watchpoint(data));
        }
        let stepped = self.delivered || instructions != self.since;
        (self.stops.step && stepped).then_some(DebugStop::Step)
    }

    /// What is due before the instruction at an address, once nothing else comes before it. `linear` is the same where
    /// there are no segments.
    #[must_use]
    pub fn stop_before(&self, instructions: u64, address: u64, linear: u64) -> Option<DebugStop> {
        if self.stops.step && self.delivered {
            return Some(DebugStop::Step);
        }
        // The instruction from which the debugger goes on is executed: it has been reported.
        let reported = self.since == instructions && self.from == address;
        (!reported && self.stops.execute.contains(&linear)).then_some(DebugStop::Breakpoint)
    }

    /// Notes an access to the bytes from one linear address to another; true if they are watched.
    pub fn note_access(&mut self, first: u64, last: u64, write: bool) -> bool {
        let wanted = |data: &&Watchpoint| if write { data.write } else { data.read };
        let data = self.stops.data.iter().filter(wanted).find(|data| data.touches(first, last));
        self.hit = data.copied().or(self.hit);
        data.is_some()
    }

    /// Instructions have to be executed one by one.
    #[must_use]
    pub fn steps(&self) -> bool {
        self.stops.step
    }

    /// There are breakpoints.
    #[must_use]
    pub fn breaks(&self) -> bool {
        !self.stops.execute.is_empty()
    }

    /// There is data to watch.
    #[must_use]
    pub fn watches(&self) -> bool {
        !self.stops.data.is_empty()
    }

    /// Whether a breakpoint lies in the `len` bytes at a linear address.
    #[must_use]
    pub fn breaks_within(&self, linear: u64, len: u64) -> bool {
        let last = linear.saturating_add(len);
        self.stops.execute.iter().any(|address| (linear..=last).contains(address))
    }

    /// Whether accesses to the page of a linear address have to be looked at one by one.
    #[must_use]
    pub fn watches_page(&self, linear: u64) -> bool {
        let first = linear & !OFFSET;
        self.stops.data.iter().any(|data| data.touches(first, first + (PAGE - 1)))
    }
}
