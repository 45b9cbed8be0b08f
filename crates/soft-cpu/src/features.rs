//! Which instructions the guest's CPU has, of those that this crate executes.

use crate::cpuid::CpuidLeaf;
use iced_x86::{Code, CpuidFeature, Instruction, Mnemonic};

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
        cpuid_bits(feature).is_some() && !self.has(feature)
    }

    /// The CPU has all that the instruction needs.
    #[must_use]
    pub fn allow(&self, instruction: &Instruction) -> bool {
        instruction.cpuid_features().iter().all(|feature| self.has(*feature))
    }

    /// The CPU does not have the instruction, which CPUID announces by bits of which one is 0. What every CPU takes for
    /// a hint, or for something older, is none that could be lacking.
    #[must_use]
    pub fn lack(&self, instruction: &Instruction) -> bool {
        !is_hint(instruction) && instruction.cpuid_features().iter().any(|feature| self.lacks(*feature))
    }

    /// [`lack`](Self::lack) of one instruction, where CPUID answers so (leaf, subleaf).
    #[must_use]
    pub fn are_lacking(instruction: &Instruction, cpuid: impl Fn(u32, u32) -> CpuidLeaf) -> bool {
        let lacks = |feature| cpuid_bits(feature).is_some() && !announced(feature, &cpuid);
        !is_hint(instruction) && instruction.cpuid_features().iter().any(|feature| lacks(*feature))
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

/// What is a NOP, a prefetch or, of WBNOINVD, a WBINVD where CPUID does not announce it (SDM volume 2 under each: "NOP
/// on processors that do not support" CET, CLDEMOTE; PREFETCHW, PREFETCHWT1; APM volume 3, WBNOINVD, PREFETCH).
fn is_hint(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    matches!(
        instruction.mnemonic(),
        M::Endbr32
            | M::Endbr64
            | M::Rdsspd
            | M::Rdsspq
            | M::Cldemote
            | M::Prefetch
            | M::Prefetchw
            | M::Prefetchwt1
            | M::Prefetchit0
            | M::Prefetchit1
            | M::Wbnoinvd
    )
}

/// Whether CPUID has a bit that announces the feature.
pub(crate) fn announced(feature: CpuidFeature, cpuid: impl Fn(u32, u32) -> CpuidLeaf) -> bool {
    cpuid_bits(feature).is_some_and(|bits| {
        bits.iter().any(|Bit(leaf, subleaf, register, bit)| {
            let CpuidLeaf { eax, ebx, ecx, edx } = cpuid(*leaf, *subleaf);
            [eax, ebx, ecx, edx][*register as usize] >> bit & 1 != 0
        })
    })
}

/// A register of a leaf.
#[derive(Debug, Clone, Copy)]
enum Register {
    Eax,
    Ebx,
    Ecx,
    Edx,
}

/// Leaf, subleaf, register and number of a bit.
struct Bit(u32, u32, Register, u32);

/// The bits that announce a feature, of which one is enough. Sources: SDM volume 2A, CPUID, with the *Instruction Set
/// Extensions Programming Reference* for what is not in it yet (FRED, LKGS, MSRLIST, RAO-INT, AMX-COMPLEX), and APM
/// volume 3, appendix E, for AMD's. Not here, because CPUs without them execute their encodings as NOPs: MPX (SDM
/// volume 1, Intel MPX); because no CPU has them any more: PCOMMIT.
fn cpuid_bits(feature: CpuidFeature) -> Option<&'static [Bit]> {
    use CpuidFeature as F;
    use Register::{Eax, Ebx, Ecx, Edx};
    const EXTENDED: u32 = 0x8000_0001;
    const SIZES: u32 = 0x8000_0008;
    /// A slice that lives for ever.
    macro_rules! bits {
        ($($bit:expr),*) => { const { &[$($bit),*] } };
    }
    Some(match feature {
        F::SSE3 => bits![Bit(1, 0, Ecx, 0)],
        F::PCLMULQDQ => bits![Bit(1, 0, Ecx, 1)],
        F::MONITOR => bits![Bit(1, 0, Ecx, 3)],
        F::VMX | F::INVEPT | F::INVVPID => bits![Bit(1, 0, Ecx, 5)],
        F::SMX => bits![Bit(1, 0, Ecx, 6)],
        F::SSSE3 => bits![Bit(1, 0, Ecx, 9)],
        F::FMA => bits![Bit(1, 0, Ecx, 12)],
        F::CMPXCHG16B => bits![Bit(1, 0, Ecx, 13)],
        F::SSE4_1 => bits![Bit(1, 0, Ecx, 19)],
        F::SSE4_2 => bits![Bit(1, 0, Ecx, 20)],
        F::MOVBE => bits![Bit(1, 0, Ecx, 22)],
        F::POPCNT => bits![Bit(1, 0, Ecx, 23)],
        F::AES => bits![Bit(1, 0, Ecx, 25)],
        F::XSAVE => bits![Bit(1, 0, Ecx, 26)],
        F::AVX => bits![Bit(1, 0, Ecx, 28)],
        F::F16C => bits![Bit(1, 0, Ecx, 29)],
        F::RDRAND => bits![Bit(1, 0, Ecx, 30)],
        F::FPU | F::FPU287 | F::FPU387 => bits![Bit(1, 0, Edx, 0)],
        F::TSC => bits![Bit(1, 0, Edx, 4)],
        F::MSR => bits![Bit(1, 0, Edx, 5)],
        F::CX8 => bits![Bit(1, 0, Edx, 8)],
        F::SEP => bits![Bit(1, 0, Edx, 11)],
        F::CMOV => bits![Bit(1, 0, Edx, 15)],
        F::CLFSH => bits![Bit(1, 0, Edx, 19)],
        F::MMX => bits![Bit(1, 0, Edx, 23)],
        F::FXSR => bits![Bit(1, 0, Edx, 24)],
        F::SSE => bits![Bit(1, 0, Edx, 25)],
        F::SSE2 => bits![Bit(1, 0, Edx, 26)],
        F::FSGSBASE => bits![Bit(7, 0, Ebx, 0)],
        F::SGX1 => bits![Bit(7, 0, Ebx, 2)],
        F::BMI1 => bits![Bit(7, 0, Ebx, 3)],
        F::HLE => bits![Bit(7, 0, Ebx, 4)],
        F::AVX2 => bits![Bit(7, 0, Ebx, 5)],
        F::BMI2 => bits![Bit(7, 0, Ebx, 8)],
        F::INVPCID => bits![Bit(7, 0, Ebx, 10)],
        F::RTM => bits![Bit(7, 0, Ebx, 11)],
        F::HLE_or_RTM => bits![Bit(7, 0, Ebx, 4), Bit(7, 0, Ebx, 11)],
        F::AVX512F => bits![Bit(7, 0, Ebx, 16)],
        F::AVX512DQ => bits![Bit(7, 0, Ebx, 17)],
        F::RDSEED => bits![Bit(7, 0, Ebx, 18)],
        F::ADX => bits![Bit(7, 0, Ebx, 19)],
        F::SMAP => bits![Bit(7, 0, Ebx, 20)],
        F::AVX512_IFMA => bits![Bit(7, 0, Ebx, 21)],
        F::CLFLUSHOPT => bits![Bit(7, 0, Ebx, 23)],
        F::CLWB => bits![Bit(7, 0, Ebx, 24)],
        F::AVX512PF => bits![Bit(7, 0, Ebx, 26)],
        F::AVX512ER => bits![Bit(7, 0, Ebx, 27)],
        F::AVX512CD => bits![Bit(7, 0, Ebx, 28)],
        F::SHA => bits![Bit(7, 0, Ebx, 29)],
        F::AVX512BW => bits![Bit(7, 0, Ebx, 30)],
        F::AVX512VL => bits![Bit(7, 0, Ebx, 31)],
        F::PREFETCHWT1 => bits![Bit(7, 0, Ecx, 0)],
        F::AVX512_VBMI => bits![Bit(7, 0, Ecx, 1)],
        F::PKU => bits![Bit(7, 0, Ecx, 3)],
        F::WAITPKG => bits![Bit(7, 0, Ecx, 5)],
        F::AVX512_VBMI2 => bits![Bit(7, 0, Ecx, 6)],
        F::CET_SS => bits![Bit(7, 0, Ecx, 7)],
        F::GFNI => bits![Bit(7, 0, Ecx, 8)],
        F::VAES => bits![Bit(7, 0, Ecx, 9)],
        F::VPCLMULQDQ => bits![Bit(7, 0, Ecx, 10)],
        F::AVX512_VNNI => bits![Bit(7, 0, Ecx, 11)],
        F::AVX512_BITALG => bits![Bit(7, 0, Ecx, 12)],
        F::AVX512_VPOPCNTDQ => bits![Bit(7, 0, Ecx, 14)],
        F::RDPID => bits![Bit(7, 0, Ecx, 22)],
        F::KL => bits![Bit(7, 0, Ecx, 23)],
        F::CLDEMOTE => bits![Bit(7, 0, Ecx, 25)],
        F::MOVDIRI => bits![Bit(7, 0, Ecx, 27)],
        F::MOVDIR64B => bits![Bit(7, 0, Ecx, 28)],
        F::ENQCMD => bits![Bit(7, 0, Ecx, 29)],
        F::UINTR => bits![Bit(7, 0, Edx, 5)],
        F::AVX512_FP16 => bits![Bit(7, 0, Edx, 23)],
        F::SHA512 => bits![Bit(7, 1, Eax, 0)],
        F::SM3 => bits![Bit(7, 1, Eax, 1)],
        F::SM4 => bits![Bit(7, 1, Eax, 2)],
        F::RAO_INT => bits![Bit(7, 1, Eax, 3)],
        F::AVX_VNNI => bits![Bit(7, 1, Eax, 4)],
        F::AVX512_BF16 => bits![Bit(7, 1, Eax, 5)],
        F::CMPCCXADD => bits![Bit(7, 1, Eax, 7)],
        F::FRED => bits![Bit(7, 1, Eax, 17)],
        F::LKGS => bits![Bit(7, 1, Eax, 18)],
        F::WRMSRNS => bits![Bit(7, 1, Eax, 19)],
        F::AMX_FP16 => bits![Bit(7, 1, Eax, 21)],
        F::HRESET => bits![Bit(7, 1, Eax, 22)],
        F::AVX_IFMA => bits![Bit(7, 1, Eax, 23)],
        F::MSRLIST => bits![Bit(7, 1, Eax, 27)],
        F::AVX_VNNI_INT8 => bits![Bit(7, 1, Edx, 4)],
        F::AVX_NE_CONVERT => bits![Bit(7, 1, Edx, 5)],
        F::AMX_COMPLEX => bits![Bit(7, 1, Edx, 8)],
        F::AVX_VNNI_INT16 => bits![Bit(7, 1, Edx, 10)],
        F::AVX512_VP2INTERSECT => bits![Bit(7, 0, Edx, 8)],
        F::SERIALIZE => bits![Bit(7, 0, Edx, 14)],
        F::TSXLDTRK => bits![Bit(7, 0, Edx, 16)],
        F::PCONFIG => bits![Bit(7, 0, Edx, 18)],
        F::CET_IBT => bits![Bit(7, 0, Edx, 20)],
        F::AMX_BF16 => bits![Bit(7, 0, Edx, 22)],
        F::AMX_TILE => bits![Bit(7, 0, Edx, 24)],
        F::AMX_INT8 => bits![Bit(7, 0, Edx, 25)],
        F::PREFETCHITI => bits![Bit(7, 1, Edx, 14)],
        F::XSAVEOPT => bits![Bit(0xD, 1, Eax, 0)],
        F::XSAVEC => bits![Bit(0xD, 1, Eax, 1)],
        F::XSAVES => bits![Bit(0xD, 1, Eax, 3)],
        F::SVM => bits![Bit(EXTENDED, 0, Ecx, 2)],
        F::SKINIT => bits![Bit(EXTENDED, 0, Ecx, 12)],
        F::SKINIT_or_SVM => bits![Bit(EXTENDED, 0, Ecx, 2), Bit(EXTENDED, 0, Ecx, 12)],
        F::LZCNT => bits![Bit(EXTENDED, 0, Ecx, 5)],
        F::SSE4A => bits![Bit(EXTENDED, 0, Ecx, 6)],
        F::PREFETCHW => bits![Bit(EXTENDED, 0, Ecx, 8)],
        F::XOP => bits![Bit(EXTENDED, 0, Ecx, 11)],
        F::LWP => bits![Bit(EXTENDED, 0, Ecx, 15)],
        F::FMA4 => bits![Bit(EXTENDED, 0, Ecx, 16)],
        F::TBM => bits![Bit(EXTENDED, 0, Ecx, 21)],
        F::MONITORX => bits![Bit(EXTENDED, 0, Ecx, 29)],
        F::SYSCALL => bits![Bit(EXTENDED, 0, Edx, 11)],
        F::RDTSCP => bits![Bit(EXTENDED, 0, Edx, 27)],
        F::D3NOWEXT => bits![Bit(EXTENDED, 0, Edx, 30)],
        F::D3NOW => bits![Bit(EXTENDED, 0, Edx, 31)],
        F::CLZERO => bits![Bit(SIZES, 0, Ebx, 0)],
        F::INVLPGB => bits![Bit(SIZES, 0, Ebx, 3)],
        F::RDPRU => bits![Bit(SIZES, 0, Ebx, 4)],
        F::MCOMMIT => bits![Bit(SIZES, 0, Ebx, 8)],
        F::WBNOINVD => bits![Bit(SIZES, 0, Ebx, 9)],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn decode(code: &[u8]) -> Instruction {
        Decoder::new(64, code, DecoderOptions::NONE).decode()
    }

    /// A CPU whose CPUID answers one register of one leaf with this value, and all else with 0.
    fn with(leaf: u32, register: Register, value: u32) -> Features {
        Features::of(|number, subleaf| {
            let of = |own: Register| if own as usize == register as usize { value } else { 0 };
            let [eax, ebx, ecx, edx] = [Register::Eax, Register::Ebx, Register::Ecx, Register::Edx].map(of);
            if (number, subleaf) == (leaf, 0) {
                CpuidLeaf { eax, ebx, ecx, edx }
            } else {
                CpuidLeaf::default()
            }
        })
    }

    #[test]
    fn an_instruction_is_there_when_all_its_bits_are() {
        const RDPRU: &[u8] = &[0x0F, 0x01, 0xFD];
        const VPADDD_YMM: &[u8] = &[0x62, 0xF1, 0x75, 0x28, 0xFE, 0xC2];
        const MOV: &[u8] = &[0x48, 0x89, 0xC3];
        let nothing = Features::of(|_, _| CpuidLeaf::default());
        assert!(nothing.lack(&decode(RDPRU)) && !nothing.lack(&decode(MOV)));
        assert!(with(0x8000_0008, Register::Ebx, !(1 << 4)).lack(&decode(RDPRU)));
        assert!(!with(0x8000_0008, Register::Ebx, 1 << 4).lack(&decode(RDPRU)));
        assert!(with(7, Register::Ebx, 1 << 16).lack(&decode(VPADDD_YMM)), "AVX512VL is missing");
        assert!(!with(7, Register::Ebx, 1 << 16 | 1 << 31).lack(&decode(VPADDD_YMM)));
        let all = |_, _| CpuidLeaf { eax: !0, ebx: !0, ecx: !0, edx: !0 };
        for code in [RDPRU, VPADDD_YMM] {
            assert!(Features::are_lacking(&decode(code), |_, _| CpuidLeaf::default()));
            assert!(!Features::are_lacking(&decode(code), all));
        }
    }

    #[test]
    fn one_of_two_bits_is_enough_for_xtest_and_stgi() {
        const XTEST: &[u8] = &[0x0F, 0x01, 0xD6];
        const STGI: &[u8] = &[0x0F, 0x01, 0xDC];
        for bit in [4, 11] {
            assert!(!with(7, Register::Ebx, 1 << bit).lack(&decode(XTEST)));
        }
        assert!(with(7, Register::Ebx, !(1 << 4 | 1 << 11)).lack(&decode(XTEST)));
        for bit in [2, 12] {
            assert!(!with(0x8000_0001, Register::Ecx, 1 << bit).lack(&decode(STGI)));
        }
        assert!(with(0x8000_0001, Register::Ecx, !(1 << 2 | 1 << 12)).lack(&decode(STGI)));
    }

    #[test]
    fn a_hint_is_never_lacking_but_its_neighbours_are() {
        let nothing = Features::of(|_, _| CpuidLeaf::default());
        const ENDBR64: &[u8] = &[0xF3, 0x0F, 0x1E, 0xFA];
        const RDSSPQ: &[u8] = &[0xF3, 0x48, 0x0F, 0x1E, 0xC8];
        const INCSSPQ: &[u8] = &[0xF3, 0x48, 0x0F, 0xAE, 0xE8];
        const CLDEMOTE: &[u8] = &[0x0F, 0x1C, 0x00];
        const PREFETCHW: &[u8] = &[0x0F, 0x0D, 0x08];
        for hint in [ENDBR64, RDSSPQ, CLDEMOTE, PREFETCHW] {
            assert!(!decode(hint).is_invalid() && !nothing.lack(&decode(hint)), "{hint:x?}");
        }
        assert!(nothing.lack(&decode(INCSSPQ)));
    }
}
