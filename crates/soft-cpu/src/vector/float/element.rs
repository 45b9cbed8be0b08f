//! Elements that are floating-point numbers.

mod host;

use crate::float::arithmetic::{Signs, slow, slow_fused, slow_square_root};
use crate::float::convert::{Integer, slow_from_integer, slow_to_integer};
use crate::float::order::{slow_compare, slow_extreme, slow_order};
use crate::float::{self, DOUBLE, Env, Float, Format, HALF, Operation, SINGLE};
use crate::low::Low;
use crate::vector::{Element, Operands, Vector};
use core::cmp::Ordering;
use soft_arithmetic::rounding::Rounding;

/// f32, f64, and u16 for half precision.
pub(super) trait FloatElement: Element {
    const FORMAT: Format;
    /// The bits, right-aligned.
    fn raw(self) -> u64;
    /// From the low bits.
    fn of(pattern: u64) -> Self;
    fn arithmetic(env: &mut Env, operation: Operation, a: Self, b: Self) -> Self;
    /// Does a whole vector at once if every element is plain.
    fn arithmetic_on_all(_o: &mut Operands<'_>, _operation: Operation) -> bool {
        false
    }
    /// [`arithmetic_on_all`](Self::arithmetic_on_all) of factors and addend.
    fn fused_on_all(_o: &mut Operands<'_>, _signs: Signs, _sources: [&Vector; 3]) -> bool {
        false
    }
    fn square_root(env: &mut Env, a: Self) -> Self;
    fn fused(env: &mut Env, signs: Signs, operands: [Self; 3], order: [u8; 3]) -> Self;
    fn extreme(env: &mut Env, less: bool, a: Self, b: Self) -> Self;
    fn compare(env: &mut Env, predicate: u8, a: Self, b: Self) -> bool;
    fn order(env: &mut Env, signals: bool, a: Self, b: Self) -> Option<Ordering>;
    /// To an integer, right-aligned.
    fn to_integer(env: &mut Env, a: Self, to: Integer, truncate: bool) -> u64;
    /// From the low bits of `value`.
    fn from_integer(env: &mut Env, value: u64, from: Integer) -> Self;
}

fn any_to_integer(env: &mut Env, format: Format, a: u64, to: Integer, truncate: bool) -> u64 {
    let mode = if truncate { Rounding::Zero } else { env.rounding() };
    slow_to_integer(env, format, a, to, mode)
}

macro_rules! host {
    ($($t:ty: $format:expr, $from:ident;)*) => { $(
        impl FloatElement for $t {
            const FORMAT: Format = $format;
            #[inline(always)]
            fn raw(self) -> u64 {
                Float::pattern(self)
            }
            #[inline(always)]
            fn of(pattern: u64) -> Self {
                Float::from_pattern(pattern)
            }
            #[inline(always)]
            fn arithmetic(env: &mut Env, operation: Operation, a: Self, b: Self) -> Self {
                float::arithmetic(env, operation, a, b)
            }
            #[inline(always)]
            fn arithmetic_on_all(o: &mut Operands<'_>, operation: Operation) -> bool {
                host::arithmetic::<$t>(o, operation)
            }
            fn fused_on_all(o: &mut Operands<'_>, signs: Signs, sources: [&Vector; 3]) -> bool {
                host::fused::<$t>(o, signs, sources)
            }
            #[inline(always)]
            fn square_root(env: &mut Env, a: Self) -> Self {
                float::square_root(env, a)
            }
            #[inline(always)]
            fn fused(env: &mut Env, signs: Signs, operands: [Self; 3], order: [u8; 3]) -> Self {
                float::arithmetic::fused(env, signs, operands, order)
            }
            #[inline(always)]
            fn extreme(env: &mut Env, less: bool, a: Self, b: Self) -> Self {
                float::extreme(env, less, a, b)
            }
            #[inline(always)]
            fn compare(env: &mut Env, predicate: u8, a: Self, b: Self) -> bool {
                float::compare(env, predicate, a, b)
            }
            #[inline(always)]
            fn order(env: &mut Env, signals: bool, a: Self, b: Self) -> Option<Ordering> {
                float::order(env, signals, a, b)
            }
            #[inline(always)]
            fn to_integer(env: &mut Env, a: Self, to: Integer, truncate: bool) -> u64 {
                if to.signed {
                    return float::to_integer(env, a, to.width, truncate);
                }
                any_to_integer(env, $format, a.raw(), to, truncate)
            }
            #[inline(always)]
            fn from_integer(env: &mut Env, value: u64, from: Integer) -> Self {
                let shift = 64 - from.width;
                if from.signed {
                    return float::$from(env, (value << shift).cast_signed() >> shift);
                }
                match i64::try_from(value) {
                    Ok(value) => float::$from(env, value),
                    Err(_) => Self::of(slow_from_integer(env, $format, value, from)),
                }
            }
        }
    )* };
}
host! { f32: SINGLE, f32_from_integer; f64: DOUBLE, f64_from_integer; }

impl FloatElement for u16 {
    const FORMAT: Format = HALF;
    fn raw(self) -> u64 {
        self.into()
    }
    fn of(pattern: u64) -> Self {
        pattern.low_u16()
    }
    fn arithmetic(env: &mut Env, operation: Operation, a: Self, b: Self) -> Self {
        Self::of(slow(env, HALF, operation, a.into(), b.into()))
    }
    fn square_root(env: &mut Env, a: Self) -> Self {
        Self::of(slow_square_root(env, HALF, a.into()))
    }
    fn fused(env: &mut Env, signs: Signs, operands: [Self; 3], order: [u8; 3]) -> Self {
        Self::of(slow_fused(env, HALF, signs, operands.map(u64::from), order))
    }
    fn extreme(env: &mut Env, less: bool, a: Self, b: Self) -> Self {
        Self::of(slow_extreme(env, HALF, less, a.into(), b.into()))
    }
    fn compare(env: &mut Env, predicate: u8, a: Self, b: Self) -> bool {
        slow_compare(env, HALF, predicate, a.into(), b.into())
    }
    fn order(env: &mut Env, signals: bool, a: Self, b: Self) -> Option<Ordering> {
        slow_order(env, HALF, signals, a.into(), b.into())
    }
    fn to_integer(env: &mut Env, a: Self, to: Integer, truncate: bool) -> u64 {
        any_to_integer(env, HALF, a.into(), to, truncate)
    }
    fn from_integer(env: &mut Env, value: u64, from: Integer) -> Self {
        Self::of(slow_from_integer(env, HALF, value, from))
    }
}
