//! Two registers, and across elements (Arm ARM C4.1.96, "Advanced SIMD two-register miscellaneous", "across lanes",
//! "scalar two-register miscellaneous", "scalar pairwise").

use super::{Fields, choose};
use crate::decode::fields::bits;
use crate::exec::{Apply, Operands};
use crate::simd::float::*;
use crate::simd::form::{self, Immediate};
use crate::simd::integer::*;
use crate::simd::saturating::*;
use crate::simd::shift::{SaturatingNarrow, ShiftNarrow, Shl};

pub(super) fn select(f: Fields, o: &mut Operands) -> Option<Apply> {
    let opcode = bits(f.word, 12, 5);
    match opcode {
        0b10110 | 0b10111 => float_width(f, opcode, o),
        0b01100..=0b01111 | 0b11000..=0b11111 => float(f, opcode, o),
        _ if f.scalar => scalar(f, opcode),
        _ => vector(f, opcode, o),
    }
}

fn vector(f: Fields, opcode: u32, o: &mut Operands) -> Option<Apply> {
    macro_rules! any {
        ([$($t:ty),*], $op:ty) => {
            choose!(f.size, 0, T in [$($t),*] => form::same::<$op, T, T, T, Immediate>)
        };
    }
    macro_rules! pairs {
        ($op:ty) => {
            if f.u {
                choose!(f.size, 0, T in [u8, u16, u32] => form::pairwise_long::<$op, T>)
            } else {
                choose!(f.size, 0, T in [i8, i16, i32] => form::pairwise_long::<$op, T>)
            }
        };
    }
    // These have no elements of 64 bits, or a result that has them.
    let apply: Apply = match (opcode, f.u) {
        (0b00000, false) => match f.size {
            0 => form::same::<RevBytes, u64, u64, u64, Immediate>,
            1 => form::same::<RevHalves, u64, u64, u64, Immediate>,
            2 => form::same::<RevWords, u64, u64, u64, Immediate>,
            _ => return None,
        },
        (0b00000, true) => match f.size {
            0 => form::same::<RevBytes, u32, u32, u32, Immediate>,
            1 => form::same::<RevHalves, u32, u32, u32, Immediate>,
            _ => return None,
        },
        (0b00001, false) if f.size == 0 => form::same::<RevBytes, u16, u16, u16, Immediate>,
        (0b00010, _) => pairs!(Add),
        (0b00110, _) => pairs!(Adalp),
        (0b00100, false) => any!([u8, u16, u32], Cls),
        (0b00100, true) => any!([u8, u16, u32], Clz),
        (0b00101, false) => any!([u8], Cnt),
        (0b00101, true) => match f.size {
            0 => form::same::<Not, u64, u64, u64, Immediate>,
            1 => form::same::<Rbit, u8, u8, u8, Immediate>,
            _ => return None,
        },
        (0b10010, false) => match f.size {
            0 => form::narrow::<ShiftNarrow<false>, u8, u16, Immediate>,
            1 => form::narrow::<ShiftNarrow<false>, u16, u32, Immediate>,
            2 => form::narrow::<ShiftNarrow<false>, u32, u64, Immediate>,
            _ => return None,
        },
        (0b10010, true) => narrowing(f, true, false)?,
        (0b10100, unsigned) => narrowing(f, false, unsigned)?,
        (0b10011, true) => {
            o.imm = 8 << f.size;
            choose!(f.size, 0, T in [u8, u16, u32] => form::long::<ShiftedByWidth, T, Immediate>)
        }
        _ if f.is_one_doubleword(f.size) => return None,
        (0b00011, false) => match f.size {
            0 => form::same::<QaddOther, i8, u8, u8, Immediate>,
            1 => form::same::<QaddOther, i16, u16, u16, Immediate>,
            2 => form::same::<QaddOther, i32, u32, u32, Immediate>,
            _ => form::same::<QaddOther, i64, u64, u64, Immediate>,
        },
        (0b00011, true) => match f.size {
            0 => form::same::<QaddOther, u8, i8, i8, Immediate>,
            1 => form::same::<QaddOther, u16, i16, i16, Immediate>,
            2 => form::same::<QaddOther, u32, i32, i32, Immediate>,
            _ => form::same::<QaddOther, u64, i64, i64, Immediate>,
        },
        (0b00111, false) => any!([i8, i16, i32, i64], Qabs),
        (0b00111, true) => any!([i8, i16, i32, i64], Qneg),
        (0b01000, false) => any!([i8, i16, i32, i64], Cmgt),
        (0b01000, true) => any!([i8, i16, i32, i64], Cmge),
        (0b01001, false) => any!([u8, u16, u32, u64], Cmeq),
        (0b01001, true) => any!([i8, i16, i32, i64], Cmle),
        (0b01010, false) => any!([i8, i16, i32, i64], Cmlt),
        (0b01011, false) => any!([i8, i16, i32, i64], Abs),
        (0b01011, true) => any!([u8, u16, u32, u64], Neg),
        _ => return None,
    };
    Some(apply)
}

/// SHLL: as a shift of an element that has been widened.
type ShiftedByWidth = Shl;

/// SQXTUN (signed to unsigned), SQXTN and UQXTN.
fn narrowing(f: Fields, mixed: bool, unsigned: bool) -> Option<Apply> {
    macro_rules! narrow {
        ($($size:literal: $u:ty, $i:ty, $wide_u:ty, $wide_i:ty;)*) => {
            match (f.size, f.scalar) {
                $(
                    ($size, false) if mixed => form::narrow::<SaturatingNarrow<false>, $u, $wide_i, Immediate>,
                    ($size, false) if unsigned => form::narrow::<SaturatingNarrow<false>, $u, $wide_u, Immediate>,
                    ($size, false) => form::narrow::<SaturatingNarrow<false>, $i, $wide_i, Immediate>,
                    ($size, true) if mixed => {
                        form::scalar::<SaturatingNarrow<false>, $u, $wide_i, $wide_i, Immediate>
                    }
                    ($size, true) if unsigned => {
                        form::scalar::<SaturatingNarrow<false>, $u, $wide_u, $wide_u, Immediate>
                    }
                    ($size, true) => form::scalar::<SaturatingNarrow<false>, $i, $wide_i, $wide_i, Immediate>,
                )*
                _ => return None,
            }
        };
    }
    Some(narrow!(0: u8, i8, u16, i16; 1: u16, i16, u32, i32; 2: u32, i32, u64, i64;))
}

fn scalar(f: Fields, opcode: u32) -> Option<Apply> {
    macro_rules! any {
        ([$($t:ty),*], $op:ty) => {
            choose!(f.size, 0, T in [$($t),*] => form::scalar::<$op, T, T, T, Immediate>)
        };
    }
    macro_rules! double {
        ($t:ty, $op:ty) => {
            choose!(f.size, 3, T in [$t] => form::scalar::<$op, T, T, T, Immediate>)
        };
    }
    let apply: Apply = match (opcode, f.u) {
        (0b00011, false) => match f.size {
            0 => form::scalar::<QaddOther, i8, u8, u8, Immediate>,
            1 => form::scalar::<QaddOther, i16, u16, u16, Immediate>,
            2 => form::scalar::<QaddOther, i32, u32, u32, Immediate>,
            _ => form::scalar::<QaddOther, i64, u64, u64, Immediate>,
        },
        (0b00011, true) => match f.size {
            0 => form::scalar::<QaddOther, u8, i8, i8, Immediate>,
            1 => form::scalar::<QaddOther, u16, i16, i16, Immediate>,
            2 => form::scalar::<QaddOther, u32, i32, i32, Immediate>,
            _ => form::scalar::<QaddOther, u64, i64, i64, Immediate>,
        },
        (0b00111, false) => any!([i8, i16, i32, i64], Qabs),
        (0b00111, true) => any!([i8, i16, i32, i64], Qneg),
        (0b01000, false) => double!(i64, Cmgt),
        (0b01000, true) => double!(i64, Cmge),
        (0b01001, false) => double!(u64, Cmeq),
        (0b01001, true) => double!(i64, Cmle),
        (0b01010, false) => double!(i64, Cmlt),
        (0b01011, false) => double!(i64, Abs),
        (0b01011, true) => double!(u64, Neg),
        (0b10010, true) => narrowing(f, true, false)?,
        (0b10100, unsigned) => narrowing(f, false, unsigned)?,
        _ => return None,
    };
    Some(apply)
}

/// FCVTN, FCVTXN, FCVTL.
fn float_width(f: Fields, opcode: u32, _o: &mut Operands) -> Option<Apply> {
    Some(match (opcode, f.u, f.size, f.scalar) {
        (0b10110, false, 0, false) => form::narrow::<Fcvt, u16, f32, Immediate>,
        (0b10110, false, 1, false) => form::narrow::<Fcvt, f32, f64, Immediate>,
        (0b10110, true, 1, false) => form::narrow::<Fcvtxn, f32, f64, Immediate>,
        (0b10110, true, 1, true) => form::scalar::<Fcvtxn, f32, f64, f64, Immediate>,
        (0b10111, false, 0, false) => form::lengthen::<Fcvt, f32, u16>,
        (0b10111, false, 1, false) => form::lengthen::<Fcvt, f64, f32>,
        _ => return None,
    })
}

/// Single or double precision by bit 22; bit 23 tells operations apart.
fn float(f: Fields, opcode: u32, o: &mut Operands) -> Option<Apply> {
    let double = f.size & 1 != 0;
    let size = 2 + u32::from(double);
    if f.is_one_doubleword(size) {
        return None;
    }
    o.aux = f.count(size);
    macro_rules! either {
        ($op:ty; $d32:ty, $a32:ty, $b32:ty; $d64:ty, $a64:ty, $b64:ty) => {
            match (f.scalar, double) {
                (false, false) => form::same::<$op, $d32, $a32, $b32, Immediate>,
                (false, true) => form::same::<$op, $d64, $a64, $b64, Immediate>,
                (true, false) => form::scalar::<$op, $d32, $a32, $b32, Immediate>,
                (true, true) => form::scalar::<$op, $d64, $a64, $b64, Immediate>,
            }
        };
    }
    macro_rules! vector {
        ($op:ty; $b32:ty, $b64:ty) => {
            match (f.scalar, double) {
                (false, false) => form::same::<$op, f32, f32, $b32, Immediate>,
                (false, true) => form::same::<$op, f64, f64, $b64, Immediate>,
                _ => return None,
            }
        };
    }
    let mut rounding = |direction: Direction| o.imm = direction as u64;
    macro_rules! frint {
        ($direction:ident) => {{
            rounding(Direction::$direction);
            vector!(Frint; u32, u64)
        }};
    }
    macro_rules! to_integer {
        ($direction:ident) => {{
            rounding(Direction::$direction);
            if f.u {
                either!(ToInteger<false>; u32, f32, u32; u64, f64, u64)
            } else {
                either!(ToInteger<true>; u32, f32, u32; u64, f64, u64)
            }
        }};
    }
    let apply: Apply = match (f.size >> 1, opcode, f.u) {
        (0, 0b11000, false) => frint!(Nearest),
        (0, 0b11000, true) => frint!(NearestAway),
        (0, 0b11001, false) => frint!(Down),
        (0, 0b11001, true) => frint!(CurrentExact),
        (1, 0b11000, false) => frint!(Up),
        (1, 0b11001, false) => frint!(Zero),
        (1, 0b11001, true) => frint!(Current),
        (0, 0b11010, _) => to_integer!(Nearest),
        (0, 0b11011, _) => to_integer!(Down),
        (0, 0b11100, _) => to_integer!(NearestAway),
        (1, 0b11010, _) => to_integer!(Up),
        (1, 0b11011, _) => to_integer!(Zero),
        (0, 0b11101, false) => either!(FromInteger<true>; f32, u32, u32; f64, u64, u64),
        (0, 0b11101, true) => either!(FromInteger<false>; f32, u32, u32; f64, u64, u64),
        (1, 0b01100, false) => either!(Fcmgt; u32, f32, f32; u64, f64, f64),
        (1, 0b01100, true) => either!(Fcmge; u32, f32, f32; u64, f64, f64),
        (1, 0b01101, false) => either!(Fcmeq; u32, f32, f32; u64, f64, f64),
        (1, 0b01101, true) => either!(Fcmle; u32, f32, f32; u64, f64, f64),
        (1, 0b01110, false) => either!(Fcmlt; u32, f32, f32; u64, f64, f64),
        (1, 0b01111, false) => vector!(Fabs; f32, f64),
        (1, 0b01111, true) => vector!(Fneg; f32, f64),
        (1, 0b11100, unsigned) if !f.scalar && !double => match unsigned {
            false => form::same::<Urecpe, u32, u32, u32, Immediate>,
            true => form::same::<Ursqrte, u32, u32, u32, Immediate>,
        },
        (1, 0b11101, false) => either!(Frecpe; f32, f32, f32; f64, f64, f64),
        (1, 0b11101, true) => either!(Frsqrte; f32, f32, f32; f64, f64, f64),
        (1, 0b11111, true) => vector!(Fsqrt; f32, f64),
        (1, 0b11111, false) if f.scalar => match double {
            false => form::scalar::<Frecpx, f32, f32, f32, Immediate>,
            true => form::scalar::<Frecpx, f64, f64, f64, Immediate>,
        },
        _ => return None,
    };
    Some(apply)
}

pub(super) fn across(f: Fields, o: &mut Operands) -> Option<Apply> {
    // There are at least four elements.
    let enough = f.size < 2 || f.size == 2 && f.q;
    macro_rules! both {
        ($form:ident, $op:ty) => {
            if f.u {
                choose!(f.size, 0, T in [u8, u16, u32] => form::$form::<$op, T>)
            } else {
                choose!(f.size, 0, T in [i8, i16, i32] => form::$form::<$op, T>)
            }
        };
    }
    let apply: Apply = match (bits(f.word, 12, 5), f.u) {
        (0b00011, _) if enough => both!(across_long, Add),
        (0b01010, _) if enough => both!(across, Max),
        (0b11010, _) if enough => both!(across, Min),
        (0b11011, false) if enough => choose!(f.size, 0, T in [u8, u16, u32] => form::across::<Add, T>),
        (opcode @ (0b01100 | 0b01111), true) if f.q && f.size & 1 == 0 => {
            o.aux = 4;
            match (opcode, f.size) {
                (0b01100, 0) => form::across::<Fmaxnm, f32>,
                (0b01100, _) => form::across::<Fminnm, f32>,
                (_, 0) => form::across::<Fmax, f32>,
                _ => form::across::<Fmin, f32>,
            }
        }
        _ => return None,
    };
    Some(apply)
}

pub(super) fn pairwise(f: Fields, o: &mut Operands) -> Option<Apply> {
    o.aux = 2;
    macro_rules! float {
        ($op:ty) => {
            if f.size & 1 == 0 { form::across::<$op, f32> } else { form::across::<$op, f64> }
        };
    }
    let apply: Apply = match (bits(f.word, 12, 5), f.u, f.size >> 1) {
        (0b11011, false, _) if f.size == 3 => form::across::<Add, u64>,
        (0b01100, true, 0) => float!(Fmaxnm),
        (0b01100, true, _) => float!(Fminnm),
        (0b01101, true, 0) => float!(Fadd),
        (0b01111, true, 0) => float!(Fmax),
        (0b01111, true, _) => float!(Fmin),
        _ => return None,
    };
    Some(apply)
}
