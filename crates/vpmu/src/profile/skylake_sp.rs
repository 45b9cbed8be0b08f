//! Skylake-SP and Cascade Lake: perfmon version 4, before SLOTS and PERF_METRICS.

use alloc::borrow::Cow;

use super::{IntelPmu, Isa, LbrKind, PebsKind, PmuKind, Profile};
use crate::event::EventTable;
use crate::register::intel::PerfCapabilities;

/// Xeon Scalable, first generation, with both threads of a core switched on.
///
/// Sources: model 6-55 steppings 0 to 4, LBR format and event register masks from Linux
/// `arch/x86/events/intel/core.c` (`intel_skl_extra_regs`); four counters per thread and AnyThread from the SDM vol.
/// 3B, architectural performance monitoring versions 3 and 4; pipeline width 4 from the published TMA formulas
/// (`intel/perfmon`). The sibling thread is always idle here, so AnyThread counts what the thread itself does.
pub const SKYLAKE_SP: Profile = Profile {
    name: Cow::Borrowed("skylake-sp"),
    summary: Cow::Borrowed(
        "Xeon Scalable 1st gen (Skylake-SP): perfmon v4, 4 counters, no PERF_METRICS, 4 slots/cycle",
    ),
    core: "Skylake-SP",
    signature: 0x50654,
    gp_counters: 4,
    gp_width: 48,
    lbr: LbrKind::Legacy,
    slots_per_cycle: 4,
    tsc_hz: 2_100_000_000,
    crystal_hz: 25_000_000,
    isa: Isa::V4,
    events: EventTable::SKYLAKE_SP,
    pmu: PmuKind::Intel(IntelPmu {
        version: 4,
        fixed_counters: 3,
        fixed_width: 48,
        arch_events: 7,
        arch_events_unavailable: 0,
        any_thread_deprecated: false,
        umask2: false,
        lbr_event_logging: 0,
        hybrid_core: 0,
        // Silicon has 0x33C5: Profile::with_pebs sets the rest.
        perf_capabilities: PerfCapabilities(0)
            .with_lbr_fmt(LbrKind::LEGACY_FORMAT)
            .with_freeze_while_smm(true)
            .with_fw_write(true),
        pebs: PebsKind::Format3,
        metrics_level: 0,
        offcore_rsp_mask: 0x3F_FFFF_8FFF,
        ld_lat_mask: 0xFFFF,
        frontend_mask: 0x7F_FF17,
    }),
};
