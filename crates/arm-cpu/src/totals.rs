//! What has retired.

use retire::BranchKind;

/// Running totals at one exception level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LevelTotals {
    /// Retired instructions.
    pub instructions: u64,
    /// Instructions that read memory, other than prefetches.
    pub loads: u64,
    /// Instructions that write memory; DC ZVA is one.
    pub stores: u64,
    /// FP and Advanced SIMD instructions, loads and stores of their registers included.
    pub vector: u64,
    /// Accesses to memory that were not aligned to their size.
    pub unaligned: u64,
    /// Exceptions taken from this level, by [`ExceptionCount`].
    exceptions: [u64; ExceptionCount::COUNT],
    /// ERET instructions.
    pub exception_returns: u64,
    /// Writes to TTBR0_EL1 and TTBR1_EL1.
    pub translation_base_writes: u64,
    /// Writes to CONTEXTIDR_EL1.
    pub context_writes: u64,
    /// By [`place`].
    branches: [u64; BranchKind::COUNT + 1],
}

/// Exceptions by what PMU events tell apart (Arm ARM D11.11: EXC_UNDEF to EXC_FIQ).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum ExceptionCount {
    /// UNDEFINED instructions, traps, illegal state, misaligned PC and SP, debug exceptions: all others.
    Other,
    /// SVC.
    Svc,
    /// HVC that the embedder took.
    Hvc,
    /// Instruction aborts.
    InstructionAbort,
    /// Data aborts.
    DataAbort,
    /// IRQs.
    Irq,
    /// FIQs.
    Fiq,
}

impl ExceptionCount {
    /// Number of kinds.
    pub const COUNT: usize = 7;
}

/// Where branches are counted: the conditional ones that were taken, those that were not, and the other kinds.
#[inline(always)]
const fn place(kind: BranchKind, taken: bool) -> usize {
    match kind {
        BranchKind::Conditional if taken => 0,
        kind => kind as usize + 1,
    }
}

impl LevelTotals {
    /// Counts a branch; only conditional ones may not be taken.
    #[inline(always)]
    pub(crate) fn count_branch(&mut self, kind: BranchKind, taken: bool) {
        self.branches[place(kind, taken)] += 1;
    }

    pub(crate) fn count_exception(&mut self, kind: ExceptionCount) {
        self.exceptions[kind as usize] += 1;
    }

    /// Exceptions of a kind that were taken.
    #[must_use]
    pub fn exceptions(&self, kind: ExceptionCount) -> u64 {
        self.exceptions[kind as usize]
    }

    /// All exceptions that were taken, without HVC, which the embedder takes as if it were EL2.
    #[must_use]
    pub fn all_exceptions(&self) -> u64 {
        self.exceptions.iter().sum::<u64>() - self.exceptions(ExceptionCount::Hvc)
    }

    /// Retired branches of a kind that were taken. [`BranchKind::Far`] is ERET.
    #[must_use]
    pub fn taken(&self, kind: BranchKind) -> u64 {
        self.branches[place(kind, true)]
    }

    /// Retired branches that were not taken; all are conditional.
    #[must_use]
    pub fn not_taken(&self) -> u64 {
        self.branches[place(BranchKind::Conditional, false)]
    }

    /// All retired branches, taken or not.
    #[must_use]
    pub fn all_branches(&self) -> u64 {
        self.branches.iter().sum()
    }

    /// Retired branches that were taken.
    #[must_use]
    pub fn taken_branches(&self) -> u64 {
        self.all_branches() - self.not_taken()
    }

    /// Retired conditional branches, taken or not.
    #[must_use]
    pub fn conditional_branches(&self) -> u64 {
        self.taken(BranchKind::Conditional) + self.not_taken()
    }

    /// Retired calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.taken(BranchKind::DirectCall) + self.taken(BranchKind::IndirectCall)
    }

    /// True if every single count is below `limit`.
    fn all_below(&self, limit: u64) -> bool {
        let Self { instructions, loads, stores, vector, unaligned, exceptions, .. } = self;
        let Self { exception_returns, translation_base_writes, context_writes, branches, .. } = self;
        let single = [
            instructions,
            loads,
            stores,
            vector,
            unaligned,
            exception_returns,
            translation_base_writes,
            context_writes,
        ];
        single.into_iter().chain(exceptions).chain(branches).all(|count| *count < limit)
    }
}

/// Running totals since the CPU was made; they never go down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Totals {
    levels: [LevelTotals; 2],
}

impl Totals {
    /// What retired at EL0.
    #[must_use]
    pub fn el0(&self) -> &LevelTotals {
        &self.levels[0]
    }

    /// What retired at EL1.
    #[must_use]
    pub fn el1(&self) -> &LevelTotals {
        &self.levels[1]
    }

    /// Those of an exception level.
    #[inline(always)]
    pub(crate) fn at(&mut self, el: u8) -> &mut LevelTotals {
        &mut self.levels[usize::from(el & 1)]
    }

    /// Retired instructions at all levels.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.levels[0].instructions + self.levels[1].instructions
    }

    /// True if every single count is below `limit`: a check of saved totals.
    #[must_use]
    pub fn all_below(&self, limit: u64) -> bool {
        self.levels.iter().all(|level| level.all_below(limit))
    }
}
