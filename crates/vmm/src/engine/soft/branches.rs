//! From the interpreter's branches to the vPMU's records.

use crate::pmu::PmuDevice;
use soft_cpu::{Branch, BranchKind};
use vpmu::BranchRecord;

/// A branch has been taken while some are being recorded.
///
/// An instruction is a core cycle here, and nothing predicts branches: no record is marked as
/// mispredicted.
#[cold]
#[inline(never)]
pub(super) fn record(pmu: &mut PmuDevice, branch: &Branch) {
    let kind = match branch.kind {
        // Not a taken branch.
        BranchKind::ConditionalNotTaken => return,
        BranchKind::ConditionalTaken => vpmu::BranchKind::Conditional,
        BranchKind::DirectJump => vpmu::BranchKind::RelativeJump,
        BranchKind::IndirectJump => vpmu::BranchKind::IndirectJump,
        BranchKind::DirectCall => vpmu::BranchKind::RelativeCall,
        BranchKind::IndirectCall => vpmu::BranchKind::IndirectCall,
        BranchKind::Return => vpmu::BranchKind::Return,
        BranchKind::Far => vpmu::BranchKind::Other,
    };
    pmu.record_branch(&BranchRecord {
        from: branch.from,
        to: branch.to,
        kind,
        cpl: branch.to_cpl,
        mispredicted: false,
        cycle: branch.retired,
    });
}
