//! The CPUs under test.

use super::registers;
use crate::Latched;
use std::sync::LazyLock;
use vpmu::Profile;
use vpmu::profile::{BeyondLast, FALKOR};

/// A profile under test.
#[derive(Debug)]
pub(crate) struct Subject {
    /// The profile.
    pub(crate) profile: Profile,
    /// A vPMU in its reset state.
    pub(super) pristine: Latched,
    /// Its registers.
    pub(super) registers: Vec<u32>,
}

/// Falkor, and made-up CPUs for what it has not.
pub(crate) static SUBJECTS: LazyLock<Vec<Subject>> = LazyLock::new(|| {
    let named = |name: &'static str, profile: Profile| Profile { name: name.into(), ..profile };
    let profiles = [
        FALKOR,
        named("falkor with AArch32", FALKOR.with_arm(|pmu| pmu.aarch32 = true)),
        named("three counters, Armv8.1, no matrix", Profile { gp_counters: 3, ..FALKOR })
            .with_arm(|pmu| (pmu.version, pmu.matrix) = (4, false)),
        named("undefined beyond the last", FALKOR).with_arm(|pmu| {
            (pmu.selected_beyond, pmu.direct_beyond) = (BeyondLast::Undefined, BeyondLast::Zero);
        }),
    ];
    profiles.map(Subject::new).into()
});

impl Subject {
    fn new(profile: Profile) -> Self {
        Self {
            pristine: Latched::new(profile.clone()),
            registers: registers(profile.gp_counters.into()).collect(),
            profile,
        }
    }
}
