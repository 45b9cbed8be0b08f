//! A debugger outside the guest, as an engine sees it.

use crate::machine::Outcome;
use platform::convert::host_size;
use platform::memory::GuestMemory;
use soft_cpu::DebugStop;
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

impl From<DebugStop> for Stop {
    fn from(stop: DebugStop) -> Self {
        match stop {
            DebugStop::Step => Self::Step,
            DebugStop::Breakpoint => Self::Breakpoint,
            DebugStop::Watchpoint(data) => Self::Watchpoint(data),
        }
    }
}

/// How the guest goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// Until one of these.
    Run(DebugStops),
    /// Not at all.
    Kill,
}

/// The registers of a CPU, whatever its architecture, as far as each has the same.
pub trait Registers: fmt::Debug {
    /// Address of the next instruction.
    fn pc(&self) -> u64;

    /// The physical address of a virtual one, whatever the rights of its page; `None` where nothing is mapped.
    fn translate(&self, memory: &GuestMemory, address: u64) -> Option<u64>;
}

/// Who stops the guest, a CPU with the registers `R`, and looks at it. No count and no trace depends on that.
pub trait Debugger<R>: fmt::Debug {
    /// Asked now and then while the guest runs, and before its first instruction: true stops it.
    fn wants_stop(&mut self) -> bool;
    /// The guest stands still until this returns how it goes on, and what has been changed in it.
    fn stopped(&mut self, stop: &Stop, vcpu: StoppedVcpu<R>) -> (Resume, Changes<R>);
    /// The run has ended.
    fn ended(&mut self, outcome: &Outcome);
}

/// A vCPU that stands still, and what it sees of memory.
#[derive(Debug)]
pub struct StoppedVcpu<R> {
    state: R,
    memory: GuestMemory,
    changed: bool,
    /// Physical addresses and lengths.
    written: Vec<(u64, u64)>,
}

impl<R: Registers> StoppedVcpu<R> {
    pub(super) fn new(state: R, memory: GuestMemory) -> Self {
        Self { state, memory, changed: false, written: Vec::new() }
    }

    /// The registers.
    #[must_use]
    pub fn state(&self) -> &R {
        &self.state
    }

    /// The registers, to change them.
    pub fn state_mut(&mut self) -> &mut R {
        self.changed = true;
        &mut self.state
    }

    /// Reads RAM at a virtual address, as far as it is mapped; returns how many bytes that is.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        read(&self.state, &self.memory, address, buffer)
    }

    /// Writes RAM at a virtual address, whatever the rights of its pages. False, and nothing is written, if a byte is
    /// not mapped to RAM.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        let mut parts = Vec::new();
        let mut done = 0;
        while done < bytes.len() {
            let at = address.wrapping_add(done as u64);
            let part = &bytes[done..in_page(at, done, bytes.len())];
            let Some(physical) = self.state.translate(&self.memory, at) else { return false };
            if !self.memory.contains(physical, physical.saturating_add(part.len() as u64)) {
                return false;
            }
            parts.push((physical, part));
            done += part.len();
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
    pub fn into_changes(self) -> Changes<R> {
        Changes { state: self.changed.then_some(self.state), written: self.written }
    }
}

/// Reads RAM at a virtual address, as far as it is mapped; returns how many bytes that is.
pub(super) fn read(
    registers: &impl Registers,
    memory: &GuestMemory,
    address: u64,
    buffer: &mut [u8],
) -> usize {
    let mut done = 0;
    while done < buffer.len() {
        let at = address.wrapping_add(done as u64);
        let end = in_page(at, done, buffer.len());
        let Some(physical) = registers.translate(memory, at) else { break };
        if memory.read(physical, &mut buffer[done..end]).is_err() {
            break;
        }
        done = end;
    }
    done
}

/// Where in a buffer of `len` bytes the page of an address ends, which is that of byte `done`.
fn in_page(address: u64, done: usize, len: usize) -> usize {
    const PAGE: u64 = 0x1000;
    len.min(done + host_size(PAGE - address % PAGE))
}

/// What a debugger has changed in a guest that stood still.
#[derive(Debug)]
pub struct Changes<R> {
    /// The registers, if any is another.
    pub(super) state: Option<R>,
    /// Physical addresses and lengths of what has been written.
    pub(super) written: Vec<(u64, u64)>,
}

impl<R> Default for Changes<R> {
    fn default() -> Self {
        Self { state: None, written: Vec::new() }
    }
}
