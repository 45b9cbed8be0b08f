/// How a branch instruction retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// Kind of the instruction.
    pub kind: BranchKind,
    /// False for a conditional branch that fell through.
    pub taken: bool,
    /// Linear address at which execution went on.
    pub target: u64,
}

/// Kinds of branch instructions, as predictors, performance counters and branch records tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BranchKind {
    /// Jumps or falls through: Jcc, LOOPcc and JrCXZ on x86.
    Conditional,
    /// Jump to a constant target.
    DirectJump,
    /// Jump to a target in a register or in memory.
    IndirectJump,
    /// Call of a constant target.
    DirectCall,
    /// Call of a target in a register or in memory.
    IndirectCall,
    /// Return.
    Return,
    /// Changes segment or privilege level: on x86 far JMP, CALL and RET, IRET, SYSCALL, SYSRET, SYSENTER, SYSEXIT,
    /// INT n, INT3 and INTO.
    Far,
}

impl BranchKind {
    /// Number of kinds.
    pub const COUNT: usize = 7;

    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Conditional,
        Self::DirectJump,
        Self::IndirectJump,
        Self::DirectCall,
        Self::IndirectCall,
        Self::Return,
        Self::Far,
    ];

    /// The kind as a set of kinds: bit n is that of `ALL[n]`.
    #[inline(always)]
    #[must_use]
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}
