//! Lunar Lake: Lion Cove, perfmon version 6.

use alloc::borrow::Cow;

use super::{IntelPmu, PebsKind, PmuKind, Profile, SAPPHIRE_RAPIDS, sapphire_rapids};
use crate::event::EventTable;

/// Core Ultra 200V, a performance core; shown as the only core of a hybrid part, because Linux (6.11 and later) knows
/// this model as hybrid only and has no PMU for a core without a type in CPUID leaf 1AH. Leaf 0AH has this core's own
/// counters, where silicon has those that both kinds of cores have in common; leaf 23H is the same as on silicon but
/// for what is not offered.
///
/// Sources: model 6-BD, perfmon version 6 with its addresses from 1900H, 16-bit unit masks and the clearing RDPMC of
/// the metrics from Linux `arch/x86/events/intel/core.c` and the commits that added this core to it; event register
/// masks from its `intel_lnc_extra_regs`; ten counters and the events from `LNL/events/lunarlake_lioncove_core.json`
/// in `intel/perfmon`, version 1.26; pipeline width 8 from the published TMA formulas. What no public document says is
/// as in its predecessor. The TSC runs at the base frequency of a Core Ultra 7 258V. Leaves 07H, 1AH, 1CH (ECX) and
/// 23H as in a public CPUID dump (InstLatX64, Core Ultra 9 288V).
pub const LUNAR_LAKE_P: Profile = Profile {
    name: Cow::Borrowed("lunar-lake-p"),
    summary: Cow::Borrowed(
        "Core Ultra 200V P-core (Lunar Lake): perfmon v6, 10 counters, PERF_METRICS level 2, 8 slots/cycle",
    ),
    core: "Lion Cove",
    signature: 0xB06D1,
    gp_counters: 10,
    slots_per_cycle: 8,
    tsc_hz: 2_200_000_000,
    crystal_hz: 38_400_000,
    events: EventTable::LION_COVE,
    pmu: PmuKind::Intel(IntelPmu {
        version: 6,
        umask2: true,
        lbr_event_logging: 0b1111,
        // Core type 40H, native model 3.
        hybrid_core: 0x4000_0003,
        perf_capabilities: sapphire_rapids::PMU.perf_capabilities.with_rdpmc_metrics_clear(true),
        // Format 6, whose groups of counters are not built.
        pebs: PebsKind::Unknown,
        offcore_rsp_mask: 0xFFF_FFFF_FFFF,
        ..sapphire_rapids::PMU
    }),
    ..SAPPHIRE_RAPIDS
};
