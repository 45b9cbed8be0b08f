//! AMD Zen, from the second generation on.
//!
//! Sources: model numbers, counters and features from Linux `arch/x86/events/amd/core.c` and `lbr.c`;
//! IBS from public CPUID dumps of these CPUs (InstLatx64);
//! slots per cycle of Zen 4 and 5 from the published pipeline metrics (Linux
//! `tools/perf/pmu-events/arch/x86/amdzen4`, `amdzen5`); the limit of 15 increments a cycle from the same
//! kernel's comments on large increment events.

use alloc::borrow::Cow;

use super::{AmdPmu, Isa, LbrKind, PmuKind, Profile};
use crate::event::EventTable;

/// Local APIC timer: the 100 MHz reference clock.
const REFERENCE_CLOCK_HZ: u32 = 100_000_000;

/// What all generations have.
const CORE_COUNTERS: AmdPmu = AmdPmu {
    ext_core: true,
    v2: false,
    freeze: false,
    merge: true,
    bus_lock_trap: false,
    increment_limit: 15,
    ibs: 0x3FF,
    shows_ibs: false,
};
/// Zen 4 and later: PerfMonV2 with freezing; IBS with the L3 miss filter. Of Turin's IBS the latency filter (bit 12)
/// and what bit 19 stands for are not offered.
const PERF_MON_V2: AmdPmu = AmdPmu { v2: true, freeze: true, ibs: 0xBFF, ..CORE_COUNTERS };

/// EPYC 7002 (Rome, Family 17h model 31h).
pub const ZEN2: Profile = Profile {
    name: Cow::Borrowed("zen2"),
    summary: Cow::Borrowed("EPYC 7002 (Rome): six core counters, Large Increment per Cycle"),
    core: "Zen 2",
    signature: 0x0083_0F10,
    gp_counters: 6,
    gp_width: 48,
    lbr: LbrKind::LastBranch,
    slots_per_cycle: 6,
    tsc_hz: 2_250_000_000,
    crystal_hz: REFERENCE_CLOCK_HZ,
    isa: Isa::V4,
    events: EventTable::ZEN2,
    pmu: PmuKind::Amd(CORE_COUNTERS),
};

/// EPYC 7003 (Milan, Family 19h model 01h), without branch sampling (BRS).
pub const ZEN3: Profile = Profile {
    name: Cow::Borrowed("zen3"),
    summary: Cow::Borrowed("EPYC 7003 (Milan): six core counters, Large Increment per Cycle"),
    core: "Zen 3",
    signature: 0x00A0_0F11,
    tsc_hz: 2_450_000_000,
    events: EventTable::ZEN3,
    ..ZEN2
};

/// EPYC 9004 (Genoa, Family 19h model 11h).
pub const ZEN4: Profile = Profile {
    name: Cow::Borrowed("zen4"),
    summary: Cow::Borrowed(
        "EPYC 9004 (Genoa): PerfMonV2, LbrExtV2, Large Increment per Cycle, 6 slots/cycle",
    ),
    core: "Zen 4",
    signature: 0x00A1_0F11,
    lbr: LbrKind::ExtV2 { depth: 16 },
    tsc_hz: 2_400_000_000,
    events: EventTable::ZEN4,
    pmu: PmuKind::Amd(PERF_MON_V2),
    ..ZEN2
};

/// EPYC 9005 (Turin, Family 1Ah model 02h).
pub const ZEN5: Profile = Profile {
    name: Cow::Borrowed("zen5"),
    summary: Cow::Borrowed(
        "EPYC 9005 (Turin): PerfMonV2, LbrExtV2, Large Increment per Cycle, 8 slots/cycle",
    ),
    core: "Zen 5",
    signature: 0x00B0_0F21,
    slots_per_cycle: 8,
    tsc_hz: 2_700_000_000,
    events: EventTable::ZEN5,
    // CPUID.07H:ECX bit 24 in public dumps of Turin.
    pmu: PmuKind::Amd(AmdPmu { bus_lock_trap: true, ..PERF_MON_V2 }),
    ..ZEN4
};
