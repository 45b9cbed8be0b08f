//! Granite Rapids: Redwood Cove.

use alloc::borrow::Cow;

use super::Profile;
use super::SAPPHIRE_RAPIDS;
use crate::event::EventTable;

/// Xeon 6 with performance cores.
///
/// Source: model 6-AD in Linux `arch/x86/events/intel/core.c`; events from `GNR/events/graniterapids_core.json` in
/// `intel/perfmon`, version 1.20. No public document names its perfmon version; 5 is what its predecessor has, whose
/// format of PEBS records it shows.
pub const GRANITE_RAPIDS: Profile = Profile {
    name: Cow::Borrowed("granite-rapids"),
    summary: Cow::Borrowed(
        "Xeon 6 P-core (Granite Rapids): the PMU of Sapphire Rapids, FRONTEND_RETIRED with other codes",
    ),
    core: "Redwood Cove",
    signature: 0xA06D1,
    tsc_hz: 2_000_000_000,
    crystal_hz: 25_000_000,
    events: EventTable::GRANITE_RAPIDS,
    ..SAPPHIRE_RAPIDS
};
