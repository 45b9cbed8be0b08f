use crate::{Block, BlockId, CoreEvent, Instruction};

/// Consumes the retirement stream.
pub trait Observer {
    /// A block was decoded: up to 255 instructions, whose retirement is reported by the name that this returns.
    fn define(&mut self, instructions: &[Instruction]) -> BlockId;

    /// The block does not retire any more. Its name may be given out again.
    fn release(&mut self, block: BlockId);

    /// Instructions of a block have retired. True ends the run after them.
    ///
    /// Of a repeated string instruction [`Block::memory`] has an access for each run of elements in a cache line, not
    /// for each element.
    fn retire(&mut self, block: &Block<'_>) -> bool;

    /// Instructions that may be executed before any of them is reported: [`retire`](Self::retire) does not end the run
    /// within them, and its results are not read in between.
    fn quiet_horizon(&mut self) -> u64 {
        0
    }

    /// Something has happened behind the instruction that retired last.
    fn event(&mut self, event: CoreEvent);
}

/// The observer of an engine that is not observed: there is no value of it.
#[derive(Debug, Clone, Copy)]
pub enum Unobserved {}

impl Observer for Unobserved {
    fn define(&mut self, _instructions: &[Instruction]) -> BlockId {
        match *self {}
    }

    fn release(&mut self, _block: BlockId) {
        match *self {}
    }

    fn retire(&mut self, _block: &Block<'_>) -> bool {
        match *self {}
    }

    fn event(&mut self, _event: CoreEvent) {
        match *self {}
    }
}
