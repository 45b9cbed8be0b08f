//! Last branch records (LBR).
//!
//! Several kinds of stacks, one ring of entries. The model-specific stack (`legacy.rs`) has a top-of-stack pointer and
//! is filtered by what LBR_SELECT suppresses; IA32_DEBUGCTL switches it on. In the architectural one (`arch.rs`) entry
//! 0 is the youngest, and IA32_LBR_CTL says what is recorded. AMD's LbrExtV2 stack is in `amd.rs`. Their registers are
//! with the others, in the vendor's state machine.
//!
//! The engine asks [`Vpmu::branch_filter`](crate::Vpmu::branch_filter) after everything that may change
//! it, keeps the answer, and calls [`Vpmu::record_branch`](crate::Vpmu::record_branch) for the taken
//! branches that it admits. While nothing is recorded the filter is empty, and a branch costs the engine
//! one test.
//!
//! Facts: Intel SDM vol. 3B, "Last Branch Records" and "Debug, Branch Profile, TSC"; cross-checked with
//! Linux `arch/x86/events/intel/lbr.c`. AMD: APM vol. 2, chapter 13; Linux `arch/x86/events/amd/lbr.c`.

pub(crate) mod amd;
pub(crate) mod arch;
pub(crate) mod legacy;
mod ring;
#[cfg(test)]
mod tests;

pub use ring::MAX_DEPTH;
pub(crate) use ring::{Ring, RingWord};

/// What a taken branch is. The values are those of the branch type in IA32_LBR_x_INFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BranchKind {
    /// A conditional jump that jumped.
    Conditional = 0,
    /// Near indirect jump.
    IndirectJump = 1,
    /// Near relative jump.
    RelativeJump = 2,
    /// Near indirect call.
    IndirectCall = 3,
    /// Near relative call.
    RelativeCall = 4,
    /// Near return.
    Return = 5,
    /// Everything else: far branches, system calls, interrupts, exceptions.
    Other = 8,
}

impl BranchKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Conditional,
        Self::IndirectJump,
        Self::RelativeJump,
        Self::IndirectCall,
        Self::RelativeCall,
        Self::Return,
        Self::Other,
    ];

    /// True for near calls.
    #[must_use]
    pub const fn is_call(self) -> bool {
        matches!(self, Self::IndirectCall | Self::RelativeCall)
    }
}

/// A taken branch, as the engine reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchRecord {
    /// Address of the branch instruction; for an interrupt or exception of the instruction that did
    /// not execute.
    pub from: u64,
    /// Its target.
    pub to: u64,
    /// What it is.
    pub kind: BranchKind,
    /// Privilege level at the branch, 0 to 3.
    pub from_cpl: u8,
    /// Privilege level at the target, 0 to 3.
    pub cpl: u8,
    /// Its direction or target was predicted wrongly.
    pub mispredicted: bool,
    /// Core cycle in which it retired, on any clock that never goes back.
    pub cycle: u64,
}

/// The branches that are being recorded: one bit per kind and privilege level (0, or above).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BranchFilter(u32);

impl BranchFilter {
    /// Nothing is recorded.
    pub const EMPTY: Self = Self(0);
    /// Every branch is recorded.
    pub(crate) const ALL: Self = Self(u32::MAX);

    /// True when nothing is recorded.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True when branches of this kind that end at this privilege level are recorded.
    #[inline]
    #[must_use]
    pub const fn admits(self, kind: BranchKind, cpl: u8) -> bool {
        self.0 >> Self::bit(kind, cpl) & 1 != 0
    }

    const fn bit(kind: BranchKind, cpl: u8) -> u32 {
        kind as u32 + if cpl == 0 { 0 } else { 16 }
    }

    /// The filter that admits what `admits` says.
    fn of(admits: impl Fn(BranchKind) -> bool, os: bool, usr: bool) -> Self {
        let mut bits = 0;
        for kind in BranchKind::ALL.into_iter().filter(|&kind| admits(kind)) {
            bits |= u32::from(os) << Self::bit(kind, 0) | u32::from(usr) << Self::bit(kind, 3);
        }
        Self(bits)
    }
}
