//! Recording taken branches: what last branch records (LBR) and single-stepping on branches (BTF) need of the CPU.

use core::convert::Infallible;
use retire::BranchKind;

/// A taken branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakenBranch {
    /// Address of the branch instruction; for an exception or interrupt of the instruction that did
    /// not execute.
    pub from: u64,
    /// Its target.
    pub to: u64,
    /// What it is.
    pub kind: BranchKind,
    /// It is an exception or interrupt, not an instruction.
    pub event: bool,
    /// Privilege level before.
    pub from_cpl: u8,
    /// Privilege level after.
    pub to_cpl: u8,
    /// Instructions retired before it, at all privilege levels, since the CPU was made.
    pub retired: u64,
}

/// Records taken branches: an optional part of a [`Bus`](crate::Bus).
///
/// What it answers must stay the same until [`Bus::attention`](crate::Bus::attention).
pub trait BranchRecorder {
    /// The taken branches to this privilege level that are [recorded](Self::record): a bit for each [`BranchKind`].
    fn wanted(&self, cpl: u8) -> u8;

    /// How many of the newest branches matter, of those recorded between two other calls of the bus. Of older ones
    /// only the [number](Self::skip) is given.
    #[inline(always)]
    fn depth(&self) -> u64 {
        u64::MAX
    }

    /// A [wanted](Self::wanted) branch has been taken. Called in program order, and before any other call that says
    /// which instruction it belongs to.
    fn record(&mut self, branch: TakenBranch);

    /// So many [wanted](Self::wanted) branches have been taken before those that are recorded next, which are all
    /// that [matter](Self::depth).
    fn skip(&mut self, count: u64);

    /// An exception or interrupt other than #DB has been delivered, or INT n, INT3 or INTO executed. Called after the
    /// branches before it, and before [`record`](Self::record) of itself.
    fn interrupted(&mut self);

    /// #DB has been delivered; called as [`interrupted`](Self::interrupted) is. It is not recorded as a branch.
    fn debug_exception(&mut self);

    /// Whether, with RFLAGS.TF set, #DB comes after taken branches only (DEBUGCTL.BTF). Asked before each instruction
    /// that executes with it.
    fn steps_on_branches(&self) -> bool;
}

impl BranchRecorder for Infallible {
    fn wanted(&self, _cpl: u8) -> u8 {
        match *self {}
    }
    fn record(&mut self, _branch: TakenBranch) {
        match *self {}
    }
    fn skip(&mut self, _count: u64) {
        match *self {}
    }
    fn interrupted(&mut self) {
        match *self {}
    }
    fn debug_exception(&mut self) {
        match *self {}
    }
    fn steps_on_branches(&self) -> bool {
        match *self {}
    }
}
