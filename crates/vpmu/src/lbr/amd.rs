//! The stack of LbrExtV2. Entry 0 is the newest; there is no top-of-stack register.

use super::ring::LbrEntry;
use super::{BranchFilter, BranchRecord, legacy};
use crate::register::{amd, intel};

/// What LBR_SELECT does not leave out. Its bits are those of Intel's register of that name.
pub(crate) fn filter(select: amd::LbrSelect) -> BranchFilter {
    legacy::filter(intel::LbrSelect(select.0))
}

/// The record of a branch that has retired.
pub(crate) fn entry(branch: &BranchRecord) -> LbrEntry {
    use amd::{SampBrFrom, SampBrTo};
    let from = SampBrFrom(branch.from & (SampBrFrom::ADDRESS | SampBrFrom::SIGN));
    let to = SampBrTo(branch.to & (SampBrTo::ADDRESS | SampBrTo::SIGN));
    LbrEntry { from: from.with_mispredicted(branch.mispredicted).0, to: to.with_valid(true).0, info: 0 }
}
