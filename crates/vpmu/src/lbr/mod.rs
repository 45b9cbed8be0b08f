//! Last branch records (LBR).
//!
//! Several kinds of stacks, one way to record. [`LegacyLbr`] is the model-specific stack that
//! IA32_DEBUGCTL switches on: a ring with a top-of-stack pointer, filtered by what LBR_SELECT
//! suppresses. [`ArchLbr`] is the architectural one: entry 0 is the youngest, IA32_LBR_CTL says what is
//! recorded. AMD's last-branch record and LbrExtV2 stack are in `amd.rs`.
//!
//! The engine asks [`Vpmu::branch_filter`](crate::Vpmu::branch_filter) after everything that may change
//! it, keeps the answer, and calls [`Vpmu::record_branch`](crate::Vpmu::record_branch) for the taken
//! branches that it admits. While nothing is recorded the filter is empty, and a branch costs the engine
//! one test.
//!
//! Facts: Intel SDM vol. 3B, "Last Branch Records" and "Debug, Branch Profile, TSC"; cross-checked with
//! Linux `arch/x86/events/intel/lbr.c`. AMD: APM vol. 2, chapter 13; Linux `arch/x86/events/amd/lbr.c`.

mod amd;
mod arch;
mod legacy;
mod ring;
#[cfg(test)]
mod tests;

pub(crate) use amd::AmdLbr;
pub use amd::AmdLbrState;
pub use arch::ArchLbr;
pub use legacy::LegacyLbr;
pub use ring::{LbrEntry, MAX_DEPTH};

use crate::profile::LbrKind;
use crate::register::intel::RegisterId;

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

    /// What either admits.
    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
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

/// What both kinds of Intel's stacks can do.
pub(crate) trait BranchStack {
    /// The branches that the stack's own registers let in.
    fn filter(&self) -> BranchFilter;
    /// Records a branch that the filter admits.
    fn record(&mut self, branch: &BranchRecord);
    /// A return removes the newest record.
    fn is_call_stack(&self) -> bool;
    /// Moves on by `count` records; their contents do not matter.
    fn skip(&mut self, count: u64);
    /// Recording begins: the distance to the last record is unknown.
    fn begin(&mut self);
    /// An exception or interrupt other than #DB: the newest record becomes the last-exception record.
    fn interrupted(&mut self);
    /// The word behind a register instance; `None` for other registers and those that are computed.
    fn word_mut(&mut self, id: RegisterId, n: usize) -> Option<&mut u64>;
}

/// The stack of one Intel vCPU.
#[derive(Debug, Clone)]
pub(crate) enum Lbr {
    None,
    Legacy(LegacyLbr),
    Arch(ArchLbr),
}

impl Lbr {
    /// A stack in its RESET state.
    pub(crate) fn new(kind: LbrKind) -> Self {
        match kind {
            LbrKind::None | LbrKind::LastBranch | LbrKind::ExtV2 { .. } => Self::None,
            LbrKind::Legacy => Self::Legacy(LegacyLbr::default()),
            LbrKind::Architectural { .. } => Self::Arch(ArchLbr::new(kind.max_depth())),
        }
    }

    pub(crate) fn stack(&self) -> Option<&dyn BranchStack> {
        match self {
            Self::None => None,
            Self::Legacy(stack) => Some(stack),
            Self::Arch(stack) => Some(stack),
        }
    }

    pub(crate) fn stack_mut(&mut self) -> Option<&mut dyn BranchStack> {
        match self {
            Self::None => None,
            Self::Legacy(stack) => Some(stack),
            Self::Arch(stack) => Some(stack),
        }
    }

    /// What is recorded, given IA32_DEBUGCTL.LBR. That bit has no function for an architectural stack.
    pub(crate) fn filter(&self, debugctl_lbr: bool) -> BranchFilter {
        match self {
            Self::Legacy(stack) if debugctl_lbr => stack.filter(),
            Self::Arch(stack) => stack.filter(),
            Self::None | Self::Legacy(_) => BranchFilter::EMPTY,
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, branch: &BranchRecord) {
        match self {
            Self::None => {}
            Self::Legacy(stack) => stack.record(branch),
            Self::Arch(stack) => stack.record(branch),
        }
    }

    /// Entries that can be accessed now; lower than the number of registers while IA32_LBR_DEPTH is.
    pub(crate) fn depth(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Legacy(_) => MAX_DEPTH as u64,
            Self::Arch(stack) => stack.depth(),
        }
    }

    pub(crate) fn set_depth(&mut self, depth: u64) {
        if let Self::Arch(stack) = self {
            stack.set_depth(depth);
        }
    }

    pub(crate) fn save(&self) -> LbrState {
        match self {
            Self::None => LbrState::None,
            Self::Legacy(stack) => stack.save(),
            Self::Arch(stack) => stack.save(),
        }
    }

    /// The stack that `state` describes, if it is one of this kind. Its registers have been checked.
    pub(crate) fn restored(&self, state: &LbrState) -> Option<Self> {
        Some(match (self, state) {
            (Self::None, LbrState::None) => Self::None,
            (Self::Legacy(_), &LbrState::Legacy { select, tos, ref entries, ler, updated }) => {
                Self::Legacy(LegacyLbr::restored(select, tos, entries, ler, updated))
            }
            (Self::Arch(_), &LbrState::Architectural { ctl, depth, ref entries, ler, updated }) => {
                Self::Arch(ArchLbr::restored(ctl, depth, entries, ler, updated))
            }
            _ => return None,
        })
    }
}

/// The saved stack of one vCPU.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub enum LbrState {
    /// The profile has none.
    None,
    /// The model-specific stack.
    Legacy {
        /// MSR_LBR_SELECT.
        select: u64,
        /// MSR_LASTBRANCH_TOS.
        tos: u64,
        /// The entries by index.
        entries: [LbrEntry; MAX_DEPTH],
        /// MSR_LER_FROM_LIP and MSR_LER_TO_LIP; `info` is 0.
        ler: LbrEntry,
        /// [`BranchRecord::cycle`] of the last change of the stack since recording began.
        updated: Option<u64>,
    },
    /// The architectural stack.
    Architectural {
        /// IA32_LBR_CTL.
        ctl: u64,
        /// IA32_LBR_DEPTH.
        depth: u64,
        /// The entries, youngest first; those beyond the depth are 0.
        entries: [LbrEntry; MAX_DEPTH],
        /// IA32_LER_FROM_IP, IA32_LER_TO_IP and IA32_LER_INFO.
        ler: LbrEntry,
        /// [`BranchRecord::cycle`] of the last change of the stack since recording began.
        updated: Option<u64>,
    },
}
