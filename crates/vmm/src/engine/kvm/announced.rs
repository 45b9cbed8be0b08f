//! Which instructions the guest's CPUID announces.
//!
//! KVM gives up alike on an instruction that its emulator lacks and on one that the guest's CPU does not have. The
//! second raises #UD on a CPU, and careful guests try for that. Sources of the bits: SDM volume 2A, CPUID; AMD APM
//! volume 3, appendix E.

use iced_x86::{CpuidFeature, Instruction};
use vpmu::cpuid::CpuidResult;

/// A register of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Leaf1Ecx,
    Leaf7Ebx,
    Leaf7Ecx,
    Leaf7Edx,
    Leaf7Sub1Eax,
    Leaf7Sub1Edx,
    Extended1Ecx,
    Extended1Edx,
    Extended8Ebx,
}

impl Word {
    fn read(self, cpuid: impl Fn(u32, u32) -> CpuidResult) -> u32 {
        match self {
            Self::Leaf1Ecx => cpuid(0x1, 0).ecx,
            Self::Leaf7Ebx => cpuid(0x7, 0).ebx,
            Self::Leaf7Ecx => cpuid(0x7, 0).ecx,
            Self::Leaf7Edx => cpuid(0x7, 0).edx,
            Self::Leaf7Sub1Eax => cpuid(0x7, 1).eax,
            Self::Leaf7Sub1Edx => cpuid(0x7, 1).edx,
            Self::Extended1Ecx => cpuid(0x8000_0001, 0).ecx,
            Self::Extended1Edx => cpuid(0x8000_0001, 0).edx,
            Self::Extended8Ebx => cpuid(0x8000_0008, 0).ebx,
        }
    }
}

/// Where a feature is announced. `None`: by no single bit, or every CPU of ours has it.
fn bit_of(feature: CpuidFeature) -> Option<(Word, u32)> {
    use CpuidFeature as F;
    use Word::{
        Extended1Ecx, Extended1Edx, Extended8Ebx, Leaf1Ecx, Leaf7Ebx, Leaf7Ecx, Leaf7Edx, Leaf7Sub1Eax,
        Leaf7Sub1Edx,
    };
    Some(match feature {
        F::SSE3 => (Leaf1Ecx, 0),
        F::PCLMULQDQ => (Leaf1Ecx, 1),
        F::MONITOR => (Leaf1Ecx, 3),
        F::VMX | F::INVEPT | F::INVVPID => (Leaf1Ecx, 5),
        F::SMX => (Leaf1Ecx, 6),
        F::SSSE3 => (Leaf1Ecx, 9),
        F::FMA => (Leaf1Ecx, 12),
        F::SSE4_1 => (Leaf1Ecx, 19),
        F::SSE4_2 => (Leaf1Ecx, 20),
        F::MOVBE => (Leaf1Ecx, 22),
        F::POPCNT => (Leaf1Ecx, 23),
        F::AES => (Leaf1Ecx, 25),
        F::XSAVE => (Leaf1Ecx, 26),
        F::AVX => (Leaf1Ecx, 28),
        F::F16C => (Leaf1Ecx, 29),
        F::RDRAND => (Leaf1Ecx, 30),
        F::FSGSBASE => (Leaf7Ebx, 0),
        F::BMI1 => (Leaf7Ebx, 3),
        F::AVX2 => (Leaf7Ebx, 5),
        F::BMI2 => (Leaf7Ebx, 8),
        F::INVPCID => (Leaf7Ebx, 10),
        F::RTM => (Leaf7Ebx, 11),
        F::MPX => (Leaf7Ebx, 14),
        F::AVX512F => (Leaf7Ebx, 16),
        F::AVX512DQ => (Leaf7Ebx, 17),
        F::RDSEED => (Leaf7Ebx, 18),
        F::ADX => (Leaf7Ebx, 19),
        F::SMAP => (Leaf7Ebx, 20),
        F::AVX512_IFMA => (Leaf7Ebx, 21),
        F::PCOMMIT => (Leaf7Ebx, 22),
        F::CLFLUSHOPT => (Leaf7Ebx, 23),
        F::CLWB => (Leaf7Ebx, 24),
        F::AVX512CD => (Leaf7Ebx, 28),
        F::SHA => (Leaf7Ebx, 29),
        F::AVX512BW => (Leaf7Ebx, 30),
        F::AVX512VL => (Leaf7Ebx, 31),
        F::AVX512_VBMI => (Leaf7Ecx, 1),
        F::PKU => (Leaf7Ecx, 3),
        F::WAITPKG => (Leaf7Ecx, 5),
        F::AVX512_VBMI2 => (Leaf7Ecx, 6),
        F::CET_SS => (Leaf7Ecx, 7),
        F::GFNI => (Leaf7Ecx, 8),
        F::VAES => (Leaf7Ecx, 9),
        F::VPCLMULQDQ => (Leaf7Ecx, 10),
        F::AVX512_VNNI => (Leaf7Ecx, 11),
        F::AVX512_BITALG => (Leaf7Ecx, 12),
        F::AVX512_VPOPCNTDQ => (Leaf7Ecx, 14),
        F::RDPID => (Leaf7Ecx, 22),
        F::KL => (Leaf7Ecx, 23),
        F::MOVDIRI => (Leaf7Ecx, 27),
        F::MOVDIR64B => (Leaf7Ecx, 28),
        F::ENQCMD => (Leaf7Ecx, 29),
        F::UINTR => (Leaf7Edx, 5),
        F::AVX512_VP2INTERSECT => (Leaf7Edx, 8),
        F::SERIALIZE => (Leaf7Edx, 14),
        F::TSXLDTRK => (Leaf7Edx, 16),
        F::PCONFIG => (Leaf7Edx, 18),
        F::CET_IBT => (Leaf7Edx, 20),
        F::AMX_BF16 => (Leaf7Edx, 22),
        F::AVX512_FP16 => (Leaf7Edx, 23),
        F::AMX_TILE => (Leaf7Edx, 24),
        F::AMX_INT8 => (Leaf7Edx, 25),
        F::SHA512 => (Leaf7Sub1Eax, 0),
        F::SM3 => (Leaf7Sub1Eax, 1),
        F::SM4 => (Leaf7Sub1Eax, 2),
        F::RAO_INT => (Leaf7Sub1Eax, 3),
        F::AVX_VNNI => (Leaf7Sub1Eax, 4),
        F::AVX512_BF16 => (Leaf7Sub1Eax, 5),
        F::CMPCCXADD => (Leaf7Sub1Eax, 7),
        F::FRED => (Leaf7Sub1Eax, 17),
        F::LKGS => (Leaf7Sub1Eax, 18),
        F::WRMSRNS => (Leaf7Sub1Eax, 19),
        F::AMX_FP16 => (Leaf7Sub1Eax, 21),
        F::HRESET => (Leaf7Sub1Eax, 22),
        F::AVX_IFMA => (Leaf7Sub1Eax, 23),
        F::MSRLIST => (Leaf7Sub1Eax, 27),
        F::AVX_VNNI_INT8 => (Leaf7Sub1Edx, 4),
        F::AVX_NE_CONVERT => (Leaf7Sub1Edx, 5),
        F::AMX_COMPLEX => (Leaf7Sub1Edx, 8),
        F::AVX_VNNI_INT16 => (Leaf7Sub1Edx, 10),
        F::SVM => (Extended1Ecx, 2),
        F::LZCNT => (Extended1Ecx, 5),
        F::SSE4A => (Extended1Ecx, 6),
        F::XOP => (Extended1Ecx, 11),
        F::SKINIT => (Extended1Ecx, 12),
        F::LWP => (Extended1Ecx, 15),
        F::FMA4 => (Extended1Ecx, 16),
        F::TBM => (Extended1Ecx, 21),
        F::MONITORX => (Extended1Ecx, 29),
        F::RDTSCP => (Extended1Edx, 27),
        F::D3NOWEXT => (Extended1Edx, 30),
        F::D3NOW => (Extended1Edx, 31),
        F::CLZERO => (Extended8Ebx, 0),
        F::INVLPGB => (Extended8Ebx, 3),
        F::RDPRU => (Extended8Ebx, 4),
        F::MCOMMIT => (Extended8Ebx, 8),
        F::WBNOINVD => (Extended8Ebx, 9),
        _ => return None,
    })
}

/// True if the CPU that `cpuid` describes does not have the instruction.
pub(super) fn is_absent(instruction: &Instruction, cpuid: impl Fn(u32, u32) -> CpuidResult) -> bool {
    instruction
        .cpuid_features()
        .iter()
        .filter_map(|feature| bit_of(*feature))
        .any(|(word, bit)| word.read(&cpuid) >> bit & 1 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn decode(code: &[u8]) -> Instruction {
        Decoder::new(64, code, DecoderOptions::NONE).decode()
    }

    #[test]
    fn an_instruction_is_there_when_all_its_bits_are() {
        const RDPRU: &[u8] = &[0x0F, 0x01, 0xFD];
        const VPADDD_YMM: &[u8] = &[0x62, 0xF1, 0x75, 0x28, 0xFE, 0xC2];
        const MOV: &[u8] = &[0x48, 0x89, 0xC3];
        let nothing = |_, _| CpuidResult::default();
        let extended_8 = |ebx: u32| {
            move |leaf, _| CpuidResult {
                ebx: if leaf == 0x8000_0008 { ebx } else { 0 },
                ..CpuidResult::default()
            }
        };
        let leaf_7 = |ebx: u32| {
            move |leaf, subleaf| CpuidResult {
                ebx: if (leaf, subleaf) == (7, 0) { ebx } else { 0 },
                ..CpuidResult::default()
            }
        };
        assert!(is_absent(&decode(RDPRU), nothing) && is_absent(&decode(RDPRU), extended_8(!(1 << 4))));
        assert!(!is_absent(&decode(RDPRU), extended_8(1 << 4)));
        assert!(is_absent(&decode(VPADDD_YMM), leaf_7(1 << 16)), "AVX512VL is missing");
        assert!(!is_absent(&decode(VPADDD_YMM), leaf_7(1 << 16 | 1 << 31)));
        assert!(!is_absent(&decode(MOV), nothing));
    }
}
