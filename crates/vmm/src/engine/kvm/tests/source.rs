//! A counts source with one occurrence of every event per nanosecond of run time.

use crate::counts::{Slice, Source};
use vpmu::source::EventRequest;
use vpmu::{Active, CountsSource, PrivilegeFilter, Provenance, TopdownSlots};

#[derive(Debug, Default)]
pub(super) struct PerNanosecond {
    passed: Slice,
    next: Option<u64>,
}

impl CountsSource for PerNanosecond {
    fn provenance(&self, _request: &EventRequest) -> Provenance {
        Provenance::Synthetic
    }

    fn total(&mut self, _request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        let os = if filter.os { self.passed.os } else { 0 };
        let usr = if filter.usr { self.passed.usr } else { 0 };
        os + usr
    }

    fn topdown(&mut self, _filter: PrivilegeFilter) -> Option<TopdownSlots> {
        None
    }

    /// Both privilege levels count in the tests that have overflows.
    fn rearm(&mut self, active: &[Active]) {
        let now = self.passed.total();
        self.next =
            active.iter().filter(|a| a.interrupts).map(|a| now.saturating_add(a.until_overflow)).min();
    }
}

impl Source for PerNanosecond {
    fn label(&self) -> Provenance {
        Provenance::Synthetic
    }

    fn advance(&mut self, slice: Slice) {
        self.passed.os += slice.os;
        self.passed.usr += slice.usr;
    }

    fn overflow_within(&self, slice: Slice) -> Option<Slice> {
        let rest = self.earliest_overflow()?;
        (rest <= slice.total()).then(|| slice.first(rest))
    }

    fn earliest_overflow(&self) -> Option<u64> {
        self.next.and_then(|next| next.checked_sub(self.passed.total())).filter(|rest| *rest > 0)
    }

    fn sample_interval(&self) -> Option<u64> {
        None
    }
}
