//! The ID registers that announce the PMU of an Arm CPU, as [`cpuid`](crate::cpuid) has the leaves of an x86 CPU.

use crate::profile::Profile;

/// A field of four bits.
const fn field(lsb: u32) -> u64 {
    0xF << lsb
}

/// PMUVer, the version of the PMU.
const PMU_VERSION: u32 = 8;
/// PMSVer, MTPMU, BRBE and HPMN0: statistical profiling, counters per thread, branch records, and no counters for the
/// guest. None is offered.
const NOT_OFFERED: u64 = field(32) | field(48) | field(52) | field(60);

/// Puts the PMU's fields of `profile` into ID_AA64DFR0_EL1, so that the embedder keeps its own values of the others. A
/// CPU of another architecture has no PMU here. Source: Arm ARM D19, ID_AA64DFR0_EL1.
#[must_use]
pub fn id_aa64dfr0(profile: &Profile, others: u64) -> u64 {
    let version = profile.arm().map_or(0, |pmu| pmu.version);
    others & !field(PMU_VERSION) & !NOT_OFFERED | u64::from(version & 0xF) << PMU_VERSION
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{FALKOR, ZEN4};

    #[test]
    fn the_version_is_announced_and_other_features_stay() {
        assert_eq!(id_aa64dfr0(&FALKOR, 0x10_1006), 0x10_1106);
        assert_eq!(id_aa64dfr0(&FALKOR.with_arm(|pmu| pmu.version = 4), 0x10_1006), 0x10_1406);
        assert_eq!(id_aa64dfr0(&FALKOR, u64::MAX), 0x0F00_FFF0_FFFF_F1FF);
        assert_eq!(id_aa64dfr0(&ZEN4, 0x10_1F06), 0x10_1006);
    }
}
