//! Floating-point operations of an instruction.

use iced_x86::{Instruction, Mnemonic};

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
