//! Data processing with immediates and registers (Arm ARM C4.1.86 and C4.1.95).

use super::fields::{bit, bits, number, or_stack_pointer, signed, source, target};
use crate::bus::Bus;
use crate::context::ZERO;
use crate::exec::alu::{self, Extended, Imm, Reg, Shifted};
use crate::exec::{Code, Operands, bits as field, plain};
use soft_base::Low;

/// The bit that says that registers have 64 bits.
const SF: u32 = 31;

/// `const X` by the width of the instruction.
macro_rules! width {
    ($word:expr, $X:ident => $e:expr) => {
        if bit($word, SF) {
            const $X: bool = true;
            $e
        } else {
            const $X: bool = false;
            $e
        }
    };
}

/// ADD, ADDS, SUB or SUBS by bits 30 and 29.
macro_rules! addition {
    ($word:expr, $S:ty) => {
        width!($word, X => match bits($word, 29, 2) {
            0 => plain!(alu::add::<X, false, false, $S>),
            1 => plain!(alu::add::<X, false, true, $S>),
            2 => plain!(alu::add::<X, true, false, $S>),
            _ => plain!(alu::add::<X, true, true, $S>),
        })
    };
}

/// Registers Rd, Rn and Rm, none of which is SP.
fn three_registers(word: u32, o: &mut Operands) {
    (o.rd, o.rn, o.rm) = (target(word, 0), source(word, 5), source(word, 16));
}

pub(super) fn add_immediate<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    // Addition to tags.
    if bit(word, 23) {
        return None;
    }
    let flags = bit(word, 29);
    o.rn = or_stack_pointer(word, 5);
    o.rd = if flags { target(word, 0) } else { or_stack_pointer(word, 0) };
    o.imm = u64::from(bits(word, 10, 12)) << if bit(word, 22) { 12 } else { 0 };
    Some(addition!(word, Imm))
}

pub(super) fn add_shifted<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    shifted(word, o)?;
    // ROR is reserved.
    if o.more == 3 {
        return None;
    }
    Some(if o.aux == 0 { addition!(word, Reg) } else { addition!(word, Shifted) })
}

/// Rd, Rn and a shifted Rm.
fn shifted(word: u32, o: &mut Operands) -> Option<()> {
    three_registers(word, o);
    (o.more, o.aux) = (bits(word, 22, 2).low_u8(), bits(word, 10, 6).low_u8());
    (bit(word, SF) || o.aux < 32).then_some(())
}

pub(super) fn add_extended<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    o.rd = if bit(word, 29) { target(word, 0) } else { or_stack_pointer(word, 0) };
    (o.rn, o.rm) = (or_stack_pointer(word, 5), source(word, 16));
    (o.more, o.aux) = (bits(word, 13, 3).low_u8(), bits(word, 10, 3).low_u8());
    if bits(word, 22, 2) != 0 || o.aux > 4 {
        return None;
    }
    Some(addition!(word, Extended))
}

pub(super) fn add_carry<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    three_registers(word, o);
    if bits(word, 10, 6) != 0 {
        return None;
    }
    Some(width!(word, X => match bits(word, 29, 2) {
        0 => plain!(alu::add_carry::<X, false, false>),
        1 => plain!(alu::add_carry::<X, false, true>),
        2 => plain!(alu::add_carry::<X, true, false>),
        _ => plain!(alu::add_carry::<X, true, true>),
    }))
}

/// DecodeBitMasks for a logical immediate (Arm ARM shared/functions/integer): N, immr and imms of an element that is
/// repeated; `None` if it is reserved.
pub(super) fn bit_mask(word: u32) -> Option<u64> {
    let (n, immr, imms) = (bits(word, 22, 1), bits(word, 16, 6), bits(word, 10, 6));
    let length = (n << 6 | !imms & 0x3F).checked_ilog2()?;
    if length == 0 || n == 1 && !bit(word, SF) {
        return None;
    }
    let size = 1 << length;
    let (ones, rotation) = (imms & (size - 1), immr & (size - 1));
    if ones == size - 1 {
        return None;
    }
    let mut pattern = (1_u64 << (ones + 1)) - 1;
    let mut width = size;
    while width < 64 {
        pattern |= pattern << width;
        width *= 2;
    }
    // All elements are the same, so that the whole may be rotated.
    let pattern = pattern.rotate_right(rotation);
    Some(if bit(word, SF) { pattern } else { u64::from(pattern.low_u32()) })
}

macro_rules! logic {
    ($word:expr, $not:expr, $S:ty) => {
        width!($word, X => match bits($word, 29, 2) {
            0 => plain!(alu::logic::<X, { alu::AND }, $not, $S>),
            1 => plain!(alu::logic::<X, { alu::ORR }, $not, $S>),
            2 => plain!(alu::logic::<X, { alu::EOR }, $not, $S>),
            _ => plain!(alu::logic::<X, { alu::ANDS }, $not, $S>),
        })
    };
}

pub(super) fn logic_immediate<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    let operation = bits(word, 29, 2).low_u8();
    o.imm = bit_mask(word)?;
    o.rn = source(word, 5);
    o.rd = if operation == alu::ANDS { target(word, 0) } else { or_stack_pointer(word, 0) };
    if operation == alu::ORR && o.rn == ZERO {
        return Some(plain!(alu::constant));
    }
    Some(logic!(word, false, Imm))
}

pub(super) fn logic_shifted<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    shifted(word, o)?;
    if bits(word, 29, 2).low_u8() == alu::ORR && o.rn == ZERO && o.aux == 0 && !bit(word, 21) {
        return Some(width!(word, X => plain!(alu::copy::<X>)));
    }
    Some(match (bit(word, 21), o.aux == 0) {
        (false, true) => logic!(word, false, Reg),
        (false, false) => logic!(word, false, Shifted),
        (true, true) => logic!(word, true, Reg),
        (true, false) => logic!(word, true, Shifted),
    })
}

pub(super) fn move_wide<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    let shift = 16 * bits(word, 21, 2);
    if !bit(word, SF) && shift >= 32 {
        return None;
    }
    o.rd = target(word, 0);
    o.imm = u64::from(bits(word, 5, 16)) << shift;
    match bits(word, 29, 2) {
        0 => o.imm = if bit(word, SF) { !o.imm } else { u64::from((!o.imm).low_u32()) },
        2 => {}
        3 => {
            o.aux = shift.low_u8();
            return Some(width!(word, X => plain!(alu::keep::<X>)));
        }
        _ => return None,
    }
    Some(plain!(alu::constant))
}

/// ADR and ADRP.
pub(super) fn address<B: Bus>(word: u32, offset: u8, o: &mut Operands) -> Option<Code<B>> {
    o.rd = target(word, 0);
    let distance = signed(word, 5, 19, 2) | u64::from(bits(word, 29, 2));
    if bit(word, 31) {
        (o.imm, o.aux) = (distance << 12, offset);
        return Some(plain!(alu::page_address));
    }
    o.imm = distance.wrapping_add(u64::from(offset));
    Some(plain!(alu::address))
}

/// SBFM, BFM and UBFM, whose aliases are the shifts by constants, the extensions, and bit field moves.
pub(super) fn bit_field<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    let (immr, imms) = (bits(word, 16, 6), bits(word, 10, 6));
    if bit(word, SF) != bit(word, 22) || !bit(word, SF) && (immr | imms) >= 32 {
        return None;
    }
    (o.rd, o.rn) = (target(word, 0), source(word, 5));
    let size = if bit(word, SF) { 64 } else { 32 };
    // With imms below immr the field goes from the bottom of the source to a place in the destination.
    let insert = imms < immr;
    let (place, count) = if insert { (size - immr, imms + 1) } else { (immr, imms - immr + 1) };
    (o.aux, o.more) = (place.low_u8(), count.low_u8());
    macro_rules! code {
        ($($name:ident)::* $(, $signed:literal)?) => {
            width!(word, X => if insert {
                plain!($($name)::*::<X, $($signed,)? true>)
            } else {
                plain!($($name)::*::<X, $($signed,)? false>)
            })
        };
    }
    Some(match bits(word, 29, 2) {
        0 => code!(field::field, true),
        1 => {
            // The old value.
            o.ra = source(word, 0);
            code!(field::merge)
        }
        2 => code!(field::field, false),
        _ => return None,
    })
}

pub(super) fn extract<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    three_registers(word, o);
    o.aux = bits(word, 10, 6).low_u8();
    if bit(word, SF) != bit(word, 22) || bit(word, 21) || !bit(word, SF) && o.aux >= 32 {
        return None;
    }
    Some(width!(word, X => plain!(field::extract::<X>)))
}

pub(super) fn select<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    three_registers(word, o);
    o.aux = bits(word, 12, 4).low_u8();
    if bit(word, 29) || bit(word, 11) {
        return None;
    }
    Some(width!(word, X => match (bit(word, 30), bit(word, 10)) {
        (false, false) => plain!(alu::select::<X, false, false>),
        (false, true) => plain!(alu::select::<X, false, true>),
        (true, false) => plain!(alu::select::<X, true, false>),
        (true, true) => plain!(alu::select::<X, true, true>),
    }))
}

pub(super) fn compare_if<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    if !bit(word, 29) || bit(word, 10) || bit(word, 4) {
        return None;
    }
    o.rn = source(word, 5);
    (o.aux, o.more) = (bits(word, 12, 4).low_u8(), bits(word, 0, 4).low_u8());
    macro_rules! code {
        ($S:ty) => {
            width!(word, X => if bit(word, 30) {
                plain!(alu::compare_if::<X, true, $S>)
            } else {
                plain!(alu::compare_if::<X, false, $S>)
            })
        };
    }
    if bit(word, 11) {
        o.imm = u64::from(number(word, 16));
        return Some(code!(Imm));
    }
    o.rm = source(word, 16);
    Some(code!(Reg))
}

pub(super) fn one_source<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    (o.rd, o.rn) = (target(word, 0), source(word, 5));
    // S and opcode2.
    if bit(word, 29) || bits(word, 16, 5) != 0 {
        return None;
    }
    Some(width!(word, X => match bits(word, 10, 6) {
        0 => plain!(field::reverse_bits::<X>),
        1 => plain!(field::reverse_bytes::<X, 16>),
        2 => plain!(field::reverse_bytes::<X, 32>),
        3 if X => plain!(field::reverse_bytes::<X, 64>),
        4 => plain!(field::count_zeroes::<X>),
        5 => plain!(field::count_sign::<X>),
        _ => return None,
    }))
}

pub(super) fn two_sources<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    three_registers(word, o);
    if bit(word, 29) {
        return None;
    }
    let wide = bit(word, SF);
    Some(match bits(word, 10, 6) {
        0b00_0010 => width!(word, X => plain!(field::divide::<X, false>)),
        0b00_0011 => width!(word, X => plain!(field::divide::<X, true>)),
        0b00_1000 => width!(word, X => plain!(alu::shift_variable::<X, 0>)),
        0b00_1001 => width!(word, X => plain!(alu::shift_variable::<X, 1>)),
        0b00_1010 => width!(word, X => plain!(alu::shift_variable::<X, 2>)),
        0b00_1011 => width!(word, X => plain!(alu::shift_variable::<X, 3>)),
        0b01_0000 if !wide => plain!(field::checksum::<1, false>),
        0b01_0001 if !wide => plain!(field::checksum::<2, false>),
        0b01_0010 if !wide => plain!(field::checksum::<4, false>),
        0b01_0011 if wide => plain!(field::checksum::<8, false>),
        0b01_0100 if !wide => plain!(field::checksum::<1, true>),
        0b01_0101 if !wide => plain!(field::checksum::<2, true>),
        0b01_0110 if !wide => plain!(field::checksum::<4, true>),
        0b01_0111 if wide => plain!(field::checksum::<8, true>),
        _ => return None,
    })
}

pub(super) fn three_sources<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    three_registers(word, o);
    o.ra = source(word, 10);
    let wide = bit(word, SF);
    if bits(word, 29, 2) != 0 {
        return None;
    }
    let subtracts = bit(word, 15);
    Some(match (bits(word, 21, 3), subtracts) {
        (0, false) => width!(word, X => plain!(field::multiply::<X, false>)),
        (0, true) => width!(word, X => plain!(field::multiply::<X, true>)),
        (1, false) if wide => plain!(field::multiply_long::<true, false>),
        (1, true) if wide => plain!(field::multiply_long::<true, true>),
        // Ra is not used, and no value of it is reserved.
        (2, false) if wide => plain!(field::multiply_high::<true>),
        (5, false) if wide => plain!(field::multiply_long::<false, false>),
        (5, true) if wide => plain!(field::multiply_long::<false, true>),
        (6, false) if wide => plain!(field::multiply_high::<false>),
        _ => return None,
    })
}
