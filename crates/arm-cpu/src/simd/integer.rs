//! Integer operations that neither saturate nor shift by a variable amount.

use super::form::Op;
use crate::fp::Env;
use crate::fp::estimate::{unsigned_reciprocal, unsigned_reciprocal_root};

/// Pure operations: their elements, and the result from the destination's element and the sources'. `T` is the
/// element.
macro_rules! pure {
    ($($(#[$doc:meta])* $name:ident [$($t:ty)*] |$d:pat_param, $a:pat_param, $b:pat_param| $result:expr;)*) => { $(
        $(#[$doc])*
        pub(crate) enum $name {}
        $(
            impl $crate::simd::form::Op<$t> for $name {
                #[inline(always)]
                fn apply(_env: &mut Env, $d: $t, $a: $t, $b: $t) -> $t {
                    #[allow(dead_code, reason = "few operations name the element")]
                    type T = $t;
                    $result
                }
            }
        )*
    )* };
}
pub(super) use pure;

/// All ones if it is true.
macro_rules! all_if {
    ($condition:expr) => {
        T::from($condition).wrapping_neg()
    };
}

pure! {
    /// ADD, and ADDL, ADDW, ADDP, ADDLP, ADDV and ADDLV.
    Add [u8 u16 u32 u64 i16 i32 i64] |_, a, b| a.wrapping_add(b);
    /// SUB, and SUBL and SUBW.
    Sub [u8 u16 u32 u64 i16 i32 i64] |_, a, b| a.wrapping_sub(b);
    /// MUL, and MULL.
    Mul [u8 u16 u32 u64 i16 i32 i64] |_, a, b| a.wrapping_mul(b);
    /// MLA, and MLAL.
    Mla [u8 u16 u32 u64 i16 i32 i64] |d, a, b| d.wrapping_add(a.wrapping_mul(b));
    /// MLS, and MLSL.
    Mls [u8 u16 u32 u64 i16 i32 i64] |d, a, b| d.wrapping_sub(a.wrapping_mul(b));
    /// ADALP.
    Adalp [u16 u32 u64 i16 i32 i64] |d, a, b| d.wrapping_add(a).wrapping_add(b);
    /// AND.
    And [u64] |_, a, b| a & b;
    /// BIC.
    Bic [u64] |_, a, b| a & !b;
    /// ORR.
    Orr [u64] |_, a, b| a | b;
    /// ORN.
    Orn [u64] |_, a, b| a | !b;
    /// EOR.
    Eor [u64] |_, a, b| a ^ b;
    /// BSL.
    Bsl [u64] |d, a, b| a & d | b & !d;
    /// BIT.
    Bit [u64] |d, a, b| a & b | d & !b;
    /// BIF.
    Bif [u64] |d, a, b| a & !b | d & b;
    /// BIC with an immediate.
    BicImmediate [u64] |d, _, b| d & !b;
    /// ORR with an immediate.
    OrrImmediate [u64] |d, _, b| d | b;
    /// MOVI, MVNI, FMOV with an immediate.
    Move [u64] |_, _, b| b;
    /// MAX.
    Max [u8 u16 u32 i8 i16 i32] |_, a, b| a.max(b);
    /// MIN.
    Min [u8 u16 u32 i8 i16 i32] |_, a, b| a.min(b);
    /// CMEQ.
    Cmeq [u8 u16 u32 u64] |_, a, b| all_if!(a == b);
    /// CMTST.
    Cmtst [u8 u16 u32 u64] |_, a, b| all_if!(a & b != 0);
    /// CMHI and CMGT.
    Cmgt [u8 u16 u32 u64 i8 i16 i32 i64] |_, a, b| all_if!(a > b);
    /// CMHS and CMGE.
    Cmge [u8 u16 u32 u64 i8 i16 i32 i64] |_, a, b| all_if!(a >= b);
    /// CMLE with 0.
    Cmle [i8 i16 i32 i64] |_, a, b| all_if!(a <= b);
    /// CMLT with 0.
    Cmlt [i8 i16 i32 i64] |_, a, b| all_if!(a < b);
    /// HADD.
    Hadd [u8 u16 u32 i8 i16 i32] |_, a, b| (a & b).wrapping_add((a ^ b) >> 1);
    /// RHADD.
    Rhadd [u8 u16 u32 i8 i16 i32] |_, a, b| (a | b).wrapping_sub((a ^ b) >> 1);
    /// HSUB: a - b is (a ^ b) - 2 * (!a & b).
    Hsub [u8 u16 u32 i8 i16 i32] |_, a, b| ((a ^ b) >> 1).wrapping_sub(!a & b);
    /// CLZ.
    Clz [u8 u16 u32] |_, a, _| low(a.leading_zeros());
    /// CLS.
    Cls [u8 u16 u32] |_, a, _| low((a ^ a << 1 | 1).leading_zeros());
    /// CNT.
    Cnt [u8] |_, a, _| low(a.count_ones());
    /// NOT.
    Not [u64] |_, a, _| !a;
    /// RBIT.
    Rbit [u8] |_, a, _| a.reverse_bits();
    /// ABS.
    Abs [i8 i16 i32 i64] |_, a, _| a.wrapping_abs();
    /// NEG.
    Neg [u8 u16 u32 u64] |_, a, _| a.wrapping_neg();
    /// REV16, REV32 or REV64 of bytes.
    RevBytes [u16 u32 u64] |_, a, _| a.swap_bytes();
    /// REV32 or REV64 of half-words.
    RevHalves [u32 u64] |_, a, _| {
        let bytes = a.swap_bytes();
        let even = T::MAX / 0xFFFF * 0xFF;
        bytes >> 8 & even | (bytes & even) << 8
    };
    /// REV64 of words.
    RevWords [u64] |_, a, _| a.rotate_left(32);
    /// URECPE.
    Urecpe [u32] |_, a, _| unsigned_reciprocal(a);
    /// URSQRTE.
    Ursqrte [u32] |_, a, _| unsigned_reciprocal_root(a);
    /// PMUL.
    Pmul [u8] |_, a, b| soft_base::Low::low_u8(polynomial(a, b));
    /// PMULL of bytes, which have been widened.
    Pmull [u16] |_, a, b| polynomial(soft_base::Low::low_u8(a), soft_base::Low::low_u8(b));
}

/// A small number as an element.
fn low<T: soft_arithmetic::lane::Lane>(value: u32) -> T {
    T::low(value.into())
}

/// The product of polynomials over {0, 1}.
fn polynomial(a: u8, b: u8) -> u16 {
    (0..8).map(|n| (u16::from(a) << n) * u16::from(b >> n & 1)).fold(0, |sum, part| sum ^ part)
}

macro_rules! differences {
    ($($t:ty: $unsigned:ty;)*) => { $(
        impl Op<$t> for Abd {
            #[inline(always)]
            fn apply(_env: &mut Env, _d: $t, a: $t, b: $t) -> $t {
                <$t as soft_arithmetic::lane::Lane>::low(a.abs_diff(b).into())
            }
        }
        impl Op<$t> for Aba {
            #[inline(always)]
            fn apply(env: &mut Env, d: $t, a: $t, b: $t) -> $t {
                d.wrapping_add(<Abd as Op<$t>>::apply(env, d, a, b))
            }
        }
    )* };
}
/// ABD, and ABDL.
pub(crate) enum Abd {}
/// ABA, and ABAL.
pub(crate) enum Aba {}
differences!(u8: u8; u16: u16; u32: u32; u64: u64; i8: u8; i16: u16; i32: u32; i64: u64;);

/// ADDHN and SUBHN, and those that round: the upper half of each element.
pub(crate) struct High<const SUB: bool, const ROUND: bool>;

macro_rules! high {
    ($($narrow:ty, $wide:ty;)*) => { $(
        impl<const SUB: bool, const ROUND: bool> Op<$narrow, $wide, $wide> for High<SUB, ROUND> {
            #[inline(always)]
            fn apply(_env: &mut Env, _d: $narrow, a: $wide, b: $wide) -> $narrow {
                let sum = if SUB { a.wrapping_sub(b) } else { a.wrapping_add(b) };
                let rounded = if ROUND { sum.wrapping_add(1 << (<$narrow>::BITS - 1)) } else { sum };
                <$narrow as soft_arithmetic::lane::Lane>::low((rounded >> <$narrow>::BITS).into())
            }
        }
    )* };
}
high!(u8, u16; u16, u32; u32, u64;);
