//! Intel's PMU: general-purpose and fixed counters, PERF_METRICS, GLOBAL_CTRL.
//!
//! | file | what it does |
//! | --- | --- |
//! | `mod.rs` | construction, bringing counters up to date, overflow, freezing |
//! | `access.rs` | RDMSR, WRMSR |
//! | `branches.rs` | last branch records |
//! | `faults.rs` | what goes wrong on command |
//! | `pebs.rs` | PEBS records |
//! | `rdpmc.rs` | RDPMC |
//! | `state.rs` | saving and restoring |

mod access;
mod branches;
mod faults;
mod lbr_component;
mod pebs;
#[cfg(test)]
mod pebs_tests;
mod rdpmc;
mod state;

pub use lbr_component::LBR_COMPONENT_WORDS;

use self::pebs::{Pebs, Writers};
use super::counter::{self, Actives, Counter, fixed_code};
use super::ledger::Ledger;
use super::masks::AllMasks;
use super::pmi::PmiRequests;
use crate::bits::low_u16;
use crate::event::{EventCode, FixedEvent};
use crate::lbr::{BranchFilter, Ring};
use crate::metrics::{ALL_FIELDS, Metrics};
use crate::profile::{IntelPmu, MAX_FIXED, MAX_GP, Profile, Vendor};
use crate::register::bank::Bank;
use crate::register::intel::{
    DebugCtl, FixedCtrCtrl, PebsLdLat, PerfEvtSel, PerfGlobalCtrl, PerfGlobalStatus, RegisterId,
};
use crate::register::{RegisterId as AnyId, locate, low_bits};
use crate::source::{Active, CounterId, CountsSource, EventRequest, PrivilegeFilter, TopdownSlots};
use alloc::vec::Vec;

/// The fixed counter that counts slots.
const SLOTS_COUNTER: usize = 3;
/// Where in GLOBAL_CTRL, in IA32_PEBS_ENABLE and in records the bits of fixed counters begin.
const FIXED: u32 = 32;
const MAX_ACTIVE: usize = MAX_GP + MAX_FIXED + ALL_FIELDS;

/// The numbers of the bits that are set.
fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let next = (bits != 0).then(|| bits.trailing_zeros());
        bits &= bits.wrapping_sub(1);
        next
    })
}

/// The state machine.
#[derive(Debug, Clone)]
pub(super) struct Intel {
    // Configuration.
    profile: Profile,
    intel: IntelPmu,
    masks: AllMasks<RegisterId>,
    // Guest-visible state.
    bank: Bank<RegisterId>,
    gp: [Counter; MAX_GP],
    fixed: [Counter; MAX_FIXED],
    metrics: Metrics,
    ring: Ring,
    pmi: bool,
    pebs: Pebs,
    /// A fault ends the next PEBS record after so many bytes.
    truncate_pebs: Option<u16>,
    /// Which branches the registers ask for; derived from them.
    branch_filter: BranchFilter,
    /// Which counters write records; derived from the registers.
    writers: Writers,
    /// Those that run, as bits of GLOBAL_CTRL; some may have been stopped since.
    running: u64,
    // Relation to the source.
    metrics_mark: Option<(PrivilegeFilter, TopdownSlots)>,
    // Reports.
    ledger: Ledger,
}

impl Intel {
    /// A PMU in its RESET state. `profile` is within its limits, and `pmu` its part.
    pub(super) fn new(profile: Profile, pmu: IntelPmu) -> Self {
        let gp = |n| Counter::new(CounterId::Gp(n), EventRequest::default());
        let fixed = |n| {
            let event = FixedEvent::event(n);
            let request =
                event.map_or_else(EventRequest::default, |event| EventRequest::named(event, fixed_code(n)));
            Counter::new(CounterId::Fixed(n), request)
        };
        Self {
            masks: AllMasks::new(&profile),
            bank: Bank::new(&profile),
            gp: counter::numbered(gp),
            fixed: counter::numbered(fixed),
            metrics: Metrics::default(),
            ring: Ring::new(profile.lbr.max_depth()),
            pmi: false,
            pebs: Pebs::default(),
            truncate_pebs: None,
            branch_filter: BranchFilter::EMPTY,
            writers: Writers::default(),
            running: 0,
            metrics_mark: None,
            ledger: Ledger::default(),
            profile,
            intel: pmu,
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

    /// KVM's choice for RESET where the SDM leaves contents undefined: zero.
    fn set_reset_values(&mut self) {
        self.bank = Bank::new(&self.profile);
        for counter in self.gp.iter_mut().chain(&mut self.fixed) {
            counter.value = 0;
        }
        self.metrics = Metrics::default();
        self.ring = Ring::new(self.profile.lbr.max_depth());
        self.branch_filter = BranchFilter::EMPTY;
        self.pmi = false;
        self.pebs = Pebs::default();
    }

    pub(super) fn take_requests(&mut self) -> PmiRequests {
        PmiRequests::of(core::mem::take(&mut self.pmi))
    }

    /// Brings every counter up to date and handles overflows.
    pub(super) fn sync(&mut self, source: &mut dyn CountsSource) {
        let mut overflowed = PerfGlobalStatus::default();
        let mut interrupt = false;
        let (writers, before) = (self.writers, self.pebs);
        let gp_width = u32::from(self.profile.gp_width);
        // Those that stand still are not looked at: most do.
        for n in ones(self.running & low_bits(FIXED)) {
            let Some(counter) = self.gp.get_mut(n as usize) else { break };
            if self.pebs.sync(writers, counter, gp_width, source) {
                overflowed.set_ovf_pmc(n, true);
                interrupt |= self.bank.nth::<PerfEvtSel>(n).interrupt();
            }
        }
        let fixed_width = u32::from(self.intel.fixed_width);
        for n in ones(self.running >> FIXED) {
            let Some(counter) = self.fixed.get_mut(n as usize) else { break };
            if self.pebs.sync(writers, counter, fixed_width, source) {
                overflowed.set_ovf_fixed(n, true);
                interrupt |= self.bank.get::<FixedCtrCtrl>().pmi(n);
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
                overflowed.set_ovf_metrics(true);
                interrupt = true;
            }
        }
        if overflowed.0 != 0 {
            self.overflow(overflowed, interrupt, source);
        } else if self.pebs != before {
            self.rearm(source);
        }
    }

    /// Status first, then freeze, then the PMI request.
    fn overflow(&mut self, overflowed: PerfGlobalStatus, interrupt: bool, source: &mut dyn CountsSource) {
        // Version 1 has no status register.
        if self.intel.version >= 2 {
            self.bank.change(|status: PerfGlobalStatus| PerfGlobalStatus(status.0 | overflowed.0));
        }
        if interrupt {
            self.pmi = true;
            if self.bank.get::<DebugCtl>().freeze_perfmon_on_pmi() {
                if self.intel.version >= 4 {
                    self.bank.change(|status: PerfGlobalStatus| status.with_ctr_frozen(true));
                } else {
                    self.bank.set(PerfGlobalCtrl(0));
                }
            }
            self.freeze_branches();
        }
        self.restart(source);
    }

    /// Starts and stops counters as the control registers say. Counters must be up to date.
    fn restart(&mut self, source: &mut dyn CountsSource) {
        self.update_branch_filter();
        let global = match self.bank.get::<PerfGlobalStatus>().ctr_frozen() {
            true => PerfGlobalCtrl(0),
            // Version 1 has no GLOBAL_CTRL: all enabled.
            false if self.intel.version < 2 => PerfGlobalCtrl(u64::MAX),
            false => self.bank.get(),
        };
        for n in 0..u32::from(self.profile.gp_counters) {
            let select = self.bank.nth::<PerfEvtSel>(n);
            let filter = PrivilegeFilter { os: select.os(), usr: select.usr() };
            let enabled = select.enable() && global.enable_pmc(n) && !filter.is_empty();
            self.ledger.switch(&mut self.gp[n as usize], (enabled, filter), source);
        }
        let ctrl = self.bank.get::<FixedCtrCtrl>();
        for n in 0..u32::from(self.intel.fixed_counters) {
            let filter = PrivilegeFilter { os: ctrl.os(n), usr: ctrl.usr(n) };
            let enabled = global.enable_fixed(n) && !filter.is_empty();
            self.ledger.switch(&mut self.fixed[n as usize], (enabled, filter), source);
        }
        let slots = &self.fixed[SLOTS_COUNTER];
        let metrics = slots.is_running() && global.enable_metrics();
        let filter = slots.filter;
        self.metrics_mark = match self.metrics_mark {
            Some((marked, mark)) if metrics && marked == filter => Some((marked, mark)),
            _ if metrics => source.topdown(filter).map(|now| (filter, now)),
            _ => None,
        };
        let running = |counters: &[Counter]| {
            (0..).zip(counters).fold(0, |bits, (n, counter)| bits | u64::from(counter.is_running()) << n)
        };
        self.running = running(&self.gp) | running(&self.fixed) << FIXED;
        self.writers = self.writers();
        self.foresee_overflows();
        self.rearm(source);
    }

    /// Tells the source what runs now and when it would overflow.
    pub(super) fn rearm(&self, source: &mut dyn CountsSource) {
        let mut actives = Actives::<MAX_ACTIVE>::new();
        self.each_active(source.runs_through_samples(), |active| actives.push(active));
        actives.tell(source);
    }

    /// The running counters, as of the last update.
    pub(super) fn active(&self) -> impl Iterator<Item = Active> + use<> {
        let mut all = Vec::new();
        self.each_active(false, |active| all.push(active));
        all.into_iter()
    }

    /// The same, one after the other; `through` is whether the source
    /// [runs through samples](CountsSource::runs_through_samples).
    fn each_active(&self, through: bool, mut each: impl FnMut(Active)) {
        let (writers, pebs) = (self.writers, self.pebs);
        let mut tell = |counter: &Counter, width: u8, interrupts: bool| {
            if !counter.is_running() {
                return;
            }
            let writes = writers.enabled & pebs::bit(counter.id) != 0;
            let until_overflow = counter.until_overflow(width.into());
            let until_overflow = match writes {
                true => pebs.deadline(writers, counter, until_overflow, through),
                false => until_overflow,
            };
            let Counter { id: counter, request, filter, .. } = *counter;
            each(Active { counter, request, filter, until_overflow, interrupts: interrupts || writes });
        };
        for n in ones(self.running & low_bits(FIXED)) {
            let Some(counter) = self.gp.get(n as usize) else { break };
            tell(counter, self.profile.gp_width, self.bank.nth::<PerfEvtSel>(n).interrupt());
        }
        for n in ones(self.running >> FIXED) {
            let Some(counter) = self.fixed.get(n as usize) else { break };
            tell(counter, self.intel.fixed_width, self.bank.get::<FixedCtrCtrl>().pmi(n));
        }
        let Some((filter, _)) = self.metrics_mark else { return };
        let request = self.fixed[SLOTS_COUNTER].request;
        for (n, until_overflow) in (0..).zip(self.metrics.until_overflow(self.intel.metrics_level)) {
            let counter = CounterId::Metric(n);
            each(Active { counter, request, filter, until_overflow, interrupts: true });
        }
    }

    pub(super) fn ledger(&mut self) -> &Ledger {
        self.flush_ledger();
        &self.ledger
    }

    pub(super) fn set_ledger(&mut self, ledger: Ledger) {
        self.ledger = ledger;
    }

    fn flush_ledger(&mut self) {
        for counter in self.gp.iter_mut().chain(&mut self.fixed) {
            self.ledger.take(counter);
        }
    }

    /// Sets what a general-purpose counter counts, from its event select and, where the event
    /// needs one, its event register.
    fn reprogram(&mut self, n: u32) {
        let code = EventCode::from_evtsel(self.bank.nth::<PerfEvtSel>(n).0);
        let mut resolved = self.profile.events.resolve(code);
        if let Some(msr) = resolved.extra_msr {
            resolved = self.profile.events.resolve_extra(code, self.event_register(msr));
        }
        let mut request = EventRequest::resolved(code, &resolved, n);
        let picks =
            resolved.extra_msr == Some(PebsLdLat::INDEX) && self.profile.has_pebs() && code.is_plain();
        if picks && resolved.counters >> n & 1 != 0 {
            request.threshold = Some(low_u16(self.event_register(PebsLdLat::INDEX)));
        }
        self.ledger.reprogram(&mut self.gp[n as usize], request);
    }

    /// Content of an event register that refines an event.
    fn event_register(&self, msr: u32) -> u64 {
        match locate(Vendor::Intel, msr).map(|located| (located.register.id, located.instance)) {
            Some((AnyId::Intel(id), n)) => self.value(id, n),
            _ => 0,
        }
    }

    fn reprogram_all(&mut self) {
        (0..u32::from(self.profile.gp_counters)).for_each(|n| self.reprogram(n));
    }

    /// Slots in FIXED_CTR3, up to date as of the last synchronisation.
    fn slots(&self) -> u64 {
        self.fixed[SLOTS_COUNTER].value
    }

    fn gp_mask(&self) -> u64 {
        low_bits(u32::from(self.profile.gp_width))
    }
}
