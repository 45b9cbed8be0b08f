//! Blocks of decoded instructions: which one, where in it, and how it ends.

use retire::BranchKind;

/// A block's place in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockId(pub(crate) u32);

impl BlockId {
    pub(crate) const NONE: Self = Self(u32::MAX);
}

/// Where in its block an instruction is, and what retires before it in the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, zerocopy::IntoBytes, zerocopy::Immutable)]
#[repr(C)]
pub(crate) struct Position {
    /// Offset of its first byte.
    pub(crate) start: u16,
    /// Memory operands read and written by the instructions before it.
    pub(crate) loads: u8,
    pub(crate) stores: u8,
    /// Instructions before it that work on XMM registers, and on those of x87 (low half) and MMX.
    pub(crate) sse: u8,
    pub(crate) fpu: u8,
    /// Instructions before it.
    pub(crate) index: u8,
    /// Length in bytes. Behind a block: how it [ends](Ending).
    pub(crate) len: u8,
}

impl Position {
    /// As compiled code notes it: its bytes in memory, the first one lowest.
    #[inline(always)]
    pub(crate) fn bits(self) -> u64 {
        u64::from_le(zerocopy::transmute!(self))
    }
}

/// How a block ends: the length of its last instruction, and the near branch that it is, if that is worked out later.
/// It is kept in [`Position::len`] of the block's end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending(u8);

impl Ending {
    pub(crate) fn new(last: u8, branch: Option<BranchKind>) -> Self {
        Self(last | branch.map_or(0, |kind| kind as u8 + 1) << 4)
    }

    pub(crate) fn of(end: Position) -> Self {
        Self(end.len)
    }

    pub(crate) fn raw(self) -> u8 {
        self.0
    }

    /// Length of the last instruction in bytes.
    pub(crate) fn last(self) -> u8 {
        self.0 & 0xF
    }

    pub(crate) fn branch(self) -> Option<BranchKind> {
        BranchKind::ALL.get(usize::from(self.0 >> 4).wrapping_sub(1)).copied()
    }
}
