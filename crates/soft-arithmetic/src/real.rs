//! The host's `f32` and `f64`, which round to nearest, and the error terms that say whether a result is exact.

use crate::lane::Lane;
use crate::rounding::Rounding;
use soft_base::Low;

/// f32 and f64.
pub trait Real: Lane + PartialOrd {
    /// A quiet NaN, positive and without payload.
    const NAN: Self;
    /// Plus zero.
    const ZERO: Self;
    /// The smallest positive normal number.
    const MIN_NORMAL: Self;
    /// Quiet or signalling.
    fn nan(self) -> bool;
    /// A NaN that signals.
    fn signalling(self) -> bool;
    /// A NaN with its quiet bit set.
    fn quiet(self) -> Self;
    /// Not zero, and without the integer bit.
    fn subnormal(self) -> bool;
    /// Neither infinite nor NaN.
    fn finite(self) -> bool;
    /// The sign bit is set.
    fn negative(self) -> bool;
    /// Without its sign.
    fn magnitude(self) -> Self;
    /// With the other sign; of NaNs too.
    fn negate(self) -> Self;
    /// Zero with the sign of this number.
    fn signed_zero(self) -> Self;
    /// The next number towards plus infinity.
    fn up(self) -> Self;
    /// The next number towards minus infinity.
    fn down(self) -> Self;
    /// Sum.
    fn add(self, other: Self) -> Self;
    /// Difference.
    fn sub(self, other: Self) -> Self;
    /// Product.
    fn mul(self, other: Self) -> Self;
    /// Quotient.
    fn div(self, other: Self) -> Self;
    /// `self` * `factor` + `addend`, rounded once.
    fn fused(self, factor: Self, addend: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Rounded to an integer.
    fn integral(self, mode: Rounding) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
}

macro_rules! real {
    ($t:ty, $quiet:expr, $nan:expr) => {
        impl Real for $t {
            const NAN: Self = <$t>::from_bits($nan);
            const ZERO: Self = 0.0;
            const MIN_NORMAL: Self = <$t>::MIN_POSITIVE;
            #[inline(always)]
            fn nan(self) -> bool {
                self.is_nan()
            }
            #[inline]
            fn signalling(self) -> bool {
                self.is_nan() && self.to_bits() & $quiet == 0
            }
            #[inline]
            fn quiet(self) -> Self {
                Self::from_bits(self.to_bits() | $quiet)
            }
            #[inline(always)]
            fn subnormal(self) -> bool {
                self.is_subnormal()
            }
            #[inline(always)]
            fn finite(self) -> bool {
                self.is_finite()
            }
            #[inline]
            fn negative(self) -> bool {
                self.is_sign_negative()
            }
            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn negate(self) -> Self {
                -self
            }
            #[inline]
            fn signed_zero(self) -> Self {
                (0.0 as $t).copysign(self)
            }
            #[inline]
            fn up(self) -> Self {
                self.next_up()
            }
            #[inline]
            fn down(self) -> Self {
                self.next_down()
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn fused(self, factor: Self, addend: Self) -> Self {
                self.mul_add(factor, addend)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$t>::sqrt(self)
            }
            #[inline]
            fn integral(self, mode: Rounding) -> Self {
                match mode {
                    Rounding::Nearest => self.round_ties_even(),
                    Rounding::NearestAway => self.round(),
                    Rounding::Down => self.floor(),
                    Rounding::Up => self.ceil(),
                    Rounding::Zero => self.trunc(),
                }
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    };
}
real!(f32, 1 << 22, 0x7FC0_0000);
real!(f64, 1 << 51, 0x7FF8_0000_0000_0000);

/// Arithmetic on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient.
    Div,
}

/// True only if a finite result, rounded to nearest, is exact, and is zero or normal. False may be wrong; it is right
/// for most of what code with small numbers computes.
#[inline(always)]
pub fn plainly_exact<R: Real>(operation: Operation, a: R, b: R, result: R) -> bool {
    let tiny = result.magnitude() < R::MIN_NORMAL && result != R::ZERO;
    match operation {
        _ if tiny => false,
        // The error term is NaN if it overflows.
        Operation::Add => two_sum(a, b, result) == R::ZERO,
        Operation::Sub => two_sum(a, b.negate(), result) == R::ZERO,
        // The product of two 24-bit significands fits.
        Operation::Mul if R::BITS == 32 => {
            result.magnitude() >= R::MIN_NORMAL && a.to_f64() * b.to_f64() == result.to_f64()
        }
        Operation::Mul => {
            let normal = |x: R| x.magnitude() >= R::MIN_NORMAL;
            let significand = |x: R| {
                let bits = x.bits().low_u64() & ((1 << 52) - 1) | 1 << 52;
                bits >> bits.trailing_zeros()
            };
            let product = || u128::from(significand(a)) * u128::from(significand(b));
            // The smallest normal number may be a tiny one that was rounded up.
            let larger = result.magnitude() > R::MIN_NORMAL;
            normal(a) && normal(b) && larger && product() >> 53 == 0
        }
        Operation::Div => false,
    }
}

/// (a + b) - sum (Knuth's two-sum).
#[inline(always)]
pub fn two_sum<R: Real>(a: R, b: R, sum: R) -> R {
    let part = sum.sub(a);
    a.sub(sum.sub(part)).add(b.sub(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiny_product_that_is_rounded_up_to_the_smallest_normal_number_is_not_exact() {
        let (a, b) = (1.0 - f64::EPSILON / 2.0, f64::MIN_POSITIVE);
        assert_eq!(a * b, f64::MIN_POSITIVE);
        assert!(!plainly_exact(Operation::Mul, a, b, a * b));
        assert!(plainly_exact(Operation::Mul, 3.0, 2.0 * b, 6.0 * b));
    }
}
