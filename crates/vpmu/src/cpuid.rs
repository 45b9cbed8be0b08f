//! The CPUID bits that announce the PMU.
//!
//! [`patch`] changes only these bits of a leaf, so that an embedder keeps its own CPUID policy for
//! the rest. Sources: SDM vol. 2A, CPUID, leaves 01H, 07H, 0AH, 0DH, 1AH, 1CH, 23H; APM vol. 3, appendix E, leaves
//! 8000_0001H and 8000_0022H; Linux `asm/perf_event.h`.

use crate::profile::{AmdPmu, Architecture, LbrKind, Profile, Vendor};
use crate::register::cpuid::{
    AmdFeature8Ebx, AmdFeatureEcx, ExtCountersEax, ExtCountersEbx, ExtEventsEax, ExtendedFeature1Eax,
    ExtendedFeatureEbx, ExtendedFeatureEdx, FeatureEcx, FeatureEdx, LbrEax, LbrEbx, LbrEcx, PerfMonV2Eax,
    PerfMonV2Ebx, PerfmonEax, PerfmonEcx, PerfmonEdx, PerfmonExtEax, PerfmonExtEbx, XssEcx,
};
use crate::register::low_bits;

pub use crate::register::cpuid::CpuidResult;

/// Subleaf of leaf 0DH that describes the XSAVE component of architectural LBR.
const XSTATE_LBR: u32 = 15;
/// Architectural performance monitoring extended.
const PERFMON_EXT_LEAF: u32 = 0x23;
/// Capabilities of instruction-based sampling, AMD.
const IBS_LEAF: u32 = 0x8000_001B;
/// Extended performance monitoring and debug, AMD.
const PERF_MON_LEAF: u32 = 0x8000_0022;

/// Leaves that [`patch`] may change. Those that the embedder's table lacks are 0 there and have to be added.
pub const LEAVES: [u32; 13] = [
    0x0,
    0x1,
    0x7,
    0xA,
    0xD,
    0x1A,
    0x1C,
    0x23,
    0x8000_0000,
    0x8000_0001,
    0x8000_0008,
    IBS_LEAF,
    PERF_MON_LEAF,
];

/// Puts the PMU's bits of `profile`, and who made the CPU, into a leaf. A CPU that has no CPUID changes nothing.
#[must_use]
pub fn patch(profile: &Profile, leaf: u32, subleaf: u32, mut result: CpuidResult) -> CpuidResult {
    let vendor = profile.vendor();
    if vendor.architecture() != Architecture::X86_64 {
        return result;
    }
    match (leaf, subleaf) {
        (0x0, _) => {
            set_vendor(vendor, &mut result);
            if has_perfmon_ext(profile) {
                result.eax = result.eax.max(PERFMON_EXT_LEAF);
            }
        }
        (0x1, _) => {
            result.eax = profile.signature;
            // No branch trace store, which IA32_MISC_ENABLE says.
            result.ecx = FeatureEcx::from(result.ecx)
                .with_dtes64(profile.has_pebs())
                .with_ds_cpl(false)
                .with_pdcm(vendor == Vendor::Intel)
                .into();
            result.edx = FeatureEdx::from(result.edx).with_ds(profile.has_pebs()).into();
        }
        (0x7, 0) => {
            if has_perfmon_ext(profile) {
                result.eax = result.eax.max(1);
            }
            result.ebx = ExtendedFeatureEbx::from(result.ebx).with_hle(false).with_rtm(false).into();
            result.edx = ExtendedFeatureEdx::from(result.edx)
                .with_hybrid(leaf_1a(profile).eax != 0)
                .with_arch_lbr(matches!(profile.lbr, LbrKind::Architectural { .. }))
                .into();
        }
        (0x7, 1) => {
            let own = ExtendedFeature1Eax::from(result.eax);
            result.eax = own.with_arch_perfmon_ext(has_perfmon_ext(profile)).into();
        }
        // Reserved on AMD CPUs: caches and clocks are described elsewhere.
        (0x2 | 0x4 | 0x15 | 0x16, _) if vendor == Vendor::Amd => result = CpuidResult::default(),
        (0xA, _) => result = leaf_0a(profile),
        // XSAVES of the branch records is the engine's; where it has it, it says so after this.
        (0xD, 1) => result.ecx = XssEcx::from(result.ecx).with_lbr(false).into(),
        (0xD, XSTATE_LBR) => result = CpuidResult::default(),
        (PERFMON_EXT_LEAF, _) => result = leaf_23(profile, subleaf),
        (0x1A, _) => result = leaf_1a(profile),
        (0x1C, _) => result = leaf_1c(profile),
        (0x8000_0000.., _) => {
            if let Some(amd) = profile.amd() {
                return patch_extended(profile, amd, leaf, result);
            }
        }
        _ => {}
    }
    result
}

/// The extended leaves of an AMD CPU.
fn patch_extended(profile: &Profile, amd: &AmdPmu, leaf: u32, mut result: CpuidResult) -> CpuidResult {
    match leaf {
        0x8000_0000 => {
            set_vendor(Vendor::Amd, &mut result);
            if amd.v2 {
                result.eax = result.eax.max(PERF_MON_LEAF);
            }
            if amd.shows_ibs {
                result.eax = result.eax.max(IBS_LEAF);
            }
        }
        0x8000_0001 => {
            result.eax = profile.signature;
            let own = AmdFeatureEcx::from(result.ecx);
            result.ecx = own
                .with_ext_apic_space(own.ext_apic_space() || amd.shows_ibs)
                .with_ibs(amd.shows_ibs)
                .with_perf_ctr_ext_core(amd.ext_core)
                .with_perf_ctr_ext_nb(false)
                .with_perf_ctr_ext_llc(false)
                .into();
        }
        0x8000_0008 => {
            result.ebx = AmdFeature8Ebx::from(result.ebx).with_irperf(false).with_brs(false).into();
        }
        IBS_LEAF => {
            let eax = if amd.shows_ibs { amd.ibs } else { 0 };
            result = CpuidResult { eax, ..CpuidResult::default() };
        }
        PERF_MON_LEAF => result = leaf_8000_0022(profile),
        _ => {}
    }
    result
}

fn set_vendor(vendor: Vendor, result: &mut CpuidResult) {
    let Some(text) = vendor.signature() else { return };
    let word = |n: usize| u32::from_le_bytes([text[n], text[n + 1], text[n + 2], text[n + 3]]);
    (result.ebx, result.edx, result.ecx) = (word(0), word(4), word(8));
}

/// Leaf 8000_0022H, extended performance monitoring and debug: 0 in a profile without PerfMonV2.
///
/// Core counters and the branch record stack only; no counters of data fabric and memory controllers.
#[must_use]
pub fn leaf_8000_0022(profile: &Profile) -> CpuidResult {
    let Some(amd) = profile.amd().filter(|amd| amd.v2) else { return CpuidResult::default() };
    let depth = match profile.lbr {
        LbrKind::ExtV2 { depth } => depth,
        _ => 0,
    };
    let eax =
        PerfMonV2Eax::default().with_perf_mon_v2(true).with_lbr_stack(depth > 0).with_freeze(amd.freeze);
    let ebx = PerfMonV2Ebx::default()
        .with_core_counters(profile.gp_counters.into())
        .with_lbr_stack_size(depth.into());
    CpuidResult { eax: eax.into(), ebx: ebx.into(), ..CpuidResult::default() }
}

/// Leaf 0AH, architectural performance monitoring.
#[must_use]
pub fn leaf_0a(profile: &Profile) -> CpuidResult {
    let Some(pmu) = profile.intel() else { return CpuidResult::default() };
    let v2 = pmu.version >= 2;
    let v5 = pmu.version >= 5;
    let fixed = if v2 { pmu.fixed_counters } else { 0 };
    let eax = PerfmonEax::default()
        .with_version(pmu.version.into())
        .with_gp_counters(profile.gp_counters.into())
        .with_gp_width(profile.gp_width.into())
        .with_events(pmu.arch_events.into());
    let ecx = PerfmonEcx::default().with_fixed(if v5 { low_bits(fixed.into()) } else { 0 });
    let edx = PerfmonEdx::default()
        .with_fixed_counters(fixed.into())
        .with_fixed_width(if v2 { pmu.fixed_width.into() } else { 0 })
        .with_any_thread_deprecated(v5 && pmu.any_thread_deprecated);
    CpuidResult { eax: eax.into(), ebx: pmu.arch_events_unavailable, ecx: ecx.into(), edx: edx.into() }
}

/// Leaf 1AH, native model ID: 0 in a profile that is not of a hybrid part.
#[must_use]
pub fn leaf_1a(profile: &Profile) -> CpuidResult {
    CpuidResult { eax: profile.intel().map_or(0, |pmu| pmu.hybrid_core), ..CpuidResult::default() }
}

fn has_perfmon_ext(profile: &Profile) -> bool {
    profile.intel().is_some_and(|pmu| pmu.version >= 6)
}

/// Leaf 23H, architectural performance monitoring extended: 0 in a profile before version 6.
///
/// Not offered: auto counter reload, PEBS, the EQ bit of event selects, the user's disable of RDPMC. The number of
/// slots in a cycle (ECX) is 0 as on a Lion Cove core, which sends software to fixed counter 3; Skymont cores have 8
/// there.
#[must_use]
pub fn leaf_23(profile: &Profile, subleaf: u32) -> CpuidResult {
    let Some(pmu) = profile.intel().filter(|pmu| pmu.version >= 6) else { return CpuidResult::default() };
    let none = CpuidResult::default();
    match subleaf {
        0 => {
            let subleaves = PerfmonExtEax::default().with_main(true).with_counters(true).with_events(true);
            let fields = PerfmonExtEbx::default().with_umask2(pmu.umask2);
            CpuidResult { eax: subleaves.into(), ebx: fields.into(), ..none }
        }
        1 => {
            let gp = ExtCountersEax::default().with_gp(low_bits(profile.gp_counters.into()));
            let fixed = ExtCountersEbx::default().with_fixed(low_bits(pmu.fixed_counters.into()));
            CpuidResult { eax: gp.into(), ebx: fixed.into(), ..none }
        }
        3 => {
            let named = low_bits(pmu.arch_events.into()) & !u64::from(pmu.arch_events_unavailable);
            CpuidResult { eax: ExtEventsEax::default().with_events(named).into(), ..none }
        }
        _ => none,
    }
}

/// Leaf 1CH, architectural last branch records: 0 in a profile without them.
///
/// Filters by privilege level and branch type, call-stack mode; records hold whether the branch was
/// mispredicted, the cycles and the branch type. Addresses are effective ones, and no C-state clears the
/// records.
#[must_use]
pub fn leaf_1c(profile: &Profile) -> CpuidResult {
    let LbrKind::Architectural { depths } = profile.lbr else { return CpuidResult::default() };
    let logging = profile.intel().map_or(0, |pmu| pmu.lbr_event_logging);
    CpuidResult {
        eax: LbrEax::default().with_depths(depths.into()).into(),
        ebx: LbrEbx::default().with_cpl_filter(true).with_branch_filter(true).with_call_stack(true).into(),
        ecx: LbrEcx::default()
            .with_mispredict(true)
            .with_timed(true)
            .with_branch_type(true)
            .with_event_logging(logging.into())
            .into(),
        edx: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;
    use crate::profile::{ICELAKE_SP, LUNAR_LAKE_P, SAPPHIRE_RAPIDS, SKYLAKE_SP, ZEN2, ZEN4};

    /// Zen 4 as KVM shows it to a guest, plus LbrExtV2 (16 deep) and freezing.
    #[test]
    fn every_declared_register_is_of_a_leaf_that_is_changed() {
        for word in crate::register::cpuid::WORDS {
            assert!(LEAVES.contains(&word.leaf), "{}", word.name());
            assert!(word.fields.is_sorted_by_key(|field| field.lsb), "{}", word.name());
        }
    }

    #[test]
    fn amd_profiles_announce_their_counters() {
        let all = CpuidResult { eax: 0x8000_0008, ebx: !0, ecx: !0, edx: !0 };
        let vendor = patch(&ZEN4, 0, 0, CpuidResult::default());
        assert_eq!((vendor.ebx, vendor.edx, vendor.ecx), (0x6874_7541, 0x6974_6E65, 0x444D_4163));
        assert_eq!(patch(&ZEN2, 0x8000_0000, 0, all).eax, 0x8000_0008);
        assert_eq!(patch(&ZEN4, 0x8000_0000, 0, all).eax, 0x8000_0022);
        let features = patch(&ZEN2, 0x8000_0001, 0, all);
        assert_eq!((features.eax, features.ecx), (0x0083_0F10, !(1 << 10 | 1 << 24 | 1 << 28)));
        assert_eq!(patch(&ZEN2, 0x8000_0022, 0, all), CpuidResult::default());
        let perfmon = patch(&ZEN4, 0x8000_0022, 0, all);
        assert_eq!(perfmon, CpuidResult { eax: 7, ebx: 0x106, ecx: 0, edx: 0 });
        let hidden = patch(&ZEN4.without_lbr(), 0x8000_0022, 0, all);
        assert_eq!(hidden, CpuidResult { eax: 5, ebx: 6, ecx: 0, edx: 0 });
        assert_eq!(patch(&ZEN4, 0xA, 0, all), CpuidResult::default());
        assert_eq!(patch(&ZEN4, 1, 0, all).ecx >> 15 & 1, 0, "no IA32_PERF_CAPABILITIES");
    }

    #[test]
    fn leaf_0a_of_ice_lake_and_sapphire_rapids_is_as_on_silicon() {
        for profile in [&ICELAKE_SP, &SAPPHIRE_RAPIDS] {
            let leaf = patch(profile, 0xA, 0, CpuidResult::default());
            assert_eq!(leaf, CpuidResult { eax: 0x0830_0805, ebx: 0, ecx: 0xF, edx: 0x8604 });
        }
    }

    #[test]
    fn version_6_announces_its_bitmaps_in_leaf_23h() {
        let v6 = |leaf, subleaf| patch(&LUNAR_LAKE_P, leaf, subleaf, CpuidResult::default());
        assert_eq!(v6(0, 0).eax, 0x23);
        assert_eq!((v6(7, 0).eax, v6(7, 1).eax), (1, 1 << 8));
        assert_eq!(v6(0x23, 0), CpuidResult { eax: 0b1011, ebx: 1, ecx: 0, edx: 0 });
        assert_eq!(v6(0x23, 1), CpuidResult { eax: 0x3FF, ebx: 0xF, ecx: 0, edx: 0 });
        assert_eq!(v6(0x23, 3), CpuidResult { eax: 0xFF, ebx: 0, ecx: 0, edx: 0 });
        for subleaf in [2, 4, 5, 6] {
            assert_eq!(v6(0x23, subleaf), CpuidResult::default());
        }
        let all = CpuidResult { eax: !0, ebx: !0, ecx: !0, edx: !0 };
        assert_eq!(patch(&SAPPHIRE_RAPIDS, 0x23, 0, all), CpuidResult::default());
        assert_eq!(patch(&SAPPHIRE_RAPIDS, 7, 1, all).eax, !(1 << 8));
    }

    /// Linux 6.11 and later takes a PMU for this model only from the core type.
    #[test]
    fn lunar_lake_is_a_core_of_a_hybrid_part() {
        let all = CpuidResult { eax: !0, ebx: !0, ecx: !0, edx: !0 };
        for profile in Architecture::X86_64.profiles() {
            let hybrid = patch(profile, 7, 0, all).edx >> 15 & 1 != 0;
            assert_eq!(hybrid, profile.name == "lunar-lake-p", "{}", profile.name);
            let leaf = patch(profile, 0x1A, 0, all);
            let expected = if hybrid { 0x4000_0003 } else { 0 };
            assert_eq!(leaf, CpuidResult { eax: expected, ..CpuidResult::default() }, "{}", profile.name);
        }
        assert!(LEAVES.contains(&0x1A));
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
            ("lunar-lake-p", 0xBD),
        ];
        let found: alloc::vec::Vec<_> = Architecture::X86_64
            .profiles()
            .filter(|profile| profile.intel().is_some())
            .map(|profile| (&*profile.name, profile.family_model()))
            .collect();
        assert_eq!(found, models.map(|(name, model)| (name, (6, model))));
    }

    #[test]
    fn leaf_0a_before_version_5_has_no_bitmap() {
        let old = ICELAKE_SP.with_intel(|pmu| pmu.version = 2);
        assert_eq!(leaf_0a(&old).ecx, 0);
        assert_eq!(leaf_0a(&old).edx, 0x604);
    }

    /// No PEBS and no debug store: neither in CPUID nor in PERF_CAPABILITIES, and every access to their MSRs faults.
    #[test]
    fn no_profile_shows_anything_of_pebs() {
        use crate::source::ScriptedSource;
        use crate::{ReadOutcome, Vpmu, WriteOutcome};
        // PEBS_TRAP, PEBS_ARCH_REG, PEBS_REC_FMT, PEBS_BASELINE, PEBS_OUTPUT_PT, PEBS_TIMING_INFO.
        const PEBS_CAPABILITIES: u64 = 1 << 6 | 1 << 7 | 0xF << 8 | 1 << 14 | 1 << 16 | 1 << 17;
        let all = CpuidResult { eax: !0, ebx: !0, ecx: !0, edx: !0 };
        for profile in Architecture::X86_64.profiles() {
            let leaf = patch(profile, 1, 0, all);
            assert_eq!((leaf.ecx & (1 << 2 | 1 << 4), leaf.edx & 1 << 21), (0, 0), "{}", profile.name);
            assert_eq!(leaf_23(profile, 0).eax & (1 << 4 | 1 << 5), 0, "{}", profile.name);
            let mut pmu = Vpmu::new((*profile).clone());
            let mut source = ScriptedSource::new();
            for msr in [0x3F1, 0x3F2, 0x600] {
                assert!(
                    matches!(
                        pmu.read_register(Level::Kernel, msr, &mut source).quiet(),
                        ReadOutcome::Fault(_)
                    ),
                    "{msr:#x}"
                );
                assert!(
                    matches!(
                        pmu.write_register(Level::Kernel, msr, 0, &mut source).quiet(),
                        WriteOutcome::Fault(_)
                    ),
                    "{msr:#x}"
                );
            }
            if let Some(intel) = profile.intel() {
                assert_eq!(intel.perf_capabilities.0 & PEBS_CAPABILITIES, 0, "{}", profile.name);
                // PEBSUnavailable and BTSUnavailable.
                let ReadOutcome::Value(misc) = pmu.read_register(Level::Kernel, 0x1A0, &mut source).quiet()
                else {
                    unreachable!()
                };
                assert_eq!(misc >> 11 & 3, 3, "{}", profile.name);
            }
        }
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
