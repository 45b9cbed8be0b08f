//! Shifts by an immediate, and conversions to and from fixed point (Arm ARM C4.1.96, "Advanced SIMD shift by
//! immediate" and its scalar forms).

use super::{Fields, choose};
use crate::decode::fields::bits;
use crate::exec::{Apply, Operands};
use crate::simd::float::{Direction, FromInteger, ToInteger};
use crate::simd::form::{self, Immediate};
use crate::simd::shift::*;

pub(super) fn select(f: Fields, o: &mut Operands) -> Option<Apply> {
    // immh:immb: its highest set bit says how wide elements are, the rest how far they are shifted.
    let shift = bits(f.word, 16, 7);
    let size = (shift >> 3).checked_ilog2()?;
    let (left, right) = (shift - (8 << size), (16 << size) - shift);
    o.aux = f.count(size);
    let opcode = bits(f.word, 11, 5);
    o.imm = u64::from(if matches!(opcode, 0b01010 | 0b01100 | 0b01110 | 0b10100) { left } else { right });
    match opcode {
        0b10000..=0b10100 => return narrow_or_long(f, opcode, size),
        0b11100 | 0b11111 => return fixed_point(f, opcode, size, o),
        _ if f.is_one_doubleword(size) => return None,
        _ => {}
    }
    macro_rules! both {
        ($op:ty) => {
            match (f.scalar, f.u) {
                (false, true) => {
                    choose!(size, 0, T in [u8, u16, u32, u64] => form::same::<$op, T, T, T, Immediate>)
                }
                (false, false) => {
                    choose!(size, 0, T in [i8, i16, i32, i64] => form::same::<$op, T, T, T, Immediate>)
                }
                (true, true) => choose!(size, 3, T in [u64] => form::scalar::<$op, T, T, T, Immediate>),
                (true, false) => choose!(size, 3, T in [i64] => form::scalar::<$op, T, T, T, Immediate>),
            }
        };
    }
    macro_rules! bits {
        ($op:ty) => {
            if f.scalar {
                choose!(size, 3, T in [u64] => form::scalar::<$op, T, T, T, Immediate>)
            } else {
                choose!(size, 0, T in [u8, u16, u32, u64] => form::same::<$op, T, T, T, Immediate>)
            }
        };
    }
    macro_rules! saturating {
        ($($size:literal: $d:ty, $a:ty;)*) => {
            match (f.scalar, size) {
                $(
                    (false, $size) => form::same::<SaturatingShl, $d, $a, $a, Immediate>,
                    (true, $size) => form::scalar::<SaturatingShl, $d, $a, $a, Immediate>,
                )*
                _ => return None,
            }
        };
    }
    let apply: Apply = match (opcode, f.u) {
        (0b00000, _) => both!(Shr),
        (0b00010, _) => both!(Sra),
        (0b00100, _) => both!(Rshr),
        (0b00110, _) => both!(Rsra),
        (0b01000, true) => bits!(Sri),
        (0b01010, false) => bits!(Shl),
        (0b01010, true) => bits!(Sli),
        (0b01100, true) => saturating!(0: u8, i8; 1: u16, i16; 2: u32, i32; 3: u64, i64;),
        (0b01110, false) => saturating!(0: i8, i8; 1: i16, i16; 2: i32, i32; 3: i64, i64;),
        (0b01110, true) => saturating!(0: u8, u8; 1: u16, u16; 2: u32, u32; 3: u64, u64;),
        _ => return None,
    };
    Some(apply)
}

/// To elements of half the width, or to ones twice as wide.
fn narrow_or_long(f: Fields, opcode: u32, size: u32) -> Option<Apply> {
    macro_rules! plain {
        ($round:literal) => {
            match size {
                0 => form::narrow::<ShiftNarrow<$round>, u8, u16, Immediate>,
                1 => form::narrow::<ShiftNarrow<$round>, u16, u32, Immediate>,
                2 => form::narrow::<ShiftNarrow<$round>, u32, u64, Immediate>,
                _ => return None,
            }
        };
    }
    macro_rules! saturating {
        ($round:literal; $($size:literal: $n:ty, $w:ty;)*) => {
            match (f.scalar, size) {
                $(
                    (false, $size) => form::narrow::<SaturatingNarrow<$round>, $n, $w, Immediate>,
                    (true, $size) => form::scalar::<SaturatingNarrow<$round>, $n, $w, $w, Immediate>,
                )*
                _ => return None,
            }
        };
    }
    let apply: Apply = match (opcode, f.u) {
        (0b10000, true) => saturating!(false; 0: u8, i16; 1: u16, i32; 2: u32, i64;),
        (0b10001, true) => saturating!(true; 0: u8, i16; 1: u16, i32; 2: u32, i64;),
        (0b10010, true) => saturating!(false; 0: u8, u16; 1: u16, u32; 2: u32, u64;),
        (0b10011, true) => saturating!(true; 0: u8, u16; 1: u16, u32; 2: u32, u64;),
        (0b10010, false) => saturating!(false; 0: i8, i16; 1: i16, i32; 2: i32, i64;),
        (0b10011, false) => saturating!(true; 0: i8, i16; 1: i16, i32; 2: i32, i64;),
        _ if f.scalar => return None,
        (0b10000, false) => plain!(false),
        (0b10001, false) => plain!(true),
        (0b10100, true) => choose!(size, 0, T in [u8, u16, u32] => form::long::<Shl, T, Immediate>),
        (0b10100, false) => choose!(size, 0, T in [i8, i16, i32] => form::long::<Shl, T, Immediate>),
        _ => return None,
    };
    Some(apply)
}

/// SCVTF, UCVTF, FCVTZS, FCVTZU; the shift is the number of bits behind the point.
fn fixed_point(f: Fields, opcode: u32, size: u32, o: &mut Operands) -> Option<Apply> {
    if f.is_one_doubleword(size) {
        return None;
    }
    o.imm = o.imm << 8 | Direction::Zero as u64;
    macro_rules! either {
        ($op:ty; $d32:ty, $a32:ty; $d64:ty, $a64:ty) => {
            match (f.scalar, size) {
                (false, 2) => form::same::<$op, $d32, $a32, u32, Immediate>,
                (false, 3) => form::same::<$op, $d64, $a64, u64, Immediate>,
                (true, 2) => form::scalar::<$op, $d32, $a32, u32, Immediate>,
                (true, 3) => form::scalar::<$op, $d64, $a64, u64, Immediate>,
                _ => return None,
            }
        };
    }
    let apply: Apply = match (opcode, f.u) {
        (0b11100, false) => either!(FromInteger<true>; f32, u32; f64, u64),
        (0b11100, true) => either!(FromInteger<false>; f32, u32; f64, u64),
        (_, false) => either!(ToInteger<true>; u32, f32; u64, f64),
        (_, true) => either!(ToInteger<false>; u32, f32; u64, f64),
    };
    Some(apply)
}
