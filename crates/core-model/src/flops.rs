//! Floating-point operations of an instruction, and its class.

use iced_x86::{CpuidFeature, Instruction, Mnemonic, OpKind, Register};

/// The registers that an instruction works on, as AMD's event EX_RET_MMX_FP_INSTR tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum RegisterFile {
    /// General-purpose or system registers.
    #[default]
    General,
    /// Those of the x87 unit.
    X87,
    /// MMX registers, and EMMS.
    Mmx,
    /// XMM registers, whatever else is an operand.
    Sse,
}

impl RegisterFile {
    /// How many there are.
    pub const COUNT: usize = 4;

    /// That of an instruction.
    #[must_use]
    pub fn of(instruction: &Instruction) -> Self {
        let registers = || {
            let operands = 0..instruction.op_count();
            operands
                .filter(|n| instruction.op_kind(*n) == OpKind::Register)
                .map(|n| instruction.op_register(n))
        };
        if registers().any(Register::is_xmm) {
            Self::Sse
        } else if registers().any(Register::is_mm) || instruction.mnemonic() == Mnemonic::Emms {
            Self::Mmx
        } else if instruction.code().cpuid_features().contains(&CpuidFeature::FPU) {
            Self::X87
        } else {
            Self::General
        }
    }
}

/// What an instruction of packed floating point adds to Intel's FP_ARITH_INST_RETIRED: a dot product two, for its two
/// operations on each element.
pub(crate) fn packed_count(instruction: &Instruction) -> u64 {
    if matches!(instruction.mnemonic(), Mnemonic::Dpps | Mnemonic::Dppd) { 2 } else { 1 }
}

/// Additions and subtractions, multiplications, divisions and square roots of an SSE instruction: each lane counts for
/// itself, sums and products of a dot product one by one. Comparisons, minima, conversions, roundings and estimates
/// are none (AMD's event FP_RET_SSE_AVX_OPS).
pub(crate) fn flops(instruction: &Instruction) -> [u8; 3] {
    use Mnemonic as M;
    let dot_product = |lanes: u8| {
        let chosen = instruction.immediate8() >> 4 & ((1 << lanes) - 1);
        [lanes - 1, chosen.count_ones() as u8, 0]
    };
    match instruction.mnemonic() {
        M::Addss | M::Addsd | M::Subss | M::Subsd => [1, 0, 0],
        M::Addpd | M::Subpd | M::Addsubpd | M::Haddpd | M::Hsubpd => [2, 0, 0],
        M::Addps | M::Subps | M::Addsubps | M::Haddps | M::Hsubps => [4, 0, 0],
        M::Mulss | M::Mulsd => [0, 1, 0],
        M::Mulpd => [0, 2, 0],
        M::Mulps => [0, 4, 0],
        M::Divss | M::Divsd | M::Sqrtss | M::Sqrtsd => [0, 0, 1],
        M::Divpd | M::Sqrtpd => [0, 0, 2],
        M::Divps | M::Sqrtps => [0, 0, 4],
        M::Dppd => dot_product(2),
        M::Dpps => dot_product(4),
        _ => [0; 3],
    }
}
