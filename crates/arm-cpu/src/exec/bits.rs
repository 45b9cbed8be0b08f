//! Bit fields, bit counts, multiplication, division and checksums.

use super::Operands;
use super::alu::{narrow, signed};
use crate::context::Core;
use soft_base::Low;

/// SBFM: a field of [`Operands::more`] bits from bit [`Operands::aux`] on, or to there if [`Operands::ra`] is 1, sign-
/// extended; UBFM the same with zeroes.
#[inline(always)]
pub(crate) fn field<const X: bool, const SIGNED: bool, const INSERT: bool>(c: &mut Core, i: &Operands) {
    let value = c.reg(i.rn);
    // To the top of the register and back.
    let up = 64 - u32::from(i.more);
    let from = if INSERT { value } else { value >> i.aux } << up;
    let field = if SIGNED { (from.cast_signed() >> up).cast_unsigned() } else { from >> up };
    c.set_reg(i.rd, narrow::<X>(if INSERT { field << i.aux } else { field }));
}

/// BFM: as [`field`], and the other bits of the destination stay.
#[inline(always)]
pub(crate) fn merge<const X: bool, const INSERT: bool>(c: &mut Core, i: &Operands) {
    let mask = u64::MAX >> (64 - u32::from(i.more));
    let (value, old) = (c.reg(i.rn), c.reg(i.ra));
    let result = if INSERT {
        old & !(mask << i.aux) | (value & mask) << i.aux
    } else {
        old & !mask | value >> i.aux & mask
    };
    c.set_reg(i.rd, narrow::<X>(result));
}

/// EXTR; ROR by a constant is one.
#[inline(always)]
pub(crate) fn extract<const X: bool>(c: &mut Core, i: &Operands) {
    let (high, low) = (c.reg(i.rn), c.reg(i.rm));
    let result = if X {
        (u128::from(high) << 64 | u128::from(low)) >> i.aux
    } else {
        u128::from((high << 32 | u64::from(low.low_u32())) >> i.aux)
    };
    c.set_reg(i.rd, narrow::<X>(result.low_u64()));
}

/// RBIT.
pub(crate) fn reverse_bits<const X: bool>(c: &mut Core, i: &Operands) {
    let value = c.reg(i.rn);
    c.set_reg(i.rd, if X { value.reverse_bits() } else { u64::from(value.low_u32().reverse_bits()) });
}

/// REV, REV32 and REV16: of each container of 64, 32 or 16 bits.
pub(crate) fn reverse_bytes<const X: bool, const BITS: u32>(c: &mut Core, i: &Operands) {
    let value = c.reg(i.rn).swap_bytes();
    let result = match BITS {
        64 => value,
        32 => value.rotate_left(32),
        _ => {
            let pairs = value.rotate_left(32);
            (pairs & 0x0000_FFFF_0000_FFFF) << 16 | pairs >> 16 & 0x0000_FFFF_0000_FFFF
        }
    };
    c.set_reg(i.rd, narrow::<X>(result));
}

/// CLZ.
#[inline(always)]
pub(crate) fn count_zeroes<const X: bool>(c: &mut Core, i: &Operands) {
    let value = c.reg(i.rn);
    let count = if X { value.leading_zeros() } else { value.low_u32().leading_zeros() };
    c.set_reg(i.rd, u64::from(count));
}

/// CLS: copies of the sign behind it.
pub(crate) fn count_sign<const X: bool>(c: &mut Core, i: &Operands) {
    let value = c.reg(i.rn);
    let count = if X {
        ((value ^ value << 1) | 1).leading_zeros()
    } else {
        ((value ^ value << 1).low_u32() | 1).leading_zeros()
    };
    c.set_reg(i.rd, u64::from(count));
}

/// MADD and MSUB, whose aliases are MUL and MNEG.
#[inline(always)]
pub(crate) fn multiply<const X: bool, const SUB: bool>(c: &mut Core, i: &Operands) {
    let product = c.reg(i.rn).wrapping_mul(c.reg(i.rm));
    let sum = if SUB { c.reg(i.ra).wrapping_sub(product) } else { c.reg(i.ra).wrapping_add(product) };
    c.set_reg(i.rd, narrow::<X>(sum));
}

/// SMADDL, SMSUBL, UMADDL and UMSUBL.
#[inline(always)]
pub(crate) fn multiply_long<const SIGNED: bool, const SUB: bool>(c: &mut Core, i: &Operands) {
    let operand =
        |value: u64| if SIGNED { signed::<false>(value).cast_unsigned() } else { narrow::<false>(value) };
    let product = operand(c.reg(i.rn)).wrapping_mul(operand(c.reg(i.rm)));
    let sum = if SUB { c.reg(i.ra).wrapping_sub(product) } else { c.reg(i.ra).wrapping_add(product) };
    c.set_reg(i.rd, sum);
}

/// SMULH and UMULH.
#[inline(always)]
pub(crate) fn multiply_high<const SIGNED: bool>(c: &mut Core, i: &Operands) {
    let (a, b) = (c.reg(i.rn), c.reg(i.rm));
    let high = if SIGNED {
        ((i128::from(a.cast_signed()) * i128::from(b.cast_signed())) >> 64).cast_unsigned()
    } else {
        (u128::from(a) * u128::from(b)) >> 64
    };
    c.set_reg(i.rd, high.low_u64());
}

/// SDIV and UDIV: towards zero, by zero is zero, and the one quotient that does not fit wraps.
#[inline(always)]
pub(crate) fn divide<const X: bool, const SIGNED: bool>(c: &mut Core, i: &Operands) {
    let (a, b) = (c.reg(i.rn), c.reg(i.rm));
    let quotient = if SIGNED {
        let (a, b) = (signed::<X>(a), signed::<X>(b));
        if b == 0 { 0 } else { a.wrapping_div(b).cast_unsigned() }
    } else {
        narrow::<X>(a).checked_div(narrow::<X>(b)).unwrap_or(0)
    };
    c.set_reg(i.rd, narrow::<X>(quotient));
}

/// The polynomials of CRC32 and CRC32C, bits reversed.
const CRC32: u32 = 0xEDB8_8320;
const CRC32C: u32 = 0x82F6_3B78;

const fn table(polynomial: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte: u32 = 0;
    while byte < 256 {
        let (mut value, mut bit) = (byte, 0);
        while bit < 8 {
            value = value >> 1 ^ if value & 1 != 0 { polynomial } else { 0 };
            bit += 1;
        }
        table[byte as usize] = value;
        byte += 1;
    }
    table
}

static CRC32_TABLE: [u32; 256] = table(CRC32);
static CRC32C_TABLE: [u32; 256] = table(CRC32C);

/// CRC32B to CRC32X and CRC32CB to CRC32CX.
pub(crate) fn checksum<const BYTES: usize, const CASTAGNOLI: bool>(c: &mut Core, i: &Operands) {
    let table = if CASTAGNOLI { &CRC32C_TABLE } else { &CRC32_TABLE };
    let bytes = c.reg(i.rm).to_le_bytes();
    let step = |sum: u32, byte: &u8| sum >> 8 ^ table[usize::from(sum.low_u8() ^ byte)];
    let sum = bytes[..BYTES].iter().fold(c.reg(i.rn).low_u32(), step);
    c.set_reg(i.rd, sum.into());
}
