//! Shifts and rotates. Flags that the SDM leaves undefined follow Intel silicon where it is known.

use super::Insn;
use super::operand::Place;
use crate::bus::Bus;
use crate::context::{Core, RCX};
use crate::exception::Done;
use crate::low::Low;
use crate::width::Width;

/// A shift of `a` by `count`, which is masked to the width and not 0.
pub(crate) trait Shift {
    fn apply<T: Width>(c: &mut Core, a: T, count: u32) -> T;
}

pub(crate) struct Shl;
pub(crate) struct Shr;
pub(crate) struct Sar;
pub(crate) struct Rol;
pub(crate) struct Ror;
pub(crate) struct Rcl;
pub(crate) struct Rcr;

impl Shift for Shl {
    #[inline(always)]
    fn apply<T: Width>(c: &mut Core, a: T, count: u32) -> T {
        let a = a.zext();
        let result = T::low(a << count);
        let carry = count <= T::BITS && a >> (T::BITS - count) & 1 != 0;
        c.flags.shifted(result.sext(), carry, result.sign() != carry);
        result
    }
}
impl Shift for Shr {
    #[inline(always)]
    fn apply<T: Width>(c: &mut Core, a: T, count: u32) -> T {
        let value = a.zext();
        let result = T::low(value >> count);
        let carry = value >> (count - 1) & 1 != 0;
        c.flags.shifted(result.sext(), carry, count == 1 && a.sign());
        result
    }
}
impl Shift for Sar {
    #[inline(always)]
    fn apply<T: Width>(c: &mut Core, a: T, count: u32) -> T {
        let value = a.sext().cast_signed();
        let result = T::low((value >> count).cast_unsigned());
        let carry = value >> (count - 1) & 1 != 0;
        c.flags.shifted(result.sext(), carry, false);
        result
    }
}
impl Shift for Rol {
    #[inline(always)]
    fn apply<T: Width>(c: &mut Core, a: T, count: u32) -> T {
        let n = count % T::BITS;
        let value = a.zext();
        let result = if n == 0 { a } else { T::low(value << n | value >> (T::BITS - n)) };
        let carry = result.zext() & 1 != 0;
        c.flags.set_carry_overflow(carry, result.sign() != carry);
        result
    }
}
impl Shift for Ror {
    #[inline(always)]
    fn apply<T: Width>(c: &mut Core, a: T, count: u32) -> T {
        let n = count % T::BITS;
        let value = a.zext();
        let result = if n == 0 { a } else { T::low(value >> n | value << (T::BITS - n)) };
        let second = result.zext() >> (T::BITS - 2) & 1 != 0;
        c.flags.set_carry_overflow(result.sign(), result.sign() != second);
        result
    }
}
impl Shift for Rcl {
    fn apply<T: Width>(c: &mut Core, a: T, count: u32) -> T {
        let size = T::BITS + 1;
        let n = count % size;
        let wide = u128::from(a.zext()) | u128::from(c.flags.carry()) << T::BITS;
        let rotated = if n == 0 { wide } else { wide << n | wide >> (size - n) };
        let result = T::low(rotated.low_u64());
        let carry = rotated >> T::BITS & 1 != 0;
        c.flags.set_carry_overflow(carry, result.sign() != carry);
        result
    }
}
impl Shift for Rcr {
    fn apply<T: Width>(c: &mut Core, a: T, count: u32) -> T {
        let size = T::BITS + 1;
        let n = count % size;
        let wide = u128::from(a.zext()) | u128::from(c.flags.carry()) << T::BITS;
        let rotated = if n == 0 { wide } else { wide >> n | wide << (size - n) };
        let result = T::low(rotated.low_u64());
        let carry = rotated >> T::BITS & 1 != 0;
        let second = result.zext() >> (T::BITS - 2) & 1 != 0;
        c.flags.set_carry_overflow(carry, result.sign() != second);
        result
    }
}

#[inline(always)]
fn mask<T: Width>(count: u64) -> u32 {
    (count & if T::BITS == 64 { 63 } else { 31 }).low_u32()
}

/// By an immediate.
pub(crate) fn by_imm<B: Bus, O: Shift, T: Width, D: Place<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let count = mask::<T>(i.imm);
    shift::<B, O, T, D>(c, b, i, count)
}

/// By CL.
pub(crate) fn by_cl<B: Bus, O: Shift, T: Width, D: Place<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let count = mask::<T>(c.regs[RCX]);
    shift::<B, O, T, D>(c, b, i, count)
}

#[inline(always)]
fn shift<B: Bus, O: Shift, T: Width, D: Place<T>>(c: &mut Core, b: &mut B, i: &Insn<B>, count: u32) -> Done {
    // A count of 0 still writes: 32-bit registers are zero-extended, memory must be writable.
    D::update(c, b, i, |c, old| if count == 0 { old } else { O::apply(c, old, count) })
}

/// SHLD (`LEFT`) and SHRD by an immediate, or by CL if `aux` is 1.
pub(crate) fn double<B: Bus, const LEFT: bool, T: Width, D: Place<T>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    let count = mask::<T>(if i.aux == 1 { c.regs[RCX] } else { i.imm });
    let fill = T::reg(c, i.src).zext();
    D::update(c, b, i, |c, old| {
        if count == 0 {
            return old;
        }
        let shift = if LEFT { shift_left::<T> } else { shift_right::<T> };
        let (result, carry) = shift(old.zext(), fill, count);
        let result = T::low(result);
        c.flags.shifted(result.sext(), carry, result.sign() != old.sign());
        result
    })
}

/// The result in the low bits, and the last bit shifted out. Counts above 16 with 16-bit operands are
/// undefined; silicon goes on with the destination's bits.
fn shift_left<T: Width>(value: u64, fill: u64, count: u32) -> (u64, bool) {
    if T::BITS == 64 {
        return (value << count | fill >> (64 - count), value >> (64 - count) & 1 != 0);
    }
    let third = if T::BITS == 16 { value } else { 0 };
    let all = u128::from(value) << (2 * T::BITS) | u128::from(fill) << T::BITS | u128::from(third);
    ((all << count >> (2 * T::BITS)).low_u64(), all >> (3 * T::BITS - count) & 1 != 0)
}

fn shift_right<T: Width>(value: u64, fill: u64, count: u32) -> (u64, bool) {
    if T::BITS == 64 {
        return (value >> count | fill << (64 - count), value >> (count - 1) & 1 != 0);
    }
    let third = if T::BITS == 16 { value } else { 0 };
    let all = u128::from(third) << (2 * T::BITS) | u128::from(fill) << T::BITS | u128::from(value);
    ((all >> count).low_u64(), all >> (count - 1) & 1 != 0)
}

/// See [`chain`](super::chain).
pub(crate) mod quick {
    use super::*;

    #[inline(always)]
    pub(crate) fn by_imm<B: Bus, O: Shift, T: Width, D: Place<T>>(
        c: &mut Core,
        b: &mut B,
        i: &Insn<B>,
    ) -> bool {
        let count = mask::<T>(i.imm);
        D::quick_update(c, b, i, |c, old| if count == 0 { old } else { O::apply(c, old, count) })
    }

    #[inline(always)]
    pub(crate) fn by_cl<B: Bus, O: Shift, T: Width, D: Place<T>>(
        c: &mut Core,
        b: &mut B,
        i: &Insn<B>,
    ) -> bool {
        let count = mask::<T>(c.regs[RCX]);
        D::quick_update(c, b, i, |c, old| if count == 0 { old } else { O::apply(c, old, count) })
    }
}
