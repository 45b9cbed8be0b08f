//! AMD's core performance counters.
//!
//! | file | what it does |
//! | --- | --- |
//! | `mod.rs` | construction, bringing counters up to date, overflow, freezing |
//! | `access.rs` | RDMSR, WRMSR, RDPMC |
//! | `branches.rs` | branch records |
//! | `ibs.rs` | instruction-based sampling |
//! | `faults.rs` | what goes wrong on command |
//! | `merge.rs` | pairs of counters for large increments |
//! | `state.rs` | saving and restoring |
//!
//! Without PerfMonV2 there is no status register: software finds an overflow by bit 47 of the counter.

mod access;
mod branches;
mod faults;
mod ibs;
mod merge;
mod state;

use super::counter::{self, Counter};
use super::ledger::Ledger;
use super::masks::AllMasks;
use super::pmi::PmiRequests;
use crate::event::EventCode;
use crate::lbr::{BranchFilter, Ring};
use crate::profile::{AmdPmu, MAX_GP, Profile};
use crate::register::amd::{DebugCtl, PerfCntrGlobalCtl, PerfCntrGlobalStatus, PerfCtl, RegisterId};
use crate::register::bank::Bank;
use crate::source::{Active, CounterId, CountsSource, EventRequest, PrivilegeFilter};

/// Most running counters, those of IBS among them.
const MAX_ACTIVE: usize = MAX_GP + 2;

/// The state machine.
#[derive(Debug, Clone)]
pub(super) struct Amd {
    // Configuration.
    profile: Profile,
    amd: AmdPmu,
    masks: AllMasks<RegisterId>,
    // Guest-visible state.
    bank: Bank<RegisterId>,
    /// The even counter of a merged pair holds all 64 bits; bits 15:0 of the odd one mean nothing then.
    gp: [Counter; MAX_GP],
    /// The stack of LbrExtV2.
    ring: Ring,
    pmi: bool,
    /// Instruction-based sampling.
    ibs: ibs::Ibs,
    /// Which pairs are merged: bit n for the one of counter n. Derived from the controls.
    merged: u16,
    /// Which branches the registers ask for, in the stack and at all; derived from them.
    stack_filter: BranchFilter,
    branch_filter: BranchFilter,
    // Reports.
    ledger: Ledger,
}

impl Amd {
    /// A PMU in its RESET state. `profile` is within its limits, and `amd` its part.
    pub(super) fn new(profile: Profile, amd: AmdPmu) -> Self {
        Self {
            masks: AllMasks::new(&profile),
            bank: Bank::new(&profile),
            gp: counter::numbered(|n| Counter::new(CounterId::Gp(n), EventRequest::default())),
            ring: Ring::new(profile.lbr.max_depth()),
            pmi: false,
            ibs: ibs::Ibs::new(),
            merged: 0,
            stack_filter: BranchFilter::EMPTY,
            branch_filter: BranchFilter::EMPTY,
            ledger: Ledger::default(),
            profile,
            amd,
        }
    }

    pub(super) fn profile(&self) -> &Profile {
        &self.profile
    }

    /// RESET: every register returns to its reset value. The ledger stays.
    pub(super) fn reset(&mut self, source: &mut dyn CountsSource) {
        self.sync(source);
        self.flush_ledger();
        self.set_reset_values();
        self.reprogram_all();
        self.restart(source);
    }

    /// KVM's choice for RESET where the APM leaves contents undefined: zero. All counters are enabled in
    /// PerfCntrGlobalCtl, but none in its PERF_CTL.
    fn set_reset_values(&mut self) {
        self.bank = Bank::new(&self.profile);
        self.merged = 0;
        self.ibs = ibs::Ibs::new();
        for counter in &mut self.gp {
            counter.value = 0;
        }
        self.ring = Ring::new(self.profile.lbr.max_depth());
        self.update_branch_filter();
        self.pmi = false;
    }

    pub(super) fn take_requests(&mut self) -> PmiRequests {
        PmiRequests::of(core::mem::take(&mut self.pmi))
    }

    /// Brings every counter up to date and handles overflows.
    pub(super) fn sync(&mut self, source: &mut dyn CountsSource) {
        let mut overflowed = PerfCntrGlobalStatus::default();
        let mut interrupt = false;
        for n in 0..u32::from(self.profile.gp_counters) {
            let width = self.width(n);
            if self.gp[n as usize].sync(width, source) != 0 {
                overflowed.set_overflow(n, true);
                interrupt |= self.bank.nth::<PerfCtl>(n).interrupt();
            }
        }
        self.sync_ibs(source);
        if overflowed.0 != 0 {
            self.overflow(overflowed, interrupt, source);
        }
    }

    /// Status first, whether or not a PMI is wanted; then freeze and the PMI request.
    fn overflow(&mut self, overflowed: PerfCntrGlobalStatus, interrupt: bool, source: &mut dyn CountsSource) {
        let mut status = self.bank.get::<PerfCntrGlobalStatus>();
        if self.amd.v2 {
            status.0 |= overflowed.0;
        }
        if interrupt {
            self.pmi = true;
            let debugctl = self.bank.get::<DebugCtl>();
            status.set_ctr_frozen(status.ctr_frozen() || debugctl.freeze_perfmon_on_pmi());
            status.set_lbr_frozen(status.lbr_frozen() || debugctl.freeze_lbrs_on_pmi());
        }
        self.bank.set(status);
        self.restart(source);
    }

    /// Starts and stops counters as the control registers say. Counters must be up to date.
    fn restart(&mut self, source: &mut dyn CountsSource) {
        self.update_branch_filter();
        let global = match self.bank.get::<PerfCntrGlobalStatus>().ctr_frozen() {
            true => PerfCntrGlobalCtl(0),
            // Before PerfMonV2 there is no PerfCntrGlobalCtl: all enabled.
            false if !self.amd.v2 => PerfCntrGlobalCtl(u64::MAX),
            false => self.bank.get(),
        };
        for n in 0..u32::from(self.profile.gp_counters) {
            let control = self.bank.nth::<PerfCtl>(n);
            let filter = PrivilegeFilter { os: control.os(), usr: control.usr() };
            let half = self.is_merged(n) && !global.enable(n | 1);
            let carries = self.is_merged_odd(n);
            let enabled = control.enable() && global.enable(n) && !half && !carries && !filter.is_empty();
            self.ledger.switch(&mut self.gp[n as usize], (enabled, filter), source);
        }
        self.run_ibs(source);
        self.rearm(source);
    }

    /// Tells the source what runs now and when it would overflow.
    pub(super) fn rearm(&self, source: &mut dyn CountsSource) {
        counter::rearm::<MAX_ACTIVE>(self.active(), source);
    }

    /// The running counters, as of the last update.
    pub(super) fn active(&self) -> impl Iterator<Item = Active> + '_ {
        (0..)
            .zip(&self.gp)
            .filter_map(|(n, counter)| counter.active(self.width(n), self.bank.nth::<PerfCtl>(n).interrupt()))
            .chain(self.ibs.active())
    }

    pub(super) fn ledger(&mut self) -> &Ledger {
        self.flush_ledger();
        &self.ledger
    }

    pub(super) fn set_ledger(&mut self, ledger: Ledger) {
        self.ledger = ledger;
    }

    fn flush_ledger(&mut self) {
        for counter in &mut self.gp {
            self.ledger.take(counter);
        }
    }

    /// Sets what a counter counts, from its control. Pairs must be up to date.
    fn reprogram(&mut self, n: u32) {
        let code = EventCode::from_perf_ctl(self.bank.nth::<PerfCtl>(n).0);
        let resolved = self.profile.events.resolve(code);
        let limit = if self.is_merged(n) { merge::INCREMENT_LIMIT } else { self.amd.increment_limit };
        let request = EventRequest { limit: Some(limit), ..EventRequest::resolved(code, &resolved, n) };
        self.ledger.reprogram(&mut self.gp[n as usize], request);
    }

    fn reprogram_all(&mut self) {
        (0..u32::from(self.profile.gp_counters)).for_each(|n| self.reprogram(n));
    }
}

#[cfg(test)]
mod ibs_tests;
#[cfg(test)]
mod tests;
