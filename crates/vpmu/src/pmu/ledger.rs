//! What the guest has counted so far, over all its programmings of the counters.
//!
//! Counters are reused and reset; the ledger adds up, per counter and programming, what was
//! counted. It is the VMM's view for reports and not part of the guest-visible state.

use super::counter::Counter;
use crate::source::{CounterId, CountsSource, EventRequest, PrivilegeFilter, TopdownSlots};
use alloc::collections::BTreeMap;

/// One programming of one counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LedgerKey {
    /// The counter.
    pub counter: CounterId,
    /// What it counted.
    pub request: EventRequest,
    /// Where it counted.
    pub filter: PrivilegeFilter,
}

/// Most different programmings that are kept apart. A guest that uses more is added up under the
/// ones it used first; nothing grows without bound.
pub const MAX_ENTRIES: usize = 4096;

/// Everything counted so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    entries: BTreeMap<LedgerKey, u64>,
    topdown: TopdownSlots,
    dropped: u64,
}

impl Ledger {
    /// Programmings in order of counter, with their counts.
    pub fn entries(&self) -> impl Iterator<Item = (&LedgerKey, u64)> {
        self.entries.iter().map(|(key, &count)| (key, count))
    }

    /// Slots counted while PERF_METRICS was enabled, by category.
    #[must_use]
    pub fn topdown(&self) -> &TopdownSlots {
        &self.topdown
    }

    /// Programmings that found no room ([`MAX_ENTRIES`]).
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// A ledger that goes on from saved entries; those beyond [`MAX_ENTRIES`] find no room.
    #[must_use]
    pub fn resume(entries: &[(LedgerKey, u64)], topdown: TopdownSlots, dropped: u64) -> Self {
        let kept = entries.iter().take(MAX_ENTRIES);
        let more = entries.len().saturating_sub(MAX_ENTRIES) as u64;
        Self { entries: kept.copied().collect(), topdown, dropped: dropped.saturating_add(more) }
    }

    pub(super) fn take(&mut self, counter: &mut Counter) {
        if !counter.touched && counter.tally == 0 {
            return;
        }
        let key = LedgerKey { counter: counter.id, request: counter.request, filter: counter.filter };
        if let Some(count) = self.entries.get_mut(&key) {
            *count = count.saturating_add(counter.tally);
        } else if self.entries.len() < MAX_ENTRIES {
            self.entries.insert(key, counter.tally);
        } else {
            self.dropped += 1;
        }
        counter.tally = 0;
        counter.touched = counter.enabled;
    }

    /// Starts or stops a counter; what it counted under another filter is booked before. Its value must be up to
    /// date.
    pub(super) fn switch(
        &mut self,
        counter: &mut Counter,
        (enabled, filter): (bool, PrivilegeFilter),
        source: &mut dyn CountsSource,
    ) {
        if counter.filter != filter {
            self.take(counter);
        }
        counter.run(enabled, filter, source);
    }

    /// Lets a counter count something else; what it counted before is booked.
    pub(super) fn reprogram(&mut self, counter: &mut Counter, request: EventRequest) {
        if counter.request != request {
            self.take(counter);
            counter.reprogram(request);
        }
    }

    pub(super) fn add_topdown(&mut self, delta: &TopdownSlots) {
        self.topdown += *delta;
    }
}
