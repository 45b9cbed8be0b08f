//! Watching instructions retire, one by one: what a model of the core needs beside [`Totals`](crate::Totals).
//!
//! A [`Bus`] that has an [`Observer`] gets every retired instruction with its memory accesses and its branch, in
//! program order. The CPU then runs blocks in a loop of its own ([`run`]), and memory accesses are noted ([`watch`]). A bus
//! that has none ([`Bus::OBSERVED`]) has a CPU without any of this.
//!
//! Blocks of instructions that are about registers and RAM only, which are most of them, are told of together, if the
//! observer allows it, when some have been executed: so interpreter and observer each keep the host's caches and branch
//! predictors for a while.

mod block;
mod note;
mod run;
mod watch;

pub(crate) use block::Observed;
pub use core_model::{BlockStep, Prepared, Step};
use iced_x86::Instruction;
use retire::CoreEvent;
pub(crate) use watch::{Place, Watch};

/// Sees what retires.
pub trait Observer {
    /// An instruction has been decoded: what [`retire`](Self::retire) is to get each time it executes. It is decoded
    /// as if its block were at address 0.
    fn prepare(&mut self, instruction: &Instruction) -> Prepared;
    /// An instruction has retired. True ends the run after it, with [`Exit::Attention`](crate::Exit::Attention).
    ///
    /// Its taken branch has been reported to [`BranchRecorder::record`](crate::BranchRecorder::record) just before. Of a REP
    /// instruction `memory` has an access for each run of elements in a cache line, not for each element.
    fn retire(&mut self, prepared: &Prepared, step: &Step<'_>) -> bool;
    /// So many of the next instructions may be told of with [`retire_blocks`](Self::retire_blocks), when they have
    /// all been executed: nobody has to look in between.
    fn patience(&mut self) -> u64 {
        0
    }
    /// Instructions have retired, after [`patience`](Self::patience) has allowed it: the same as
    /// [`retire`](Self::retire) for each of them, but none of them ends the run.
    fn retire_blocks<'a>(&mut self, blocks: impl Iterator<Item = BlockStep<'a>>) {
        for (prepared, step) in blocks.flat_map(BlockStep::steps) {
            self.retire(prepared, &step);
        }
    }
    /// Something has happened behind the instruction that retired last.
    fn event(&mut self, event: CoreEvent);
}

/// Nobody watches.
#[derive(Debug, Clone, Copy)]
pub enum Unobserved {}

impl Observer for Unobserved {
    fn prepare(&mut self, _instruction: &Instruction) -> Prepared {
        match *self {}
    }
    fn retire(&mut self, _prepared: &Prepared, _step: &Step<'_>) -> bool {
        match *self {}
    }
    fn event(&mut self, _event: CoreEvent) {
        match *self {}
    }
}
