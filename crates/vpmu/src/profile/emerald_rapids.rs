//! Emerald Rapids: Raptor Cove.

use alloc::borrow::Cow;

use super::Profile;
use super::SAPPHIRE_RAPIDS;

/// Xeon Scalable, fifth generation.
///
/// Source: model 6-CF in Linux `arch/x86/events/intel/core.c`; its event list (`EMR/events/emeraldrapids_core.json` in
/// `intel/perfmon`, version 1.24) has the codes of Sapphire Rapids for every shared name.
pub const EMERALD_RAPIDS: Profile = Profile {
    name: Cow::Borrowed("emerald-rapids"),
    summary: Cow::Borrowed("Xeon Scalable 5th gen (Emerald Rapids): the PMU of Sapphire Rapids"),
    core: "Raptor Cove",
    signature: 0xC06F2,
    tsc_hz: 2_100_000_000,
    crystal_hz: 25_000_000,
    ..SAPPHIRE_RAPIDS
};
