//! Between formats, to and from integers and fixed-point numbers, and to integers in the same format.

use super::environment::{AHP, DN, Env, FZ, IOC, IXC};
use super::exact::{Exact, Mode, round};
use super::format::{Class, Float, Format, HALF, Number, process_nan, unpack};
use soft_arithmetic::rounding::{Cut, Rounding, cut, shift_sticky};
use soft_base::Low;

/// FCVT between formats, FCVTL, FCVTN, FCVTXN (Arm ARM, FPConvert).
pub(crate) fn between(env: &mut Env, from: Format, to: Format, bits: u64, mode: Mode) -> u64 {
    // Subnormal half-precision numbers are never flushed, and there are no NaNs and infinities in the alternative one.
    let number = unpack(env, from, bits);
    let alternative = to == HALF && env.fpcr & AHP != 0;
    match number.class {
        Class::QuietNan | Class::SignallingNan => {
            if number.class == Class::SignallingNan || alternative {
                env.raise(IOC);
            }
            if alternative {
                to.zero(number.negative)
            } else if env.fpcr & DN != 0 {
                to.default_nan()
            } else {
                let aligned = from.fraction_field(bits) << (64 - from.fraction);
                to.default_nan() | to.sign(number.negative) | aligned >> (64 - to.fraction)
            }
        }
        Class::Infinity if alternative => {
            env.raise(IOC);
            to.sign(number.negative) | (to.sign(true) - 1)
        }
        Class::Infinity => to.infinity(number.negative),
        Class::Zero => to.zero(number.negative),
        Class::Finite => round(env, to, Exact::of(&number), mode),
    }
}

/// FCVT from single to double precision.
#[inline]
pub(crate) fn widen(env: &mut Env, a: f32) -> f64 {
    if a.is_nan() || env.fpcr & FZ != 0 {
        let mode = Mode::Ieee(env.rounding());
        return f64::from_bits(between(env, f32::FORMAT, f64::FORMAT, a.pattern(), mode));
    }
    f64::from(a)
}

/// FCVT from double to single precision.
#[inline]
pub(crate) fn narrow(env: &mut Env, a: f64) -> f32 {
    if env.as_host() {
        let result = nearest(a);
        let ordinary = result.is_finite() && result.abs() > f32::MIN_POSITIVE;
        if (ordinary && env.inexact_known()) || f64::from(result) == a && (ordinary || a == 0.0) {
            return result;
        }
    }
    let mode = Mode::Ieee(env.rounding());
    f32::from_bits(between(env, f64::FORMAT, f32::FORMAT, a.pattern(), mode).low_u32())
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "rounds to nearest")]
fn nearest(a: f64) -> f32 {
    a as f32
}

/// The magnitude of a finite number times 2^`fraction` as an integer, if it is below 2^64.
fn integral(mode: Rounding, number: &Number, fraction: u32) -> Option<Cut> {
    let exponent = number.exponent + fraction.cast_signed();
    if number.is_zero() {
        return Some(Cut { value: 0, inexact: false, up: false });
    }
    if exponent > 63 {
        return None;
    }
    // Fixed point with 64 bits behind the point.
    let fixed = shift_sticky(u128::from(number.significand) << 64, (63 - exponent).cast_unsigned());
    Some(cut(mode, number.negative, fixed, 64))
}

/// An integer or fixed-point number in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Integer {
    /// Bits: 32 or 64.
    pub(crate) width: u32,
    pub(crate) signed: bool,
    /// How many of the bits are behind the point.
    pub(crate) fraction: u32,
}

/// FCVT to an integer or fixed-point number, which saturates; bits above its width are 0 (Arm ARM, FPToFixed).
#[inline]
pub(crate) fn to_integer<F: Float>(env: &mut Env, a: F, to: Integer, mode: Rounding) -> u64 {
    // What a 32-bit signed integer and a number have in common needs no second look.
    if to.fraction == 0 && mode == Rounding::Zero && env.fpcr & FZ == 0 {
        let (value, limit) = (a.to_f64(), if to.width == 32 { 2_147_483_648.0 } else { 9.0e18 });
        if value >= 0.0 && value < limit || to.signed && value < 0.0 && value > -limit {
            let integer = truncated(value);
            if env.inexact_known() || whole(integer) == value {
                return integer.cast_unsigned() & u64::MAX >> (64 - to.width);
            }
        }
    }
    slow_to_integer(env, F::FORMAT, a.pattern(), to, mode)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the caller has looked at the range")]
fn truncated(value: f64) -> i64 {
    value as i64
}

#[inline]
fn whole(value: i64) -> f64 {
    value as f64
}

#[inline(never)]
pub(crate) fn slow_to_integer(env: &mut Env, format: Format, a: u64, to: Integer, mode: Rounding) -> u64 {
    let number = unpack(env, format, a);
    let mask = u64::MAX >> (64 - to.width);
    if number.is_nan() {
        env.raise(IOC);
        return 0;
    }
    let (smallest, largest) = match to.signed {
        true => (1_u128 << (to.width - 1), (1 << (to.width - 1)) - 1),
        false => (0, u128::from(mask)),
    };
    let limit = if number.negative { smallest } else { largest };
    let cut = if number.is_infinite() { None } else { integral(mode, &number, to.fraction) };
    let magnitude = match cut {
        Some(cut) if cut.value <= limit => {
            if cut.inexact {
                env.raise(IXC);
            }
            cut.value
        }
        _ => {
            env.raise(IOC);
            limit
        }
    };
    let magnitude = magnitude.low_u64();
    (if number.negative { magnitude.wrapping_neg() } else { magnitude }) & mask
}

/// SCVTF and UCVTF: from the low bits of `value` (Arm ARM, FixedToFP).
#[inline]
pub(crate) fn from_integer<F: Float>(env: &mut Env, value: u64, from: Integer) -> F {
    let negative = from.signed && value >> (from.width - 1) & 1 != 0;
    let value = value & u64::MAX >> (64 - from.width);
    let magnitude = if negative { value.wrapping_neg() & u64::MAX >> (64 - from.width) } else { value };
    if magnitude == 0 {
        return F::ZERO;
    }
    // It has as many bits as a fraction, so that it is exact.
    if from.fraction == 0 && magnitude >> F::FORMAT.fraction == 0 {
        let shift = magnitude.leading_zeros();
        let exponent = F::FORMAT.power_of_2(negative, 63 - shift.cast_signed());
        return F::from_pattern(exponent | magnitude << shift << 1 >> (64 - F::FORMAT.fraction));
    }
    let mode = Mode::Ieee(env.rounding());
    F::from_pattern(round(env, F::FORMAT, Exact::fixed(negative, magnitude, from.fraction), mode))
}

/// FRINT*: to an integer in the same format; FRINTX (`exact`) says if that was inexact (Arm ARM, FPRoundInt).
#[inline]
pub(crate) fn round_to_integer<F: Float>(env: &mut Env, a: F, mode: Rounding, exact: bool) -> F {
    if env.fpcr & FZ == 0 && !a.nan() {
        let result = a.integral(mode);
        if exact && result != a {
            env.raise(IXC);
        }
        return result;
    }
    let number = unpack(env, F::FORMAT, a.pattern());
    match number.class {
        Class::QuietNan | Class::SignallingNan => {
            F::from_pattern(process_nan(env, F::FORMAT, a.pattern(), &number))
        }
        Class::Zero => a.signed_zero(),
        _ => {
            let result = a.integral(mode);
            if exact && result != a {
                env.raise(IXC);
            }
            result
        }
    }
}
