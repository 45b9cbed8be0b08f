//! The architectural stack, which CPUID leaf 1CH enumerates: entry 0 is the youngest, every record moves the others up
//! by one.

use super::ring::LbrEntry;
use super::{BranchFilter, BranchKind, BranchRecord};
use crate::register::intel::{ArchLbrCtl, ArchLbrInfo};

/// FROM of a branch out of a privilege level that is not recorded: no address of it leaks. SDM vol. 3B, "Last Branch
/// Records", filtering by CPL; the model-specific stack has no such rule.
const FILTERED_FROM: u64 = u64::MAX;

/// What IA32_LBR_CTL asks for.
pub(crate) fn filter(ctl: ArchLbrCtl) -> BranchFilter {
    if !ctl.lbr_en() {
        return BranchFilter::EMPTY;
    }
    let admits = |kind| match kind {
        BranchKind::Conditional => ctl.jcc(),
        BranchKind::IndirectJump => ctl.near_ind_jmp(),
        BranchKind::RelativeJump => ctl.near_rel_jmp(),
        BranchKind::IndirectCall => ctl.near_ind_call(),
        BranchKind::RelativeCall => ctl.near_rel_call(),
        BranchKind::Return => ctl.near_ret(),
        BranchKind::Other => ctl.other_branch(),
    };
    BranchFilter::of(admits, ctl.os(), ctl.usr())
}

/// The record of a branch, `cycles` after the one before it, with events in between as INFO has them.
#[inline]
pub(crate) fn entry(branch: &BranchRecord, ctl: ArchLbrCtl, cycles: Option<u64>, logged: u64) -> LbrEntry {
    let info = ArchLbrInfo::default()
        .with_branch_type(branch.kind as u64)
        .with_cycles(cycles.unwrap_or(0))
        .with_cycles_valid(cycles.is_some())
        .with_logged(logged)
        .with_mispredicted(branch.mispredicted);
    let recorded = if branch.from_cpl == 0 { ctl.os() } else { ctl.usr() };
    LbrEntry { from: if recorded { branch.from } else { FILTERED_FROM }, to: branch.to, info: info.0 }
}
