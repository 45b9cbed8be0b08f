//! The instruction sets of each profile's silicon in CPUID, and its brand string.
//!
//! An engine announces what the silicon has and the engine executes: the soft engine what `soft_cpu::cpuid::leaf`
//! lists, KVM what the host has. [`Profile::isa`] lowers both.
//!
//! Source: public CPUID dumps (`InstLatx64/InstLatx64`, the file of each row); layouts: SDM volume 2A, CPUID; AMD APM
//! volume 3, appendix E.

use vpmu::Profile;
use vpmu::cpuid::CpuidResult;
use vpmu::profile::{Isa, Vendor};

/// A register that has features: leaf, subleaf, register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place(u32, u32, usize);

const EAX: usize = 0;
const EBX: usize = 1;
const ECX: usize = 2;
const EDX: usize = 3;

/// The registers of [`Words`], in their order.
const PLACES: [Place; 10] = [
    Place(1, 0, ECX),
    Place(1, 0, EDX),
    Place(7, 0, EBX),
    Place(7, 0, ECX),
    Place(7, 0, EDX),
    Place(7, 1, EAX),
    Place(7, 1, EDX),
    Place(0x8000_0001, 0, ECX),
    Place(0x8000_0001, 0, EDX),
    Place(0x8000_0008, 0, EBX),
];

/// The feature words of a CPU, one for each of [`PLACES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Words([u32; PLACES.len()]);

/// A CPU that profiles name.
struct Silicon {
    /// [`Profile::core`].
    core: &'static str,
    /// One whose base frequency is the profile's.
    brand: &'static str,
    words: Words,
}

/// Leaf 1 (ECX, EDX), leaf 7 (EBX, ECX, EDX), its subleaf 1 (EAX, EDX), leaf 8000_0001H (ECX, EDX), leaf 8000_0008H
/// (EBX).
#[rustfmt::skip]
static SILICON: [Silicon; 15] = [
    // GenuineIntel0050654_SkylakeXeon_20
    Silicon { core: "Skylake-SP", brand: "Intel(R) Xeon(R) Platinum 8160 CPU @ 2.10GHz", words: Words([
        0x7FFE_FBFF, 0xBFEB_FBFF, 0xD39F_FFFB, 0x0000_0008, 0x9C00_2400, 0, 0, 0x121, 0x2C10_0800, 0,
    ]) },
    // GenuineIntel0050657_CascadeLakeXeon
    Silicon { core: "Cascade Lake", brand: "Intel(R) Xeon(R) Gold 5218 CPU @ 2.30GHz", words: Words([
        0x7FFE_FBFF, 0xBFEB_FBFF, 0xD39F_FFFB, 0x0000_0808, 0xBC00_0400, 0, 0, 0x121, 0x2C10_0800, 0,
    ]) },
    // GenuineIntel00706E5_IceLakeY
    Silicon { core: "Sunny Cove (client)", brand: "Intel(R) Core(TM) i7-1065G7 CPU @ 1.30GHz", words: Words([
        0x7FFA_FBBF, 0xBFEB_FBFF, 0xF2BF_27EF, 0x4040_5F4E, 0xBC00_0410, 0, 0, 0x121, 0x2C10_0800, 0,
    ]) },
    // GenuineIntel00606A6_ICX_04
    Silicon { core: "Sunny Cove", brand: "Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz", words: Words([
        0x7FFE_FBFF, 0xBFEB_FBFF, 0xF3BF_BFFF, 0x4041_7F4E, 0xBC04_0412, 0, 0, 0x121, 0x2C10_0800, 0x200,
    ]) },
    // GenuineIntel00806C1_TigerLake_01
    Silicon { core: "Willow Cove", brand: "11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz", words: Words([
        0x7FFA_FBBF, 0xBFEB_FBFF, 0xF3BF_A7EB, 0x18C0_5FCE, 0xFC10_0510, 0, 0, 0x121, 0x2C10_0800, 0,
    ]) },
    // GenuineIntel00A0671_RocketLake_01
    Silicon { core: "Cypress Cove", brand: "11th Gen Intel(R) Core(TM) i9-11900K @ 3.50GHz", words: Words([
        0x7FFA_FBFF, 0xBFEB_FBFF, 0xF2BF_67EB, 0x0040_5F4E, 0xBC00_0410, 0, 0, 0x121, 0x2C10_0800, 0,
    ]) },
    // GenuineIntel0090672_AlderLake_03
    Silicon { core: "Golden Cove (client)", brand: "12th Gen Intel(R) Core(TM) i9-12900K", words: Words([
        0x7FFA_FBBF, 0xBFEB_FBFF, 0x239C_27EB, 0x98C0_07AC, 0xFC18_C410, 0x0040_0810, 0, 0x121, 0x2C10_0800, 0,
    ]) },
    // GenuineIntel00806F8_SapphireRapids_05
    Silicon { core: "Golden Cove", brand: "Intel(R) Xeon(R) Platinum 8480+", words: Words([
        0x7FFE_FBFF, 0xBFEB_FBFF, 0xF3BF_BFFB, 0xBB41_7FEE, 0xFFDD_4430, 0x0000_1C30, 0, 0x121, 0x2C10_0800, 0x200,
    ]) },
    // GenuineIntel00C06F2_EmeraldRapids_01
    Silicon { core: "Raptor Cove", brand: "INTEL(R) XEON(R) PLATINUM 8568Y+", words: Words([
        0x7FFE_FBFF, 0xBFEB_FBFF, 0xF3BF_BFFF, 0xFB41_7FEE, 0xFFDD_4432, 0x0000_1C30, 0x0004_0000,
        0x121, 0x2C10_0800, 0x200,
    ]) },
    // GenuineIntel00A06D1_GraniteRapids_03
    Silicon { core: "Redwood Cove", brand: "Intel(R) Xeon(R) 6972P", words: Words([
        0x7FFE_FBFF, 0xBFEB_FBFF, 0xF3BF_BFFB, 0xBB41_7FEE, 0xFFDD_4430, 0x4020_1D30, 0x000E_4000,
        0x121, 0x2C10_0800, 0x200,
    ]) },
    // GenuineIntel00B06D1_LunarLake_04
    Silicon { core: "Lion Cove", brand: "Intel(R) Core(TM) Ultra 7 258V", words: Words([
        0x7FFA_FBBF, 0xBFEB_FBFF, 0x239C_A7EB, 0x9940_27AC, 0xFC1C_C430, 0x44C0_09D7, 0x0004_0430,
        0x121, 0x2C10_0800, 0x200,
    ]) },
    // AuthenticAMD0830F10_K17_Rome
    Silicon { core: "Zen 2", brand: "AMD EPYC 7742 64-Core Processor", words: Words([
        0x7EF8_320B, 0x178B_FBFF, 0x219C_91A9, 0x0040_0004, 0, 0, 0, 0x75C2_37FF, 0x2FD3_FBFF, 0x018E_F757,
    ]) },
    // AuthenticAMD0A00F11_K19_Milan_02
    Silicon { core: "Zen 3", brand: "AMD EPYC 7763 64-Core Processor", words: Words([
        0x7EDA_320B, 0x178B_FBFF, 0x219C_97A9, 0x0040_068C, 0x10, 0, 0, 0x75C2_37FF, 0x2FD3_FBFF, 0x91BE_F75F,
    ]) },
    // AuthenticAMD0A10F11_K19_Genoa_01
    Silicon { core: "Zen 4", brand: "AMD EPYC 9654 96-Core Processor", words: Words([
        0x7EFA_320B, 0x178B_FBFF, 0xF1BF_97A9, 0x0041_5FCE, 0x1000_0010, 0x20, 0, 0x75C2_37FF, 0x2FD3_FBFF, 0x79BE_F25F,
    ]) },
    // AuthenticAMD0B00F21_K20_Turin_01
    Silicon { core: "Zen 5", brand: "AMD EPYC 9755 128-Core Processor", words: Words([
        0x7EFA_320B, 0x178B_FBFF, 0xF1BF_97AB, 0x1941_5FCE, 0x1000_0110, 0x30, 0, 0x75C2_37FF, 0x2FD3_FBFF, 0x79BE_F25F,
    ]) },
];

const fn bits<const N: usize>(positions: [u32; N]) -> u32 {
    let mut mask = 0;
    let mut n = 0;
    while n < N {
        mask |= 1 << positions[n];
        n += 1;
    }
    mask
}

/// What AVX-512 brings, and AMX, which needs its state components.
const NOT_V3: Words = Words([
    0,
    0,
    // F (16), DQ (17), IFMA (21), CD (28), BW (30), VL (31).
    bits([16, 17, 21, 28, 30, 31]),
    // VBMI (1), VBMI2 (6), VNNI (11), BITALG (12), VPOPCNTDQ (14).
    bits([1, 6, 11, 12, 14]),
    // VP2INTERSECT (8), AMX-BF16 (22), FP16 (23), AMX-TILE (24), AMX-INT8 (25).
    bits([8, 22, 23, 24, 25]),
    // BF16 (5), AMX-FP16 (21).
    bits([5, 21]),
    // AMX-COMPLEX (8), AVX10 (19).
    bits([8, 19]),
    0,
    0,
    0,
]);

/// What x86-64-v3 consists of (x86-64 psABI, "Micro-Architecture Levels"), and what else works on YMM registers.
const NOT_V2: Words = NOT_V3.or(Words([
    // FMA (12), MOVBE (22), AVX (28), F16C (29).
    bits([12, 22, 28, 29]),
    0,
    // BMI1 (3), AVX2 (5), BMI2 (8).
    bits([3, 5, 8]),
    // VAES (9), VPCLMULQDQ (10).
    bits([9, 10]),
    0,
    // SHA512 (0), SM3 (1), SM4 (2), AVX-VNNI (4), AVX-IFMA (23).
    bits([0, 1, 2, 4, 23]),
    // AVX-VNNI-INT8 (4), AVX-NE-CONVERT (5), AVX-VNNI-INT16 (10).
    bits([4, 5, 10]),
    // LZCNT (5), XOP (11), FMA4 (16).
    bits([5, 11, 16]),
    0,
    0,
]));

/// What user programs can execute and the silicon may lack: what a profile masks under KVM too.
const INSTRUCTIONS: Words = NOT_V2.or(Words([
    // PCLMULQDQ (1), AES (25), RDRAND (30).
    bits([1, 25, 30]),
    0,
    // FSGSBASE (0), ERMS (9), RDSEED (18), ADX (19), CLFLUSHOPT (23), CLWB (24), SHA (29).
    bits([0, 9, 18, 19, 23, 24, 29]),
    // WAITPKG (5), GFNI (8), RDPID (22), CLDEMOTE (25), MOVDIRI (27), MOVDIR64B (28).
    bits([5, 8, 22, 25, 27, 28]),
    // FSRM (4), SERIALIZE (14).
    bits([4, 14]),
    // RAO-INT (3), CMPCCXADD (7), FZRM (10), FSRS (11), FSRC (12).
    bits([3, 7, 10, 11, 12]),
    // PREFETCHIT (14).
    bits([14]),
    0,
    0,
    // CLZERO (0), RDPRU (4), MCOMMIT (8), WBNOINVD (9).
    bits([0, 4, 8, 9]),
]));

impl Words {
    /// What either has.
    const fn or(self, Self(other): Self) -> Self {
        let Self(mut all) = self;
        let mut n = 0;
        while n < all.len() {
            all[n] |= other[n];
            n += 1;
        }
        Self(all)
    }

    fn merge(self, other: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        Self(std::array::from_fn(|n| f(self.0[n], other.0[n])))
    }

    /// The registers of a leaf; `other` is what it has beside these words.
    fn leaf(&self, leaf: u32, subleaf: u32, other: u32) -> CpuidResult {
        let mut registers = [other; 4];
        // Some leaves have no subleaves and answer all alike.
        let subleaf = if leaf == 7 { subleaf } else { 0 };
        for (Place(.., register), word) in
            PLACES.iter().zip(self.0).filter(|(Place(number, sub, _), _)| (*number, *sub) == (leaf, subleaf))
        {
            registers[*register] = word;
        }
        let [eax, ebx, ecx, edx] = registers;
        CpuidResult { eax, ebx, ecx, edx }
    }
}

fn and(a: CpuidResult, b: CpuidResult) -> CpuidResult {
    CpuidResult { eax: a.eax & b.eax, ebx: a.ebx & b.ebx, ecx: a.ecx & b.ecx, edx: a.edx & b.edx }
}

fn silicon(profile: &Profile) -> Option<&'static Silicon> {
    SILICON.iter().find(|silicon| silicon.core == profile.core)
}

/// The words of the profile's CPU, as far as [`Profile::isa`] has them. Of a core that is not listed nothing is known:
/// it has all.
fn words(profile: &Profile) -> Words {
    const ALL: Words = Words([u32::MAX; PLACES.len()]);
    let own = silicon(profile).map_or(ALL, |silicon| silicon.words);
    match profile.isa {
        Isa::V4 => own,
        Isa::V3 => own.merge(NOT_V3, |own, without| own & !without),
        Isa::V2 => own.merge(NOT_V2, |own, without| own & !without),
    }
}

/// Of what an engine executes that which the profile's CPU has.
pub(super) fn announced(profile: &Profile, leaf: u32, subleaf: u32, executed: CpuidResult) -> CpuidResult {
    let own = words(profile);
    let mut announced = and(executed, own.leaf(leaf, subleaf, u32::MAX));
    if (leaf, subleaf) == (7, 0) && own.leaf(7, 1, 0) == CpuidResult::default() {
        // There is no other subleaf.
        announced.eax = 0;
    }
    announced
}

/// What a host has without the instructions that the profile's CPU has not. Other features are KVM's affair.
pub(super) fn announced_of_host(
    profile: &Profile,
    leaf: u32,
    subleaf: u32,
    host: CpuidResult,
) -> CpuidResult {
    let allowed = words(profile).merge(INSTRUCTIONS, |own, instructions| own | !instructions);
    and(host, allowed.leaf(leaf, subleaf, u32::MAX))
}

/// Instructions that the profile's CPU has and that CPUID, which `shown` answers, does not announce, by the names of
/// Linux' `/proc/cpuinfo`. AMX, which no engine announces, is not among them.
pub(super) fn missing(profile: &Profile, shown: impl Fn(u32, u32) -> CpuidResult) -> Vec<&'static str> {
    let wanted = words(profile);
    let is_missing = |&&(_, leaf, subleaf, register, bit): &&Named| {
        let has = |r: CpuidResult| [r.eax, r.ebx, r.ecx, r.edx][register] >> bit & 1 != 0;
        has(wanted.leaf(leaf, subleaf, 0)) && !has(shown(leaf, subleaf))
    };
    NAMES.iter().filter(is_missing).map(|(name, ..)| *name).collect()
}

/// Name, leaf, subleaf, register, bit.
type Named = (&'static str, u32, u32, usize, u32);

static NAMES: [Named; 38] = [
    ("pclmulqdq", 1, 0, ECX, 1),
    ("fma", 1, 0, ECX, 12),
    ("movbe", 1, 0, ECX, 22),
    ("aes", 1, 0, ECX, 25),
    ("avx", 1, 0, ECX, 28),
    ("f16c", 1, 0, ECX, 29),
    ("rdrand", 1, 0, ECX, 30),
    ("bmi1", 7, 0, EBX, 3),
    ("avx2", 7, 0, EBX, 5),
    ("bmi2", 7, 0, EBX, 8),
    ("avx512f", 7, 0, EBX, 16),
    ("avx512dq", 7, 0, EBX, 17),
    ("rdseed", 7, 0, EBX, 18),
    ("adx", 7, 0, EBX, 19),
    ("avx512ifma", 7, 0, EBX, 21),
    ("clflushopt", 7, 0, EBX, 23),
    ("clwb", 7, 0, EBX, 24),
    ("avx512cd", 7, 0, EBX, 28),
    ("sha_ni", 7, 0, EBX, 29),
    ("avx512bw", 7, 0, EBX, 30),
    ("avx512vl", 7, 0, EBX, 31),
    ("avx512vbmi", 7, 0, ECX, 1),
    ("avx512_vbmi2", 7, 0, ECX, 6),
    ("gfni", 7, 0, ECX, 8),
    ("vaes", 7, 0, ECX, 9),
    ("vpclmulqdq", 7, 0, ECX, 10),
    ("avx512_vnni", 7, 0, ECX, 11),
    ("avx512_bitalg", 7, 0, ECX, 12),
    ("avx512_vpopcntdq", 7, 0, ECX, 14),
    ("movdiri", 7, 0, ECX, 27),
    ("movdir64b", 7, 0, ECX, 28),
    ("avx512_vp2intersect", 7, 0, EDX, 8),
    ("serialize", 7, 0, EDX, 14),
    ("avx512_fp16", 7, 0, EDX, 23),
    ("avx_vnni", 7, 1, EAX, 4),
    ("avx512_bf16", 7, 1, EAX, 5),
    ("avx_ifma", 7, 1, EAX, 23),
    ("lzcnt", 0x8000_0001, 0, ECX, 5),
];

/// Leaves 8000_0002H to 8000_0004H: 48 characters, ended and filled by zeros.
pub(super) fn brand_string(profile: &Profile) -> [CpuidResult; 3] {
    let own = match profile.vendor() {
        Vendor::Intel => "Intel(R) CPU",
        Vendor::Amd | Vendor::Qualcomm => "AMD Processor",
    };
    let text = silicon(profile).map_or(own, |silicon| silicon.brand);
    let mut bytes = [0; 48];
    bytes.iter_mut().zip(text.bytes().take(47)).for_each(|(to, from)| *to = from);
    let word = |n: usize| u32::from_le_bytes([bytes[n], bytes[n + 1], bytes[n + 2], bytes[n + 3]]);
    [0, 16, 32].map(|n| CpuidResult { eax: word(n), ebx: word(n + 4), ecx: word(n + 8), edx: word(n + 12) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vpmu::profile::{ALDER_LAKE_P, Architecture, SAPPHIRE_RAPIDS, SKYLAKE_SP, ZEN2, ZEN4};

    const ALL: CpuidResult = CpuidResult { eax: u32::MAX, ebx: u32::MAX, ecx: u32::MAX, edx: u32::MAX };

    fn lowered(profile: &Profile, isa: Isa) -> Profile {
        Profile { isa, ..profile.clone() }
    }

    #[test]
    fn every_profile_has_its_silicon() {
        for profile in Architecture::X86_64.profiles() {
            let silicon = silicon(profile).unwrap_or_else(|| panic!("{}", profile.name));
            assert!(silicon.brand.len() < 48);
            // The levels that glibc tells apart.
            let v3 = silicon.words.merge(NOT_V2, |own, v3| own & v3);
            let (ecx, fma) = (v3.leaf(1, 0, 0).ecx, NOT_V2.leaf(1, 0, 0).ecx);
            assert_eq!((ecx, v3.leaf(0x8000_0001, 0, 0).ecx), (fma, 1 << 5), "{}", profile.name);
        }
    }

    #[test]
    fn a_lower_level_has_less_and_nothing_new() {
        let has = |profile: &Profile, leaf, subleaf| announced(profile, leaf, subleaf, ALL);
        assert_eq!(has(&SKYLAKE_SP, 7, 0).ebx, 0xD39F_FFFB);
        let v3 = lowered(&SKYLAKE_SP, Isa::V3);
        assert_eq!(has(&v3, 7, 0).ebx >> 16 & 0xD003, 0, "no AVX-512");
        assert_eq!((has(&v3, 7, 0).ebx >> 5 & 1, has(&v3, 1, 0).ecx >> 28 & 1), (1, 1), "AVX2");
        let v2 = lowered(&SKYLAKE_SP, Isa::V2);
        assert_eq!((has(&v2, 7, 0).ebx >> 5 & 1, has(&v2, 1, 0).ecx >> 28 & 1), (0, 0));
        assert_eq!(has(&v2, 1, 0).ecx >> 20 & 1, 1, "SSE4.2");
        assert_eq!(has(&lowered(&ZEN2, Isa::V4), 7, 0), has(&ZEN2, 7, 0));
    }

    /// What is no instruction of user programs passes from the host.
    #[test]
    fn under_kvm_instructions_are_masked_and_nothing_else() {
        let host = announced_of_host(&ALDER_LAKE_P, 7, 0, ALL);
        assert_eq!(host.ebx & NOT_V3.leaf(7, 0, 0).ebx, 0);
        assert_eq!((host.ebx >> 7 & 1, host.edx >> 26 & 1, host.eax), (1, 1, u32::MAX));
        let none = announced_of_host(&ALDER_LAKE_P, 7, 0, CpuidResult::default());
        assert_eq!(none, CpuidResult::default());
    }

    #[test]
    fn what_a_host_lacks_is_named() {
        assert_eq!(missing(&ZEN4, |_, _| ALL), [""; 0]);
        let without_vaes = |leaf, subleaf| match (leaf, subleaf) {
            (7, 0) => CpuidResult { ecx: !(1 << 9), edx: 0, ..ALL },
            _ => ALL,
        };
        assert_eq!(missing(&SAPPHIRE_RAPIDS, without_vaes), ["vaes", "serialize", "avx512_fp16"]);
        assert_eq!(missing(&lowered(&SAPPHIRE_RAPIDS, Isa::V2), without_vaes), ["serialize"]);
    }
}
