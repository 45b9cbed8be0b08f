//! The model-specific stack of LBR_FMT 5, Skylake to Ice Lake: FROM, TO and INFO registers, 32 deep, with a
//! top-of-stack pointer.

use super::ring::LbrEntry;
use super::{BranchFilter, BranchKind, BranchRecord};
use crate::register::intel::{LbrInfo, LbrSelect};

/// What LBR_SELECT does not leave out.
pub(crate) fn filter(select: LbrSelect) -> BranchFilter {
    let admits = |kind| !match kind {
        BranchKind::Conditional => select.jcc(),
        BranchKind::IndirectJump => select.near_ind_jmp(),
        BranchKind::RelativeJump => select.near_rel_jmp(),
        BranchKind::IndirectCall => select.near_ind_call(),
        BranchKind::RelativeCall => select.near_rel_call(),
        BranchKind::Return => select.near_ret(),
        BranchKind::Other => select.far_branch(),
    };
    BranchFilter::of(admits, !select.cpl_eq_0(), !select.cpl_neq_0())
}

/// The record of a branch, `cycles` after the one before it.
#[inline]
pub(crate) fn entry(branch: &BranchRecord, cycles: Option<u64>) -> LbrEntry {
    let info = LbrInfo::default().with_cycles(cycles.unwrap_or(0)).with_mispredicted(branch.mispredicted);
    LbrEntry { from: branch.from, to: branch.to, info: info.0 }
}
