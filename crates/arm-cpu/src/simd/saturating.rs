//! Integer operations that saturate, and then set FPSR.QC.

use super::form::Op;
use super::shift::{Wide, saturate};
use crate::fp::Env;

macro_rules! saturating {
    ($($(#[$doc:meta])* $name:ident |$d:pat_param, $a:pat_param, $b:pat_param| $result:expr;)*) => { $(
        $(#[$doc])*
        pub(crate) enum $name {}
        impl<T: Wide> Op<T> for $name {
            const PURE: bool = false;
            #[inline(always)]
            fn apply(env: &mut Env, d: T, a: T, b: T) -> T {
                let ($d, $a, $b) = (d.number(), a.number(), b.number());
                saturate(env, $result)
            }
        }
    )* };
}

saturating! {
    /// SQADD and UQADD.
    Qadd |_, a, b| a + b;
    /// SQSUB and UQSUB.
    Qsub |_, a, b| a - b;
    /// SQABS.
    Qabs |_, a, _| a.abs();
    /// SQNEG.
    Qneg |_, a, _| -a;
}

/// SUQADD (the destination is signed, the source is not) and USQADD.
pub(crate) enum QaddOther {}

impl<D: Wide, A: Wide> Op<D, A> for QaddOther {
    const PURE: bool = false;
    #[inline(always)]
    fn apply(env: &mut Env, d: D, a: A, _b: A) -> D {
        saturate(env, d.number() + a.number())
    }
}

/// SQDMULH and SQRDMULH: the upper half of twice the product.
pub(crate) struct DoublingHigh<const ROUND: bool>;

impl<T: Wide, const ROUND: bool> Op<T> for DoublingHigh<ROUND> {
    const PURE: bool = false;
    #[inline(always)]
    fn apply(env: &mut Env, _d: T, a: T, b: T) -> T {
        let product = 2 * a.number() * b.number() + if ROUND { 1 << (T::BITS - 1) } else { 0 };
        saturate(env, product >> T::BITS)
    }
}

/// SQDMULL of elements that have been widened.
pub(crate) enum DoublingLong {}

impl<T: Wide> Op<T> for DoublingLong {
    const PURE: bool = false;
    #[inline(always)]
    fn apply(env: &mut Env, _d: T, a: T, b: T) -> T {
        saturate(env, 2 * a.number() * b.number())
    }
}

/// SQDMLAL, and with `SUB` SQDMLSL: the doubled product saturates first, then the sum.
pub(crate) struct DoublingAccumulate<const SUB: bool>;

impl<T: Wide, const SUB: bool> Op<T> for DoublingAccumulate<SUB> {
    const PURE: bool = false;
    #[inline(always)]
    fn apply(env: &mut Env, d: T, a: T, b: T) -> T {
        let product: T = saturate(env, 2 * a.number() * b.number());
        saturate(env, if SUB { d.number() - product.number() } else { d.number() + product.number() })
    }
}
