//! Cascade Lake: the core of Skylake-SP.

use alloc::borrow::Cow;

use super::Profile;
use super::SKYLAKE_SP;

/// Xeon Scalable, second generation.
///
/// Source: model 6-55 from stepping 5 in Linux `arch/x86/events/intel/core.c`; its event list
/// (`CLX/events/cascadelakex_core.json` in `intel/perfmon`, version 1.25) has the codes of Skylake-SP for every shared
/// name.
pub const CASCADE_LAKE: Profile = Profile {
    name: Cow::Borrowed("cascade-lake"),
    summary: Cow::Borrowed("Xeon Scalable 2nd gen (Cascade Lake): the PMU of Skylake-SP"),
    signature: 0x50657,
    tsc_hz: 2_300_000_000,
    crystal_hz: 25_000_000,
    core: "Cascade Lake",
    ..SKYLAKE_SP
};
