//! Tiger Lake: Willow Cove.

use alloc::borrow::Cow;

use super::ICELAKE_SP;
use super::Profile;

/// Core, eleventh generation, mobile.
///
/// Source: model 6-8C in Linux `arch/x86/events/intel/core.c`; its event list (`TGL/events/tigerlake_core.json` in
/// `intel/perfmon`, version 1.19) has the codes of Ice Lake-SP for every shared name.
pub const TIGER_LAKE: Profile = Profile {
    name: Cow::Borrowed("tiger-lake"),
    summary: Cow::Borrowed("Core 11th gen mobile (Tiger Lake): the PMU of Ice Lake-SP"),
    core: "Willow Cove",
    signature: 0x806C1,
    tsc_hz: 2_803_200_000,
    crystal_hz: 38_400_000,
    ..ICELAKE_SP
};
