//! The formats of IEEE 754 that AArch64 has, and numbers taken apart.

use super::environment::{AHP, DN, Env, FZ, IDC, IOC};
use soft_arithmetic::real::Real;
use soft_base::Low;

/// A binary interchange format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits in all: 16, 32 or 64.
    pub(crate) width: u32,
    /// Bits of the fraction.
    pub(crate) fraction: u32,
}

pub(crate) const HALF: Format = Format { width: 16, fraction: 10 };
pub(crate) const SINGLE: Format = Format { width: 32, fraction: 23 };
pub(crate) const DOUBLE: Format = Format { width: 64, fraction: 52 };

impl Format {
    /// The exponent field of infinities and NaNs, right-aligned.
    pub(crate) const fn ones(self) -> u64 {
        (1 << (self.width - 1 - self.fraction)) - 1
    }

    /// Exponent of the largest finite numbers.
    pub(crate) const fn bias(self) -> i32 {
        (1 << (self.width - 2 - self.fraction)) - 1
    }

    /// Exponent of the smallest normal numbers.
    pub(crate) const fn minimum(self) -> i32 {
        1 - self.bias()
    }

    const fn quiet_bit(self) -> u64 {
        1 << (self.fraction - 1)
    }

    /// The sign bit of a number.
    pub(crate) fn sign(self, negative: bool) -> u64 {
        u64::from(negative) << (self.width - 1)
    }

    pub(crate) fn zero(self, negative: bool) -> u64 {
        self.sign(negative)
    }

    pub(crate) fn infinity(self, negative: bool) -> u64 {
        self.sign(negative) | self.ones() << self.fraction
    }

    /// The largest finite number.
    pub(crate) fn largest(self, negative: bool) -> u64 {
        self.infinity(negative) - 1
    }

    pub(crate) fn default_nan(self) -> u64 {
        self.infinity(false) | self.quiet_bit()
    }

    /// The biased exponent of a pattern.
    pub(crate) fn exponent_field(self, bits: u64) -> u64 {
        bits >> self.fraction & self.ones()
    }

    /// The fraction of a pattern.
    pub(crate) fn fraction_field(self, bits: u64) -> u64 {
        bits & ((1 << self.fraction) - 1)
    }

    /// 2^`exponent`, which is in the range of normal numbers.
    pub(crate) fn power_of_2(self, negative: bool, exponent: i32) -> u64 {
        let biased = u64::from((exponent + self.bias()).cast_unsigned());
        self.sign(negative) | biased << self.fraction
    }
}

/// f32 and f64 with their formats.
pub(crate) trait Float: Real {
    const FORMAT: Format;

    #[inline(always)]
    fn pattern(self) -> u64 {
        self.bits().low_u64()
    }

    #[inline(always)]
    fn from_pattern(pattern: u64) -> Self {
        Self::low(pattern.into())
    }
}

impl Float for f32 {
    const FORMAT: Format = SINGLE;
}

impl Float for f64 {
    const FORMAT: Format = DOUBLE;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Zero,
    Finite,
    Infinity,
    QuietNan,
    SignallingNan,
}

/// A number, taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number {
    pub(crate) class: Class,
    pub(crate) negative: bool,
    /// The value is `significand` * 2^(`exponent` - 63) if finite.
    pub(crate) exponent: i32,
    /// With its highest bit set if finite.
    pub(crate) significand: u64,
}

impl Number {
    pub(crate) fn is_zero(&self) -> bool {
        self.class == Class::Zero
    }

    pub(crate) fn is_infinite(&self) -> bool {
        self.class == Class::Infinity
    }

    pub(crate) fn is_nan(&self) -> bool {
        matches!(self.class, Class::QuietNan | Class::SignallingNan)
    }
}

/// Takes a number apart. Subnormal numbers become zero, with IDC, where FPCR.FZ says so; it does not about half
/// precision (Arm ARM, FPUnpackBase).
pub(crate) fn unpack(env: &mut Env, format: Format, bits: u64) -> Number {
    let negative = bits >> (format.width - 1) & 1 != 0;
    let (biased, fraction) = (format.exponent_field(bits), format.fraction_field(bits));
    let with = |class| Number { class, negative, exponent: 0, significand: 0 };
    let alternative = format == HALF && env.fpcr & AHP != 0;
    if biased == format.ones() && !alternative {
        return with(match fraction {
            0 => Class::Infinity,
            _ if fraction & format.quiet_bit() != 0 => Class::QuietNan,
            _ => Class::SignallingNan,
        });
    }
    if biased != 0 {
        let significand = 1 << 63 | fraction << (63 - format.fraction);
        let exponent = biased.low_u32().cast_signed() - format.bias();
        return Number { class: Class::Finite, negative, exponent, significand };
    }
    if fraction == 0 {
        return with(Class::Zero);
    }
    if env.fpcr & FZ != 0 && format != HALF {
        env.raise(IDC);
        return with(Class::Zero);
    }
    let aligned = fraction << (63 - format.fraction);
    let shift = aligned.leading_zeros();
    let exponent = format.minimum() - shift.cast_signed();
    Number { class: Class::Finite, negative, exponent, significand: aligned << shift }
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
