//! Alder Lake: Golden Cove in a client.

use alloc::borrow::Cow;

use super::Profile;
use super::SAPPHIRE_RAPIDS;

/// Core, twelfth generation, a performance core; shown as a CPU that has no other kind of core.
///
/// Source: model 6-97 in Linux `arch/x86/events/intel/core.c`; its event list
/// (`ADL/events/alderlake_goldencove_core.json` in `intel/perfmon`, version 1.40) has the codes of Sapphire Rapids for
/// every shared name. A hybrid part reads bit 15 of PERF_CAPABILITIES as 0 although this core has PERF_METRICS;
/// without the hybrid bit of CPUID the guest needs it.
pub const ALDER_LAKE_P: Profile = Profile {
    name: Cow::Borrowed("alder-lake-p"),
    summary: Cow::Borrowed("Core 12th gen P-core (Alder Lake): the PMU of Sapphire Rapids, not hybrid"),
    core: "Golden Cove (client)",
    signature: 0x90672,
    tsc_hz: 3_187_200_000,
    crystal_hz: 38_400_000,
    ..SAPPHIRE_RAPIDS
};
