//! Ice Lake-SP (Sunny Cove): the first server with SLOTS and PERF_METRICS, level 1.

use alloc::borrow::Cow;

use super::{IntelPmu, Isa, LbrKind, PebsKind, PmuKind, Profile};
use crate::event::EventTable;
use crate::register::intel::PerfCapabilities;

/// Xeon Scalable, third generation.
///
/// Sources: model 6-6A, perfmon version, counters and the four-field PERF_METRICS from Linux
/// `arch/x86/events/intel/core.c`; pipeline width 5 from the published TMA formulas
/// (`intel/perfmon`); event register masks from the same Linux file (`intel_icl_extra_regs`).
pub const ICELAKE_SP: Profile = Profile {
    name: Cow::Borrowed("icelake-sp"),
    summary: Cow::Borrowed(
        "Xeon Scalable 3rd gen (Ice Lake-SP): perfmon v5, PERF_METRICS level 1, 5 slots/cycle",
    ),
    core: "Sunny Cove",
    signature: 0x606A6,
    gp_counters: 8,
    gp_width: 48,
    lbr: LbrKind::Legacy,
    slots_per_cycle: 5,
    tsc_hz: 2_600_000_000,
    crystal_hz: 25_000_000,
    isa: Isa::V4,
    events: EventTable::ICELAKE_SP,
    pmu: PmuKind::Intel(PMU),
};

/// The PMU of every Sunny Cove, Willow Cove and Cypress Cove core.
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
    // Silicon has 0xF4C5: Profile::with_pebs sets the rest.
    perf_capabilities: PerfCapabilities(0)
        .with_lbr_fmt(LbrKind::LEGACY_FORMAT)
        .with_freeze_while_smm(true)
        .with_fw_write(true)
        .with_perf_metrics_available(true),
    pebs: PebsKind::Adaptive,
    metrics_level: 1,
    offcore_rsp_mask: 0x3F_FFFF_BFFF,
    ld_lat_mask: 0xFFFF,
    frontend_mask: 0x7F_FF17,
};
