//! A counts source whose totals grow as the sequence says, and which checks how it is used.

use crate::model::{Occurrences, Tick};
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
    pub(crate) deadlines: Vec<(Active, u64)>,
    /// As [`of_engine`](Self::of_engine) has it.
    pub(crate) through: bool,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            rings: [[[0; LIMITS.len()]; Event::COUNT]; 2],
            topdown: [TopdownSlots::default(); 2],
            deadlines: Vec::new(),
            through: false,
        }
    }
}

impl Totals {
    /// All are 0; `through` is whether the engine runs through the instructions that PEBS records are about.
    pub(crate) fn of_engine(through: bool) -> Self {
        Self { through, ..Self::default() }
    }

    /// Something happens. TOPDOWN.SLOTS grows with the slots by category.
    pub(crate) fn pass(&mut self, tick: &Tick) {
        for &Occurrences { event, os, each, cycles } in &tick.events {
            self.add(event, os, each, cycles);
        }
        for slots in &tick.slots {
            let (total, fields) = (slots.total(), slots.fields);
            self.topdown[usize::from(slots.os)] += TopdownSlots { slots: total, fields };
            self.add(Event::TopdownSlots, slots.os, total, 1);
        }
    }

    fn add(&mut self, event: Event, os: bool, each: u64, cycles: u64) {
        let totals = &mut self.rings[usize::from(os)][event.counts_as().index()];
        for (total, limit) in totals.iter_mut().zip(LIMITS) {
            *total += each.min(limit) * cycles;
        }
    }

    /// True when a counter that interrupts has passed the total at which it overflows.
    pub(crate) fn deadline_reached(&self) -> bool {
        self.deadlines.iter().any(|(active, deadline)| self.of(active) >= *deadline)
    }

    /// The event that a request counts here: with modifiers only what has a name of its own.
    pub(crate) fn event(request: &EventRequest) -> Option<Event> {
        request.event.map(Event::counts_as)
    }

    /// What an active counter has counted so far.
    pub(crate) fn of(&self, active: &Active) -> u64 {
        match active.counter {
            CounterId::Gp(_) | CounterId::Fixed(_) | CounterId::Ibs(_) => {
                self.counted(&active.request, active.filter)
            }
            CounterId::Metric(n) => self.slots(active.filter).fields[usize::from(n)],
        }
    }

    fn counted(&self, request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        let Some(event) = Self::event(request) else { return 0 };
        let limit = match request.limit {
            None => 0,
            Some(255) => 1,
            Some(_) => 2,
        };
        let [usr, os] = [0, 1].map(|ring: usize| self.rings[ring][event.index()][limit]);
        (if filter.usr { usr } else { 0 }) + if filter.os { os } else { 0 }
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
        self.counted(request, filter)
    }

    fn topdown(&mut self, filter: PrivilegeFilter) -> Option<TopdownSlots> {
        Some(self.slots(filter))
    }

    fn runs_through_samples(&self) -> bool {
        self.through
    }

    fn rearm(&mut self, active: &[Active]) {
        let mut deadlines = std::mem::take(&mut self.deadlines);
        deadlines.clear();
        for active in active.iter().filter(|active| active.interrupts) {
            let now = self.of(active);
            deadlines.push((*active, now.saturating_add(active.until_overflow)));
        }
        self.deadlines = deadlines;
    }
}
