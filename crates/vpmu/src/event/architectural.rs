//! What CPUID leaf 0AH enumerates: architectural events and fixed counters.

use super::{Event, EventCode};

/// An architectural event: the same code and meaning on every core that announces it.
///
/// Source: SDM volume 3, "Pre-defined Architectural Performance Events".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArchEvent {
    /// Bit in CPUID.0AH:EBX, where 1 means not available.
    pub bit: u8,
    /// The SDM's name.
    pub name: &'static str,
    /// What is counted. The rate of reference cycles (bit 2) depends on the core: crystal clock up
    /// to Ice Lake ([`Event::CpuClkUnhaltedRefXclk`]), TSC from Golden Cove on; the core's
    /// [`EventTable`](super::EventTable) knows, so ask it first.
    pub event: Event,
    /// The event select code.
    pub code: EventCode,
}

const fn arch(bit: u8, name: &'static str, event: Event, select: u16, umask: u16) -> ArchEvent {
    ArchEvent { bit, name, event, code: EventCode::new(select, umask) }
}

impl ArchEvent {
    /// Every architectural event, in the order of the EBX bits.
    pub const ALL: [Self; 13] = [
        arch(0, "core cycles", Event::CpuClkUnhaltedThreadP, 0x3C, 0x00),
        arch(1, "instructions retired", Event::InstRetiredAnyP, 0xC0, 0x00),
        arch(2, "reference cycles", Event::CpuClkUnhaltedRefTscP, 0x3C, 0x01),
        arch(3, "last-level cache references", Event::LongestLatCacheReference, 0x2E, 0x4F),
        arch(4, "last-level cache misses", Event::LongestLatCacheMiss, 0x2E, 0x41),
        arch(5, "branch instructions retired", Event::BrInstRetiredAllBranches, 0xC4, 0x00),
        arch(6, "branch mispredicts retired", Event::BrMispRetiredAllBranches, 0xC5, 0x00),
        arch(7, "topdown slots", Event::TopdownSlotsP, 0xA4, 0x01),
        arch(8, "topdown backend bound", Event::TopdownBackendBoundSlots, 0xA4, 0x02),
        arch(9, "topdown bad speculation", Event::TopdownBadSpeculationAll, 0x73, 0x00),
        arch(10, "topdown frontend bound", Event::IdqUopsNotDeliveredCore, 0x9C, 0x01),
        arch(11, "topdown retiring", Event::UopsRetiredSlots, 0xC2, 0x02),
        arch(12, "LBR inserts", Event::MiscRetiredLbrInserts, 0xE4, 0x01),
    ];

    /// Whether a CPU with these CPUID.0AH values has the event: the bit lies within the vector
    /// (`length` is EAX\[31:24\]) and is 0 in `ebx`.
    #[must_use]
    pub const fn is_available(self, length: u8, ebx: u32) -> bool {
        self.bit < length && ebx & (1 << self.bit) == 0
    }

    /// The architectural event with this code, modifiers included.
    #[must_use]
    pub fn by_code(code: EventCode) -> Option<Self> {
        Self::ALL.into_iter().find(|arch| arch.code == code.normalized())
    }
}

/// A fixed-function counter and the one event that it counts.
///
/// Source: SDM volume 3, "Fixed-Function Performance Counters"; 4 to 6 are Atom's, as in the event
/// list of Skymont (`intel/perfmon`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FixedEvent {
    /// Index of the fixed counter: MSR 0x309 + `counter`.
    pub counter: u8,
    /// What is counted.
    pub event: Event,
    /// perf's pseudo code for "this fixed counter". In a PERFEVTSEL register it counts nothing.
    pub code: EventCode,
}

const fn fixed(counter: u8, event: Event) -> FixedEvent {
    FixedEvent { counter, event, code: EventCode::new(0x00, counter as u16 + 1) }
}

impl FixedEvent {
    /// Every fixed counter, in order.
    pub const ALL: [Self; 7] = [
        fixed(0, Event::InstRetiredAny),
        fixed(1, Event::CpuClkUnhaltedThread),
        fixed(2, Event::CpuClkUnhaltedRefTsc),
        fixed(3, Event::TopdownSlots),
        fixed(4, Event::TopdownBadSpeculationAll),
        fixed(5, Event::TopdownFeBoundAll),
        fixed(6, Event::TopdownRetiringAll),
    ];

    /// The fixed counter with this index.
    #[must_use]
    pub fn by_counter(counter: u8) -> Option<Self> {
        Self::ALL.get(usize::from(counter)).copied()
    }

    /// What the fixed counter with this index counts.
    #[must_use]
    pub fn event(counter: u8) -> Option<Event> {
        Self::by_counter(counter).map(|fixed| fixed.event)
    }

    /// The fixed counter that counts this event or one that [counts the same](Event::counts_as).
    #[must_use]
    pub fn by_event(event: Event) -> Option<Self> {
        Self::ALL.into_iter().find(|fixed| fixed.event.counts_as() == event.counts_as())
    }
}
