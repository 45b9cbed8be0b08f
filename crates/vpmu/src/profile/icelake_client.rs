//! Ice Lake client: Sunny Cove in a notebook.

use alloc::borrow::Cow;

use super::ICELAKE_SP;
use super::Profile;

/// Core, tenth generation.
///
/// Source: model 6-7E in Linux `arch/x86/events/intel/core.c`; its event list (`ICL/events/icelake_core.json` in
/// `intel/perfmon`, version 1.24) has the codes of Ice Lake-SP for every shared name.
pub const ICELAKE_CLIENT: Profile = Profile {
    name: Cow::Borrowed("icelake-client"),
    summary: Cow::Borrowed("Core 10th gen (Ice Lake client): the PMU of Ice Lake-SP"),
    core: "Sunny Cove (client)",
    signature: 0x706E5,
    tsc_hz: 1_536_000_000,
    crystal_hz: 38_400_000,
    ..ICELAKE_SP
};
