//! The memory accesses of the instructions that have not been reported.

use retire::{BlockId, MemoryAccess};

/// What an observer has to be told of the block that is being executed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Current {
    pub(super) id: BlockId,
    /// Log2 of the size of the page that it was fetched from.
    pub(super) page: u8,
    /// Physical address of its first instruction.
    pub(super) address: u64,
    /// Its instructions.
    pub(super) len: usize,
    /// It runs at EL0.
    pub(super) user: bool,
    /// The first instruction that has not been reported.
    pub(super) next: usize,
}

/// Whether there is an observer, and what has to be reported to it.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) on: bool,
    /// Log2 of the size of the page that was translated last.
    pub(crate) page: u8,
    pub(super) accesses: Vec<MemoryAccess>,
    /// While instructions of a block are executed together.
    pub(super) current: Option<Current>,
}

impl Watch {
    /// Drops the accesses of an instruction, which has not retired, and of those behind it.
    pub(super) fn forget(&mut self, owner: u8) {
        self.accesses.retain(|access| access.owner < owner);
    }
}
