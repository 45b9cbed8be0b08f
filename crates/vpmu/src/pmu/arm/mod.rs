//! Arm's PMUv3, with Falkor's matrix of events.
//!
//! | file | what it does |
//! | --- | --- |
//! | `mod.rs` | construction, bringing counters up to date, overflow, the interrupt line |
//! | `access.rs` | MRS and MSR: who may, and what each register does |
//! | `faults.rs` | what goes wrong on command |
//! | `select.rs` | what a counter counts: common events, CHAIN, the matrix |
//! | `state.rs` | reset, saving and restoring |
//!
//! The guest is at Non-secure EL0 and EL1; EL2 and EL3 neither count nor trap.

mod access;
mod faults;
mod select;
mod state;

use super::counter::{self, Counter};
use super::ledger::Ledger;
use super::masks::AllMasks;
use super::pmi::PmiRequests;
use crate::event::{Event, EventCode};
use crate::lbr::{BranchFilter, BranchRecord};
use crate::profile::{ArmPmu, MAX_GP, Profile};
use crate::register::arm::{
    CYCLE_COUNTER, Pmccfiltr, PmcntenSet, Pmcr, Pmevtyper, PmintenSet, PmovsSet, Pmselr, RegisterId,
};
use crate::register::bank::Bank;
use crate::source::{Active, CounterId, CountsSource, EventRequest, PrivilegeFilter, Running};

/// Width of the cycle counter.
const CYCLE_WIDTH: u32 = 64;
/// Where it overflows while PMCR_EL0.LC is 0.
const SHORT_CYCLE_WIDTH: u32 = 32;
/// log2 of the cycles that PMCR_EL0.D makes one.
const DIVIDER: u32 = 6;
/// Number of the common event that the cycle counter counts.
const CPU_CYCLES: u16 = 0x11;
/// Event counters and the cycle counter.
const MAX_ACTIVE: usize = MAX_GP + 1;

/// The state machine.
#[derive(Debug, Clone)]
pub(super) struct Arm {
    // Configuration.
    profile: Profile,
    arm: ArmPmu,
    masks: AllMasks<RegisterId>,
    // Guest-visible state.
    bank: Bank<RegisterId>,
    events: [Counter; MAX_GP],
    cycles: Counter,
    // Relation to the embedder.
    /// The level of the interrupt line that the embedder knows.
    told: bool,
    /// Resets so far, for poison that differs.
    resets: u64,
    // Reports.
    ledger: Ledger,
}

impl Arm {
    /// A PMU in its reset state. `profile` is within its limits, and `arm` its part.
    pub(super) fn new(profile: Profile, arm: ArmPmu) -> Self {
        let cycles = EventRequest::named(Event::CpuCycles, EventCode::new(CPU_CYCLES, 0));
        let mut own = Self {
            masks: AllMasks::new(&profile),
            bank: Bank::new(&profile),
            events: counter::numbered(|n| Counter::new(CounterId::Gp(n), EventRequest::default())),
            cycles: Counter::new(CounterId::Fixed(0), cycles),
            told: false,
            resets: 0,
            ledger: Ledger::default(),
            profile,
            arm,
        };
        own.set_reset_values();
        own.reprogram_all();
        own
    }

    pub(super) fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Number of event counters.
    fn counters(&self) -> u32 {
        u32::from(self.profile.gp_counters)
    }

    /// Width of an event counter.
    fn width(&self) -> u32 {
        u32::from(self.profile.gp_width)
    }

    /// The change of the interrupt line since the last call.
    pub(super) fn take_requests(&mut self) -> PmiRequests {
        let line = self.interrupt_line();
        let changed = line != core::mem::replace(&mut self.told, line);
        PmiRequests::of_line(changed.then_some(line))
    }

    /// Arm ARM D13.3.1: asserted while an enabled overflow flag is set and PMCR_EL0.E is 1.
    pub(super) fn interrupt_line(&self) -> bool {
        let flags = self.bank.get::<PmovsSet>().0 & self.bank.get::<PmintenSet>().0;
        self.bank.get::<Pmcr>().enable() && flags != 0
    }

    /// Brings every counter up to date and sets the overflow flags.
    pub(super) fn sync(&mut self, source: &mut dyn CountsSource) {
        let before = self.bank.get::<PmovsSet>();
        let mut carried = false;
        for n in 0..self.counters() {
            let wraps = self.events[n as usize].sync(self.width(), source);
            carried |= wraps != 0;
            self.carry(n, wraps);
        }
        let (last, wraps) = (self.cycles.value, self.cycles.sync(CYCLE_WIDTH, source));
        let short = self.cycles.value >> SHORT_CYCLE_WIDTH != last >> SHORT_CYCLE_WIDTH;
        if wraps != 0 || short && !self.bank.get::<Pmcr>().long_cycle_in_use() {
            carried = true;
            self.bank.change(|flags: PmovsSet| flags.with_cycle(true));
        }
        if carried || self.bank.get::<PmovsSet>() != before {
            self.rearm(source);
        }
    }

    /// Event counter `n` has wrapped so often: its overflow flag, and CHAIN in the odd counter above it.
    fn carry(&mut self, n: u32, wraps: u64) {
        if wraps == 0 {
            return;
        }
        self.bank.change(|mut flags: PmovsSet| {
            flags.set_event(n, true);
            flags
        });
        if self.is_chained(n) {
            let width = self.width();
            let wraps = self.events[n as usize + 1].add(wraps, width);
            self.carry(n + 1, wraps);
        }
    }

    /// Counter `n` is an even one, and the odd one above it counts its overflows. Privilege levels do not matter to
    /// CHAIN, as in Linux `arch/arm64/kvm/pmu-emul.c`.
    fn is_chained(&self, n: u32) -> bool {
        let odd = n + 1;
        odd % 2 == 1
            && odd < self.counters()
            && self.is_enabled(odd)
            && self.events[odd as usize].request.event == Some(Event::Chain)
    }

    /// PMCR_EL0.E and the counter's own enable.
    fn is_enabled(&self, n: u32) -> bool {
        let enables = self.bank.get::<PmcntenSet>();
        let own = if n == CYCLE_COUNTER { enables.cycle() } else { enables.event(n) };
        self.bank.get::<Pmcr>().enable() && own
    }

    /// Starts and stops counters as the registers say. Counters must be up to date.
    fn restart(&mut self, source: &mut dyn CountsSource) {
        for n in 0..self.counters() {
            let filter = self.bank.nth::<Pmevtyper>(n).filter();
            let enabled = self.is_enabled(n) && !filter.is_empty();
            self.ledger.switch(&mut self.events[n as usize], (enabled, filter), source);
        }
        let control = self.bank.get::<Pmcr>();
        self.cycles.prescale = if control.divider() && !control.long_cycle_in_use() { DIVIDER } else { 0 };
        let filter = self.bank.get::<Pmccfiltr>().filter();
        let enabled = self.is_enabled(CYCLE_COUNTER) && !filter.is_empty();
        self.ledger.switch(&mut self.cycles, (enabled, filter), source);
        self.rearm(source);
    }

    /// Tells the source what runs now and when it would overflow.
    pub(super) fn rearm(&self, source: &mut dyn CountsSource) {
        counter::rearm::<MAX_ACTIVE>(self.active(), source);
    }

    /// The running counters, as of the last update. A counter of CHAIN is there with what makes it overflow: the
    /// occurrences of the counter below.
    pub(super) fn active(&self) -> impl Iterator<Item = Active> + '_ {
        let interrupts = self.bank.get::<PmintenSet>();
        let width = self.width();
        let counters = usize::from(self.profile.gp_counters);
        let events = (0..).zip(&self.events[..counters]).flat_map(move |(n, counter)| {
            let own = counter.active(width, interrupts.event(n));
            let chained = own.filter(|_| self.is_chained(n)).map(|own| {
                let odd = &self.events[n as usize + 1];
                let rounds = odd.until_overflow(width) - 1;
                let until_overflow = rounds.saturating_mul(1 << width).saturating_add(own.until_overflow);
                Active { counter: odd.id, until_overflow, interrupts: interrupts.event(n + 1), ..own }
            });
            own.into_iter().chain(chained)
        });
        let width = match self.bank.get::<Pmcr>().long_cycle_in_use() {
            true => CYCLE_WIDTH,
            false => SHORT_CYCLE_WIDTH,
        };
        events.chain(self.cycles.active(width, interrupts.cycle()))
    }

    /// The same with their values. Those of CHAIN, which the PMU itself counts, are not there.
    pub(super) fn running(&self) -> impl Iterator<Item = Running> + '_ {
        let events = self.events.iter().filter_map(|counter| counter.running(self.width()));
        events.chain(self.cycles.running(CYCLE_WIDTH))
    }

    /// The event counter that PMSELR_EL0 selects, if there is one.
    pub(super) fn selected_event_counter(&self) -> Option<u8> {
        u8::try_from(self.bank.get::<Pmselr>().select()).ok().filter(|n| *n < self.profile.gp_counters)
    }

    pub(super) fn ledger(&mut self) -> &Ledger {
        self.flush_ledger();
        &self.ledger
    }

    pub(super) fn set_ledger(&mut self, ledger: Ledger) {
        self.ledger = ledger;
    }

    fn flush_ledger(&mut self) {
        for counter in self.events.iter_mut().chain([&mut self.cycles]) {
            self.ledger.take(counter);
        }
    }
}

/// There are no branch records.
impl Arm {
    pub(super) fn branch_filter(&self) -> BranchFilter {
        BranchFilter::EMPTY
    }

    pub(super) fn record_branch(&mut self, _: &BranchRecord) {}

    pub(super) fn interrupted(&mut self) {}

    pub(super) fn debug_exception(&mut self) {}

    pub(super) fn steps_on_branches(&self) -> bool {
        false
    }

    pub(super) fn needs_every_branch(&self) -> bool {
        false
    }
}

impl Pmcr {
    /// LC, whether or not it can be changed.
    const fn long_cycle_in_use(self) -> bool {
        self.long_cycle() || self.long_cycle_res1()
    }
}

/// The levels that a type register lets count: EL0 if U = NSU, EL1 if P = NSK (Arm ARM D13.6).
trait Filter {
    fn filter(self) -> PrivilegeFilter;
}

impl Filter for Pmevtyper {
    fn filter(self) -> PrivilegeFilter {
        PrivilegeFilter { os: self.el1() == self.nonsecure_el1(), usr: self.el0() == self.nonsecure_el0() }
    }
}

impl Filter for Pmccfiltr {
    fn filter(self) -> PrivilegeFilter {
        PrivilegeFilter { os: self.el1() == self.nonsecure_el1(), usr: self.el0() == self.nonsecure_el0() }
    }
}

#[cfg(test)]
mod exhaustive;
#[cfg(test)]
mod matrix_tests;
#[cfg(test)]
mod test_guest;
#[cfg(test)]
mod tests;
