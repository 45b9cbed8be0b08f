//! Operations on exponents, significands and classes of numbers (SDM volume 2, VGETEXPPD, VGETMANTPD, VSCALEFPD,
//! VFIXUPIMMPD, VFPCLASSPD).

use super::environment::{DE, Env, IE, ZE};
use super::exact::{indefinite, invalid, propagate, round, unpack};
use crate::low::Low;
use soft_arithmetic::exact::Exact;
use soft_arithmetic::format::{Class, Format, Number};

/// The exponent as a number: VGETEXPxx.
pub(crate) fn exponent(env: &mut Env, format: Format, a: u64) -> u64 {
    let number = unpack(env, format, a, DE);
    if let Some(nan) = propagate(env, format, &[(a, &number)]) {
        return nan;
    }
    env.accept();
    match number.class {
        Class::Zero => format.infinity(true),
        Class::Infinity => format.infinity(false),
        _ if number.exponent == 0 => format.zero(false),
        _ => {
            let magnitude = u64::from(number.exponent.unsigned_abs());
            round(&mut Env::quiet(), format, Exact::fixed(number.exponent < 0, magnitude, 0))
        }
    }
}

/// The significand in the interval of bits 1:0 of `control`, with the sign of bits 3:2: VGETMANTxx.
pub(crate) fn significand(env: &mut Env, format: Format, a: u64, control: u8) -> u64 {
    let number = unpack(env, format, a, DE);
    if let Some(nan) = propagate(env, format, &[(a, &number)]) {
        return nan;
    }
    let negative = number.negative && control & 4 == 0;
    // 1, whatever the interval.
    let one = format.power_of_2(negative, 0);
    if number.is_zero() {
        return one;
    }
    if number.negative && control & 8 != 0 {
        return invalid(env, format);
    }
    env.accept();
    if number.is_infinite() {
        return one;
    }
    let fraction = (number.significand << 1) >> (64 - format.fraction);
    let halve = match control & 3 {
        0 => false,
        1 => number.exponent & 1 != 0,
        2 => true,
        _ => number.significand >> 62 & 1 != 0,
    };
    format.power_of_2(negative, -i32::from(halve)) | fraction
}

/// a * 2^floor(b): VSCALEFxx. A subnormal scale raises nothing.
pub(crate) fn scale(env: &mut Env, format: Format, a: u64, b: u64) -> u64 {
    let (x, y) = (unpack(env, format, a, DE), unpack_scale(env, format, b));
    // An infinite scale decides against a quiet NaN.
    if y.is_infinite() && x.class == Class::QuietNan {
        env.reject(0);
        return if y.negative { format.zero(false) } else { format.infinity(false) };
    }
    if let Some(nan) = propagate(env, format, &[(a, &x), (b, &y)]) {
        return nan;
    }
    if y.is_infinite() {
        if x.is_infinite() && y.negative || x.is_zero() && !y.negative {
            return invalid(env, format);
        }
        env.accept();
        return if y.negative { format.zero(x.negative) } else { format.infinity(x.negative) };
    }
    env.accept();
    match x.class {
        Class::Zero => format.zero(x.negative),
        Class::Infinity => format.infinity(x.negative),
        _ => round(env, format, Exact::of(&x).scaled(floor(&y))),
    }
}

fn unpack_scale(env: &Env, format: Format, b: u64) -> Number {
    unpack(&mut Env::new(env.mxcsr), format, b, 0)
}

/// Rounded down, within what scales every number out of its format.
fn floor(y: &Number) -> i32 {
    const LIMIT: i32 = 1 << 16;
    if y.is_zero() {
        return 0;
    }
    let magnitude = match y.exponent {
        ..0 => 0,
        exponent @ 0..16 => y.significand >> (63 - exponent),
        _ => return if y.negative { -LIMIT } else { LIMIT },
    };
    let whole = magnitude.low_u32().cast_signed();
    let fraction = y.exponent < 0 || y.significand << (y.exponent + 1) != 0;
    if y.negative { -whole - i32::from(fraction) } else { whole }
}

/// The classes of `control` that a number is in: VFPCLASSxx.
pub(crate) fn is_of_class(env: &Env, format: Format, a: u64, control: u8) -> bool {
    let number = format.unpack(a);
    let subnormal = number.class == Class::Finite && format.exponent_field(a) == 0;
    let zero = number.is_zero() || subnormal && env.zeroes_operands(format);
    let classes = match number.class {
        Class::QuietNan => 1,
        Class::SignallingNan => 1 << 7,
        Class::Infinity if number.negative => 1 << 4,
        Class::Infinity => 1 << 3,
        _ if zero => 1 << if number.negative { 2 } else { 1 },
        _ => u8::from(subnormal) << 5 | u8::from(number.negative) << 6,
    };
    classes & control != 0
}

/// What the table in `b` has for the class of `a`; `old` is the destination: VFIXUPIMMxx.
pub(crate) fn fix_up(env: &mut Env, format: Format, old: u64, a: u64, b: u64, control: u8) -> u64 {
    let number = unpack(env, format, a, 0);
    env.reject(0);
    let one = format.power_of_2(false, 0);
    // The class is a nibble of the table; these have a bit of the immediate for ZE and one for IE, or one for IE.
    let (class, ze, ie) = match number.class {
        Class::QuietNan => (0, None, None),
        Class::SignallingNan => (1, None, Some(4)),
        Class::Zero => (2, Some(0), Some(1)),
        Class::Finite if number.negative => (6, None, Some(6)),
        Class::Finite if a == one => (3, Some(2), Some(3)),
        Class::Finite => (7, None, None),
        Class::Infinity if number.negative => (4, None, Some(5)),
        Class::Infinity => (5, None, Some(7)),
    };
    let wanted = |bit: Option<u32>| bit.is_some_and(|bit| control >> bit & 1 != 0);
    env.raised |= if wanted(ze) { ZE } else { 0 } | if wanted(ie) { IE } else { 0 };
    let operand = if number.is_zero() { format.zero(number.negative) } else { a };
    let constant = |negative: bool, value: u64| format.sign(negative) | value;
    match b >> (4 * class) & 15 {
        0 => old,
        1 => operand,
        2 => operand | format.default_nan(),
        3 => indefinite(format),
        4 => format.infinity(true),
        5 => format.infinity(false),
        6 => format.infinity(number.negative),
        7 => format.zero(true),
        8 => format.zero(false),
        9 => constant(true, one),
        10 => one,
        11 => format.power_of_2(false, -1),
        12 => rounded_constant(format, 90 << 57, 6),
        13 => rounded_constant(format, 0xC90F_DAA2_2168_C235, 0),
        14 => format.largest(false),
        _ => format.largest(true),
    }
}

/// A positive constant `significand` * 2^(`exponent` - 63), rounded to nearest.
fn rounded_constant(format: Format, significand: u64, exponent: i32) -> u64 {
    let magnitude = u128::from(significand) << 64;
    let value = Exact { negative: false, exponent, magnitude };
    round(&mut Env::quiet(), format, value)
}
