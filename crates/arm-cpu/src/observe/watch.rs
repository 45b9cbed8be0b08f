//! The memory accesses of the instructions that have not been reported.

use retire::MemoryAccess;

/// Whether there is an observer, and what has to be reported to it.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) on: bool,
    /// Log2 of the size of the page that was translated last.
    pub(crate) page: u8,
    pub(super) accesses: Vec<MemoryAccess>,
}

impl Watch {
    /// Drops the accesses of an instruction, which has not retired, and of those behind it.
    pub(super) fn forget(&mut self, owner: u8) {
        self.accesses.retain(|access| access.owner < owner);
    }
}
