//! The counts source, which does what an engine does: it notes the deadlines that the vPMU sets
//! and says when one is reached.

use crate::model::counting::Tick;
use crate::model::events::Stream;
use vpmu::event::Event;
use vpmu::source::{EventRequest, ScriptedSource};
use vpmu::{Active, CounterId, CountsSource, PrivilegeFilter, Provenance, TopdownSlots};

#[derive(Debug, Clone, Default)]
pub struct Engine {
    totals: ScriptedSource,
    /// Running counters that interrupt, and the total at which each overflows.
    deadlines: Vec<(Active, u64)>,
}

impl Engine {
    /// Lets the occurrences of a tick happen.
    pub fn advance(&mut self, tick: &Tick) {
        for e in &tick.events {
            let event = event(e.stream);
            if e.os { self.totals.add_os(event, e.count) } else { self.totals.add_user(event, e.count) }
        }
        for s in &tick.slots {
            let slots = TopdownSlots { slots: s.total(), fields: s.categories };
            if s.os { self.totals.add_os_slots(slots) } else { self.totals.add_user_slots(slots) }
        }
    }

    /// True when a counter that interrupts has overflowed.
    pub fn deadline_reached(&mut self) -> bool {
        let Self { totals, deadlines } = self;
        deadlines.iter().any(|(active, deadline)| total_of(totals, active) >= *deadline)
    }
}

fn total_of(totals: &mut ScriptedSource, active: &Active) -> u64 {
    match active.counter {
        CounterId::Gp(_) | CounterId::Fixed(_) => totals.total(&active.request, active.filter),
        CounterId::Metric(n) => {
            totals.topdown(active.filter).expect("scripted slots have categories").fields[usize::from(n)]
        }
    }
}

fn event(stream: Stream) -> Event {
    match stream {
        Stream::Instructions => Event::InstRetiredAny,
        Stream::Cycles => Event::CpuClkUnhaltedThread,
        Stream::TscCycles => Event::CpuClkUnhaltedRefTsc,
        Stream::CrystalCycles => Event::CpuClkUnhaltedRefXclk,
        Stream::LlcReferences => Event::LongestLatCacheReference,
        Stream::LlcMisses => Event::LongestLatCacheMiss,
        Stream::Branches => Event::BrInstRetiredAllBranches,
        Stream::Mispredicts => Event::BrMispRetiredAllBranches,
        Stream::Loads => Event::MemInstRetiredAllLoads,
        Stream::RetireStalls => Event::UopsRetiredStalls,
        Stream::DsbMisses => Event::FrontendRetiredDsbMiss,
        Stream::LoadsOver4 => Event::MemTransRetiredLoadLatencyGt4,
        Stream::Slots => unreachable!("slots happen by category"),
    }
}

impl CountsSource for Engine {
    fn provenance(&self, request: &EventRequest) -> Provenance {
        self.totals.provenance(request)
    }

    fn total(&mut self, request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        self.totals.total(request, filter)
    }

    fn topdown(&mut self, filter: PrivilegeFilter) -> Option<TopdownSlots> {
        self.totals.topdown(filter)
    }

    fn rearm(&mut self, active: &[Active]) {
        self.deadlines.clear();
        for active in active.iter().filter(|active| active.interrupts) {
            let now = total_of(&mut self.totals, active);
            self.deadlines.push((*active, now + active.until_overflow));
        }
    }
}
