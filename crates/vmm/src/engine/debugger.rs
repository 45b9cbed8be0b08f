//! A debugger outside the guest, as an engine sees it.

use super::paging::Paging;
use crate::machine::Outcome;
use platform::convert::host_size;
use platform::memory::GuestMemory;
use soft_cpu::State;
pub use soft_cpu::{DebugStops, Watchpoint};
use std::fmt;

/// Why the guest stands still.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// [`Debugger::wants_stop`].
    Asked,
    /// A step is done.
    Step,
    /// The next instruction has a breakpoint.
    Breakpoint,
    /// The last instruction has accessed watched data.
    Watchpoint(Watchpoint),
    /// The guest has crashed: a last look before the run ends.
    Crashed,
}

/// How the guest goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// Until one of these.
    Run(DebugStops),
    /// Not at all.
    Kill,
}

/// Who stops the guest and looks at it. No count and no trace depends on that.
pub trait Debugger: fmt::Debug {
    /// Asked now and then while the guest runs, and before its first instruction: true stops it.
    fn wants_stop(&mut self) -> bool;
    /// The guest stands still until this returns how it goes on, and what has been changed in it.
    fn stopped(&mut self, stop: &Stop, vcpu: StoppedVcpu) -> (Resume, Changes);
    /// The run has ended.
    fn ended(&mut self, outcome: &Outcome);
}

/// A vCPU that stands still, and what it sees of memory.
#[derive(Debug)]
pub struct StoppedVcpu {
    state: State,
    memory: GuestMemory,
    changed: bool,
    /// Physical addresses and lengths.
    written: Vec<(u64, u64)>,
}

impl StoppedVcpu {
    pub(super) fn new(state: State, memory: GuestMemory) -> Self {
        Self { state, memory, changed: false, written: Vec::new() }
    }

    /// The registers.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The registers, to change them.
    pub fn state_mut(&mut self) -> &mut State {
        self.changed = true;
        &mut self.state
    }

    fn paging(&self) -> Paging {
        Paging::new(self.state.cr0, self.state.cr3, self.state.cr4, self.state.efer)
    }

    /// Reads RAM at a linear address, as far as it is mapped; returns how many bytes that is.
    pub fn read(&self, linear: u64, buffer: &mut [u8]) -> usize {
        self.paging().read_some(&self.memory, linear, buffer)
    }

    /// Writes RAM at a linear address, whatever the rights of its pages. False, and nothing is written, if a byte is
    /// not mapped to RAM.
    pub fn write(&mut self, linear: u64, bytes: &[u8]) -> bool {
        const PAGE: u64 = 0x1000;
        let paging = self.paging();
        let mut parts = Vec::new();
        let mut done = 0;
        while done < bytes.len() {
            let at = linear.wrapping_add(done as u64);
            let len = (host_size(PAGE - at % PAGE)).min(bytes.len() - done);
            let part = &bytes[done..done + len];
            let Some(physical) = paging.translate(&self.memory, at) else { return false };
            if self.memory.read(physical, &mut vec![0; len]).is_err() {
                return false;
            }
            parts.push((physical, part));
            done += len;
        }
        for (physical, part) in parts {
            if self.memory.write(physical, part).is_err() {
                return false;
            }
            self.written.push((physical, part.len() as u64));
        }
        true
    }

    /// What has been changed.
    #[must_use]
    pub fn into_changes(self) -> Changes {
        Changes { state: self.changed.then_some(self.state), written: self.written }
    }
}

/// What a debugger has changed in a guest that stood still.
#[derive(Debug, Default)]
pub struct Changes {
    /// The registers, if any is another.
    pub(super) state: Option<State>,
    /// Physical addresses and lengths of what has been written.
    pub(super) written: Vec<(u64, u64)>,
}
