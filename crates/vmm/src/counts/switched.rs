//! A model of the core that observes some intervals of a run only, and totals in between.

use super::model::{ModelSource, Retired};
use super::operations::{self, Selection};
use super::source::Source;
use super::timing::TimingSource;
use soft_cpu::Totals;
use vpmu::source::{EventRequest, PrivilegeFilter};
use vpmu::{Active, CountsSource, Profile, Provenance, TopdownSlots};

/// Counts of both, of which one stands still while the other goes on: the engine tells the model nothing outside the
/// intervals, and does not publish in `Published` what retires within them. What only the model can count stands
/// still outside.
#[derive(Debug)]
pub struct SwitchedSource {
    model: TimingSource,
    totals: ModelSource,
    /// The CPU has events for operations by type, which the interpreter counts all the time.
    operations: bool,
}

impl SwitchedSource {
    /// A source of both.
    #[must_use]
    pub fn new(profile: &Profile, model: TimingSource, totals: ModelSource) -> Self {
        Self { model, totals, operations: operations::types(profile).is_some() }
    }
}

impl CountsSource for SwitchedSource {
    fn provenance(&self, request: &EventRequest) -> Provenance {
        self.model.provenance(request)
    }

    fn total(&mut self, request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        let modelled = self.model.total(request, filter);
        if self.operations && Selection::of(request).is_some() {
            return modelled;
        }
        modelled + self.totals.total(request, filter)
    }

    fn topdown(&mut self, filter: PrivilegeFilter) -> Option<TopdownSlots> {
        let modelled = self.model.topdown(filter)?;
        let Some(TopdownSlots { slots, fields }) = self.totals.topdown(filter) else { return Some(modelled) };
        let mut sum = modelled;
        sum.slots += slots;
        for (sum, field) in sum.fields.iter_mut().zip(fields) {
            *sum += field;
        }
        Some(sum)
    }

    fn rearm(&mut self, active: &[Active]) {
        self.model.rearm(active);
        self.totals.rearm(active);
    }
}

impl Source for SwitchedSource {
    fn label(&self) -> Provenance {
        self.model.label()
    }

    /// The model ends runs at overflows itself.
    fn instructions_to_overflow(&self) -> Option<u64> {
        self.totals.instructions_to_overflow()
    }

    fn cycles_to_overflow(&self) -> Option<u64> {
        self.totals.cycles_to_overflow()
    }
}

/// What of an x86 CPU's totals the source of totals gets.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Published {
    /// What retired within the intervals until now, if there have been any.
    skipped: Option<Totals>,
    /// What had been published when the one began that lasts.
    held: Option<Totals>,
}

impl Published {
    /// Hands on the totals without what retired within intervals; they are large, so without a copy of them.
    fn with<R>(&self, totals: &Totals, each: impl FnOnce(&Totals) -> R) -> R {
        match (&self.held, &self.skipped) {
            (Some(held), _) => each(held),
            (None, Some(skipped)) => each(&totals.since(skipped)),
            (None, None) => each(totals),
        }
    }

    /// Lets the source have the totals without what retired within intervals.
    pub(crate) fn publish(&self, totals: &Totals, retired: &Retired<Totals>) {
        self.with(totals, |totals| retired.set(totals));
    }

    /// An interval begins, or ends.
    pub(crate) fn hold(&mut self, held: bool, totals: &Totals) {
        if held {
            self.held = Some(self.with(totals, Totals::clone));
        } else if let Some(held) = self.held.take() {
            self.skipped = Some(totals.since(&held));
        }
    }
}
