//! Fields of instructions.

use crate::context::{SINK, SP, ZERO};
use soft_base::Low;

/// So many bits from a bit on.
#[inline(always)]
pub(crate) fn bits(word: u32, from: u32, count: u32) -> u32 {
    word >> from & (u32::MAX >> (32 - count))
}

/// One bit.
#[inline(always)]
pub(crate) fn bit(word: u32, n: u32) -> bool {
    word >> n & 1 != 0
}

/// A signed field, times 2 to the power of `scale`.
#[inline(always)]
pub(crate) fn signed(word: u32, from: u32, count: u32, scale: u32) -> u64 {
    let unused = 64 - count;
    let value = (u64::from(bits(word, from, count)) << unused).cast_signed() >> unused;
    value.cast_unsigned() << scale
}

/// The number of the register in five bits.
pub(crate) fn number(word: u32, from: u32) -> u8 {
    bits(word, from, 5).low_u8()
}

/// A general-purpose register that is read; 31 is XZR.
pub(crate) fn source(word: u32, from: u32) -> u8 {
    match number(word, from) {
        31 => ZERO,
        register => register,
    }
}

/// A general-purpose register that is written; 31 is XZR.
pub(crate) fn target(word: u32, from: u32) -> u8 {
    match number(word, from) {
        31 => SINK,
        register => register,
    }
}

/// A general-purpose register of which 31 is SP.
pub(crate) fn or_stack_pointer(word: u32, from: u32) -> u8 {
    const { assert!(SP == 31) };
    number(word, from)
}

/// [`Operands::more`](crate::exec::Operands::more) of an access with this base register: the bits of it that have to be
/// 0.
pub(crate) fn base_alignment(base: u8) -> u8 {
    if base == SP { 15 } else { 0 }
}
