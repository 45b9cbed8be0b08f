//! Rocket Lake: Cypress Cove.

use alloc::borrow::Cow;

use super::ICELAKE_SP;
use super::Profile;

/// Core, eleventh generation, desktop.
///
/// Source: model 6-A7 in Linux `arch/x86/events/intel/core.c`; its event list (`RKL/events/rocketlake_core.json` in
/// `intel/perfmon`, version 1.04) has the codes of Ice Lake-SP for every shared name.
pub const ROCKET_LAKE: Profile = Profile {
    name: Cow::Borrowed("rocket-lake"),
    summary: Cow::Borrowed("Core 11th gen desktop (Rocket Lake): the PMU of Ice Lake-SP"),
    core: "Cypress Cove",
    signature: 0xA0671,
    tsc_hz: 3_504_000_000,
    crystal_hz: 24_000_000,
    ..ICELAKE_SP
};
