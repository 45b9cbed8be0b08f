//! A `u128` as lanes of equal width.

use soft_base::Low;

/// An element of a vector.
pub trait Lane: Copy {
    /// Width in bits.
    const BITS: u32;
    /// From the low bits of `value`.
    fn low(value: u128) -> Self;
    /// The bits, above them zeros.
    fn bits(self) -> u128;
}

macro_rules! lane {
    ($($t:ty, $unsigned:ty;)*) => { $(
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the low bits of a vector"
        )]
        impl Lane for $t {
            const BITS: u32 = <$t>::BITS;
            #[inline(always)]
            fn low(value: u128) -> Self {
                value as $t
            }
            #[inline(always)]
            fn bits(self) -> u128 {
                self as $unsigned as u128
            }
        }
    )* };
}
lane!(u8, u8; u16, u16; u32, u32; u64, u64; i8, u8; i16, u16; i32, u32; i64, u64;);

impl Lane for f32 {
    const BITS: u32 = 32;
    #[inline(always)]
    fn low(value: u128) -> Self {
        Self::from_bits(value.low_u32())
    }
    #[inline(always)]
    fn bits(self) -> u128 {
        u128::from(self.to_bits())
    }
}

impl Lane for f64 {
    const BITS: u32 = 64;
    #[inline(always)]
    fn low(value: u128) -> Self {
        Self::from_bits(value.low_u64())
    }
    #[inline(always)]
    fn bits(self) -> u128 {
        u128::from(self.to_bits())
    }
}

/// Lane `n` of `vector`.
#[inline(always)]
pub fn get<L: Lane>(vector: u128, n: u32) -> L {
    L::low(vector >> (n * L::BITS))
}

/// `vector` with lane `n` replaced.
#[inline(always)]
pub fn set<L: Lane>(vector: u128, n: u32, value: L) -> u128 {
    let shift = n * L::BITS;
    vector & !((u128::MAX >> (128 - L::BITS)) << shift) | value.bits() << shift
}

/// Builds a vector lane by lane.
#[inline(always)]
pub fn build<L: Lane>(mut f: impl FnMut(u32) -> L) -> u128 {
    let mut all = 0;
    for n in 0..128 / L::BITS {
        all |= f(n).bits() << (n * L::BITS);
    }
    all
}

/// Applies `f` to each pair of lanes.
#[inline(always)]
pub fn zip<L: Lane, R: Lane>(a: u128, b: u128, f: impl Fn(L, L) -> R) -> u128 {
    build(|n| f(get(a, n), get(b, n)))
}
