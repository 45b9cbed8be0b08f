//! Exact results, kept as integers until they are rounded to a format.

use crate::format::Number;
use crate::rounding::shift_sticky;

/// `magnitude` * 2^(`exponent` - 127). The lowest bit of a magnitude may stand for all that is below it.
#[derive(Debug, Clone, Copy)]
pub struct Exact {
    /// The value is not positive.
    pub negative: bool,
    /// Of the highest bit of `magnitude`, set or not.
    pub exponent: i32,
    /// As above.
    pub magnitude: u128,
}

impl Exact {
    /// Of zeros and finite numbers.
    #[must_use]
    pub fn of(number: &Number) -> Self {
        let magnitude = u128::from(number.significand) << 64;
        Self { negative: number.negative, exponent: number.exponent, magnitude }
    }

    /// `value` * 2^-`fraction`.
    #[must_use]
    pub fn fixed(negative: bool, value: u64, fraction: u32) -> Self {
        Self { negative, exponent: 127 - fraction.cast_signed(), magnitude: value.into() }
    }

    /// Of zeros and finite numbers.
    #[must_use]
    pub fn product(x: &Number, y: &Number) -> Self {
        Self {
            negative: x.negative != y.negative,
            exponent: x.exponent + y.exponent + 1,
            magnitude: u128::from(x.significand) * u128::from(y.significand),
        }
    }

    /// Of finite numbers; 64 bits or more and what stands for the rest.
    #[must_use]
    pub fn quotient(x: &Number, y: &Number) -> Self {
        let (dividend, divisor) = (u128::from(x.significand) << 63, u128::from(y.significand));
        let quotient = dividend / divisor;
        let rest = u128::from(quotient * divisor != dividend);
        Self {
            negative: x.negative != y.negative,
            exponent: x.exponent - y.exponent + 63,
            magnitude: quotient << 1 | rest,
        }
    }

    /// Of a finite number without its sign; 63 bits or more and what stands for the rest.
    #[must_use]
    pub fn root(x: &Number) -> Self {
        // An even power of two is taken out, so that its root is one.
        let shift = if x.exponent & 1 == 0 { 63 } else { 64 };
        let square = u128::from(x.significand) << shift;
        let root = square.isqrt();
        let rest = u128::from(root * root != square);
        Self { negative: false, exponent: (x.exponent - 63 - shift) / 2 + 126, magnitude: root << 1 | rest }
    }

    /// With the highest bit set, unless it is zero.
    #[must_use]
    pub fn normal(self) -> Self {
        let shift = self.magnitude.leading_zeros() & 127;
        Self { exponent: self.exponent - shift.cast_signed(), magnitude: self.magnitude << shift, ..self }
    }

    /// The sum of two values of at most 120 significant bits. A zero has no sign that means anything.
    #[must_use]
    pub fn sum(x: Self, y: Self) -> Self {
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

    /// Times 2^`power`.
    #[must_use]
    pub fn scaled(self, power: i32) -> Self {
        Self { exponent: self.exponent + power, ..self }
    }
}
