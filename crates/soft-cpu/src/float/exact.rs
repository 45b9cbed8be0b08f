//! Operands taken apart, NaNs, and rounding of exact values.

use super::environment::{ASSIST, Env, IE, OE, PE, UE};
use crate::low::Low;
use soft_arithmetic::exact::Exact;
use soft_arithmetic::format::{Class, Format, HALF, Number};
use soft_arithmetic::rounding::{Rounding, cut, shift_sticky};

/// Takes an operand apart and applies DAZ; without it a subnormal one has consequences: DE, for some operations with
/// [`ASSIST`].
pub(super) fn unpack(env: &mut Env, format: Format, bits: u64, consequences: u32) -> Number {
    let number = format.unpack(bits);
    if number.class == Class::Finite && format.exponent_field(bits) == 0 {
        if env.zeroes_operands(format) {
            return Number { class: Class::Zero, exponent: 0, significand: 0, ..number };
        }
        env.subnormal(consequences);
    }
    number
}

/// The NaN of invalid operations.
pub(super) fn indefinite(format: Format) -> u64 {
    format.sign(true) | format.default_nan()
}

/// An invalid operation.
pub(super) fn invalid(env: &mut Env, format: Format) -> u64 {
    env.reject(IE);
    indefinite(format)
}

/// The result if an operand is a NaN: the first, made quiet.
pub(super) fn propagate(env: &mut Env, format: Format, operands: &[(u64, &Number)]) -> Option<u64> {
    let (bits, _) = operands.iter().find(|(_, number)| number.is_nan())?;
    let signals = operands.iter().any(|(_, number)| number.class == Class::SignallingNan);
    env.reject(if signals { IE } else { 0 });
    Some(bits | format.quiet_bit())
}

/// A value that is not zero in a format, with the exceptions of rounding. Tininess is detected after rounding (SDM
/// volume 1, section 4.9.1.5).
pub(super) fn round(env: &mut Env, format: Format, value: Exact) -> u64 {
    round_to(env, format, value, env.rounding())
}

/// In a given direction.
pub(super) fn round_to(env: &mut Env, format: Format, value: Exact, mode: Rounding) -> u64 {
    round_as(env, format, value, mode, format != HALF)
}

/// With `by_significand` only the significand decides on PE beside an unmasked UE (SDM volume 1, section 4.9.1.5), not
/// what is lost of it in a subnormal number. AVX512-FP16 does not have it so, F16C does (seen on Granite Rapids, with
/// VCVTSD2SH, VCVTSS2SH, VSCALEFSH and VCVTPS2PH of numbers of all exponents).
pub(super) fn round_as(
    env: &mut Env,
    format: Format,
    value: Exact,
    mode: Rounding,
    by_significand: bool,
) -> u64 {
    let Exact { negative, exponent, magnitude } = value.normal();
    let drop = 127 - format.fraction;
    let unbounded = cut(mode, negative, magnitude, drop);
    let carry = i32::from(unbounded.value >> (format.fraction + 1) != 0);
    let tiny = exponent + carry < format.minimum();
    let kept = if exponent < format.minimum() {
        let below = (format.minimum() - exponent).cast_unsigned();
        cut(mode, negative, shift_sticky(magnitude, below), drop)
    } else {
        unbounded
    };
    // The integer bit and a carry add to the exponent.
    let biased_less_1 =
        u128::from((exponent.min(format.bias() + 1) - format.minimum()).max(0).cast_unsigned());
    let bits = ((biased_less_1 << format.fraction) + kept.value).low_u64();
    let mut raised = if kept.inexact { PE } else { 0 };
    let mut result = format.sign(negative) | bits;
    if bits >> format.fraction >= format.ones() {
        raised |= OE | PE;
        let infinite = mode.overflows_to_infinity(negative);
        result = if infinite { format.infinity(negative) } else { format.largest(negative) };
    }
    if tiny {
        if kept.inexact || !env.masked(UE) {
            raised |= UE;
        }
        if env.flushes(format) && bits != 0 {
            env.raised |= UE | PE;
            return format.zero(negative);
        }
        if env.masked(UE) && bits != 0 && format != HALF {
            raised |= ASSIST;
        }
    }
    // So does it beside an unmasked OE (SDM volume 1, section 4.9.1.4).
    let decisive = if by_significand { OE | UE } else { OE };
    if raised & decisive & !(env.mxcsr >> 7) != 0 && !unbounded.inexact {
        raised &= !PE;
    }
    env.raised |= raised;
    result
}

/// A value that may be zero, the sign of which is then that of the rounding direction.
pub(super) fn round_sum(env: &mut Env, format: Format, value: Exact) -> u64 {
    if value.magnitude == 0 {
        return format.zero(env.rounding() == Rounding::Down);
    }
    round(env, format, value)
}
