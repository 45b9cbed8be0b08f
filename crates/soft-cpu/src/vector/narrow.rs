//! Conversions between elements of different sizes.

use super::lanes::build;
use super::{Description, Element, Operands};
use iced_x86::{Instruction, Mnemonic as M};

/// An element that is converted by way of 64 bits.
trait Convert: Element {
    const MIN: i64;
    const MAX: i64;
    /// With its sign, or zeros above it.
    fn wide(self) -> i64;
    /// Its low bits.
    fn low(value: i64) -> Self;
}

macro_rules! convert {
    ($($t:ty)*) => { $(
        impl Convert for $t {
            const MIN: i64 = <$t>::MIN as i64;
            // An unsigned element of 64 bits is only a source, and as a signed number never too small.
            const MAX: i64 = if <$t>::MIN == 0 && <$t>::BITS == 64 { i64::MAX } else { <$t>::MAX as i64 };
            #[inline(always)]
            fn wide(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn low(value: i64) -> Self {
                value as $t
            }
        }
    )* };
}
convert!(u8 u16 u32 i8 i16 i32 i64 u64);

/// From a type to another one; the sizes for the mask.
macro_rules! up {
    ($from:ty, $to:ty) => {
        Description::packed(extend::<$from, $to>, size_of::<$to>() as u8)
    };
}
macro_rules! down {
    ($operation:ident, $from:ty, $to:ty) => {
        Description::packed($operation::<$from, $to>, size_of::<$to>() as u8).per(size_of::<$from>() as u8)
    };
}

pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vpmovsxbw => up!(i8, i16),
        M::Vpmovsxbd => up!(i8, i32),
        M::Vpmovsxbq => up!(i8, i64),
        M::Vpmovsxwd => up!(i16, i32),
        M::Vpmovsxwq => up!(i16, i64),
        M::Vpmovsxdq => up!(i32, i64),
        M::Vpmovzxbw => up!(u8, u16),
        M::Vpmovzxbd => up!(u8, u32),
        M::Vpmovzxbq => up!(u8, u64),
        M::Vpmovzxwd => up!(u16, u32),
        M::Vpmovzxwq => up!(u16, u64),
        M::Vpmovzxdq => up!(u32, u64),
        M::Vpmovwb => down!(truncate, u16, u8),
        M::Vpmovdb => down!(truncate, u32, u8),
        M::Vpmovdw => down!(truncate, u32, u16),
        M::Vpmovqb => down!(truncate, u64, u8),
        M::Vpmovqw => down!(truncate, u64, u16),
        M::Vpmovqd => down!(truncate, u64, u32),
        M::Vpmovswb => down!(saturate, i16, i8),
        M::Vpmovsdb => down!(saturate, i32, i8),
        M::Vpmovsdw => down!(saturate, i32, i16),
        M::Vpmovsqb => down!(saturate, i64, i8),
        M::Vpmovsqw => down!(saturate, i64, i16),
        M::Vpmovsqd => down!(saturate, i64, i32),
        M::Vpmovuswb => down!(saturate, u16, u8),
        M::Vpmovusdb => down!(saturate, u32, u8),
        M::Vpmovusdw => down!(saturate, u32, u16),
        M::Vpmovusqb => Description::packed(saturate_long::<u8>, 1).per(8),
        M::Vpmovusqw => Description::packed(saturate_long::<u16>, 2).per(8),
        M::Vpmovusqd => Description::packed(saturate_long::<u32>, 4).per(8),
        _ => return None,
    })
}

/// To longer elements, by sign or zeros as the types say.
fn extend<F: Convert, T: Convert>(o: &mut Operands<'_>) {
    *o.result = build::<T>(o.bytes, |n| T::low(o.b.get::<F>(n).wide()));
}

/// To shorter elements; behind them zeros.
fn narrow<F: Convert, T: Convert>(o: &mut Operands<'_>, f: impl Fn(F) -> T) {
    *o.result = build::<T>(o.bytes / F::BYTES * T::BYTES, |n| f(o.b.get(n)));
}

fn truncate<F: Convert, T: Convert>(o: &mut Operands<'_>) {
    narrow::<F, T>(o, |x| T::low(x.wide()));
}

fn saturate<F: Convert, T: Convert>(o: &mut Operands<'_>) {
    narrow::<F, T>(o, |x| T::low(x.wide().clamp(T::MIN, T::MAX)));
}

/// From unsigned 64 bits.
fn saturate_long<T: Convert>(o: &mut Operands<'_>) {
    narrow::<u64, T>(o, |x| T::low(x.min(T::MAX.cast_unsigned()).cast_signed()));
}
