//! Estimates of reciprocals and of reciprocal square roots, which the architecture defines to the bit.

use super::environment::{DZC, Env, FZ, IXC, OFC, UFC};
use super::format::{Class, Float, Format, invalid, process_nan, unpack};
use soft_base::Low;

/// Arm ARM, RecipEstimate: of a number of 1/2 to 1 in units of 1/512; 256 to 511 for 1 to 2.
fn reciprocal_of(scaled: u32) -> u32 {
    ((1 << 19) / (2 * scaled + 1)).div_ceil(2)
}

/// Arm ARM, RecipSqrtEstimate: of a number of 1/4 to 1 in units of 1/512; 256 to 511 for 1 to 2.
fn reciprocal_root_of(scaled: u32) -> u32 {
    let a = if scaled < 256 { 2 * scaled + 1 } else { 2 * (scaled | 1) };
    // The largest b with a * b^2 < 2^28.
    let b = ((1_u32 << 28) - 1) / a;
    b.isqrt().div_ceil(2)
}

/// An exponent and the 52 bits of a fraction, as if the number were one in double precision.
fn parts(format: Format, bits: u64) -> (i32, u64) {
    let exponent = format.exponent_field(bits).low_u32().cast_signed();
    (exponent, format.fraction_field(bits) << (52 - format.fraction))
}

const FRACTION: u64 = (1 << 52) - 1;

/// FRECPE (Arm ARM, FPRecipEstimate).
pub(crate) fn reciprocal<F: Float>(env: &mut Env, a: F) -> F {
    let (format, bits) = (F::FORMAT, a.pattern());
    let number = unpack(env, format, bits);
    let negative = number.negative;
    F::from_pattern(match number.class {
        Class::QuietNan | Class::SignallingNan => process_nan(env, format, bits, &number),
        Class::Infinity => format.zero(negative),
        Class::Zero => {
            env.raise(DZC);
            format.infinity(negative)
        }
        Class::Finite if number.exponent < -format.bias() - 1 => {
            env.raise(OFC | IXC);
            let infinite = env.rounding().overflows_to_infinity(negative);
            if infinite { format.infinity(negative) } else { format.largest(negative) }
        }
        Class::Finite if env.fpcr & FZ != 0 && number.exponent >= format.bias() - 1 => {
            env.raise(UFC);
            format.zero(negative)
        }
        Class::Finite => {
            let (mut exponent, mut fraction) = parts(format, bits);
            if exponent == 0 {
                let shift = if fraction >> 51 == 0 { 2 } else { 1 };
                exponent = 1 - shift;
                fraction = fraction << shift & FRACTION;
            }
            let estimate = reciprocal_of((1 << 8 | fraction >> 44).low_u32());
            let mut fraction = u64::from(estimate & 0xFF) << 44;
            // 253 and 2045.
            let mut result = 2 * format.bias() - 1 - exponent;
            if result <= 0 {
                fraction = (1 << 52 | fraction) >> (1 - result);
                result = 0;
            }
            let exponent = u64::from(result.cast_unsigned());
            format.sign(negative) | exponent << format.fraction | fraction >> (52 - format.fraction)
        }
    })
}

/// FRSQRTE (Arm ARM, FPRSqrtEstimate).
pub(crate) fn reciprocal_root<F: Float>(env: &mut Env, a: F) -> F {
    let (format, bits) = (F::FORMAT, a.pattern());
    let number = unpack(env, format, bits);
    F::from_pattern(match number.class {
        Class::QuietNan | Class::SignallingNan => process_nan(env, format, bits, &number),
        Class::Zero => {
            env.raise(DZC);
            format.infinity(number.negative)
        }
        _ if number.negative => invalid(env, format),
        Class::Infinity => format.zero(false),
        Class::Finite => {
            // The biased exponent as it would be without a limit.
            let exponent = number.exponent + format.bias();
            let significand = (number.significand >> 55).low_u32();
            let scaled = if exponent & 1 == 0 { significand } else { significand >> 1 };
            // 380 and 3068.
            let result = u64::from(((3 * format.bias() - 1 - exponent) / 2).cast_unsigned());
            let fraction = u64::from(reciprocal_root_of(scaled) & 0xFF) << 44;
            result << format.fraction | fraction >> (52 - format.fraction)
        }
    })
}

/// FRECPX: an exponent so that the product with the operand is near 1 (Arm ARM, FPRecpX).
pub(crate) fn reciprocal_exponent<F: Float>(env: &mut Env, a: F) -> F {
    let (format, bits) = (F::FORMAT, a.pattern());
    let number = unpack(env, format, bits);
    if number.is_nan() {
        return F::from_pattern(process_nan(env, format, bits, &number));
    }
    let field = format.exponent_field(bits);
    let exponent = if field == 0 { format.ones() - 1 } else { !field & format.ones() };
    F::from_pattern(format.sign(number.negative) | exponent << format.fraction)
}

/// URECPE: of a fraction of 32 bits (Arm ARM, UnsignedRecipEstimate).
pub(crate) fn unsigned_reciprocal(a: u32) -> u32 {
    if a >> 31 == 0 { u32::MAX } else { reciprocal_of(a >> 23) << 23 }
}

/// URSQRTE: of a fraction of 32 bits (Arm ARM, UnsignedRSqrtEstimate).
pub(crate) fn unsigned_reciprocal_root(a: u32) -> u32 {
    if a >> 30 == 0 { u32::MAX } else { reciprocal_root_of(a >> 23) << 23 }
}
