//! Counts made up from run time and configured rates.
//!
//! For KVM on a host without a PMU, and only on request. The counts say nothing about the guest's
//! code, and every one of them is labelled [`Provenance::Synthetic`]; but they are exact functions
//! of run time that fit together, so that the register model, the guest's tools and overflow
//! interrupts can be exercised with numbers that can be checked.
//!
//! | file | what it does |
//! | --- | --- |
//! | `mod.rs` | the source: run time so far, overflows to watch for |
//! | `model.rs` | totals as a function of run time |
//! | `derived.rs` | events that follow from time and the TMA fractions |
//! | `rates.rs`, `rates.toml` | the rates file and the built-in rates |
//! | `rate.rs` | exact arithmetic |

mod derived;
mod model;
mod rate;
mod rates;

pub use rate::{Decimal, NumberProblem};
pub use rates::{BUILT_IN, Rates, RatesError};

use super::source::{Slice, Source};
use super::watch::{Watch, counted};
use model::{Model, Quantity};
use std::borrow::Cow;
use vpmu::source::{EventRequest, PrivilegeFilter};
use vpmu::{Active, CountsSource, Profile, Provenance, TopdownSlots};

/// The synthetic source.
#[derive(Debug)]
pub struct SyntheticSource {
    // Configuration.
    model: Model,
    // State.
    run: Slice,
    /// Run time at the last `rearm`.
    armed: Slice,
    /// Nothing is computed for a counter until it may be due. Totals count from the last `rearm`.
    watches: Vec<Watch<Quantity>>,
    /// Nanoseconds run before which nothing in `watches` overflows.
    due: Option<u64>,
    mix_matters: bool,
}

/// So many occurrences are not awaited one by one: a bound on the time they take is enough.
const FAR: u64 = 1 << 44;

impl SyntheticSource {
    /// A source at time 0. `tsc_hz` is the rate of the TSC that the guest sees, so that reference
    /// cycles agree with RDTSC.
    #[must_use]
    pub fn new(profile: &Profile, rates: &Rates, tsc_hz: u64) -> Self {
        Self {
            model: Model::new(profile, rates, tsc_hz),
            run: Slice::default(),
            armed: Slice::default(),
            watches: Vec::new(),
            due: None,
            mix_matters: false,
        }
    }

    fn after(&self, slice: Slice) -> Slice {
        Slice { os: self.run.os.saturating_add(slice.os), usr: self.run.usr.saturating_add(slice.usr) }
    }

    fn overflows_within(&self, slice: Slice) -> bool {
        let then = self.after(slice);
        let since = |w: &Watch<Quantity>| self.model.since(&w.quantity, w.filter, self.armed, then);
        self.watches.iter().any(|watch| watch.left(since(watch)) == 0)
    }

    /// A lower bound of the run time until the first overflow, from now.
    fn bound(&self) -> Option<u64> {
        let until = |w: &Watch<Quantity>| {
            if w.left(0) > FAR && self.run == self.armed {
                return Some(self.model.fastest_to(FAR));
            }
            let so_far = self.model.since(&w.quantity, w.filter, self.armed, self.run);
            self.model.earliest(&w.quantity, w.filter, w.left(so_far))
        };
        self.watches.iter().filter_map(until).min()
    }

    fn set_due(&mut self) {
        self.due = self.bound().map(|ns| self.run.total().saturating_add(ns));
    }
}

impl CountsSource for SyntheticSource {
    fn provenance(&self, request: &EventRequest) -> Provenance {
        match self.model.quantity(request) {
            Some(_) => Provenance::Synthetic,
            None => Provenance::Unknown,
        }
    }

    fn total(&mut self, request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        self.model.quantity(request).map_or(0, |quantity| self.model.total(&quantity, filter, self.run))
    }

    fn topdown(&mut self, filter: PrivilegeFilter) -> Option<TopdownSlots> {
        self.model.topdown(filter, self.run)
    }

    fn rearm(&mut self, active: &[Active]) {
        self.watches.clear();
        self.mix_matters = false;
        for counter in active {
            let request = || self.model.quantity(&counter.request).map(Cow::into_owned);
            let quantity = counted(counter, |field| self.model.field(field), request);
            let Some(quantity) = quantity else { continue };
            let filter = counter.filter;
            self.mix_matters |= self.model.depends_on_mix(&quantity, filter);
            if counter.interrupts {
                self.watches.push(Watch::new(counter, quantity, 0));
            }
        }
        self.armed = self.run;
        self.set_due();
    }
}

impl Source for SyntheticSource {
    fn label(&self) -> Provenance {
        Provenance::Synthetic
    }

    fn advance(&mut self, slice: Slice) {
        self.run = self.after(slice);
        if self.due.is_some_and(|due| due <= self.run.total()) {
            self.set_due();
        }
    }

    /// The shortest such part. It is at least 1 ns long, so that a caller always gets on.
    fn overflow_within(&self, slice: Slice) -> Option<Slice> {
        let may_be_due = self.due.is_some_and(|due| due <= self.after(slice).total());
        if slice.total() == 0 || !may_be_due || !self.overflows_within(slice) {
            return None;
        }
        let (mut low, mut high) = (1, slice.total());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.overflows_within(slice.first(middle)) { high = middle } else { low = middle + 1 }
        }
        Some(slice.first(low))
    }

    fn earliest_overflow(&self) -> Option<u64> {
        self.due.map(|due| due.saturating_sub(self.run.total()).max(1))
    }

    /// Every millisecond while a counter looks at one privilege level, or at both with different rates.
    fn sample_interval(&self) -> Option<u64> {
        const MILLISECOND: u64 = 1_000_000;
        self.mix_matters.then_some(MILLISECOND)
    }
}

#[cfg(test)]
mod tests;
