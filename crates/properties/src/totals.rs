//! A counts source whose totals grow as the sequence says, and which checks how it is used.

use vpmu::event::Event;
use vpmu::source::EventRequest;
use vpmu::{Active, CounterId, CountsSource, PrivilegeFilter, Provenance, TopdownSlots};

/// Increments per cycle that a counter can add; more are lost.
const LIMITS: [u64; 3] = [u64::MAX, 255, 15];

/// Running totals of every event, by privilege level and increment limit.
#[derive(Debug, Clone)]
pub(crate) struct Totals {
    rings: [[[u64; LIMITS.len()]; Event::COUNT]; 2],
    topdown: [TopdownSlots; 2],
    /// What the vPMU asked to be stopped at: counters that interrupt, and the total at which each overflows.
    pub(crate) deadlines: Vec<(CounterId, u64)>,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            rings: [[[0; LIMITS.len()]; Event::COUNT]; 2],
            topdown: [TopdownSlots::default(); 2],
            deadlines: Vec::new(),
        }
    }
}

impl Totals {
    /// `cycles` cycles with `each` occurrences of an event in each of them.
    pub(crate) fn add(&mut self, event: Event, os: bool, each: u64, cycles: u64) {
        let totals = &mut self.rings[usize::from(os)][event.counts_as().index()];
        for (total, limit) in totals.iter_mut().zip(LIMITS) {
            *total += each.min(limit) * cycles;
        }
    }

    /// Slots by category; TOPDOWN.SLOTS grows with them.
    pub(crate) fn add_slots(&mut self, os: bool, fields: [u64; 8]) {
        let slots = fields[..4].iter().sum();
        self.topdown[usize::from(os)] += TopdownSlots { slots, fields };
        self.add(Event::TopdownSlots, os, slots, 1);
    }

    /// The event that a request counts here, modifiers or not.
    pub(crate) fn event(request: &EventRequest) -> Option<Event> {
        request.event.or(request.base).map(Event::counts_as)
    }

    /// What an active counter has counted so far.
    pub(crate) fn of(&mut self, active: &Active) -> u64 {
        match active.counter {
            CounterId::Gp(_) | CounterId::Fixed(_) => self.total(&active.request, active.filter),
            CounterId::Metric(n) => self.slots(active.filter).fields[usize::from(n)],
        }
    }

    fn slots(&self, filter: PrivilegeFilter) -> TopdownSlots {
        let mut sum = TopdownSlots::default();
        for (wanted, more) in [filter.usr, filter.os].into_iter().zip(self.topdown) {
            if wanted {
                sum += more;
            }
        }
        sum
    }
}

impl CountsSource for Totals {
    fn provenance(&self, request: &EventRequest) -> Provenance {
        if Self::event(request).is_some() { Provenance::Exact } else { Provenance::Unknown }
    }

    fn total(&mut self, request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        let Some(event) = Self::event(request) else { return 0 };
        let limit = match request.limit {
            None => 0,
            Some(255) => 1,
            Some(_) => 2,
        };
        let [usr, os] = [0, 1].map(|ring: usize| self.rings[ring][event.index()][limit]);
        (if filter.usr { usr } else { 0 }) + if filter.os { os } else { 0 }
    }

    fn topdown(&mut self, filter: PrivilegeFilter) -> Option<TopdownSlots> {
        Some(self.slots(filter))
    }

    fn rearm(&mut self, active: &[Active]) {
        let mut deadlines = std::mem::take(&mut self.deadlines);
        deadlines.clear();
        for active in active.iter().filter(|active| active.interrupts) {
            let now = self.of(active);
            deadlines.push((active.counter, now.saturating_add(active.until_overflow)));
        }
        self.deadlines = deadlines;
    }
}
