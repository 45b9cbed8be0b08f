//! Intel's PMU: general-purpose and fixed counters, PERF_METRICS, GLOBAL_CTRL.
//!
//! | file | what it does |
//! | --- | --- |
//! | `mod.rs` | construction, bringing counters up to date, overflow, freezing |
//! | `access.rs` | RDMSR, WRMSR |
//! | `branches.rs` | last branch records |
//! | `rdpmc.rs` | RDPMC |
//! | `state.rs` | saving and restoring |

mod access;
mod branches;
mod lbr_component;
mod rdpmc;
mod state;

pub use lbr_component::LBR_COMPONENT_WORDS;
pub use state::IntelState;

use super::counter::{self, Active, Counter, CounterId, fixed_code};
use super::ledger::Ledger;
use super::masks::{Masks, masks};
use crate::event::FixedEvent;
use crate::lbr::{BranchFilter, Lbr};
use crate::metrics::{ALL_FIELDS, Metrics};
use crate::profile::{IntelPmu, MAX_FIXED, MAX_GP, Profile};
use crate::register::intel::{
    COUNT as REGISTER_COUNT, DebugCtl, FixedCtrCtrl, OffcoreRsp, OffcoreRsp1, PebsFrontend, PebsLdLat,
    PerfEvtSel, PerfGlobalCtrl, REGISTERS,
};
use crate::register::low_bits;
use crate::source::{CountsSource, EventRequest, PrivilegeFilter, TopdownSlots};

/// GLOBAL_CTRL and GLOBAL_STATUS bit of fixed counter 0.
const FIXED_BASE: u32 = 32;
/// GLOBAL_STATUS bit OVF_PERF_METRICS.
const STATUS_METRICS: u64 = 1 << 48;
/// GLOBAL_STATUS bit CTR_Frz.
const STATUS_CTR_FROZEN: u64 = 1 << 59;
/// The fixed counter that counts slots.
const SLOTS_COUNTER: usize = 3;
/// IA32_MISC_ENABLE after RESET: fast strings, perfmon available, BTS and PEBS unavailable.
const MISC_ENABLE_RESET: u64 = 1 | 1 << 7 | 1 << 11 | 1 << 12;
const MAX_ACTIVE: usize = MAX_GP + MAX_FIXED + ALL_FIELDS;

/// The state machine.
#[derive(Debug, Clone)]
pub(super) struct Intel {
    // Configuration.
    profile: Profile,
    intel: IntelPmu,
    masks: [Masks; REGISTER_COUNT],
    // Guest-visible state.
    regs: Registers,
    gp: [Counter; MAX_GP],
    fixed: [Counter; MAX_FIXED],
    metrics: Metrics,
    lbr: Lbr,
    pmi: bool,
    /// Which branches the registers ask for; derived from them.
    branch_filter: BranchFilter,
    // Relation to the source.
    metrics_mark: Option<(PrivilegeFilter, TopdownSlots)>,
    // Reports.
    ledger: Ledger,
}

/// Registers that hold exactly what software wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Registers {
    evtsel: [u64; MAX_GP],
    fixed_ctr_ctrl: u64,
    global_ctrl: u64,
    global_status: u64,
    debugctl: u64,
    misc_enable: u64,
    offcore_rsp: [u64; 2],
    ld_lat: u64,
    frontend: u64,
}

impl Intel {
    /// A PMU in its RESET state. `profile` is within its limits, and `pmu` its part.
    pub(super) fn new(profile: Profile, pmu: IntelPmu) -> Self {
        let masks = masks(REGISTERS, &profile);
        let unprogrammed = EventRequest::default();
        let fixed = core::array::from_fn(|index| {
            Counter::new(match FixedEvent::event(index as u8) {
                Some(event) => EventRequest::named(event, fixed_code(index as u8)),
                None => unprogrammed,
            })
        });
        let mut machine = Self {
            profile,
            intel: pmu,
            masks,
            regs: Registers::default(),
            gp: core::array::from_fn(|_| Counter::new(unprogrammed)),
            fixed,
            metrics: Metrics::default(),
            lbr: Lbr::None,
            pmi: false,
            branch_filter: BranchFilter::EMPTY,
            metrics_mark: None,
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

    /// KVM's choice for RESET where the SDM leaves contents undefined: zero.
    fn set_reset_values(&mut self) {
        self.regs = Registers {
            global_ctrl: if self.intel.version >= 2 { self.profile.global_ctrl_reset() } else { 0 },
            misc_enable: MISC_ENABLE_RESET,
            ..Registers::default()
        };
        for counter in self.gp.iter_mut().chain(&mut self.fixed) {
            counter.value = 0;
        }
        self.metrics = Metrics::default();
        self.lbr = Lbr::new(self.profile.lbr);
        self.branch_filter = BranchFilter::EMPTY;
        self.pmi = false;
    }

    pub(super) fn take_pmi(&mut self) -> bool {
        core::mem::take(&mut self.pmi)
    }

    pub(super) fn pmi_pending(&self) -> bool {
        self.pmi
    }

    /// Brings every counter up to date and handles overflows.
    pub(super) fn sync<S: CountsSource + ?Sized>(&mut self, source: &mut S) {
        let mut overflowed = 0_u64;
        let mut interrupt = false;
        let gp_width = u32::from(self.profile.gp_width);
        for (index, counter) in self.gp.iter_mut().enumerate() {
            if counter.sync(gp_width, source) {
                overflowed |= 1 << index;
                interrupt |= PerfEvtSel(self.regs.evtsel[index]).interrupt();
            }
        }
        let fixed_width = u32::from(self.intel.fixed_width);
        for (index, counter) in self.fixed.iter_mut().enumerate() {
            if counter.sync(fixed_width, source) {
                overflowed |= 1 << (FIXED_BASE + index as u32);
                interrupt |= FixedCtrCtrl(self.regs.fixed_ctr_ctrl).pmi(index as u32);
            }
        }
        if let Some((filter, mark)) = self.metrics_mark
            && let Some(now) = source.topdown(filter)
        {
            let delta = now.since(&mark);
            self.metrics_mark = Some((filter, now));
            self.ledger.add_topdown(&delta);
            // No enable bit of its own: enabling the metrics enables their PMI.
            if self.metrics.add(&delta, self.intel.metrics_level) {
                overflowed |= STATUS_METRICS;
                interrupt = true;
            }
        }
        if overflowed != 0 {
            self.overflow(overflowed, interrupt, source);
        }
    }

    /// Status first, then freeze, then the PMI request.
    fn overflow<S: CountsSource + ?Sized>(&mut self, bits: u64, interrupt: bool, source: &mut S) {
        // Version 1 has no status register.
        if self.intel.version >= 2 {
            self.regs.global_status |= bits;
        }
        if interrupt {
            self.pmi = true;
            if DebugCtl(self.regs.debugctl).freeze_perfmon_on_pmi() {
                if self.intel.version >= 4 {
                    self.regs.global_status |= STATUS_CTR_FROZEN;
                } else {
                    self.regs.global_ctrl = 0;
                }
            }
            self.freeze_branches();
        }
        self.restart(source);
    }

    /// Starts and stops counters as the control registers say. Counters must be up to date.
    fn restart<S: CountsSource + ?Sized>(&mut self, source: &mut S) {
        self.update_branch_filter();
        let frozen = self.regs.global_status & STATUS_CTR_FROZEN != 0;
        // Version 1 has no GLOBAL_CTRL: all enabled.
        let global = if self.intel.version >= 2 { self.regs.global_ctrl } else { u64::MAX };
        let global = PerfGlobalCtrl(if frozen { 0 } else { global });
        for index in 0..usize::from(self.profile.gp_counters) {
            let select = PerfEvtSel(self.regs.evtsel[index]);
            let filter = PrivilegeFilter { os: select.os(), usr: select.usr() };
            let enabled = select.enable() && global.enable_pmc(index as u32) && !filter.is_empty();
            let counter = &mut self.gp[index];
            self.ledger.switch(CounterId::Gp(index as u8), counter, (enabled, filter), source);
        }
        let ctrl = FixedCtrCtrl(self.regs.fixed_ctr_ctrl);
        for index in 0..usize::from(self.intel.fixed_counters) {
            let n = index as u32;
            let filter = PrivilegeFilter { os: ctrl.os(n), usr: ctrl.usr(n) };
            let enabled = global.enable_fixed(n) && !filter.is_empty();
            let counter = &mut self.fixed[index];
            self.ledger.switch(CounterId::Fixed(index as u8), counter, (enabled, filter), source);
        }
        let slots = &self.fixed[SLOTS_COUNTER];
        let metrics = slots.is_running() && global.enable_metrics();
        let filter = slots.filter;
        self.metrics_mark = match self.metrics_mark {
            Some((marked, mark)) if metrics && marked == filter => Some((marked, mark)),
            _ if metrics => source.topdown(filter).map(|now| (filter, now)),
            _ => None,
        };
        self.rearm(source);
    }

    /// Tells the source what runs now and when it would overflow.
    fn rearm<S: CountsSource + ?Sized>(&self, source: &mut S) {
        counter::rearm::<MAX_ACTIVE, S>(self.active(), source);
    }

    /// The running counters, as of the last update.
    pub(super) fn active(&self) -> impl Iterator<Item = Active> + '_ {
        let gp_width = u32::from(self.profile.gp_width);
        let gp = self.gp.iter().enumerate().filter(|(_, c)| c.is_running()).map(move |(index, c)| Active {
            counter: CounterId::Gp(index as u8),
            request: c.request,
            filter: c.filter,
            until_overflow: c.until_overflow(gp_width),
            interrupts: PerfEvtSel(self.regs.evtsel[index]).interrupt(),
        });
        let fixed_width = u32::from(self.intel.fixed_width);
        let fixed =
            self.fixed.iter().enumerate().filter(|(_, c)| c.is_running()).map(move |(index, c)| Active {
                counter: CounterId::Fixed(index as u8),
                request: c.request,
                filter: c.filter,
                until_overflow: c.until_overflow(fixed_width),
                interrupts: FixedCtrCtrl(self.regs.fixed_ctr_ctrl).pmi(index as u32),
            });
        let slots = &self.fixed[SLOTS_COUNTER];
        let metrics = self.metrics_mark.into_iter().flat_map(move |(filter, _)| {
            let each = self.metrics.until_overflow(self.intel.metrics_level);
            each.enumerate().map(move |(index, until)| Active {
                counter: CounterId::Metric(index as u8),
                request: slots.request,
                filter,
                until_overflow: until,
                interrupts: true,
            })
        });
        gp.chain(fixed).chain(metrics)
    }

    /// What has been counted so far. Brings the counters up to date first.
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
        for (index, counter) in self.fixed.iter_mut().enumerate() {
            self.ledger.take(CounterId::Fixed(index as u8), counter);
        }
    }

    /// Sets what a general-purpose counter counts, from its event select and, where the event
    /// needs one, its event register.
    fn reprogram(&mut self, index: usize) {
        let code = crate::event::EventCode::from_evtsel(self.regs.evtsel[index]);
        let mut resolved = self.profile.events.resolve(code);
        if let Some(msr) = resolved.extra_msr {
            resolved = self.profile.events.resolve_extra(code, self.event_register(msr));
        }
        let request = EventRequest::resolved(code, &resolved, index as u32);
        self.ledger.reprogram(CounterId::Gp(index as u8), &mut self.gp[index], request);
    }

    /// Content of an event register that refines an event.
    fn event_register(&self, msr: u32) -> u64 {
        match msr {
            PebsLdLat::MSR => self.regs.ld_lat,
            PebsFrontend::MSR => self.regs.frontend,
            OffcoreRsp::MSR => self.regs.offcore_rsp[0],
            OffcoreRsp1::MSR => self.regs.offcore_rsp[1],
            _ => 0,
        }
    }

    fn reprogram_all(&mut self) {
        for index in 0..usize::from(self.profile.gp_counters) {
            self.reprogram(index);
        }
    }

    /// Slots in FIXED_CTR3, up to date as of the last synchronisation.
    fn slots(&self) -> u64 {
        self.fixed[SLOTS_COUNTER].value
    }

    fn counter_values(&self) -> ([u64; MAX_GP], [u64; MAX_FIXED]) {
        (self.gp.each_ref().map(|c| c.value), self.fixed.each_ref().map(|c| c.value))
    }

    /// Replaces the guest-visible state. `state` has been checked.
    fn replace<S: CountsSource + ?Sized>(
        &mut self,
        regs: Registers,
        (gp, fixed): ([u64; MAX_GP], [u64; MAX_FIXED]),
        metrics: Metrics,
        lbr: Lbr,
        pmi: bool,
        source: &mut S,
    ) {
        self.sync(source);
        self.flush_ledger();
        self.regs = regs;
        self.metrics = metrics;
        self.lbr = lbr;
        // What goes on is not a beginning.
        self.branch_filter = self.wanted_branches();
        self.pmi = pmi;
        self.reprogram_all();
        for (counter, value) in self.gp.iter_mut().zip(gp).chain(self.fixed.iter_mut().zip(fixed)) {
            counter.value = value;
        }
        self.restart(source);
    }

    fn gp_mask(&self) -> u64 {
        low_bits(u32::from(self.profile.gp_width))
    }

    fn fixed_mask(&self) -> u64 {
        low_bits(u32::from(self.intel.fixed_width))
    }
}
