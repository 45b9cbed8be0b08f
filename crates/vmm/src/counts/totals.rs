//! A source that reads what an interpreter has retired: the same for every instruction set.

#![expect(private_bounds, reason = "which tallies there are is this crate's business")]

use super::source::Source;
use super::watch::{Rate, Watch, counted};
use soft_cpu::Operations;
use std::cell::{Ref, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use vpmu::source::{EventRequest, PrivilegeFilter};
use vpmu::{Active, CountsSource, Provenance, TopdownSlots};

/// What the engine's CPU has retired, shared with the source. The engine sets it whenever it may
/// be read.
#[derive(Debug, Clone, Default)]
pub struct Retired<T: Copy> {
    totals: Rc<RefCell<T>>,
    /// What an x86 CPU counts while it executes.
    operations: Arc<Operations>,
}

impl<T: Copy> Retired<T> {
    /// Publishes the CPU's totals.
    pub fn set(&self, totals: &T) {
        *self.totals.borrow_mut() = *totals;
    }

    fn get(&self) -> Ref<'_, T> {
        self.totals.borrow()
    }

    /// Operations by type, if they are wanted.
    pub(crate) fn operations(&self) -> &Arc<Operations> {
        &self.operations
    }
}

/// What the totals of a CPU say of events.
pub(super) trait Tally: fmt::Debug {
    type Totals: Copy + fmt::Debug;
    /// Something that can be totalled.
    type Quantity: Copy + fmt::Debug;

    /// What a request stands for; `None` if that cannot be told.
    fn quantity(&self, request: &EventRequest) -> Option<Self::Quantity>;

    /// The slots of a field of PERF_METRICS.
    fn field(&self, index: u8) -> Option<Self::Quantity>;

    /// Occurrences at these privilege levels.
    fn sum(&self, quantity: Self::Quantity, totals: &Self::Totals, filter: PrivilegeFilter) -> u64;

    /// How fast it can grow.
    fn rate(&self, quantity: Self::Quantity) -> Rate;

    /// False if it is only modelled.
    fn is_exact(&self, quantity: Self::Quantity) -> bool;

    /// Slots by category.
    fn topdown(&self, totals: &Self::Totals, filter: PrivilegeFilter) -> Option<TopdownSlots>;
}

/// The source of an interpreter.
#[derive(Debug)]
pub struct TotalsSource<T: Tally> {
    tally: T,
    retired: Retired<T::Totals>,
    watches: Vec<Watch<T::Quantity>>,
}

impl<T: Tally> TotalsSource<T> {
    pub(super) fn of(tally: T, retired: Retired<T::Totals>) -> Self {
        Self { tally, retired, watches: Vec::new() }
    }

    fn sum(&self, quantity: T::Quantity, filter: PrivilegeFilter) -> u64 {
        self.tally.sum(quantity, &self.retired.get(), filter)
    }

    /// Steps that certainly pass before a counter overflows, and one more, if `most` can be added in each.
    fn until(&self, watch: &Watch<T::Quantity>, most: u64) -> u64 {
        watch.left(self.sum(watch.quantity, watch.filter)).div_ceil(most).max(1)
    }
}

impl<T: Tally> CountsSource for TotalsSource<T> {
    fn provenance(&self, request: &EventRequest) -> Provenance {
        match self.tally.quantity(request) {
            Some(quantity) if self.tally.is_exact(quantity) => Provenance::Exact,
            Some(_) => Provenance::Modelled,
            None => Provenance::Unknown,
        }
    }

    fn total(&mut self, request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        self.tally.quantity(request).map_or(0, |quantity| self.sum(quantity, filter))
    }

    fn topdown(&mut self, filter: PrivilegeFilter) -> Option<TopdownSlots> {
        self.tally.topdown(&self.retired.get(), filter)
    }

    fn runs_through_samples(&self) -> bool {
        true
    }

    fn rearm(&mut self, active: &[Active]) {
        self.watches.clear();
        for counter in active.iter().filter(|counter| counter.interrupts) {
            let quantity =
                counted(counter, |field| self.tally.field(field), || self.tally.quantity(&counter.request));
            let Some(quantity) = quantity else { continue };
            self.watches.push(Watch::new(counter, quantity, self.sum(quantity, counter.filter)));
        }
    }
}

impl<T: Tally> Source for TotalsSource<T> {
    /// The best that the source has; what is only modelled says so in its own provenance.
    fn label(&self) -> Provenance {
        Provenance::Exact
    }

    fn instructions_to_overflow(&self) -> Option<u64> {
        self.watches
            .iter()
            .filter_map(|watch| match self.tally.rate(watch.quantity) {
                Rate::Instruction(most) => Some(self.until(watch, most)),
                Rate::Cycle(_) | Rate::Unbounded => None,
            })
            .min()
    }

    fn cycles_to_overflow(&self) -> Option<u64> {
        self.watches
            .iter()
            .filter_map(|watch| match self.tally.rate(watch.quantity) {
                Rate::Instruction(_) | Rate::Unbounded => None,
                Rate::Cycle(most) => Some(self.until(watch, most)),
            })
            .min()
    }
}
