//! Numbers taken apart as FPCR says, and NaNs.

use super::environment::{AHP, DN, Env, FZ, IDC, IOC};
pub(crate) use soft_arithmetic::format::{Class, DOUBLE, Float, Format, HALF, Number, SINGLE};

/// Takes a number apart. Subnormal numbers become zero, with IDC, where FPCR.FZ says so; it does not about half
/// precision (Arm ARM, FPUnpackBase).
pub(crate) fn unpack(env: &mut Env, format: Format, bits: u64) -> Number {
    if format == HALF {
        return if env.fpcr & AHP != 0 { format.unpack_finite(bits) } else { format.unpack(bits) };
    }
    let number = format.unpack(bits);
    if env.fpcr & FZ != 0 && number.class == Class::Finite && format.exponent_field(bits) == 0 {
        env.raise(IDC);
        return Number { class: Class::Zero, exponent: 0, significand: 0, ..number };
    }
    number
}

/// The default NaN of an invalid operation.
pub(crate) fn invalid(env: &mut Env, format: Format) -> u64 {
    env.raise(IOC);
    format.default_nan()
}

/// The result of an operation on a NaN (Arm ARM, FPProcessNaN).
pub(crate) fn process_nan(env: &mut Env, format: Format, bits: u64, number: &Number) -> u64 {
    if number.class == Class::SignallingNan {
        env.raise(IOC);
    }
    if env.fpcr & DN != 0 { format.default_nan() } else { bits | format.quiet_bit() }
}

/// The result if an operand is a NaN: the first that signals, else the first (Arm ARM, FPProcessNaNs and
/// FPProcessNaNs3).
pub(crate) fn process_nans(env: &mut Env, format: Format, operands: &[(u64, &Number)]) -> Option<u64> {
    let first = |class| operands.iter().find(|(_, number)| number.class == class);
    let (bits, number) = first(Class::SignallingNan).or_else(|| first(Class::QuietNan))?;
    Some(process_nan(env, format, *bits, number))
}
