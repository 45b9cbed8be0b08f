//! Exact values, and rounding them to a format.

use super::environment::{AHP, Env, FZ, IOC, IXC, OFC, UFC};
use super::format::{Format, HALF, Number};
use soft_arithmetic::rounding::{Rounding, cut, shift_sticky};
use soft_base::Low;

/// `magnitude` * 2^(`exponent` - 127). The lowest bit of a magnitude may stand for all that is below it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exact {
    pub(crate) negative: bool,
    pub(crate) exponent: i32,
    pub(crate) magnitude: u128,
}

impl Exact {
    /// Of zeros and finite numbers.
    pub(crate) fn of(number: &Number) -> Self {
        let magnitude = u128::from(number.significand) << 64;
        Self { negative: number.negative, exponent: number.exponent, magnitude }
    }

    /// `value` * 2^-`fraction`.
    pub(crate) fn fixed(negative: bool, value: u64, fraction: u32) -> Self {
        Self { negative, exponent: 127 - fraction.cast_signed(), magnitude: value.into() }
    }

    pub(crate) fn product(x: &Number, y: &Number) -> Self {
        Self {
            negative: x.negative != y.negative,
            exponent: x.exponent + y.exponent + 1,
            magnitude: u128::from(x.significand) * u128::from(y.significand),
        }
    }

    /// With the highest bit set, unless it is zero.
    fn normal(self) -> Self {
        let shift = self.magnitude.leading_zeros() & 127;
        Self { exponent: self.exponent - shift.cast_signed(), magnitude: self.magnitude << shift, ..self }
    }

    /// The sum of two values of at most 120 significant bits. A zero has no sign that means anything.
    pub(crate) fn sum(x: Self, y: Self) -> Self {
        let (x, y) = (x.normal(), y.normal());
        if x.magnitude == 0 || y.magnitude == 0 {
            return if x.magnitude == 0 { y } else { x };
        }
        let (large, small) = if x.exponent >= y.exponent { (x, y) } else { (y, x) };
        let distance = (large.exponent - small.exponent).cast_unsigned();
        // A bit for the carry. What falls out of the smaller matters only as being there: if more than one bit does,
        // no more than one bit cancels.
        let (left, right) = (large.magnitude >> 1, shift_sticky(small.magnitude >> 1, distance));
        let exponent = large.exponent + 1;
        if large.negative == small.negative {
            Self { negative: large.negative, exponent, magnitude: left + right }
        } else if left >= right {
            Self { negative: large.negative, exponent, magnitude: left - right }
        } else {
            Self { negative: small.negative, exponent, magnitude: right - left }
        }
    }

    /// Half of it.
    pub(crate) fn halved(self) -> Self {
        Self { exponent: self.exponent - 1, ..self }
    }
}

/// How a result is rounded: as FPCR or the instruction says, or to odd (FCVTXN).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Ieee(Rounding),
    /// Towards zero; the lowest bit is set if that is inexact.
    Odd,
}

/// A value that is not zero in a format (Arm ARM, FPRoundBase): tininess is detected before rounding.
pub(crate) fn round(env: &mut Env, format: Format, value: Exact, mode: Mode) -> u64 {
    let Exact { negative, exponent, magnitude } = value.normal();
    let below = format.minimum() - exponent;
    let tiny = below > 0;
    if tiny && env.fpcr & FZ != 0 && format != HALF {
        env.raise(UFC);
        return format.zero(negative);
    }
    let rounding = match mode {
        Mode::Ieee(rounding) => rounding,
        Mode::Odd => Rounding::Zero,
    };
    let magnitude = if tiny { shift_sticky(magnitude, below.cast_unsigned()) } else { magnitude };
    let cut = cut(rounding, negative, magnitude, 127 - format.fraction);
    let kept = cut.value | u128::from(cut.inexact && mode == Mode::Odd);
    if tiny && cut.inexact {
        env.raise(UFC);
    }
    // The integer bit and a carry add to the exponent.
    let biased_less_1 = u128::from(exponent.saturating_sub(format.minimum()).max(0).cast_unsigned());
    let bits = (biased_less_1 << format.fraction) + kept;
    let alternative = format == HALF && env.fpcr & AHP != 0;
    let end = u128::from(format.ones()) + u128::from(alternative);
    if bits >> format.fraction >= end {
        if alternative {
            env.raise(IOC);
            return format.sign(negative) | (format.sign(true) - 1);
        }
        env.raise(OFC | IXC);
        let infinite = rounding.overflows_to_infinity(negative);
        return if infinite { format.infinity(negative) } else { format.largest(negative) };
    }
    if cut.inexact {
        env.raise(IXC);
    }
    format.sign(negative) | bits.low_u64()
}

/// A value that may be zero; the sign of a zero is that of FPCR's rounding direction.
pub(crate) fn round_sum(env: &mut Env, format: Format, value: Exact) -> u64 {
    let rounding = env.rounding();
    if value.magnitude == 0 {
        return format.zero(rounding == Rounding::Down);
    }
    round(env, format, value, Mode::Ieee(rounding))
}
