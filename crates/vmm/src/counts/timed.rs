//! A model of the core beside the exact totals of an interpreter that knows more than the model is told: exceptions by
//! kind, writes of system registers, instructions that load rather than their accesses.

use super::source::Source;
use super::timing::TimingSource;
use super::totals::{Tally, TotalsSource};
use vpmu::source::{EventRequest, PrivilegeFilter};
use vpmu::{Active, CountsSource, Provenance, TopdownSlots};

/// What the totals know exactly comes from them, everything else from the model.
#[derive(Debug)]
#[expect(private_bounds, reason = "which tallies there are is this crate's business")]
pub struct TimedTotals<T: Tally> {
    model: TimingSource,
    totals: TotalsSource<T>,
}

#[expect(private_bounds, reason = "which tallies there are is this crate's business")]
impl<T: Tally> TimedTotals<T> {
    /// A source of both; the engine publishes totals and drives the model.
    #[must_use]
    pub fn new(model: TimingSource, totals: TotalsSource<T>) -> Self {
        Self { model, totals }
    }

    fn is_in_totals(&self, request: &EventRequest) -> bool {
        self.totals.provenance(request) == Provenance::Exact
    }
}

impl<T: Tally> CountsSource for TimedTotals<T> {
    fn provenance(&self, request: &EventRequest) -> Provenance {
        if self.is_in_totals(request) { Provenance::Exact } else { self.model.provenance(request) }
    }

    fn total(&mut self, request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        if self.is_in_totals(request) {
            self.totals.total(request, filter)
        } else {
            self.model.total(request, filter)
        }
    }

    fn topdown(&mut self, filter: PrivilegeFilter) -> Option<TopdownSlots> {
        self.model.topdown(filter)
    }

    fn rearm(&mut self, active: &[Active]) {
        let (totals, model): (Vec<Active>, Vec<Active>) =
            active.iter().partition(|counter| self.is_in_totals(&counter.request));
        self.totals.rearm(&totals);
        self.model.rearm(&model);
    }
}

impl<T: Tally> Source for TimedTotals<T> {
    fn label(&self) -> Provenance {
        self.model.label()
    }

    /// The model ends runs at the overflows of what it counts.
    fn instructions_to_overflow(&self) -> Option<u64> {
        self.totals.instructions_to_overflow()
    }
}
