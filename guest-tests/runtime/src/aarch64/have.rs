//! What this machine has, in terms of the tests' needs.

use guest_protocol::Needs;

use super::pmu;

/// Needs that only this kind of machine has an answer to, and whether it meets them.
pub(crate) fn discover() -> [(Needs, bool); 2] {
    let pmu = pmu::is_present();
    [(Needs::PMU, pmu), (Needs::FALKOR, pmu && pmu::is_falkor())]
}
