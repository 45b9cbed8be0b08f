//! Last branch records: what reaches the stack, and its registers.

use super::Intel;
use crate::lbr::{BranchFilter, BranchRecord, RingWord, arch, legacy};
use crate::pmu::Fault;
use crate::profile::LbrKind;
use crate::register::intel::{
    ArchLbrCtl, DebugCtl, LbrSelect, LerFrom, LerInfo, LerTo, PerfEvtSel, PerfGlobalStatus, RegisterId,
};
use crate::register::set::RegisterSet;
use crate::register::{Holder, Repeat};
use crate::source::CountsSource;

/// Counters whose events can be logged with branch records (CPUID.1CH:ECX bits 19:16), and the most of a counter that
/// a record holds.
pub(super) const LOGGED_COUNTERS: u32 = 4;
pub(super) const MOST_LOGGED: u64 = 3;

impl Intel {
    #[inline]
    pub(in crate::pmu) fn branch_filter(&self) -> BranchFilter {
        self.branch_filter
    }

    #[inline]
    pub(in crate::pmu) fn record_branch(&mut self, branch: &BranchRecord) {
        if self.branch_filter.admits(branch.kind, branch.cpl) {
            self.push(branch, 0);
        }
    }

    /// The same of a CPU that [logs events](Self::logs_events).
    pub(in crate::pmu) fn record_branch_with_events(
        &mut self,
        branch: &BranchRecord,
        source: &mut dyn CountsSource,
    ) {
        if !self.branch_filter.admits(branch.kind, branch.cpl) {
            return;
        }
        let logging = self.logging_counters();
        let mut logged = 0;
        for (n, counter) in (0..LOGGED_COUNTERS).zip(&mut self.gp) {
            if logging >> n & 1 != 0 {
                logged |= counter.take_logged(source).min(MOST_LOGGED) << (2 * n);
            }
        }
        self.push(branch, logged);
    }

    /// Bits of the counters whose events are logged with records.
    fn logging_counters(&self) -> u8 {
        let bit = |n: u32| u8::from(self.bank.nth::<PerfEvtSel>(n).en_lbr_log()) << n;
        self.intel.lbr_event_logging & (0..LOGGED_COUNTERS).fold(0, |bits, n| bits | bit(n))
    }

    /// Records hold events.
    pub(in crate::pmu) fn logs_events(&self) -> bool {
        self.intel.lbr_event_logging != 0 && !self.branch_filter.is_empty() && self.logging_counters() != 0
    }

    #[inline]
    fn push(&mut self, branch: &BranchRecord, logged: u64) {
        if branch.kind == crate::BranchKind::Return && self.needs_every_branch() {
            self.ring.pop(branch.cycle);
            return;
        }
        let cycles = self.ring.elapsed(branch.cycle);
        let entry = match self.profile.lbr {
            LbrKind::Legacy => legacy::entry(branch, cycles),
            _ => arch::entry(branch, self.bank.get(), cycles, logged),
        };
        self.ring.push(entry, branch.cycle);
    }

    /// The newest record becomes the last-exception record.
    pub(in crate::pmu) fn interrupted(&mut self) {
        // It depends on the same enables as the others. The event's own kind and level do not matter: what counts is
        // the branch before it.
        if self.branch_filter.is_empty() {
            return;
        }
        let newest = self.ring.newest();
        self.bank.set(LerFrom(newest.from));
        self.bank.set(LerTo(newest.to));
        if self.has_arch_lbr() {
            self.bank.set(LerInfo(newest.info & self.masks.of(RegisterId::LerInfo).stored));
        }
    }

    pub(super) fn has_arch_lbr(&self) -> bool {
        matches!(self.profile.lbr, LbrKind::Architectural { .. })
    }

    /// SDM vol. 3B: #DB clears IA32_DEBUGCTL.LBR and BTF, and IA32_LBR_CTL.LBREn, and leaves the records alone.
    pub(in crate::pmu) fn debug_exception(&mut self) {
        self.bank.change(|debugctl: DebugCtl| debugctl.with_lbr(false).with_btf(false));
        self.bank.change(|ctl: ArchLbrCtl| ctl.with_lbr_en(false));
        self.update_branch_filter();
    }

    pub(in crate::pmu) fn steps_on_branches(&self) -> bool {
        self.bank.get::<DebugCtl>().btf()
    }

    /// In call-stack mode a return removes a record.
    pub(in crate::pmu) fn needs_every_branch(&self) -> bool {
        match self.profile.lbr {
            LbrKind::Legacy => self.bank.get::<LbrSelect>().en_callstack(),
            _ => self.bank.get::<ArchLbrCtl>().call_stack(),
        }
    }

    pub(in crate::pmu) fn skip_branches(&mut self, count: u64) {
        self.ring.skip(count);
    }

    /// The filter that the registers ask for.
    pub(super) fn wanted_branches(&self) -> BranchFilter {
        match self.profile.lbr {
            _ if self.bank.get::<PerfGlobalStatus>().lbr_frozen() => BranchFilter::EMPTY,
            LbrKind::Legacy if self.bank.get::<DebugCtl>().lbr() => legacy::filter(self.bank.get()),
            // IA32_DEBUGCTL.LBR has no function for an architectural stack.
            LbrKind::Architectural { .. } => arch::filter(self.bank.get()),
            _ => BranchFilter::EMPTY,
        }
    }

    pub(super) fn update_branch_filter(&mut self) {
        let wanted = self.wanted_branches();
        if self.branch_filter.is_empty() && !wanted.is_empty() {
            // Recording begins: the distance to the last record is unknown.
            self.ring.updated = None;
            self.gp.iter_mut().for_each(|counter| counter.logged = 0);
        }
        self.branch_filter = wanted;
    }

    /// A PMI freezes the records: streamlined from version 4, by clearing DEBUGCTL.LBR before.
    pub(super) fn freeze_branches(&mut self) {
        if !self.bank.get::<DebugCtl>().freeze_lbrs_on_pmi() {
            return;
        }
        if self.intel.version >= 4 {
            self.bank.change(|status: PerfGlobalStatus| status.with_lbr_frozen(true));
        } else {
            self.bank.change(|debugctl: DebugCtl| debugctl.with_lbr(false));
        }
    }

    /// Where instance `n` of one of the stack's registers is in the ring; `None` beyond the depth. The architectural
    /// stack's entry 0 is the newest.
    pub(super) fn ring_word(&self, id: RegisterId, n: u32) -> Option<RingWord> {
        let word = match id {
            RegisterId::LbrTos => RingWord::Newest,
            RegisterId::ArchLbrDepth => RingWord::Depth,
            RegisterId::LastBranchFrom => RingWord::From(n as usize),
            RegisterId::LastBranchTo => RingWord::To(n as usize),
            RegisterId::ArchLbrFrom => RingWord::From(self.ring.back(n)),
            RegisterId::ArchLbrTo => RingWord::To(self.ring.back(n)),
            RegisterId::ArchLbrInfo => RingWord::Info(self.ring.back(n)),
            _ => RingWord::Info(n as usize),
        };
        (id.register().repeat != Repeat::PerLbr || u64::from(n) < self.ring.depth()).then_some(word)
    }

    /// Fails for a record beyond the depth.
    pub(super) fn check_depth(&self, id: RegisterId, n: u32) -> Result<(), Fault> {
        let known = id.register().holder != Holder::BranchStack || self.ring_word(id, n).is_some();
        if known { Ok(()) } else { Err(Fault::BeyondDepth { depth: self.ring.depth() }) }
    }
}
