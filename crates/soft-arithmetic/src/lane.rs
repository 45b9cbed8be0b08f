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
lane!(u8, u8; u16, u16; u32, u32; u64, u64; u128, u128; i8, u8; i16, u16; i32, u32; i64, u64;);

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

/// A lane of which a vector of 128 bits is an array.
pub trait Element: Lane + 'static {
    /// All elements, the lowest first.
    type All: Copy + AsRef<[Self]> + AsMut<[Self]>;
    /// How many there are.
    const COUNT: usize = 128 / Self::BITS as usize;
    /// A copy of the elements of a vector.
    fn elements(vector: &u128) -> Self::All;
    /// The elements of a vector in its place, which is how the compiler makes one operation of those on all of them.
    fn elements_mut(vector: &mut u128) -> &mut Self::All;
    /// The same in each place.
    fn broadcast(self) -> Self::All;
}

/// An element of which there is one twice as wide.
pub trait Widen: Element {
    /// It.
    type Wide: Element;
    /// With zeros, or copies of the sign, above it.
    fn widen(self) -> Self::Wide;
}

macro_rules! element {
    ($($t:ty: $count:expr $(, $wide:ty)?;)*) => { $(
        impl Element for $t {
            type All = [$t; $count];
            #[inline(always)]
            fn elements(vector: &u128) -> Self::All {
                let all: &Self::All = zerocopy::transmute_ref!(vector);
                *all
            }
            #[inline(always)]
            fn elements_mut(vector: &mut u128) -> &mut Self::All {
                zerocopy::transmute_mut!(vector)
            }
            #[inline(always)]
            fn broadcast(self) -> Self::All {
                [self; $count]
            }
        }
        $(
            impl Widen for $t {
                type Wide = $wide;
                #[inline(always)]
                fn widen(self) -> $wide {
                    self.into()
                }
            }
        )?
    )* };
}
element! {
    u8: 16, u16; u16: 8, u32; u32: 4, u64; u64: 2;
    i8: 16, i16; i16: 8, i32; i32: 4, i64; i64: 2;
    f32: 4; f64: 2;
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
