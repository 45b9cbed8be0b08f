//! Rounding exact values to a format.

use super::environment::{AHP, Env, FZ, IOC, IXC, OFC, UFC};
use super::format::{Format, HALF};
pub(crate) use soft_arithmetic::exact::Exact;
use soft_arithmetic::rounding::{Rounding, cut, shift_sticky};
use soft_base::Low;

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
