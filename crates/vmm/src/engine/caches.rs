//! The caches in CPUID: those of the profile's core, for one CPU that shares them with no other.
//!
//! Sizes, ways and sets are the ones that the model of the core works with, so that a guest sees what it would
//! run on with `--detail timing`. Both engines say the same: KVM's guests run on the host's caches, but the CPU that
//! they are shown is the profile's (as QEMU has it without `host-cache-info=on`).
//!
//! Layouts: SDM volume 2A, CPUID, leaves 2, 4 and 8000_0006H; AMD APM volume 3, appendix E, leaves 8000_0005H,
//! 8000_0006H, 8000_001DH and 8000_001EH.

use crate::counts::timing::core_of;
use core_model::Geometry;
use vpmu::Profile;
use vpmu::cpuid::CpuidResult;
use vpmu::profile::Vendor;

/// Highest extended leaf of an AMD CPU that describes caches and topology there.
pub(super) const MAX_AMD: u32 = 0x8000_001E;

/// Bytes of a line, in all of them.
const LINE: u32 = 64;

/// The caches of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Caches {
    l1d: Geometry,
    l1i: Geometry,
    l2: Geometry,
    llc: Geometry,
}

/// Cores that profiles name and that have no model. Source: leaf 4 of a Core Ultra 200V in `InstLatx64/InstLatx64`
/// (`GenuineIntel00B06D1_LunarLake_04_CPUID`). Lion Cove has 192 KiB between the first level and the second, which its
/// leaf 4 does not list either.
const NOT_MODELLED: [(&str, Caches); 1] = [(
    "Lion Cove",
    Caches {
        l1d: Geometry { sets: 64, ways: 12 },
        l1i: Geometry { sets: 64, ways: 16 },
        l2: Geometry { sets: 4096, ways: 10 },
        llc: Geometry { sets: 16384, ways: 12 },
    },
)];

/// What `leaf` says about caches and who shares them; `None` if it is about something else, or the core is unknown.
pub(super) fn leaf(profile: &Profile, apic_id: u32, leaf: u32, subleaf: u32) -> Option<CpuidResult> {
    let caches = Caches::of(profile)?;
    match (profile.vendor(), leaf) {
        // One descriptor, FFH: "use leaf 4"; and AL = 1: one query is enough.
        (Vendor::Intel, 0x2) => Some(CpuidResult { eax: 0xFF01, ..CpuidResult::default() }),
        (Vendor::Intel, 0x4) => Some(caches.by_index(subleaf, INTEL_FLAGS)),
        (Vendor::Intel, 0x8000_0006) => Some(CpuidResult {
            ecx: KIB.of(caches.l2) << 16 | intel_ways(caches.l2) << 12 | LINE,
            ..CpuidResult::default()
        }),
        (Vendor::Amd, 0x8000_0005) => {
            let first = |cache: Geometry| KIB.of(cache) << 24 | u32::from(cache.ways) << 16 | 1 << 8 | LINE;
            Some(CpuidResult { ecx: first(caches.l1d), edx: first(caches.l1i), ..CpuidResult::default() })
        }
        (Vendor::Amd, 0x8000_0006) => {
            let rest = |cache: Geometry| amd_ways(cache) << 12 | 1 << 8 | LINE;
            Some(CpuidResult {
                ecx: KIB.of(caches.l2) << 16 | rest(caches.l2),
                edx: HALF_MIB.of(caches.llc) << 18 | rest(caches.llc),
                ..CpuidResult::default()
            })
        }
        (Vendor::Amd, 0x8000_001D) => Some(caches.by_index(subleaf, AMD_FLAGS)),
        // One thread in core 0 of node 0.
        (Vendor::Amd, 0x8000_001E) => Some(CpuidResult { eax: apic_id, ..CpuidResult::default() }),
        _ => None,
    }
}

/// Something to measure sizes in: so many bytes.
struct Unit(u32);

const KIB: Unit = Unit(1 << 10);
const HALF_MIB: Unit = Unit(1 << 19);

impl Unit {
    fn of(&self, cache: Geometry) -> u32 {
        let bytes = u64::from(cache.sets) * u64::from(cache.ways) * u64::from(LINE);
        u32::try_from(bytes / u64::from(self.0)).unwrap_or(u32::MAX)
    }
}

/// EDX of leaf 4 or 8000_001DH, for L1D, L1I, L2 and L3, as the CPUs of `NOT_MODELLED` and those that the cores'
/// descriptions name as sources have it. Intel: complex indexing (bit 2) of the last level. AMD: the second level
/// includes the first (bit 1), WBINVD does not reach the last level of other CPUs (bit 0).
const INTEL_FLAGS: [u32; 4] = [0, 0, 0, 1 << 2];
const AMD_FLAGS: [u32; 4] = [0, 0, 1 << 1, 1 << 0];

impl Caches {
    fn of(profile: &Profile) -> Option<Self> {
        let modelled = core_of(profile).map(|core| Self {
            l1d: core.memory.l1d,
            l1i: core.front_end.icache,
            l2: core.memory.l2,
            llc: core.memory.llc,
        });
        modelled.or_else(|| {
            NOT_MODELLED.into_iter().find(|(core, _)| *core == profile.core).map(|(_, caches)| caches)
        })
    }

    /// A subleaf of leaf 4 or 8000_001DH, which have the same layout; zeros behind the last cache.
    fn by_index(&self, index: u32, flags: [u32; 4]) -> CpuidResult {
        const DATA: u32 = 1;
        const INSTRUCTIONS: u32 = 2;
        const UNIFIED: u32 = 3;
        /// EAX: needs no initialisation by software.
        const SELF_INITIALIZING: u32 = 1 << 8;
        let listed =
            [(DATA, 1, self.l1d), (INSTRUCTIONS, 1, self.l1i), (UNIFIED, 2, self.l2), (UNIFIED, 3, self.llc)];
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let (Some((kind, level, cache)), Some(edx)) = (listed.get(index), flags.get(index)) else {
            return CpuidResult::default();
        };
        CpuidResult {
            // One thread uses it, and Intel's packages have one core: both fields hold the number minus one.
            eax: kind | level << 5 | SELF_INITIALIZING,
            ebx: u32::from(cache.ways - 1) << 22 | (LINE - 1),
            ecx: cache.sets - 1,
            edx: *edx,
        }
    }
}

/// Ways as Intel's leaf 8000_0006H has them; 7 sends software to leaf 4.
fn intel_ways(cache: Geometry) -> u32 {
    match cache.ways {
        1 | 2 | 4 => u32::from(cache.ways),
        8 => 6,
        16 => 8,
        _ => 7,
    }
}

/// Ways as AMD's leaf 8000_0006H has them; 9 sends software to leaf 8000_001DH.
fn amd_ways(cache: Geometry) -> u32 {
    match cache.ways {
        1 | 2 | 4 => u32::from(cache.ways),
        8 => 6,
        16 => 8,
        32 => 10,
        _ => 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vpmu::profile::{
        ALDER_LAKE_P, Architecture, LUNAR_LAKE_P, SAPPHIRE_RAPIDS, SKYLAKE_SP, ZEN2, ZEN4, ZEN5,
    };

    fn words(profile: &Profile, number: u32, subleaf: u32) -> [u32; 4] {
        let CpuidResult { eax, ebx, ecx, edx } = leaf(profile, 0, number, subleaf).unwrap();
        [eax, ebx, ecx, edx]
    }

    /// As a Xeon Gold 6130 and a Core Ultra 7 have it, but for who shares them.
    #[test]
    fn intels_leaf_4_is_that_of_the_silicon() {
        for (profile, expected) in [
            (
                &SKYLAKE_SP,
                [
                    [0x121, 0x01C0_003F, 0x3F, 0],
                    [0x122, 0x01C0_003F, 0x3F, 0],
                    [0x143, 0x03C0_003F, 0x3FF, 0],
                    [0x163, 0x0280_003F, 0x7FFF, 4],
                ],
            ),
            (
                &LUNAR_LAKE_P,
                [
                    [0x121, 0x02C0_003F, 0x3F, 0],
                    [0x122, 0x03C0_003F, 0x3F, 0],
                    [0x143, 0x0240_003F, 0xFFF, 0],
                    [0x163, 0x02C0_003F, 0x3FFF, 4],
                ],
            ),
        ] {
            let found: Vec<_> = (0..4).map(|subleaf| words(profile, 4, subleaf)).collect();
            assert_eq!(found, expected, "{}", profile.name);
            assert_eq!([words(profile, 4, 4), words(profile, 4, u32::MAX)], [[0; 4]; 2]);
        }
        assert_eq!(words(&SAPPHIRE_RAPIDS, 2, 0), [0xFF01, 0, 0, 0]);
        assert_eq!(words(&SAPPHIRE_RAPIDS, 0x8000_0006, 0), [0, 0, 0x0800_8040, 0]);
        assert_eq!(words(&ALDER_LAKE_P, 0x8000_0006, 0), [0, 0, 0x0500_7040, 0], "ten ways: leaf 4 says it");
    }

    /// As an EPYC 9654, but for who shares them.
    #[test]
    fn amds_leaves_are_those_of_the_silicon() {
        let found: Vec<_> = (0..5).map(|subleaf| words(&ZEN4, 0x8000_001D, subleaf)).collect();
        let genoa = [
            [0x121, 0x01C0_003F, 0x3F, 0],
            [0x122, 0x01C0_003F, 0x3F, 0],
            [0x143, 0x01C0_003F, 0x7FF, 2],
            [0x163, 0x03C0_003F, 0x7FFF, 1],
            [0; 4],
        ];
        assert_eq!(found, genoa);
        assert_eq!(words(&ZEN4, 0x8000_0005, 0), [0, 0, 0x2008_0140, 0x2008_0140]);
        assert_eq!(words(&ZEN4, 0x8000_0006, 0), [0, 0, 0x0400_6140, 64 << 18 | 0x8140], "1 MiB and 32 MiB");
        assert_eq!(words(&ZEN2, 0x8000_0006, 0), [0, 0, 0x0200_6140, 32 << 18 | 0x8140]);
        assert_eq!(words(&ZEN5, 0x8000_0005, 0), [0, 0, 0x300C_0140, 0x2008_0140]);
        assert_eq!(leaf(&ZEN4, 7, 0x8000_001E, 0).unwrap().eax, 7);
    }

    #[test]
    fn every_profile_has_caches_that_its_leaves_can_say() {
        for profile in Architecture::X86_64.profiles() {
            let caches = Caches::of(profile).unwrap_or_else(|| panic!("{}", profile.name));
            for cache in [caches.l1d, caches.l1i, caches.l2, caches.llc] {
                assert!(cache.sets.is_power_of_two() && (1..=1024).contains(&cache.ways), "{}", profile.name);
            }
            assert!(KIB.of(caches.l1d) <= 0xFF && KIB.of(caches.l2) <= 0xFFFF, "{}", profile.name);
            assert!(HALF_MIB.of(caches.llc) < 1 << 14, "{}", profile.name);
        }
        assert_eq!(leaf(&ZEN4, 0, 4, 0), None);
        assert_eq!(leaf(&SKYLAKE_SP, 0, 0x8000_001D, 0), None);
    }
}
