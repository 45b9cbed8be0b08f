use crate::{Branch, MemoryAccess};

/// Names a definition of a block's instructions: an index that is as small as possible, and is given out again after
/// the block was [released](crate::Observer::release), with another generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockId {
    /// Place in a table of all definitions.
    pub index: u32,
    /// Tells apart the blocks that had this index one after the other.
    pub generation: u32,
}

/// Consecutive instructions of a block that have retired, of which only the last one may be a branch. A single
/// instruction is a block of one, or a part of its block.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// The definition of the block's instructions.
    pub id: BlockId,
    /// Position in the definition of the first instruction that retired.
    pub first: u8,
    /// Instructions that retired, from the first one on.
    pub count: u8,
    /// These are all of its instructions.
    pub whole: bool,
    /// Retired in user mode: at privilege level 3 on x86.
    pub user: bool,
    /// Log2 of the size of the page that they were fetched from, in bytes: 12, 21 or 30.
    pub fetch_page: u8,
    /// Linear address of the block: what the offsets of its instructions count from.
    pub rip: u64,
    /// Physical address of the block.
    pub fetch_pa: u64,
    /// Reads and writes of memory in the order of execution, without fetches and page walks.
    pub memory: &'a [MemoryAccess],
    /// How the last instruction went, if it is a branch, also one that fell through.
    pub branch: Option<Branch>,
    /// Where the last instruction begins, in bytes from the start of the block.
    pub last: u16,
    /// Where it ends.
    pub end: u16,
    /// Iterations of a repeated string instruction, and 2 of a division of 64 bits whose dividend needs the upper
    /// register too. Both retire as a part of their own; else 1.
    pub repetitions: u64,
}
