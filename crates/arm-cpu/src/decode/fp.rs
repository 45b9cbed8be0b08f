//! Scalar floating point (Arm ARM C4.1.96, "Floating-point data-processing", "compare", "conversion" and so on): which
//! function an instruction is. Half precision is only converted.

use super::fields::{bit, bits, number, source, target};
use super::simd::float_immediate;
use crate::exec::{Apply, Operands};
use crate::fp::format::{DOUBLE, SINGLE};
use crate::simd::condition::{fccmp, fcmp, fcsel};
use crate::simd::float::*;
use crate::simd::form::{self, Immediate, Register};
use crate::simd::general;
use soft_base::Low;

/// The function of an instruction with bits 28:24 being 1111x and bit 30 clear; `None` if there is none.
pub(super) fn select(word: u32, o: &mut Operands) -> Option<Apply> {
    (o.rd, o.rn, o.rm) = (number(word, 0), number(word, 5), number(word, 16));
    // S.
    if bit(word, 29) {
        return None;
    }
    if bit(word, 24) {
        return if bit(word, 31) { None } else { three_sources(word, o) };
    }
    if !bit(word, 21) {
        return fixed_point(word, o);
    }
    if bits(word, 10, 6) == 0 {
        return integer(word, o);
    }
    // M.
    if bit(word, 31) {
        return None;
    }
    match bits(word, 10, 2) {
        0b01 => {
            o.aux = bits(word, 12, 4).low_u8();
            o.imm = u64::from(bits(word, 0, 4)) << 28;
            Some(match (precision(word)?, bit(word, 4)) {
                (Precision::Single, false) => fccmp::<f32, false>,
                (Precision::Single, true) => fccmp::<f32, true>,
                (Precision::Double, false) => fccmp::<f64, false>,
                (Precision::Double, true) => fccmp::<f64, true>,
            })
        }
        0b10 => two_sources(word),
        0b11 => {
            o.aux = bits(word, 12, 4).low_u8();
            Some(match precision(word)? {
                Precision::Single => fcsel::<f32>,
                Precision::Double => fcsel::<f64>,
            })
        }
        _ => match bits(word, 10, 5) {
            0b10000 => one_source(word, o),
            0b01000 => compare(word),
            _ if bits(word, 10, 3) == 0b100 && bits(word, 5, 5) == 0 => {
                let imm8 = bits(word, 13, 8);
                o.imm = match precision(word)? {
                    Precision::Single => float_immediate(SINGLE, imm8),
                    Precision::Double => float_immediate(DOUBLE, imm8),
                };
                Some(general::fmov_immediate)
            }
            _ => None,
        },
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Precision {
    Single,
    Double,
}

/// By ptype.
fn precision(word: u32) -> Option<Precision> {
    match bits(word, 22, 2) {
        0 => Some(Precision::Single),
        1 => Some(Precision::Double),
        _ => None,
    }
}

fn three_sources(word: u32, o: &mut Operands) -> Option<Apply> {
    o.ra = number(word, 10);
    macro_rules! all {
        ($t:ty) => {
            // o1 changes the sign of all, o0 that of the product.
            match (bit(word, 21), bit(word, 15)) {
                (false, false) => multiply_add::<$t, false, false>,
                (false, true) => multiply_add::<$t, true, false>,
                (true, false) => multiply_add::<$t, false, true>,
                (true, true) => multiply_add::<$t, true, true>,
            }
        };
    }
    Some(match precision(word)? {
        Precision::Single => all!(f32),
        Precision::Double => all!(f64),
    })
}

fn two_sources(word: u32) -> Option<Apply> {
    let precision = precision(word)?;
    macro_rules! scalar {
        ($op:ty) => {
            match precision {
                Precision::Single => form::scalar::<$op, f32, f32, f32, Register>,
                Precision::Double => form::scalar::<$op, f64, f64, f64, Register>,
            }
        };
    }
    Some(match bits(word, 12, 4) {
        0b0000 => scalar!(Fmul),
        0b0001 => scalar!(Fdiv),
        0b0010 => scalar!(Fadd),
        0b0011 => scalar!(Fsub),
        0b0100 => scalar!(Fmax),
        0b0101 => scalar!(Fmin),
        0b0110 => scalar!(Fmaxnm),
        0b0111 => scalar!(Fminnm),
        0b1000 => scalar!(Fnmul),
        _ => return None,
    })
}

fn one_source(word: u32, o: &mut Operands) -> Option<Apply> {
    let opcode = bits(word, 15, 6);
    // FCVT: from ptype to opcode 1:0.
    if opcode & 0b11_1100 == 0b00_0100 {
        return Some(match (bits(word, 22, 2), opcode & 3) {
            (0, 1) => form::scalar::<Fcvt, f64, f32, f32, Immediate>,
            (0, 3) => form::scalar::<Fcvt, u16, f32, f32, Immediate>,
            (1, 0) => form::scalar::<Fcvt, f32, f64, f64, Immediate>,
            (1, 3) => form::scalar::<Fcvt, u16, f64, f64, Immediate>,
            (3, 0) => form::scalar::<Fcvt, f32, u16, u16, Immediate>,
            (3, 1) => form::scalar::<Fcvt, f64, u16, u16, Immediate>,
            _ => return None,
        });
    }
    let precision = precision(word)?;
    macro_rules! scalar {
        ($op:ty; $b32:ty, $b64:ty) => {
            match precision {
                Precision::Single => form::scalar::<$op, f32, f32, $b32, Immediate>,
                Precision::Double => form::scalar::<$op, f64, f64, $b64, Immediate>,
            }
        };
    }
    let direction = match opcode {
        0b00_0000 => return Some(scalar!(Fmov; f32, f64)),
        0b00_0001 => return Some(scalar!(Fabs; f32, f64)),
        0b00_0010 => return Some(scalar!(Fneg; f32, f64)),
        0b00_0011 => return Some(scalar!(Fsqrt; f32, f64)),
        0b00_1000 => Direction::Nearest,
        0b00_1001 => Direction::Up,
        0b00_1010 => Direction::Down,
        0b00_1011 => Direction::Zero,
        0b00_1100 => Direction::NearestAway,
        0b00_1110 => Direction::CurrentExact,
        0b00_1111 => Direction::Current,
        _ => return None,
    };
    o.imm = direction as u64;
    Some(scalar!(Frint; u32, u64))
}

fn compare(word: u32) -> Option<Apply> {
    // op, and the lower bits of opcode2. Rm is ignored where the second operand is 0 (it should be 0).
    if bits(word, 14, 2) != 0 || bits(word, 0, 3) != 0 {
        return None;
    }
    macro_rules! all {
        ($t:ty) => {
            match (bit(word, 4), bit(word, 3)) {
                (false, false) => fcmp::<$t, false, false>,
                (false, true) => fcmp::<$t, false, true>,
                (true, false) => fcmp::<$t, true, false>,
                (true, true) => fcmp::<$t, true, true>,
            }
        };
    }
    Some(match precision(word)? {
        Precision::Single => all!(f32),
        Precision::Double => all!(f64),
    })
}

/// To and from integers in general-purpose registers, and FMOV between the two kinds of registers.
fn integer(word: u32, o: &mut Operands) -> Option<Apply> {
    let (wide, ptype) = (bit(word, 31), bits(word, 22, 2));
    let (rmode, opcode) = (bits(word, 19, 2), bits(word, 16, 3));
    o.aux = if wide { 64 } else { 32 };
    let moves_to = |o: &mut Operands| o.rd = target(word, 0);
    let moves_from = |o: &mut Operands| o.rn = source(word, 5);
    match (opcode, rmode, wide, ptype) {
        (0b110, 0, false, 0) => {
            moves_to(o);
            return Some(general::umov::<u32>);
        }
        (0b110, 0, true, 1) => {
            moves_to(o);
            return Some(general::umov::<u64>);
        }
        (0b110, 1, true, 2) => {
            moves_to(o);
            o.imm = 1;
            return Some(general::umov::<u64>);
        }
        (0b111, 0, false, 0) => {
            moves_from(o);
            return Some(general::fmov::<u32>);
        }
        (0b111, 0, true, 1) => {
            moves_from(o);
            return Some(general::fmov::<u64>);
        }
        (0b111, 1, true, 2) => {
            moves_from(o);
            o.imm = 1;
            return Some(general::ins::<u64>);
        }
        _ => {}
    }
    let direction = match (opcode >> 1, rmode) {
        (0b00, 0) => Direction::Nearest,
        (0b00, 1) => Direction::Up,
        (0b00, 2) => Direction::Down,
        (0b00, _) => Direction::Zero,
        (0b10, 0) => Direction::NearestAway,
        (0b01, 0) => {
            moves_from(o);
            return from_general_register(word, opcode & 1 == 0);
        }
        _ => return None,
    };
    o.imm = direction as u64;
    moves_to(o);
    to_general_register(word, opcode & 1 == 0)
}

/// To and from fixed-point numbers in general-purpose registers.
fn fixed_point(word: u32, o: &mut Operands) -> Option<Apply> {
    let wide = bit(word, 31);
    let fraction = 64 - bits(word, 10, 6);
    if !wide && fraction > 32 {
        return None;
    }
    o.aux = if wide { 64 } else { 32 };
    o.imm = u64::from(fraction) << 8 | Direction::Zero as u64;
    match (bits(word, 19, 2), bits(word, 16, 3)) {
        (0b00, opcode @ (0b010 | 0b011)) => {
            o.rn = source(word, 5);
            from_general_register(word, opcode & 1 == 0)
        }
        (0b11, opcode @ (0b000 | 0b001)) => {
            o.rd = target(word, 0);
            to_general_register(word, opcode & 1 == 0)
        }
        _ => None,
    }
}

fn to_general_register(word: u32, signed: bool) -> Option<Apply> {
    Some(match (precision(word)?, signed) {
        (Precision::Single, true) => to_general::<f32, true>,
        (Precision::Single, false) => to_general::<f32, false>,
        (Precision::Double, true) => to_general::<f64, true>,
        (Precision::Double, false) => to_general::<f64, false>,
    })
}

fn from_general_register(word: u32, signed: bool) -> Option<Apply> {
    Some(match (precision(word)?, signed) {
        (Precision::Single, true) => from_general::<f32, true>,
        (Precision::Single, false) => from_general::<f32, false>,
        (Precision::Double, true) => from_general::<f64, true>,
        (Precision::Double, false) => from_general::<f64, false>,
    })
}
