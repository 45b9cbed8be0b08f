//! The model-specific stack of LBR_FMT 5: FROM, TO and INFO registers, 32 deep, with a top-of-stack
//! pointer.

use super::ring::Ring;
use super::{BranchFilter, BranchKind, BranchRecord, BranchStack, LbrEntry, LbrState, MAX_DEPTH};
use crate::register::intel::{LbrSelect, RegisterId};

/// Mispredicted, in MSR_LBR_INFO_x.
const MISPREDICTED: u64 = 1 << 63;

/// The stack of Skylake to Ice Lake.
#[derive(Debug, Clone)]
pub struct LegacyLbr {
    select: u64,
    ring: Ring,
    /// Its INFO is 0: there is no register for it.
    ler: LbrEntry,
}

impl Default for LegacyLbr {
    fn default() -> Self {
        Self { select: 0, ring: Ring::new(MAX_DEPTH as u64), ler: LbrEntry::EMPTY }
    }
}

impl LegacyLbr {
    pub(super) fn save(&self) -> LbrState {
        let Ring { entries, newest, updated, .. } = self.ring;
        LbrState::Legacy { select: self.select, tos: newest, entries, ler: self.ler, updated }
    }

    pub(super) fn restored(
        select: u64,
        tos: u64,
        entries: &[LbrEntry; MAX_DEPTH],
        ler: LbrEntry,
        updated: Option<u64>,
    ) -> Self {
        let ring = Ring { entries: *entries, newest: tos, depth: MAX_DEPTH as u64, updated };
        Self { select, ring, ler }
    }
}

impl BranchStack for LegacyLbr {
    fn filter(&self) -> BranchFilter {
        let select = LbrSelect(self.select);
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

    #[inline]
    fn record(&mut self, branch: &BranchRecord) {
        if branch.kind == BranchKind::Return && self.is_call_stack() {
            self.ring.pop(branch.cycle);
            return;
        }
        let cycles = self.ring.elapsed(branch.cycle).unwrap_or(0);
        let info = if branch.mispredicted { cycles | MISPREDICTED } else { cycles };
        self.ring.push(LbrEntry { from: branch.from, to: branch.to, info }, branch.cycle);
    }

    #[inline]
    fn is_call_stack(&self) -> bool {
        LbrSelect(self.select).en_callstack()
    }

    fn skip(&mut self, count: u64) {
        self.ring.skip(count);
    }

    fn begin(&mut self) {
        self.ring.updated = None;
    }

    fn interrupted(&mut self) {
        self.ler = LbrEntry { info: 0, ..self.ring.entries[self.ring.back(0)] };
    }

    fn word_mut(&mut self, id: RegisterId, n: usize) -> Option<&mut u64> {
        let entry = self.ring.entries.get_mut(n)?;
        Some(match id {
            RegisterId::LerFrom => &mut self.ler.from,
            RegisterId::LerTo => &mut self.ler.to,
            RegisterId::LbrSelect => &mut self.select,
            RegisterId::LbrTos => &mut self.ring.newest,
            RegisterId::LastBranchFrom => &mut entry.from,
            RegisterId::LastBranchTo => &mut entry.to,
            RegisterId::LbrInfo => &mut entry.info,
            _ => return None,
        })
    }
}
