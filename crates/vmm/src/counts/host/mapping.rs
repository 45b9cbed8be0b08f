//! Which host event counts what a guest asks for.

use host_perf::{Event as HostEvent, HostPmu, Level, RawEvent};
use vpmu::Profile;
use vpmu::event::{Event, EventTable};
use vpmu::source::EventRequest;

/// What to open on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Backing {
    /// One event.
    Event(HostEvent),
    /// The slots leader and its metrics.
    Slots,
}

/// What this host can stand in for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mapping {
    /// The host's core has the profile's event encodings.
    same_core: bool,
    /// The host's cache events are Intel's architectural ones.
    architectural: bool,
    /// The metrics to open with the slots; `None` without a slots counter.
    pub(super) level: Option<Level>,
    /// The host has every metric of the profile.
    pub(super) metrics: bool,
    /// Of the profile.
    table: EventTable,
}

impl Mapping {
    pub(super) fn new(host: &HostPmu, profile: &Profile) -> Self {
        let core = host.core_pmu();
        let model = core.and_then(|pmu| pmu.model.as_deref());
        let wanted = if profile.metrics_level() >= 2 { Level::Two } else { Level::One };
        let has = host.topdown_level();
        Self {
            same_core: model.is_some_and(|name| core_names(profile.events).contains(&name)),
            // AMD's event numbers have 12 bits.
            architectural: core
                .and_then(|pmu| pmu.formats.get("event"))
                .is_some_and(|format| format.width() == 8),
            level: has.map(|has| has.min(wanted)),
            metrics: profile.metrics_level() > 0 && has >= Some(wanted),
            table: profile.events,
        }
    }

    fn needs_register(&self, event: Event) -> bool {
        self.table.by_event(event).is_some_and(|encoding| encoding.extra.is_some())
    }

    /// `None` when nothing on this host counts the same.
    pub(super) fn backing(&self, request: &EventRequest) -> Option<Backing> {
        let generic = request.event.and_then(generic).filter(|event| {
            // Elsewhere the kernel gives these names to another cache.
            self.architectural || !matches!(event, HostEvent::CacheReferences | HostEvent::CacheMisses)
        });
        let slots = request.event == Some(Event::TopdownSlots) && self.level.is_some();
        generic
            .map(Backing::Event)
            .or(slots.then_some(Backing::Slots))
            .or_else(|| self.raw(request).map(Backing::Event))
            // The same quantity on the other kind of counter.
            .or_else(|| {
                let slots_p = request.event == Some(Event::TopdownSlotsP);
                (slots_p && self.level.is_some()).then_some(Backing::Slots)
            })
    }

    /// The guest's own encoding, modifiers included, where it means the same on the host.
    fn raw(&self, request: &EventRequest) -> Option<HostEvent> {
        // Nor does it know what an event register selects.
        let named = request.events().next().is_some_and(|event| !self.needs_register(event));
        // Event select 0 is perf's pseudo code for fixed counters.
        if !self.same_core || !named || request.code.select == 0 {
            return None;
        }
        let code = request.code.normalized();
        Some(HostEvent::Raw(RawEvent {
            event: code.select,
            umask: code.umask,
            cmask: code.cmask,
            inv: code.inv,
            edge: code.edge,
        }))
    }
}

/// The event by a name that perf has on every CPU.
fn generic(event: Event) -> Option<HostEvent> {
    Some(match event.counts_as() {
        Event::InstRetiredAny => HostEvent::Instructions,
        Event::CpuClkUnhaltedThread => HostEvent::CpuCycles,
        Event::CpuClkUnhaltedRefTsc => HostEvent::RefCycles,
        Event::BrInstRetiredAllBranches => HostEvent::Branches,
        Event::BrMispRetiredAllBranches => HostEvent::BranchMisses,
        Event::LongestLatCacheReference => HostEvent::CacheReferences,
        Event::LongestLatCacheMiss => HostEvent::CacheMisses,
        _ => return None,
    })
}

/// Which hosts can count an event for a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosts {
    /// Those with a PMU: perf has a name for it.
    Any,
    /// Those with the profile's core.
    SameCore,
}

/// Which hosts can count an event for guests of this profile; `None` if perf cannot be asked for it.
#[must_use]
pub fn hosts_that_count(profile: &Profile, event: Event) -> Option<Hosts> {
    if generic(event).is_some() {
        return Some(Hosts::Any);
    }
    let plain = profile.events.by_event(event).is_some_and(|encoding| encoding.extra.is_none());
    let known = !core_names(profile.events).is_empty() && (plain || event == Event::TopdownSlots);
    known.then_some(Hosts::SameCore)
}

/// `caps/pmu_name` of the cores that an event table is right for, from Linux
/// `arch/x86/events/intel/core.c`.
fn core_names(table: EventTable) -> &'static [&'static str] {
    if table == EventTable::ICELAKE_SP {
        &["icelake"]
    } else if table == EventTable::SAPPHIRE_RAPIDS {
        &["sapphire_rapids", "alderlake_hybrid"]
    } else {
        &[]
    }
}

/// TOPDOWN.SLOTS_P, architectural event 7: counts slots on a general-purpose counter of every core
/// that has a slots counter, and can sample next to a slots group.
pub(super) const SLOTS_P: HostEvent = HostEvent::Raw(RawEvent::new(0xA4, 0x01));
