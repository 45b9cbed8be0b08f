//! What this machine has, in terms of the tests' needs.

use guest_protocol::{Needs, files};

use crate::{fw_cfg, machine};

/// The needs that this machine meets.
pub(crate) fn discover() -> Needs {
    let counts = fw_cfg::file_text::<16>(files::COUNTS);
    let anywhere = [
        (Needs::VPMU, fw_cfg::has_file(files::PROFILE)),
        (Needs::EXACT, counts.is_some_and(|counts| counts.as_str() == "exact")),
    ];
    machine::have::discover()
        .into_iter()
        .chain(anywhere)
        .filter_map(|(need, present)| present.then_some(need))
        .collect()
}

/// True if this machine meets all of these needs: for tests that skip a part only.
#[must_use]
pub fn has(needs: Needs) -> bool {
    discover().contains(needs)
}
