//! The CPUID bits that announce the PMU.
//!
//! [`patch`] changes only these bits of a leaf, so that an embedder keeps its own CPUID policy for
//! the rest. Sources: SDM vol. 2A, CPUID, leaves 01H, 07H, 0AH, 0DH, 1CH; Linux `asm/perf_event.h`.

use crate::profile::{LbrKind, Profile};

/// The four registers that CPUID returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuidResult {
    /// EAX.
    pub eax: u32,
    /// EBX.
    pub ebx: u32,
    /// ECX.
    pub ecx: u32,
    /// EDX.
    pub edx: u32,
}

/// Leaf 01H ECX: 64-bit debug store.
const DTES64: u32 = 1 << 2;
/// Leaf 01H ECX: CPL-qualified debug store.
const DS_CPL: u32 = 1 << 4;
/// Leaf 01H ECX: IA32_PERF_CAPABILITIES exists.
const PDCM: u32 = 1 << 15;
/// Leaf 01H EDX: debug store.
const DS: u32 = 1 << 21;
/// Leaf 07H.0 EBX: HLE and RTM; the select bits IN_TX and IN_TXCP are not offered.
const HLE_RTM: u32 = 1 << 4 | 1 << 11;
/// Leaf 07H.0 EDX: hybrid part.
const HYBRID: u32 = 1 << 15;
/// Leaf 07H.0 EDX: architectural LBR.
const ARCH_LBR: u32 = 1 << 19;
/// Leaf 0DH.1 ECX: IA32_XSS bit 15 can be set.
const XSS_LBR: u32 = 1 << 15;
/// Subleaf of leaf 0DH that describes the XSAVE component of architectural LBR.
const XSTATE_LBR: u32 = 15;
/// Leaf 07H.1 EAX: leaf 23H exists.
const ARCH_PERFMON_EXT: u32 = 1 << 8;

/// Leaves that [`patch`] may change.
pub const LEAVES: [u32; 6] = [0x1, 0x7, 0xA, 0xD, 0x1C, 0x23];

/// Puts the PMU's bits of `profile` into a leaf.
#[must_use]
pub fn patch(profile: &Profile, leaf: u32, subleaf: u32, mut result: CpuidResult) -> CpuidResult {
    match (leaf, subleaf) {
        (0x1, _) => {
            result.eax = profile.signature;
            result.ecx = result.ecx & !(DTES64 | DS_CPL) | PDCM;
            result.edx &= !DS;
        }
        (0x7, 0) => {
            result.ebx &= !HLE_RTM;
            result.edx &= !(HYBRID | ARCH_LBR);
            if matches!(profile.lbr, LbrKind::Architectural { .. }) {
                result.edx |= ARCH_LBR;
            }
        }
        (0x7, 1) => result.eax &= !ARCH_PERFMON_EXT,
        (0xA, _) => result = leaf_0a(profile),
        // XSAVES of the branch records is not offered.
        (0xD, 1) => result.ecx &= !XSS_LBR,
        (0xD, XSTATE_LBR) | (0x23, _) => result = CpuidResult::default(),
        (0x1C, _) => result = leaf_1c(profile),
        _ => {}
    }
    result
}

/// Leaf 0AH, architectural performance monitoring.
#[must_use]
pub fn leaf_0a(profile: &Profile) -> CpuidResult {
    let Some(pmu) = profile.intel() else { return CpuidResult::default() };
    let v2 = pmu.version >= 2;
    let v5 = pmu.version >= 5;
    let fixed = if v2 { u32::from(pmu.fixed_counters) } else { 0 };
    CpuidResult {
        eax: u32::from(pmu.version)
            | u32::from(profile.gp_counters) << 8
            | u32::from(profile.gp_width) << 16
            | u32::from(pmu.arch_events) << 24,
        ebx: pmu.arch_events_unavailable,
        ecx: if v5 { (1 << fixed) - 1 } else { 0 },
        edx: fixed
            | if v2 { u32::from(pmu.fixed_width) << 5 } else { 0 }
            | u32::from(v5 && pmu.any_thread_deprecated) << 15,
    }
}

/// Leaf 1CH, architectural last branch records: 0 in a profile without them.
///
/// Filters by privilege level and branch type, call-stack mode; records hold whether the branch was
/// mispredicted, the cycles and the branch type. Addresses are effective ones, and no C-state clears the
/// records.
#[must_use]
pub fn leaf_1c(profile: &Profile) -> CpuidResult {
    match profile.lbr {
        LbrKind::Architectural { depths } => {
            CpuidResult { eax: u32::from(depths), ebx: 0b111, ecx: 0b111, edx: 0 }
        }
        LbrKind::None | LbrKind::Legacy => CpuidResult::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{ICELAKE_SP, PROFILES, SAPPHIRE_RAPIDS, SKYLAKE_SP};

    #[test]
    fn leaf_0a_of_ice_lake_and_sapphire_rapids_is_as_on_silicon() {
        for profile in [&ICELAKE_SP, &SAPPHIRE_RAPIDS] {
            let leaf = patch(profile, 0xA, 0, CpuidResult::default());
            assert_eq!(leaf, CpuidResult { eax: 0x0830_0805, ebx: 0, ecx: 0xF, edx: 0x8604 });
        }
    }

    #[test]
    fn leaf_0a_of_skylake_has_four_counters_and_any_thread() {
        let leaf = patch(&SKYLAKE_SP, 0xA, 0, CpuidResult::default());
        assert_eq!(leaf, CpuidResult { eax: 0x0730_0404, ebx: 0, ecx: 0, edx: 0x603 });
    }

    /// Families and models as Linux `asm/intel-family.h` has them.
    #[test]
    fn every_intel_profile_has_the_model_of_its_cpu() {
        let models = [
            ("skylake-sp", 0x55),
            ("cascade-lake", 0x55),
            ("icelake-client", 0x7E),
            ("icelake-sp", 0x6A),
            ("tiger-lake", 0x8C),
            ("rocket-lake", 0xA7),
            ("alder-lake-p", 0x97),
            ("sapphire-rapids", 0x8F),
            ("emerald-rapids", 0xCF),
            ("granite-rapids", 0xAD),
        ];
        let found: alloc::vec::Vec<_> = PROFILES
            .iter()
            .filter(|profile| profile.intel().is_some())
            .map(|profile| (profile.name, profile.family_model()))
            .collect();
        assert_eq!(found, models.map(|(name, model)| (name, (6, model))));
    }

    #[test]
    fn leaf_0a_before_version_5_has_no_bitmap() {
        let old = ICELAKE_SP.with_intel(|pmu| pmu.version = 2);
        assert_eq!(leaf_0a(&old).ecx, 0);
        assert_eq!(leaf_0a(&old).edx, 0x604);
    }

    #[test]
    fn leaf_01_announces_capabilities_and_hides_the_debug_store() {
        let all = CpuidResult { eax: 0, ebx: 7, ecx: u32::MAX, edx: u32::MAX };
        let leaf = patch(&ICELAKE_SP, 1, 0, all);
        assert_eq!(leaf.eax, 0x606A6);
        assert_eq!(leaf.ebx, 7);
        assert_eq!(leaf.ecx, !(1 << 2 | 1 << 4));
        assert_eq!(leaf.edx, !(1 << 21));
    }
}
