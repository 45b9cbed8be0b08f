//! Branch records: the last branch, and the stack of LbrExtV2.
//!
//! The two are independent: DBG_CTL_MSR.LBR switches the first on, DBG_EXTN_CFG.LBRV2EN the second.

use super::Amd;
use crate::lbr::{BranchFilter, BranchRecord, RingWord, amd};
use crate::register::amd::{
    DbgExtnCfg, DebugCtl, LastBranchFromIp, LastBranchToIp, LastIntFromIp, LastIntToIp, PerfCntrGlobalStatus,
    RegisterId,
};

impl Amd {
    #[inline]
    pub(in crate::pmu) fn branch_filter(&self) -> BranchFilter {
        self.branch_filter
    }

    /// The last branch is recorded in its two registers.
    fn records_last(&self) -> bool {
        self.bank.get::<DebugCtl>().lbr()
    }

    pub(in crate::pmu) fn record_branch(&mut self, branch: &BranchRecord) {
        if !self.branch_filter.admits(branch.kind, branch.cpl) {
            return;
        }
        if self.records_last() {
            self.bank.set(LastBranchFromIp(branch.from));
            self.bank.set(LastBranchToIp(branch.to));
        }
        if self.stack_filter.admits(branch.kind, branch.cpl) {
            self.ring.push(amd::entry(branch), branch.cycle);
        }
    }

    pub(in crate::pmu) fn interrupted(&mut self) {
        if self.records_last() {
            self.bank.set(LastIntFromIp(self.bank.get::<LastBranchFromIp>().0));
            self.bank.set(LastIntToIp(self.bank.get::<LastBranchToIp>().0));
        }
    }

    /// APM vol. 2: #DB clears DBG_CTL_MSR.LBR and BTF, and DBG_EXTN_CFG.LBRV2EN, and leaves the records alone.
    pub(in crate::pmu) fn debug_exception(&mut self) {
        self.bank.change(|debugctl: DebugCtl| debugctl.with_lbr(false).with_btf(false));
        self.bank.change(|config: DbgExtnCfg| config.with_lbr_v2_enable(false));
        self.update_branch_filter();
    }

    pub(in crate::pmu) fn steps_on_branches(&self) -> bool {
        self.bank.get::<DebugCtl>().btf()
    }

    /// The newest branches of both recorders are not the newest ones of the stack.
    pub(in crate::pmu) fn needs_every_branch(&self) -> bool {
        self.records_last() && !self.stack_filter.is_empty()
    }

    pub(super) fn update_branch_filter(&mut self) {
        let frozen = self.bank.get::<PerfCntrGlobalStatus>().lbr_frozen();
        let records = self.bank.get::<DbgExtnCfg>().lbr_v2_enable() && !frozen;
        self.stack_filter = if records { amd::filter(self.bank.get()) } else { BranchFilter::EMPTY };
        self.branch_filter = if self.records_last() { BranchFilter::ALL } else { self.stack_filter };
    }

    /// Where instance `n` of one of the stack's registers is in the ring: 0 is the newest.
    pub(super) fn ring_word(&self, id: RegisterId, n: u32) -> RingWord {
        let index = self.ring.back(n);
        if id == RegisterId::SampBrFrom { RingWord::From(index) } else { RingWord::To(index) }
    }
}
