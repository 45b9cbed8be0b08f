//! AMD's core performance counters.
//!
//! | file | what it does |
//! | --- | --- |
//! | `mod.rs` | construction, bringing counters up to date, overflow, freezing |
//! | `access.rs` | RDMSR, WRMSR, RDPMC |
//! | `merge.rs` | pairs of counters for large increments |
//! | `state.rs` | saving and restoring |
//!
//! Without PerfMonV2 there is no status register: software finds an overflow by bit 47 of the counter.

mod access;
mod merge;
mod state;

pub use state::AmdState;

use super::counter::{self, Active, Counter, CounterId};
use super::ledger::Ledger;
use super::masks::{Masks, masks};
use crate::event::EventCode;
use crate::lbr::{AmdLbr, BranchFilter, BranchRecord};
use crate::profile::{AmdPmu, MAX_GP, Profile};
use crate::register::amd::{COUNT as REGISTER_COUNT, DebugCtl, PerfCntrGlobalCtl, PerfCtl, REGISTERS};
use crate::source::{CountsSource, EventRequest, PrivilegeFilter};

/// PerfCntrGlobalStatus.LBRSF.
const STATUS_LBR_FROZEN: u64 = 1 << 58;
/// PerfCntrGlobalStatus.PMCF.
const STATUS_CTR_FROZEN: u64 = 1 << 59;
/// DBG_CTL_MSR.LBR and BTF.
const DEBUGCTL_LBR_BTF: u64 = 1 | 1 << 1;

/// The state machine.
#[derive(Debug, Clone)]
pub(super) struct Amd {
    // Configuration.
    profile: Profile,
    amd: AmdPmu,
    masks: [Masks; REGISTER_COUNT],
    // Guest-visible state.
    regs: Registers,
    /// The even counter of a merged pair holds all 64 bits; bits 15:0 of the odd one mean nothing then.
    gp: [Counter; MAX_GP],
    lbr: AmdLbr,
    pmi: bool,
    /// Which pairs are merged: bit n for the one of counter n. Derived from the controls.
    merged: u16,
    /// Which branches the registers ask for; derived from them.
    branch_filter: BranchFilter,
    // Reports.
    ledger: Ledger,
}

/// Registers that hold exactly what software wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Registers {
    ctl: [u64; MAX_GP],
    global_ctl: u64,
    global_status: u64,
    debugctl: u64,
}

impl Amd {
    /// A PMU in its RESET state. `profile` is within its limits, and `amd` its part.
    pub(super) fn new(profile: Profile, amd: AmdPmu) -> Self {
        let masks = masks(REGISTERS, &profile);
        let mut machine = Self {
            lbr: AmdLbr::new(profile.lbr),
            profile,
            amd,
            masks,
            regs: Registers::default(),
            gp: core::array::from_fn(|_| Counter::new(EventRequest::default())),
            pmi: false,
            merged: 0,
            branch_filter: BranchFilter::EMPTY,
            ledger: Ledger::default(),
        };
        machine.set_reset_values();
        machine
    }

    pub(super) fn profile(&self) -> &Profile {
        &self.profile
    }

    /// RESET: every register returns to its reset value. The ledger stays.
    pub(super) fn reset<S: CountsSource + ?Sized>(&mut self, source: &mut S) {
        self.sync(source);
        self.flush_ledger();
        self.set_reset_values();
        self.reprogram_all();
        self.restart(source);
    }

    /// KVM's choice for RESET where the APM leaves contents undefined: zero. All counters are enabled in
    /// PerfCntrGlobalCtl, but none in its PERF_CTL.
    fn set_reset_values(&mut self) {
        let global_ctl = if self.amd.v2 { self.profile.global_ctrl_reset() } else { 0 };
        self.regs = Registers { global_ctl, ..Registers::default() };
        self.merged = 0;
        for counter in &mut self.gp {
            counter.value = 0;
        }
        self.lbr = AmdLbr::new(self.profile.lbr);
        self.branch_filter = BranchFilter::EMPTY;
        self.pmi = false;
    }

    pub(super) fn take_pmi(&mut self) -> bool {
        core::mem::take(&mut self.pmi)
    }

    pub(super) fn pmi_pending(&self) -> bool {
        self.pmi
    }

    #[inline]
    pub(super) fn branch_filter(&self) -> BranchFilter {
        self.branch_filter
    }

    #[inline]
    pub(super) fn record_branch(&mut self, branch: &BranchRecord) {
        if self.branch_filter.admits(branch.kind, branch.cpl) {
            self.lbr.record(branch);
        }
    }

    pub(super) fn interrupted(&mut self) {
        self.lbr.interrupted();
    }

    /// APM vol. 2: #DB clears DBG_CTL_MSR.LBR and BTF, and DBG_EXTN_CFG.LBRV2EN, and leaves the records alone.
    pub(super) fn debug_exception(&mut self) {
        self.regs.debugctl &= !DEBUGCTL_LBR_BTF;
        self.lbr.disable_stack();
        self.update_branch_filter();
    }

    pub(super) fn steps_on_branches(&self) -> bool {
        DebugCtl(self.regs.debugctl).btf()
    }

    pub(super) fn needs_every_branch(&self) -> bool {
        self.lbr.needs_every_branch()
    }

    /// Brings every counter up to date and handles overflows.
    pub(super) fn sync<S: CountsSource + ?Sized>(&mut self, source: &mut S) {
        let mut overflowed = 0_u64;
        let mut interrupt = false;
        for index in 0..usize::from(self.profile.gp_counters) {
            let width = self.width(index);
            if self.gp[index].sync(width, source) {
                overflowed |= 1 << index;
                interrupt |= PerfCtl(self.regs.ctl[index]).interrupt();
            }
        }
        if overflowed != 0 {
            self.overflow(overflowed, interrupt, source);
        }
    }

    /// Status first, whether or not a PMI is wanted; then freeze and the PMI request.
    fn overflow<S: CountsSource + ?Sized>(&mut self, bits: u64, interrupt: bool, source: &mut S) {
        if self.amd.v2 {
            self.regs.global_status |= bits;
        }
        if interrupt {
            self.pmi = true;
            let debugctl = DebugCtl(self.regs.debugctl);
            if debugctl.freeze_perfmon_on_pmi() {
                self.regs.global_status |= STATUS_CTR_FROZEN;
            }
            if debugctl.freeze_lbrs_on_pmi() {
                self.regs.global_status |= STATUS_LBR_FROZEN;
            }
        }
        self.restart(source);
    }

    /// Starts and stops counters as the control registers say. Counters must be up to date.
    fn restart<S: CountsSource + ?Sized>(&mut self, source: &mut S) {
        self.update_branch_filter();
        // Before PerfMonV2 there is no PerfCntrGlobalCtl: all enabled.
        let global = if self.amd.v2 { self.regs.global_ctl } else { u64::MAX };
        let frozen = self.regs.global_status & STATUS_CTR_FROZEN != 0;
        let global = PerfCntrGlobalCtl(if frozen { 0 } else { global });
        for index in 0..usize::from(self.profile.gp_counters) {
            let control = PerfCtl(self.regs.ctl[index]);
            let filter = PrivilegeFilter { os: control.os(), usr: control.usr() };
            let n = index as u32;
            let half = self.is_merged(index) && !global.enable(n | 1);
            let carries = self.is_merged(index) && index % 2 == 1;
            let enabled = control.enable() && global.enable(n) && !half && !carries && !filter.is_empty();
            let counter = &mut self.gp[index];
            self.ledger.switch(CounterId::Gp(index as u8), counter, (enabled, filter), source);
        }
        self.rearm(source);
    }

    fn update_branch_filter(&mut self) {
        let frozen = self.regs.global_status & STATUS_LBR_FROZEN != 0;
        self.branch_filter = self.lbr.update(DebugCtl(self.regs.debugctl).lbr(), frozen);
    }

    /// Tells the source what runs now and when it would overflow.
    fn rearm<S: CountsSource + ?Sized>(&self, source: &mut S) {
        counter::rearm::<MAX_GP, S>(self.active(), source);
    }

    /// The running counters, as of the last update.
    pub(super) fn active(&self) -> impl Iterator<Item = Active> + '_ {
        let running = self.gp.iter().enumerate().filter(|(_, counter)| counter.is_running());
        running.map(|(index, counter)| Active {
            counter: CounterId::Gp(index as u8),
            request: counter.request,
            filter: counter.filter,
            until_overflow: counter.until_overflow(self.width(index)),
            interrupts: PerfCtl(self.regs.ctl[index]).interrupt(),
        })
    }

    pub(super) fn ledger<S: CountsSource + ?Sized>(&mut self, source: &mut S) -> &Ledger {
        self.sync(source);
        self.flush_ledger();
        &self.ledger
    }

    pub(super) fn set_ledger(&mut self, ledger: Ledger) {
        self.ledger = ledger;
    }

    fn flush_ledger(&mut self) {
        for (index, counter) in self.gp.iter_mut().enumerate() {
            self.ledger.take(CounterId::Gp(index as u8), counter);
        }
    }

    /// Sets what a counter counts, from its control. Pairs must be up to date.
    fn reprogram(&mut self, index: usize) {
        let code = EventCode::from_perf_ctl(self.regs.ctl[index]);
        let resolved = self.profile.events.resolve(code);
        let limit = if self.is_merged(index) { merge::INCREMENT_LIMIT } else { self.amd.increment_limit };
        let request =
            EventRequest { limit: Some(limit), ..EventRequest::resolved(code, &resolved, index as u32) };
        self.ledger.reprogram(CounterId::Gp(index as u8), &mut self.gp[index], request);
    }

    fn reprogram_all(&mut self) {
        for index in 0..usize::from(self.profile.gp_counters) {
            self.reprogram(index);
        }
    }
}

#[cfg(test)]
mod tests;
