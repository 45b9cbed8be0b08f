//! Blocks of decoded instructions: where in one an instruction is, and what retires.

/// What retires before an instruction of a block, or in all of the block: four counts in a word, so that they are added
/// at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position(u64);

/// Instructions of a block at most.
pub(crate) const MAX_INSNS: usize = 32;
/// Blocks whose counts fit together in one [`Position`].
pub(crate) const MAX_TOGETHER: usize = 0xFFFF / MAX_INSNS;

const LOADS: u32 = 16;
const STORES: u32 = 32;
const VECTOR: u32 = 48;

impl Position {
    /// Counts of one instruction.
    pub(crate) fn of(loads: bool, stores: bool, vector: bool) -> Self {
        Self(1 | u64::from(loads) << LOADS | u64::from(stores) << STORES | u64::from(vector) << VECTOR)
    }

    /// Both together.
    #[inline(always)]
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    /// Without what another one has, which has no more of anything.
    #[inline(always)]
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }

    /// Instructions.
    #[inline(always)]
    pub(crate) fn index(self) -> u64 {
        self.0 & 0xFFFF
    }

    pub(crate) fn loads(self) -> u64 {
        self.0 >> LOADS & 0xFFFF
    }

    pub(crate) fn stores(self) -> u64 {
        self.0 >> STORES & 0xFFFF
    }

    pub(crate) fn vector(self) -> u64 {
        self.0 >> VECTOR
    }

    /// Bytes of these instructions.
    #[inline(always)]
    pub(crate) fn bytes(self) -> u64 {
        self.index() * 4
    }
}
