//! The architectural stack: entry 0 is the youngest, every record moves the others up by one.

use super::ring::Ring;
use super::{BranchFilter, BranchKind, BranchRecord, BranchStack, LbrEntry, LbrState, MAX_DEPTH};
use crate::register::intel::{ArchLbrCtl, RegisterId};

/// Mispredicted, in IA32_LBR_x_INFO.
const MISPREDICTED: u64 = 1 << 63;
/// The cycle count is valid.
const CYCLES_VALID: u64 = 1 << 60;
/// Lowest bit of the branch type.
const TYPE_SHIFT: u32 = 56;
/// What IA32_LER_INFO has of IA32_LBR_x_INFO: all but the cycle count, and that it is valid.
const LER_INFO: u64 = 0xEF << TYPE_SHIFT;
/// FROM of a branch out of a privilege level that is not recorded: no address of it leaks. SDM vol. 3B, "Last Branch
/// Records", filtering by CPL; the model-specific stack has no such rule.
const FILTERED_FROM: u64 = u64::MAX;

/// The stack that CPUID leaf 1CH enumerates.
#[derive(Debug, Clone)]
pub struct ArchLbr {
    ctl: u64,
    ring: Ring,
    ler: LbrEntry,
}

impl ArchLbr {
    /// A stack in its RESET state: as deep as it can be.
    pub(super) const fn new(depth: u64) -> Self {
        Self { ctl: 0, ring: Ring::new(depth), ler: LbrEntry::EMPTY }
    }

    /// IA32_LBR_DEPTH.
    #[must_use]
    pub fn depth(&self) -> u64 {
        self.ring.depth
    }

    /// A write of IA32_LBR_DEPTH clears all records, also when the value stays the same.
    pub(super) fn set_depth(&mut self, depth: u64) {
        self.ring = Ring::new(depth);
    }

    pub(super) fn save(&self) -> LbrState {
        let mut entries = [LbrEntry::default(); MAX_DEPTH];
        for (age, entry) in (0..self.ring.depth).zip(&mut entries) {
            *entry = self.ring.entries[self.ring.back(age)];
        }
        let Ring { depth, updated, .. } = self.ring;
        LbrState::Architectural { ctl: self.ctl, depth, entries, ler: self.ler, updated }
    }

    pub(super) fn restored(
        ctl: u64,
        depth: u64,
        entries: &[LbrEntry; MAX_DEPTH],
        ler: LbrEntry,
        updated: Option<u64>,
    ) -> Self {
        let mut ring = Ring { updated, ..Ring::new(depth) };
        for (age, entry) in (0..depth).zip(entries) {
            let index = ring.back(age);
            ring.entries[index] = *entry;
        }
        Self { ctl, ring, ler }
    }
}

impl BranchStack for ArchLbr {
    fn filter(&self) -> BranchFilter {
        let ctl = ArchLbrCtl(self.ctl);
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

    #[inline]
    fn record(&mut self, branch: &BranchRecord) {
        if branch.kind == BranchKind::Return && self.is_call_stack() {
            self.ring.pop(branch.cycle);
            return;
        }
        let mut info = (branch.kind as u64) << TYPE_SHIFT;
        if let Some(cycles) = self.ring.elapsed(branch.cycle) {
            info |= CYCLES_VALID | cycles;
        }
        if branch.mispredicted {
            info |= MISPREDICTED;
        }
        let ctl = ArchLbrCtl(self.ctl);
        let from =
            if if branch.from_cpl == 0 { ctl.os() } else { ctl.usr() } { branch.from } else { FILTERED_FROM };
        self.ring.push(LbrEntry { from, to: branch.to, info }, branch.cycle);
    }

    #[inline]
    fn is_call_stack(&self) -> bool {
        ArchLbrCtl(self.ctl).call_stack()
    }

    fn skip(&mut self, count: u64) {
        self.ring.skip(count);
    }

    fn begin(&mut self) {
        self.ring.updated = None;
    }

    fn interrupted(&mut self) {
        let newest = self.ring.entries[self.ring.back(0)];
        self.ler = LbrEntry { info: newest.info & LER_INFO, ..newest };
    }

    fn word_mut(&mut self, id: RegisterId, n: usize) -> Option<&mut u64> {
        let index = self.ring.back(n as u64 % self.ring.depth.max(1));
        let entry = &mut self.ring.entries[index];
        Some(match id {
            RegisterId::ArchLbrCtl => &mut self.ctl,
            RegisterId::ArchLbrDepth => &mut self.ring.depth,
            RegisterId::ArchLbrFrom => &mut entry.from,
            RegisterId::ArchLbrTo => &mut entry.to,
            RegisterId::ArchLbrInfo => &mut entry.info,
            RegisterId::LerFrom => &mut self.ler.from,
            RegisterId::LerTo => &mut self.ler.to,
            RegisterId::LerInfo => &mut self.ler.info,
            _ => return None,
        })
    }
}
