//! Sapphire Rapids (Golden Cove): PERF_METRICS level 2.

use alloc::borrow::Cow;

use super::{IntelPmu, Isa, LbrKind, PebsKind, PmuKind, Profile};
use crate::event::EventTable;
use crate::register::intel::PerfCapabilities;

/// Xeon Scalable, fourth generation.
///
/// Sources: model 6-8F, counters and the eight-field PERF_METRICS from Linux
/// `arch/x86/events/intel/core.c`; pipeline width 6 from the published TMA formulas
/// (`intel/perfmon`); event register masks from the same Linux file (`intel_glc_extra_regs`).
pub const SAPPHIRE_RAPIDS: Profile = Profile {
    name: Cow::Borrowed("sapphire-rapids"),
    summary: Cow::Borrowed(
        "Xeon Scalable 4th gen (Sapphire Rapids): perfmon v5, PERF_METRICS level 2, 6 slots/cycle",
    ),
    core: "Golden Cove",
    signature: 0x806F8,
    gp_counters: 8,
    gp_width: 48,
    // Depths 8, 16 and 32, as public CPUID dumps of Golden Cove show.
    lbr: LbrKind::Architectural { depths: 0b1011 },
    slots_per_cycle: 6,
    tsc_hz: 2_000_000_000,
    crystal_hz: 25_000_000,
    isa: Isa::V4,
    events: EventTable::SAPPHIRE_RAPIDS,
    pmu: PmuKind::Intel(PMU),
};

/// The PMU of every Golden Cove, Raptor Cove and Redwood Cove core.
pub(super) const PMU: IntelPmu = IntelPmu {
    version: 5,
    fixed_counters: 4,
    fixed_width: 48,
    arch_events: 8,
    arch_events_unavailable: 0,
    any_thread_deprecated: true,
    umask2: false,
    lbr_event_logging: 0,
    hybrid_core: 0,
    // Silicon has 0xF4FF: Profile::with_pebs sets the rest.
    perf_capabilities: PerfCapabilities(0)
        .with_lbr_fmt(LbrKind::ARCHITECTURAL_FORMAT)
        .with_freeze_while_smm(true)
        .with_fw_write(true)
        .with_perf_metrics_available(true),
    pebs: PebsKind::Adaptive,
    metrics_level: 2,
    offcore_rsp_mask: 0x3F_FFFF_FFFF,
    ld_lat_mask: 0xFFFF,
    frontend_mask: 0x7F_FF1F,
};
