//! Which instructions the guest's CPU has, of those that this crate executes.

use crate::cpuid::CpuidLeaf;
use iced_x86::{Code, CpuidFeature, Instruction};

/// What CPUID announces: which instructions exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features([u64; 4]);

impl Features {
    /// Everything that this crate executes.
    pub const ALL: Self = Self([u64::MAX; 4]);

    /// What a CPU has whose CPUID answers so (leaf, subleaf).
    #[must_use]
    pub fn of(cpuid: impl Fn(u32, u32) -> CpuidLeaf) -> Self {
        let mut bits = [0; 4];
        for feature in CpuidFeature::values().filter(|feature| announced(*feature, &cpuid)) {
            let number = feature as usize;
            if let Some(word) = bits.get_mut(number / 64) {
                *word |= 1 << (number % 64);
            }
        }
        Self(bits)
    }

    pub(crate) fn has(&self, feature: CpuidFeature) -> bool {
        let number = feature as usize;
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 != 0)
    }

    /// CPUID has a bit for the feature, and it is 0.
    #[must_use]
    pub fn lacks(&self, feature: CpuidFeature) -> bool {
        cpuid_bit(feature).is_some() && !self.has(feature)
    }

    /// The CPU has all that the instruction needs.
    #[must_use]
    pub fn allow(&self, instruction: &Instruction) -> bool {
        instruction.cpuid_features().iter().all(|feature| self.has(*feature))
    }

    /// The CPU lacks an instruction without VEX or EVEX prefix. What is a hint is none that could be lacking.
    pub(crate) fn lack(&self, instruction: &Instruction) -> bool {
        use CpuidFeature as F;
        let hint = |feature| {
            matches!(
                feature,
                F::CET_IBT | F::CET_SS | F::CLDEMOTE | F::PREFETCHW | F::PREFETCHITI | F::WBNOINVD
            )
        };
        let mut needed = instruction.cpuid_features().iter();
        needed.any(|feature| !hint(*feature) && cpuid_bit(*feature).is_some() && !self.has(*feature))
    }

    /// What older CPUs take the instruction for, which ignore a prefix: TZCNT and LZCNT are BSF and BSR for them.
    pub(crate) fn older(&self, instruction: &Instruction) -> Option<Instruction> {
        use Code as C;
        let code = match instruction.code() {
            C::Tzcnt_r16_rm16 => C::Bsf_r16_rm16,
            C::Tzcnt_r32_rm32 => C::Bsf_r32_rm32,
            C::Tzcnt_r64_rm64 => C::Bsf_r64_rm64,
            C::Lzcnt_r16_rm16 => C::Bsr_r16_rm16,
            C::Lzcnt_r32_rm32 => C::Bsr_r32_rm32,
            C::Lzcnt_r64_rm64 => C::Bsr_r64_rm64,
            _ => return None,
        };
        if !self.lack(instruction) {
            return None;
        }
        let mut older = *instruction;
        older.set_code(code);
        Some(older)
    }
}

/// Whether CPUID has the feature's bit.
pub(crate) fn announced(feature: CpuidFeature, cpuid: impl Fn(u32, u32) -> CpuidLeaf) -> bool {
    let Some((leaf, subleaf, word, bit)) = cpuid_bit(feature) else {
        return false;
    };
    let CpuidLeaf { eax, ebx, ecx, edx } = cpuid(leaf, subleaf);
    let word = match word {
        Word::Eax => eax,
        Word::Ebx => ebx,
        Word::Ecx => ecx,
        Word::Edx => edx,
    };
    word >> bit & 1 != 0
}

#[derive(Debug, Clone, Copy)]
enum Word {
    Eax,
    Ebx,
    Ecx,
    Edx,
}

/// Leaf, subleaf, register and bit that announce a feature. Source: SDM volume 2, CPUID; AMD's
/// APM volume 3 for AMD's features.
fn cpuid_bit(feature: CpuidFeature) -> Option<(u32, u32, Word, u32)> {
    use CpuidFeature as F;
    use Word::{Eax, Ebx, Ecx, Edx};
    const EXTENDED: u32 = 0x8000_0001;
    Some(match feature {
        F::SSE3 => (1, 0, Ecx, 0),
        F::PCLMULQDQ => (1, 0, Ecx, 1),
        F::MONITOR => (1, 0, Ecx, 3),
        F::VMX | F::INVEPT | F::INVVPID => (1, 0, Ecx, 5),
        F::SMX => (1, 0, Ecx, 6),
        F::SSSE3 => (1, 0, Ecx, 9),
        F::FMA => (1, 0, Ecx, 12),
        F::CMPXCHG16B => (1, 0, Ecx, 13),
        F::SSE4_1 => (1, 0, Ecx, 19),
        F::SSE4_2 => (1, 0, Ecx, 20),
        F::MOVBE => (1, 0, Ecx, 22),
        F::POPCNT => (1, 0, Ecx, 23),
        F::AES => (1, 0, Ecx, 25),
        F::XSAVE => (1, 0, Ecx, 26),
        F::AVX => (1, 0, Ecx, 28),
        F::F16C => (1, 0, Ecx, 29),
        F::RDRAND => (1, 0, Ecx, 30),
        F::FPU | F::FPU287 | F::FPU387 => (1, 0, Edx, 0),
        F::TSC => (1, 0, Edx, 4),
        F::MSR => (1, 0, Edx, 5),
        F::CX8 => (1, 0, Edx, 8),
        F::SEP => (1, 0, Edx, 11),
        F::CMOV => (1, 0, Edx, 15),
        F::CLFSH => (1, 0, Edx, 19),
        F::MMX => (1, 0, Edx, 23),
        F::FXSR => (1, 0, Edx, 24),
        F::SSE => (1, 0, Edx, 25),
        F::SSE2 => (1, 0, Edx, 26),
        F::FSGSBASE => (7, 0, Ebx, 0),
        F::SGX1 => (7, 0, Ebx, 2),
        F::BMI1 => (7, 0, Ebx, 3),
        F::HLE => (7, 0, Ebx, 4),
        F::AVX2 => (7, 0, Ebx, 5),
        F::BMI2 => (7, 0, Ebx, 8),
        F::INVPCID => (7, 0, Ebx, 10),
        F::RTM | F::HLE_or_RTM => (7, 0, Ebx, 11),
        F::AVX512F => (7, 0, Ebx, 16),
        F::AVX512DQ => (7, 0, Ebx, 17),
        F::RDSEED => (7, 0, Ebx, 18),
        F::ADX => (7, 0, Ebx, 19),
        F::SMAP => (7, 0, Ebx, 20),
        F::AVX512_IFMA => (7, 0, Ebx, 21),
        F::CLFLUSHOPT => (7, 0, Ebx, 23),
        F::CLWB => (7, 0, Ebx, 24),
        F::AVX512PF => (7, 0, Ebx, 26),
        F::AVX512ER => (7, 0, Ebx, 27),
        F::AVX512CD => (7, 0, Ebx, 28),
        F::SHA => (7, 0, Ebx, 29),
        F::AVX512BW => (7, 0, Ebx, 30),
        F::AVX512VL => (7, 0, Ebx, 31),
        F::PREFETCHWT1 => (7, 0, Ecx, 0),
        F::AVX512_VBMI => (7, 0, Ecx, 1),
        F::PKU => (7, 0, Ecx, 3),
        F::WAITPKG => (7, 0, Ecx, 5),
        F::AVX512_VBMI2 => (7, 0, Ecx, 6),
        F::CET_SS => (7, 0, Ecx, 7),
        F::GFNI => (7, 0, Ecx, 8),
        F::VAES => (7, 0, Ecx, 9),
        F::VPCLMULQDQ => (7, 0, Ecx, 10),
        F::AVX512_VNNI => (7, 0, Ecx, 11),
        F::AVX512_BITALG => (7, 0, Ecx, 12),
        F::AVX512_VPOPCNTDQ => (7, 0, Ecx, 14),
        F::RDPID => (7, 0, Ecx, 22),
        F::CLDEMOTE => (7, 0, Ecx, 25),
        F::MOVDIRI => (7, 0, Ecx, 27),
        F::MOVDIR64B => (7, 0, Ecx, 28),
        F::ENQCMD => (7, 0, Ecx, 29),
        F::AVX512_FP16 => (7, 0, Edx, 23),
        F::SHA512 => (7, 1, Eax, 0),
        F::SM3 => (7, 1, Eax, 1),
        F::SM4 => (7, 1, Eax, 2),
        F::AVX_VNNI => (7, 1, Eax, 4),
        F::AVX512_BF16 => (7, 1, Eax, 5),
        F::AVX_IFMA => (7, 1, Eax, 23),
        F::AVX_VNNI_INT8 => (7, 1, Edx, 4),
        F::AVX_NE_CONVERT => (7, 1, Edx, 5),
        F::AVX_VNNI_INT16 => (7, 1, Edx, 10),
        F::AVX512_VP2INTERSECT => (7, 0, Edx, 8),
        F::SERIALIZE => (7, 0, Edx, 14),
        F::TSXLDTRK => (7, 0, Edx, 16),
        F::PCONFIG => (7, 0, Edx, 18),
        F::CET_IBT => (7, 0, Edx, 20),
        F::AMX_TILE => (7, 0, Edx, 24),
        F::PREFETCHITI => (7, 1, Edx, 14),
        F::XSAVEOPT => (0xD, 1, Eax, 0),
        F::XSAVEC => (0xD, 1, Eax, 1),
        F::XSAVES => (0xD, 1, Eax, 3),
        F::SVM | F::SKINIT | F::SKINIT_or_SVM => (EXTENDED, 0, Ecx, 2),
        F::LZCNT => (EXTENDED, 0, Ecx, 5),
        F::SSE4A => (EXTENDED, 0, Ecx, 6),
        F::PREFETCHW => (EXTENDED, 0, Ecx, 8),
        F::XOP => (EXTENDED, 0, Ecx, 11),
        F::LWP => (EXTENDED, 0, Ecx, 15),
        F::FMA4 => (EXTENDED, 0, Ecx, 16),
        F::TBM => (EXTENDED, 0, Ecx, 21),
        F::MONITORX => (EXTENDED, 0, Ecx, 29),
        F::SYSCALL => (EXTENDED, 0, Edx, 11),
        F::RDTSCP => (EXTENDED, 0, Edx, 27),
        F::D3NOWEXT => (EXTENDED, 0, Edx, 30),
        F::D3NOW => (EXTENDED, 0, Edx, 31),
        F::CLZERO => (0x8000_0008, 0, Ebx, 0),
        F::INVLPGB => (0x8000_0008, 0, Ebx, 3),
        F::RDPRU => (0x8000_0008, 0, Ebx, 4),
        F::MCOMMIT => (0x8000_0008, 0, Ebx, 8),
        F::WBNOINVD => (0x8000_0008, 0, Ebx, 9),
        _ => return None,
    })
}
