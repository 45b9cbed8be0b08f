//! Events that follow from time and the TMA fractions.

use vpmu::event::Event;

/// What an event's count is computed from instead of a rate of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Derived {
    /// One per core cycle.
    CoreCycles,
    /// The guest's TSC rate.
    TscCycles,
    /// The profile's crystal clock.
    CrystalCycles,
    /// Every slot.
    Slots,
    /// Slots of a PERF_METRICS field, by its byte.
    Field(u8),
}

impl Derived {
    pub(super) fn follows_from(self) -> &'static str {
        match self {
            Self::CoreCycles => "core.frequency_mhz",
            Self::TscCycles => "the guest's TSC rate",
            Self::CrystalCycles => "the profile's crystal clock",
            Self::Slots => "core.frequency_mhz and the profile's slots per cycle",
            Self::Field(_) => "the slots and the [topdown] tables",
        }
    }
}

/// The derived events. The vCPU has its core to itself, so what siblings share is all its own.
pub(super) fn derived(event: Event) -> Option<Derived> {
    Some(match event.counts_as() {
        Event::CpuClkUnhaltedThread | Event::CpuClkUnhaltedDistributed | Event::UopsRetiredTotalCycles => {
            Derived::CoreCycles
        }
        Event::CpuClkUnhaltedRefTsc => Derived::TscCycles,
        Event::CpuClkUnhaltedRefXclk | Event::CpuClkUnhaltedRefDistributed => Derived::CrystalCycles,
        Event::TopdownSlots => Derived::Slots,
        Event::UopsRetiredSlots => Derived::Field(0),
        Event::TopdownBadSpecSlots | Event::TopdownBadSpeculationAll => Derived::Field(1),
        Event::IdqUopsNotDeliveredCore => Derived::Field(2),
        Event::TopdownBackendBoundSlots => Derived::Field(3),
        Event::TopdownBrMispredictSlots => Derived::Field(5),
        Event::TopdownMemoryBoundSlots => Derived::Field(7),
        _ => return None,
    })
}
