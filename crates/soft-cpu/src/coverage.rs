//! Which instructions are implemented, by asking the decoder for their handlers.
//!
//! The list of instructions is iced-x86's, in the forms that Intel's CPUs decode. The answers are the same for every
//! bus; it is a parameter so that asking for one for which there are handlers anyway compiles none again.

mod operands;
mod page;

pub use page::markdown;

use crate::bus::Bus;
use crate::context::Mode;
use crate::cpuid;
use crate::decode::{self, Choice};
use crate::features;
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

impl Form {
    /// Why it is missing although CPUID announces it.
    #[must_use]
    pub fn excuse(&self) -> Option<&'static str> {
        if self.features.iter().any(|feature| feature.starts_with("FPU")) {
            return Some("long mode does not exist without the FPU's CPUID bit");
        }
        None
    }

    /// In modes of 64, 32 and 16 bits.
    #[must_use]
    pub fn modes(&self) -> [Support; 3] {
        [self.bits64, self.bits32, self.bits16]
    }
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
    features::announced(feature, cpuid::leaf)
}
