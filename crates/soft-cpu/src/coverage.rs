//! Which instructions are implemented, by asking the decoder for their handlers.
//!
//! The list of instructions is iced-x86's, in the forms that Intel's CPUs decode. The answers are the same for every
//! bus; it is a parameter so that asking for one for which there are handlers anyway compiles none again.

mod operands;
mod page;
#[cfg(test)]
mod tests;

pub use page::markdown;

use crate::bus::Bus;
use crate::context::Mode;
use crate::cpuid::{self, CpuidLeaf};
use crate::decode::{self, Choice};
use iced_x86::{Code, CpuidFeature, DecoderOptions, OpCodeOperandKind as K};

/// What an instruction does in a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Support {
    /// It is executed.
    Implemented,
    /// It raises #UD, as on a CPU that does not announce it, and is not reported.
    Undefined,
    /// It raises #UD, and [`Cpu::unimplemented`](crate::Cpu::unimplemented) names it.
    Missing,
    /// It has no encoding in this mode.
    NoEncoding,
}

/// One form of an instruction.
#[derive(Debug, Clone)]
pub struct Form {
    /// Mnemonic in upper case.
    pub mnemonic: String,
    /// Mnemonic and operands, as the SDM writes them: `PADDB xmm1, xmm2/m128`.
    pub text: &'static str,
    /// What the CPU must have beyond what every CPU with long mode has, as iced-x86 names it (`SSE4_2`); MMX too
    /// for forms on MMX registers.
    pub features: Vec<String>,
    /// CPUID announces all of these.
    pub announced: bool,
    /// In 16-bit code.
    pub bits16: Support,
    /// In 32-bit code.
    pub bits32: Support,
    /// In 64-bit code.
    pub bits64: Support,
}

/// All forms of all instructions, in iced-x86's order.
pub fn forms<B: Bus>() -> impl Iterator<Item = Form> {
    Code::values().filter_map(form::<B>)
}

fn form<B: Bus>(code: Code) -> Option<Form> {
    let info = code.op_code();
    // With FWAIT in front they are two instructions.
    if !info.is_instruction() || info.fwait() || info.decoder_option() != DecoderOptions::NONE {
        return None;
    }
    let support = |decodes: bool, mode| if decodes { support::<B>(code, mode) } else { Support::NoEncoding };
    let bits16 = support(info.mode16() && info.intel_decoder16(), Mode::Bits16);
    let bits32 = support(info.mode32() && info.intel_decoder32(), Mode::Bits32);
    let bits64 = support(info.mode64() && info.intel_decoder64(), Mode::Bits64);
    if [bits16, bits32, bits64] == [Support::NoEncoding; 3] {
        return None;
    }
    let mut features = code.cpuid_features().to_vec();
    // Encodings that later CPUs gave a new meaning.
    if features.iter().any(|feature| format!("{feature:?}").ends_with("_ONLY")) {
        return None;
    }
    let on_mmx = info.op_kinds().iter().any(|kind| matches!(kind, K::mm_reg | K::mm_rm | K::mm_or_mem));
    if on_mmx && !features.contains(&CpuidFeature::MMX) {
        features.push(CpuidFeature::MMX);
    }
    features.retain(|feature| !baseline(*feature));
    Some(Form {
        mnemonic: format!("{:?}", code.mnemonic()).to_uppercase(),
        text: info.instruction_string(),
        features: features.iter().map(|feature| format!("{feature:?}")).collect(),
        announced: features.iter().all(|feature| announced(*feature)),
        bits16,
        bits32,
        bits64,
    })
}

/// With register operands and with memory operands, where there is a choice.
fn support<B: Bus>(code: Code, mode: Mode) -> Support {
    let variants = [false, true].into_iter().filter_map(|memory| operands::instruction(code, mode, memory));
    variants
        .map(|instruction| match decode::choose::<B>(&instruction, mode) {
            Choice::Implemented => Support::Implemented,
            Choice::Undefined => Support::Undefined,
            Choice::Missing => Support::Missing,
        })
        .max()
        .unwrap_or(Support::Missing)
}

/// Why a form is missing although CPUID announces it.
fn excuse(form: &Form) -> Option<&'static str> {
    if form.features.iter().any(|feature| feature.starts_with("FPU")) {
        return Some("long mode does not exist without the FPU's CPUID bit");
    }
    None
}

impl Form {
    fn modes(&self) -> [Support; 3] {
        [self.bits64, self.bits32, self.bits16]
    }
}

#[derive(Debug, Clone, Copy)]
enum Word {
    Eax,
    Ebx,
    Ecx,
    Edx,
}

/// Leaf (subleaf 0, of 0DH subleaf 1), register and bit that announce a feature. Source: SDM volume 2, CPUID; AMD's
/// APM volume 3 for AMD's features.
fn cpuid_bit(feature: CpuidFeature) -> Option<(u32, Word, u32)> {
    use CpuidFeature as F;
    use Word::{Eax, Ebx, Ecx, Edx};
    const EXTENDED: u32 = 0x8000_0001;
    Some(match feature {
        F::SSE3 => (1, Ecx, 0),
        F::PCLMULQDQ => (1, Ecx, 1),
        F::MONITOR => (1, Ecx, 3),
        F::VMX | F::INVEPT | F::INVVPID => (1, Ecx, 5),
        F::SMX => (1, Ecx, 6),
        F::SSSE3 => (1, Ecx, 9),
        F::FMA => (1, Ecx, 12),
        F::CMPXCHG16B => (1, Ecx, 13),
        F::SSE4_1 => (1, Ecx, 19),
        F::SSE4_2 => (1, Ecx, 20),
        F::MOVBE => (1, Ecx, 22),
        F::POPCNT => (1, Ecx, 23),
        F::AES => (1, Ecx, 25),
        F::XSAVE => (1, Ecx, 26),
        F::AVX => (1, Ecx, 28),
        F::F16C => (1, Ecx, 29),
        F::RDRAND => (1, Ecx, 30),
        F::FPU | F::FPU287 | F::FPU387 => (1, Edx, 0),
        F::TSC => (1, Edx, 4),
        F::MSR => (1, Edx, 5),
        F::CX8 => (1, Edx, 8),
        F::SEP => (1, Edx, 11),
        F::CMOV => (1, Edx, 15),
        F::CLFSH => (1, Edx, 19),
        F::MMX => (1, Edx, 23),
        F::FXSR => (1, Edx, 24),
        F::SSE => (1, Edx, 25),
        F::SSE2 => (1, Edx, 26),
        F::FSGSBASE => (7, Ebx, 0),
        F::SGX1 => (7, Ebx, 2),
        F::BMI1 => (7, Ebx, 3),
        F::HLE => (7, Ebx, 4),
        F::AVX2 => (7, Ebx, 5),
        F::BMI2 => (7, Ebx, 8),
        F::INVPCID => (7, Ebx, 10),
        F::RTM | F::HLE_or_RTM => (7, Ebx, 11),
        F::AVX512F => (7, Ebx, 16),
        F::AVX512DQ => (7, Ebx, 17),
        F::RDSEED => (7, Ebx, 18),
        F::ADX => (7, Ebx, 19),
        F::SMAP => (7, Ebx, 20),
        F::AVX512_IFMA => (7, Ebx, 21),
        F::CLFLUSHOPT => (7, Ebx, 23),
        F::CLWB => (7, Ebx, 24),
        F::AVX512PF => (7, Ebx, 26),
        F::AVX512ER => (7, Ebx, 27),
        F::AVX512CD => (7, Ebx, 28),
        F::SHA => (7, Ebx, 29),
        F::AVX512BW => (7, Ebx, 30),
        F::AVX512VL => (7, Ebx, 31),
        F::PREFETCHWT1 => (7, Ecx, 0),
        F::AVX512_VBMI => (7, Ecx, 1),
        F::PKU => (7, Ecx, 3),
        F::WAITPKG => (7, Ecx, 5),
        F::AVX512_VBMI2 => (7, Ecx, 6),
        F::CET_SS => (7, Ecx, 7),
        F::GFNI => (7, Ecx, 8),
        F::VAES => (7, Ecx, 9),
        F::VPCLMULQDQ => (7, Ecx, 10),
        F::AVX512_VNNI => (7, Ecx, 11),
        F::AVX512_BITALG => (7, Ecx, 12),
        F::AVX512_VPOPCNTDQ => (7, Ecx, 14),
        F::RDPID => (7, Ecx, 22),
        F::CLDEMOTE => (7, Ecx, 25),
        F::MOVDIRI => (7, Ecx, 27),
        F::MOVDIR64B => (7, Ecx, 28),
        F::ENQCMD => (7, Ecx, 29),
        F::AVX512_VP2INTERSECT => (7, Edx, 8),
        F::SERIALIZE => (7, Edx, 14),
        F::TSXLDTRK => (7, Edx, 16),
        F::PCONFIG => (7, Edx, 18),
        F::CET_IBT => (7, Edx, 20),
        F::AMX_TILE => (7, Edx, 24),
        F::XSAVEOPT => (0xD, Eax, 0),
        F::XSAVEC => (0xD, Eax, 1),
        F::XSAVES => (0xD, Eax, 3),
        F::SVM | F::SKINIT | F::SKINIT_or_SVM => (EXTENDED, Ecx, 2),
        F::LZCNT => (EXTENDED, Ecx, 5),
        F::SSE4A => (EXTENDED, Ecx, 6),
        F::PREFETCHW => (EXTENDED, Ecx, 8),
        F::XOP => (EXTENDED, Ecx, 11),
        F::LWP => (EXTENDED, Ecx, 15),
        F::FMA4 => (EXTENDED, Ecx, 16),
        F::TBM => (EXTENDED, Ecx, 21),
        F::MONITORX => (EXTENDED, Ecx, 29),
        F::SYSCALL => (EXTENDED, Edx, 11),
        F::RDTSCP => (EXTENDED, Edx, 27),
        F::D3NOWEXT => (EXTENDED, Edx, 30),
        F::D3NOW => (EXTENDED, Edx, 31),
        _ => return None,
    })
}

/// Part of every CPU with long mode.
fn baseline(feature: CpuidFeature) -> bool {
    use CpuidFeature as F;
    matches!(
        feature,
        F::INTEL8086
            | F::INTEL186
            | F::INTEL286
            | F::INTEL386
            | F::INTEL486
            | F::X64
            | F::CPUID
            | F::MULTIBYTENOP
            | F::PAUSE
            | F::RDPMC
    )
}

/// Whether [`cpuid::leaf`] has the feature's bit.
fn announced(feature: CpuidFeature) -> bool {
    let Some((leaf, word, bit)) = cpuid_bit(feature) else {
        return false;
    };
    let CpuidLeaf { eax, ebx, ecx, edx } = cpuid::leaf(leaf, u32::from(leaf == 0xD));
    let word = match word {
        Word::Eax => eax,
        Word::Ebx => ebx,
        Word::Ecx => ecx,
        Word::Edx => edx,
    };
    word >> bit & 1 != 0
}
