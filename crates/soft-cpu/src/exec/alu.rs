//! Two-operand arithmetic and logic, INC to XADD, compare-and-exchange.

use super::Insn;
use super::operand::{self, Get, Mem, Place, is_stack};
use crate::bus::Bus;
use crate::context::{Core, RAX, RBX, RCX, RDX, number};
use crate::exception::Done;
use crate::flags::ZF;
use crate::low::Low;
use crate::width::Width;

/// An operation with a result that is written back.
pub(crate) trait Binary {
    fn apply<T: Width>(c: &mut Core, a: T, b: T) -> T;
}

pub(crate) struct Add;
pub(crate) struct Adc;
pub(crate) struct Sub;
pub(crate) struct Sbb;
pub(crate) struct And;
pub(crate) struct Or;
pub(crate) struct Xor;

#[inline(always)]
fn add<T: Width>(c: &mut Core, a: T, b: T, carry: u64) -> T {
    let (a, b) = (a.zext(), b.zext());
    let sum = a.wrapping_add(b).wrapping_add(carry);
    let result = T::low(sum);
    c.flags.arithmetic(result.sext(), a & b | (a | b) & !sum, T::BITS);
    result
}

#[inline(always)]
fn sub<T: Width>(c: &mut Core, a: T, b: T, borrow: u64) -> T {
    let (a, b) = (a.zext(), b.zext());
    let difference = a.wrapping_sub(b).wrapping_sub(borrow);
    let result = T::low(difference);
    c.flags.arithmetic(result.sext(), !a & b | (!a | b) & difference, T::BITS);
    result
}

impl Binary for Add {
    #[inline(always)]
    fn apply<T: Width>(c: &mut Core, a: T, b: T) -> T {
        add(c, a, b, 0)
    }
}
impl Binary for Adc {
    #[inline(always)]
    fn apply<T: Width>(c: &mut Core, a: T, b: T) -> T {
        let carry = u64::from(c.flags.carry());
        add(c, a, b, carry)
    }
}
impl Binary for Sub {
    #[inline(always)]
    fn apply<T: Width>(c: &mut Core, a: T, b: T) -> T {
        sub(c, a, b, 0)
    }
}
impl Binary for Sbb {
    #[inline(always)]
    fn apply<T: Width>(c: &mut Core, a: T, b: T) -> T {
        let borrow = u64::from(c.flags.carry());
        sub(c, a, b, borrow)
    }
}

macro_rules! logic {
    ($name:ident, $op:tt) => {
        impl Binary for $name {
            #[inline(always)]
            fn apply<T: Width>(c: &mut Core, a: T, b: T) -> T {
                let result = T::low(a.zext() $op b.zext());
                c.flags.logic(result.sext());
                result
            }
        }
    };
}
logic!(And, &);
logic!(Or, |);
logic!(Xor, ^);

pub(crate) fn binary<B: Bus, O: Binary, T: Width, D: Place<T>, S: Get<T>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    let right = S::get(c, b, i)?;
    D::update(c, b, i, |c, left| O::apply(c, left, right))
}

pub(crate) fn cmp<B: Bus, T: Width, D: Get<T>, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let left = D::get(c, b, i)?;
    let right = S::get(c, b, i)?;
    Sub::apply(c, left, right);
    Ok(())
}

pub(crate) fn test<B: Bus, T: Width, D: Get<T>, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let left = D::get(c, b, i)?;
    let right = S::get(c, b, i)?;
    And::apply(c, left, right);
    Ok(())
}

/// A one-operand operation.
pub(crate) trait Unary {
    fn apply<T: Width>(c: &mut Core, a: T) -> T;
}

pub(crate) struct Inc;
pub(crate) struct Dec;
pub(crate) struct Neg;
pub(crate) struct Not;

impl Unary for Inc {
    #[inline(always)]
    fn apply<T: Width>(c: &mut Core, a: T) -> T {
        let a = a.zext();
        let sum = a.wrapping_add(1);
        let result = T::low(sum);
        c.flags.arithmetic_keep_carry(result.sext(), a & 1 | (a | 1) & !sum, T::BITS);
        result
    }
}
impl Unary for Dec {
    #[inline(always)]
    fn apply<T: Width>(c: &mut Core, a: T) -> T {
        let a = a.zext();
        let difference = a.wrapping_sub(1);
        let result = T::low(difference);
        c.flags.arithmetic_keep_carry(result.sext(), !a & 1 | (!a | 1) & difference, T::BITS);
        result
    }
}
impl Unary for Neg {
    #[inline(always)]
    fn apply<T: Width>(c: &mut Core, a: T) -> T {
        sub(c, T::low(0), a, 0)
    }
}
impl Unary for Not {
    #[inline(always)]
    fn apply<T: Width>(_c: &mut Core, a: T) -> T {
        T::low(!a.zext())
    }
}

pub(crate) fn unary<B: Bus, O: Unary, T: Width, D: Place<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    D::update(c, b, i, |c, old| O::apply(c, old))
}

/// XCHG; the second operand is a register.
pub(crate) fn xchg<B: Bus, T: Width, D: Place<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let right = T::reg(c, i.src);
    let mut left = right;
    D::update(c, b, i, |_, old| {
        left = old;
        right
    })?;
    left.set_reg(c, i.src);
    Ok(())
}

pub(crate) fn xadd<B: Bus, T: Width, D: Place<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let right = T::reg(c, i.src);
    let mut left = right;
    let mut sum = right;
    D::update(c, b, i, |c, old| {
        left = old;
        sum = Add::apply(c, old, right);
        sum
    })?;
    left.set_reg(c, i.src);
    // The sum stays if both operands are the same register.
    if i.dst == i.src && i.aux != 0 {
        sum.set_reg(c, i.dst);
    }
    Ok(())
}

/// CMPXCHG with a register: if the comparison fails it stays as it is, upper half included.
pub(crate) fn cmpxchg_register<B: Bus, T: Width>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    let (old, expected) = (T::reg(c, i.dst), T::reg(c, number(RAX)));
    Sub::apply(c, expected, old);
    if old == expected {
        T::reg(c, i.src).set_reg(c, i.dst);
    } else {
        old.set_reg(c, number(RAX));
    }
    Ok(())
}

/// CMPXCHG with memory, which is written in any case.
pub(crate) fn cmpxchg<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let new = T::reg(c, i.src);
    let expected = T::reg(c, number(RAX));
    let mut found = expected;
    Mem::update(c, b, i, |c, old| {
        found = old;
        Sub::apply(c, expected, old);
        if old == expected { new } else { old }
    })?;
    if found != expected {
        found.set_reg(c, number(RAX));
    }
    Ok(())
}

pub(crate) fn cmpxchg8b<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let low = |value: u64| value & 0xFFFF_FFFF;
    let expected = low(c.regs[RDX]) << 32 | low(c.regs[RAX]);
    let new = low(c.regs[RCX]) << 32 | low(c.regs[RBX]);
    let linear = operand::linear(c, i, 8, true)?;
    let (old, target) = c.load_for_update::<u64, B>(b, linear, is_stack(i))?;
    let equal = old == expected;
    c.store_update(b, target, if equal { new } else { old });
    if !equal {
        c.regs[RAX] = low(old);
        c.regs[RDX] = old >> 32;
    }
    c.flags.set(ZF, if equal { ZF } else { 0 });
    Ok(())
}

pub(crate) fn cmpxchg16b<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let wide = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
    let expected = wide(c.regs[RDX], c.regs[RAX]);
    let new = wide(c.regs[RCX], c.regs[RBX]);
    let linear = operand::linear(c, i, 16, true)?;
    if linear & 15 != 0 {
        return Err(crate::sse::misaligned(c, i, linear));
    }
    let (old, target) = c.load_for_update::<u128, B>(b, linear, is_stack(i))?;
    let equal = old == expected;
    c.store_update(b, target, if equal { new } else { old });
    if !equal {
        c.regs[RAX] = old.low_u64();
        c.regs[RDX] = (old >> 64) as u64;
    }
    c.flags.set(ZF, if equal { ZF } else { 0 });
    Ok(())
}

/// See [`chain`](super::chain).
pub(crate) mod quick {
    use super::*;

    #[inline(always)]
    pub(crate) fn binary<B: Bus, O: Binary, T: Width, D: Place<T>, S: Get<T>>(
        c: &mut Core,
        b: &mut B,
        i: &Insn<B>,
    ) -> bool {
        let Some(right) = S::quick(c, b, i) else { return false };
        D::quick_update(c, b, i, |c, left| O::apply(c, left, right))
    }

    #[inline(always)]
    pub(crate) fn cmp<B: Bus, T: Width, D: Get<T>, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let (Some(left), Some(right)) = (D::quick(c, b, i), S::quick(c, b, i)) else { return false };
        Sub::apply(c, left, right);
        true
    }

    #[inline(always)]
    pub(crate) fn test<B: Bus, T: Width, D: Get<T>, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let (Some(left), Some(right)) = (D::quick(c, b, i), S::quick(c, b, i)) else { return false };
        And::apply(c, left, right);
        true
    }

    #[inline(always)]
    pub(crate) fn unary<B: Bus, O: Unary, T: Width, D: Place<T>>(
        c: &mut Core,
        b: &mut B,
        i: &Insn<B>,
    ) -> bool {
        D::quick_update(c, b, i, |c, old| O::apply(c, old))
    }
}
