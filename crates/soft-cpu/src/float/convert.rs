//! Between formats, to and from integers, and to integers in the same format.

use super::environment::{DAZ, DE, Env, IE, OE, PE, UE, rounding};
use super::exact::{propagate, round, round_as, round_to, unpack};
use crate::low::{Low, integer, nearest_f32};
use soft_arithmetic::exact::Exact;
use soft_arithmetic::format::{Class, DOUBLE, Float, Format, HALF, Number, SINGLE};
use soft_arithmetic::rounding::{Cut, Rounding, cut, shift_sticky};

/// To a signed integer of `bits` bits; the indefinite integer if it does not fit.
pub(crate) fn to_integer<R: Float>(env: &mut Env, a: R, bits: u32, truncate: bool) -> u64 {
    let indefinite = 1_u64 << (bits - 1);
    let a = if env.mxcsr & DAZ != 0 && a.subnormal() { a.signed_zero() } else { a };
    let mode = if truncate { Rounding::Zero } else { env.rounding() };
    let integral = a.integral(mode).to_f64();
    let limit = 2_f64.powi(bits.cast_signed() - 1);
    if a.nan() || integral >= limit || integral < -limit {
        env.raised |= IE;
        return indefinite;
    }
    if integral != a.to_f64() {
        env.raised |= PE;
    }
    integer(integral).low_u64() & (u64::MAX >> (64 - bits))
}

/// An integer format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Integer {
    /// Bits: 16, 32 or 64.
    pub(crate) width: u32,
    pub(crate) signed: bool,
}

/// The magnitude of a finite number times 2^`scale` as an integer, if it is below 2^64.
fn integral(mode: Rounding, number: &Number, scale: i32) -> Option<Cut> {
    let exponent = number.exponent + scale;
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

/// From any format to any integer; the indefinite integer, of unsigned ones the largest, if it does not fit.
#[inline(never)]
pub(crate) fn slow_to_integer(env: &mut Env, format: Format, a: u64, to: Integer, mode: Rounding) -> u64 {
    let number = unpack(env, format, a, 0);
    let mask = u64::MAX >> (64 - to.width);
    let (smallest, largest) = match to.signed {
        true => (1_u128 << (to.width - 1), (1 << (to.width - 1)) - 1),
        false => (0, u128::from(mask)),
    };
    let cut = match number.class {
        Class::Zero | Class::Finite => integral(mode, &number, 0),
        _ => None,
    };
    match cut {
        Some(cut) if cut.value <= if number.negative { smallest } else { largest } => {
            env.accept();
            if cut.inexact {
                env.raised |= PE;
            }
            let magnitude = cut.value.low_u64();
            (if number.negative { magnitude.wrapping_neg() } else { magnitude }) & mask
        }
        _ => {
            env.reject(IE);
            if to.signed { 1 << (to.width - 1) } else { mask }
        }
    }
}

/// From the low bits of `value` to any format. An integer that is too large for half precision raises PE beside OE
/// though it has no more bits than fit, unlike numbers of other formats (seen on Granite Rapids: every power of two
/// from 2^16 to 2^63, from 32 and 64 bits, signed and unsigned, in every direction of rounding).
#[inline(never)]
pub(crate) fn slow_from_integer(env: &mut Env, format: Format, value: u64, from: Integer) -> u64 {
    let negative = from.signed && value >> (from.width - 1) & 1 != 0;
    let mask = u64::MAX >> (64 - from.width);
    let magnitude = if negative { value.wrapping_neg() & mask } else { value & mask };
    if magnitude == 0 {
        return 0;
    }
    let before = env.raised;
    env.raised = 0;
    let result = round(env, format, Exact::fixed(negative, magnitude, 0));
    if env.raised & OE != 0 {
        env.raised |= PE;
    }
    env.raised |= before;
    result
}

#[inline(always)]
pub(crate) fn f64_from_integer(env: &mut Env, value: i64) -> f64 {
    if value.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS {
        return value as f64;
    }
    let signed = Integer { width: 64, signed: true };
    f64::from_pattern(slow_from_integer(env, DOUBLE, value.cast_unsigned(), signed))
}

#[inline(always)]
pub(crate) fn f32_from_integer(env: &mut Env, value: i64) -> f32 {
    if value.unsigned_abs() <= 1 << f32::MANTISSA_DIGITS || env.exactness_known() {
        return value as f32;
    }
    let signed = Integer { width: 64, signed: true };
    f32::from_pattern(slow_from_integer(env, SINGLE, value.cast_unsigned(), signed))
}

/// Between formats. With `quiet_subnormals` a subnormal operand is a number like others, whatever MXCSR says
/// (VCVTPH2PS).
#[inline(never)]
pub(crate) fn between(env: &mut Env, from: Format, to: Format, a: u64, quiet_subnormals: bool) -> u64 {
    let mode = env.rounding();
    converted(env, [from, to], a, quiet_subnormals, |env, value| round_to(env, to, value, mode))
}

/// From single to half precision in a given direction (VCVTPS2PH). With `subnormal_inexact`
/// [`Rule::HalfOfSubnormalInexact`](crate::silicon::Rule) holds.
pub(crate) fn to_half_in(env: &mut Env, a: u32, mode: Rounding, subnormal_inexact: bool) -> u64 {
    let by_significand = !subnormal_inexact || SINGLE.exponent_field(a.into()) != 0;
    converted(env, [SINGLE, HALF], a.into(), false, |env, value| {
        round_as(env, HALF, value, mode, by_significand)
    })
}

/// Between formats; `round` takes numbers that are neither 0 nor infinite.
fn converted(
    env: &mut Env,
    [from, to]: [Format; 2],
    a: u64,
    quiet_subnormals: bool,
    round: impl Fn(&mut Env, Exact) -> u64,
) -> u64 {
    let number = if quiet_subnormals { from.unpack(a) } else { unpack(env, from, a, DE) };
    match number.class {
        Class::QuietNan | Class::SignallingNan => {
            env.reject(if number.class == Class::SignallingNan { IE } else { 0 });
            let aligned = from.fraction_field(a) << (64 - from.fraction);
            to.default_nan() | to.sign(number.negative) | aligned >> (64 - to.fraction)
        }
        Class::Infinity => to.infinity(number.negative),
        Class::Zero => to.zero(number.negative),
        Class::Finite => {
            env.accept();
            round(env, Exact::of(&number))
        }
    }
}

#[inline(always)]
pub(crate) fn widen(env: &mut Env, a: f32) -> f64 {
    if a.is_normal() || a == 0.0 {
        return f64::from(a);
    }
    f64::from_pattern(between(env, SINGLE, DOUBLE, a.pattern(), false))
}

#[inline(always)]
pub(crate) fn narrow(env: &mut Env, a: f64) -> f32 {
    let result = nearest_f32(a);
    let normal = result.is_finite() && result.abs() > f32::MIN_POSITIVE;
    if normal && (env.exactness_known() || f64::from(result) == a) || a == 0.0 {
        return result;
    }
    f32::from_pattern(between(env, DOUBLE, SINGLE, a.pattern(), false).low_u32().into())
}

/// The direction that bits 2:0 of a control byte ask for, and whether bit 3 keeps PE away (ROUNDxx, VRNDSCALExx,
/// VREDUCExx).
pub(crate) fn rounding_of(env: &Env, control: u8) -> (Rounding, bool) {
    (if control & 4 != 0 { env.rounding() } else { rounding(u32::from(control)) }, control & 8 != 0)
}

/// To a multiple of 2^-`digits` (0 to 15), as bits 3:0 of `control` say: ROUNDxx, VRNDSCALExx. Subnormal operands
/// raise nothing.
pub(crate) fn round_scale(env: &mut Env, format: Format, a: u64, control: u8, digits: u8) -> u64 {
    let number = unpack(env, format, a, 0);
    if let Some(nan) = propagate(env, format, &[(a, &number)]) {
        return nan;
    }
    env.accept();
    let (mode, quiet) = rounding_of(env, control);
    let zero = format.zero(number.negative);
    match number.class {
        Class::Finite => {}
        Class::Zero => return zero,
        _ => return a,
    }
    let digits = i32::from(digits & 15);
    if number.exponent + digits >= format.fraction.cast_signed() {
        return a;
    }
    let Some(cut) = integral(mode, &number, digits) else { return a };
    if cut.inexact && !quiet {
        env.raised |= PE;
    }
    if cut.value == 0 {
        return zero;
    }
    let value = Exact::fixed(number.negative, cut.value.low_u64(), digits.cast_unsigned());
    let result = round(&mut Env::quiet(), format, value);
    // Only half precision has subnormal multiples.
    if (cut.inexact || !env.masked(UE)) && format.exponent_field(result) == 0 {
        env.raised |= UE;
    }
    result
}

/// What [`round_scale`] drops (VREDUCExx). The difference is rounded in the same direction. With `flushes_always`
/// [`Rule::ReduceFlushesAlways`](crate::silicon::Rule) holds.
pub(crate) fn reduce(env: &mut Env, format: Format, a: u64, control: u8, flushes_always: bool) -> u64 {
    let (mode, quiet) = rounding_of(env, control);
    let mut inner = Env::new(env.mxcsr);
    let rounded = round_scale(&mut inner, format, a, control, control >> 4);
    let number = unpack(env, format, a, 0);
    if number.is_nan() {
        env.raised |= inner.raised;
        return rounded;
    }
    env.accept();
    if number.is_infinite() {
        return format.zero(false);
    }
    let mut subtrahend = Exact::of(&format.unpack(rounded));
    subtrahend.negative = !subtrahend.negative;
    let rest = Exact::sum(Exact::of(&number), subtrahend);
    if rest.magnitude == 0 {
        return format.zero(mode == Rounding::Down);
    }
    let mut inner = Env::quiet();
    let mut result = round_to(&mut inner, format, rest, mode);
    let flushes = env.flushes(format) || flushes_always && env.flushes_always(format);
    if flushes && format.exponent_field(result) == 0 {
        result = format.zero(rest.negative);
        inner.raised |= PE;
    }
    if !quiet {
        env.raised |= inner.raised & PE;
    }
    result
}
