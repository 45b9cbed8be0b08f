//! Shifts, by an immediate and by a register, with and without rounding.

use super::form::Op;
use super::integer::pure;
use crate::fp::Env;
use crate::fp::environment::QC;
use soft_arithmetic::lane::Lane;

pure! {
    /// SHL, and SHLL: less than the width.
    Shl [u8 u16 u32 u64 i16 i32 i64] |_, a, b| a << b;
    /// SLI.
    Sli [u8 u16 u32 u64] |d, a, b| a << b | d & !(T::MAX << b);
    /// SRI: 1 to the width.
    Sri [u8 u16 u32 u64] |d, a, b| a >> (b - 1) >> 1 | d & !(T::MAX >> (b - 1) >> 1);
    /// SSHR and USHR.
    Shr [u8 u16 u32 u64 i8 i16 i32 i64] |_, a, b| a >> (b - 1) >> 1;
    /// SSRA and USRA.
    Sra [u8 u16 u32 u64 i8 i16 i32 i64] |d, a, b| d.wrapping_add(a >> (b - 1) >> 1);
    /// SRSHR and URSHR.
    Rshr [u8 u16 u32 u64 i8 i16 i32 i64] |_, a, b| (a >> (b - 1) >> 1).wrapping_add(a >> (b - 1) & 1);
    /// SRSRA and URSRA.
    Rsra [u8 u16 u32 u64 i8 i16 i32 i64] |d, a, b| {
        d.wrapping_add(a >> (b - 1) >> 1).wrapping_add(a >> (b - 1) & 1)
    };
}

/// Elements as numbers that leave room for the bits that a shift may add.
pub(crate) trait Wide: Lane {
    const SIGNED: bool;
    fn number(self) -> i128;
}

macro_rules! wide {
    ($($t:ty: $signed:expr;)*) => { $(
        impl Wide for $t {
            const SIGNED: bool = $signed;
            #[inline(always)]
            fn number(self) -> i128 {
                self.into()
            }
        }
    )* };
}
wide!(u8: false; u16: false; u32: false; u64: false; i8: true; i16: true; i32: true; i64: true;);

/// The low bits of a number.
#[inline(always)]
pub(crate) fn low<T: Lane>(number: i128) -> T {
    T::low(number.cast_unsigned())
}

/// The nearest number that an element can be, and QC if it is another.
#[inline(always)]
pub(crate) fn saturate<T: Wide>(env: &mut Env, number: i128) -> T {
    let (smallest, largest) = match T::SIGNED {
        true => (-1_i128 << (T::BITS - 1), (1 << (T::BITS - 1)) - 1),
        false => (0, (1 << T::BITS) - 1),
    };
    let nearest = number.clamp(smallest, largest);
    if nearest != number {
        env.raise(QC);
    }
    low(nearest)
}

/// `value` / 2^`count`, rounded down or to nearest, ties up.
#[inline(always)]
fn right(value: i128, count: u32, round: bool) -> i128 {
    // Elements have at most 64 bits, so that more than 65 places make no difference.
    let count = count.min(66);
    if round && count > 0 { (value + (1 << (count - 1))) >> count } else { value >> count }
}

/// SSHL, USHL and those that round (`ROUND`) and saturate (`SATURATE`): left by the lowest byte of the second source,
/// a signed number.
pub(crate) struct ShiftBy<const ROUND: bool, const SATURATE: bool>;

impl<T: Wide, const ROUND: bool, const SATURATE: bool> Op<T> for ShiftBy<ROUND, SATURATE> {
    const PURE: bool = !SATURATE;
    #[inline(always)]
    fn apply(env: &mut Env, _d: T, a: T, b: T) -> T {
        let count = i32::from(soft_base::Low::low_u8(b.bits()).cast_signed());
        let value = a.number();
        if count < 0 {
            // What was an element before still is one, but for rounding.
            return low(right(value, count.unsigned_abs(), ROUND));
        }
        let count = count.unsigned_abs();
        match SATURATE {
            // Of all numbers only 0 can be shifted by its width without a loss.
            true if count >= T::BITS => saturate(env, value.signum() << 100),
            true => saturate(env, value << count),
            false if count >= T::BITS => low(0),
            false => low(value << count),
        }
    }
}

/// SQSHL and UQSHL by an immediate, and SQSHLU, whose result is unsigned.
pub(crate) struct SaturatingShl;

impl<D: Wide, A: Wide> Op<D, A> for SaturatingShl {
    const PURE: bool = false;
    #[inline(always)]
    fn apply(env: &mut Env, _d: D, a: A, b: A) -> D {
        let count = soft_base::Low::low_u32(b.bits()) & (A::BITS - 1);
        saturate(env, a.number() << count)
    }
}

/// SHRN and RSHRN; XTN shifts by 0.
pub(crate) struct ShiftNarrow<const ROUND: bool>;

impl<N: Lane, W: Wide, const ROUND: bool> Op<N, W> for ShiftNarrow<ROUND> {
    #[inline(always)]
    fn apply(_env: &mut Env, _d: N, a: W, b: W) -> N {
        low(right(a.number(), soft_base::Low::low_u32(b.bits()), ROUND))
    }
}

/// SQSHRN, SQSHRUN, UQSHRN and those that round; SQXTN, SQXTUN and UQXTN shift by 0.
pub(crate) struct SaturatingNarrow<const ROUND: bool>;

impl<N: Wide, W: Wide, const ROUND: bool> Op<N, W> for SaturatingNarrow<ROUND> {
    const PURE: bool = false;
    #[inline(always)]
    fn apply(env: &mut Env, _d: N, a: W, b: W) -> N {
        saturate(env, right(a.number(), soft_base::Low::low_u32(b.bits()), ROUND))
    }
}
