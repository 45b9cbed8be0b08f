//! Binary interchange formats of IEEE 754, and numbers taken apart.

use crate::real::Real;
use soft_base::Low;

/// A binary interchange format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Bits in all: 16, 32 or 64.
    pub width: u32,
    /// Bits of the fraction.
    pub fraction: u32,
}

/// binary16.
pub const HALF: Format = Format { width: 16, fraction: 10 };
/// binary32.
pub const SINGLE: Format = Format { width: 32, fraction: 23 };
/// binary64.
pub const DOUBLE: Format = Format { width: 64, fraction: 52 };

impl Format {
    /// The exponent field of infinities and NaNs, right-aligned.
    #[must_use]
    pub const fn ones(self) -> u64 {
        (1 << (self.width - 1 - self.fraction)) - 1
    }

    /// Exponent of the largest finite numbers.
    #[must_use]
    pub const fn bias(self) -> i32 {
        (1 << (self.width - 2 - self.fraction)) - 1
    }

    /// Exponent of the smallest normal numbers.
    #[must_use]
    pub const fn minimum(self) -> i32 {
        1 - self.bias()
    }

    /// The bit of a fraction that tells quiet NaNs from signalling ones.
    #[must_use]
    pub const fn quiet_bit(self) -> u64 {
        1 << (self.fraction - 1)
    }

    /// The sign bit of a number.
    #[must_use]
    pub fn sign(self, negative: bool) -> u64 {
        u64::from(negative) << (self.width - 1)
    }

    /// A zero.
    #[must_use]
    pub fn zero(self, negative: bool) -> u64 {
        self.sign(negative)
    }

    /// An infinity.
    #[must_use]
    pub fn infinity(self, negative: bool) -> u64 {
        self.sign(negative) | self.ones() << self.fraction
    }

    /// The largest finite number.
    #[must_use]
    pub fn largest(self, negative: bool) -> u64 {
        self.infinity(negative) - 1
    }

    /// The quiet NaN without payload, positive.
    #[must_use]
    pub fn default_nan(self) -> u64 {
        self.infinity(false) | self.quiet_bit()
    }

    /// The biased exponent of a pattern.
    #[must_use]
    pub fn exponent_field(self, bits: u64) -> u64 {
        bits >> self.fraction & self.ones()
    }

    /// The fraction of a pattern.
    #[must_use]
    pub fn fraction_field(self, bits: u64) -> u64 {
        bits & ((1 << self.fraction) - 1)
    }

    /// 2^`exponent`, which is in the range of normal numbers.
    #[must_use]
    pub fn power_of_2(self, negative: bool, exponent: i32) -> u64 {
        let biased = u64::from((exponent + self.bias()).cast_unsigned());
        self.sign(negative) | biased << self.fraction
    }

    /// Takes a number apart.
    #[must_use]
    pub fn unpack(self, bits: u64) -> Number {
        let negative = bits >> (self.width - 1) & 1 != 0;
        let (biased, fraction) = (self.exponent_field(bits), self.fraction_field(bits));
        let with = |class| Number { class, negative, exponent: 0, significand: 0 };
        if biased == self.ones() {
            return with(match fraction {
                0 => Class::Infinity,
                _ if fraction & self.quiet_bit() != 0 => Class::QuietNan,
                _ => Class::SignallingNan,
            });
        }
        self.unpack_finite(bits)
    }

    /// As [`unpack`](Self::unpack), where the largest exponent is one of numbers too: Arm's alternative format.
    #[must_use]
    pub fn unpack_finite(self, bits: u64) -> Number {
        let negative = bits >> (self.width - 1) & 1 != 0;
        let (biased, fraction) = (self.exponent_field(bits), self.fraction_field(bits));
        if biased != 0 {
            let significand = 1 << 63 | fraction << (63 - self.fraction);
            let exponent = biased.low_u32().cast_signed() - self.bias();
            return Number { class: Class::Finite, negative, exponent, significand };
        }
        if fraction == 0 {
            return Number { class: Class::Zero, negative, exponent: 0, significand: 0 };
        }
        let aligned = fraction << (63 - self.fraction);
        let shift = aligned.leading_zeros();
        let exponent = self.minimum() - shift.cast_signed();
        Number { class: Class::Finite, negative, exponent, significand: aligned << shift }
    }
}

/// f32 and f64 with their formats.
pub trait Float: Real {
    /// Theirs.
    const FORMAT: Format;

    /// The bits, right-aligned.
    #[inline(always)]
    fn pattern(self) -> u64 {
        self.bits().low_u64()
    }

    /// From such bits.
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

/// What a pattern stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Either zero.
    Zero,
    /// Another number, normal or subnormal.
    Finite,
    /// Either infinity.
    Infinity,
    /// Not a number, without consequences.
    QuietNan,
    /// Not a number, an invalid operand.
    SignallingNan,
}

/// A number, taken apart.
#[derive(Debug, Clone, Copy)]
pub struct Number {
    /// What it is.
    pub class: Class,
    /// The sign bit is set.
    pub negative: bool,
    /// The value is `significand` * 2^(`exponent` - 63) if finite.
    pub exponent: i32,
    /// With its highest bit set if finite.
    pub significand: u64,
}

impl Number {
    /// Either zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.class == Class::Zero
    }

    /// Either infinity.
    #[must_use]
    pub fn is_infinite(&self) -> bool {
        self.class == Class::Infinity
    }

    /// Quiet or signalling.
    #[must_use]
    pub fn is_nan(&self) -> bool {
        matches!(self.class, Class::QuietNan | Class::SignallingNan)
    }
}
