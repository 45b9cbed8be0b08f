//! One execution of an instruction.

use retire::MemoryAccess;

/// A cycle that does not come.
pub(crate) const NEVER: u64 = u64::MAX;

/// What is different each time that an instruction is executed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Execution<'a> {
    /// Its position in its block.
    pub(crate) number: u8,
    pub(crate) rip: u64,
    pub(crate) memory: &'a [MemoryAccess],
    pub(crate) repetitions: u64,
}

/// Times of an instruction's execution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Executed {
    /// When its last uop left the scheduler.
    pub(crate) issued: u64,
    /// When a store's address is known.
    pub(crate) addressed: u64,
    pub(crate) completed: u64,
    /// From when on it waits for memory; [`NEVER`] if it does not.
    pub(crate) memory_from: u64,
    /// Cycles before it completes in which it computes with what it loaded.
    pub(crate) computes: u64,
    /// A load that was executed too early: everything younger is done again.
    pub(crate) clear: bool,
    /// An operation of one cycle whose sources were ready when it was allocated.
    pub(crate) prompt: bool,
}
