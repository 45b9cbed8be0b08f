//! Transfers between vector registers and general-purpose ones.

use super::form::{end, number};
use crate::context::Core;
use crate::exec::Operands;
use soft_arithmetic::lane::{Element, Lane};
use soft_base::Low;

/// DUP of a general-purpose register.
#[inline(always)]
pub(crate) fn dup<T: Element>(c: &mut Core, i: &Operands) {
    let element = T::low(c.reg(i.rn).into());
    T::elements_mut(&mut c.v[number(i.rd)]).as_mut().fill(element);
    end(c, i);
}

/// INS of a general-purpose register to element `imm`; FMOV to the upper half.
#[inline(always)]
pub(crate) fn ins<T: Element>(c: &mut Core, i: &Operands) {
    let element = T::low(c.reg(i.rn).into());
    T::elements_mut(&mut c.v[number(i.rd)]).as_mut()[i.imm.low_usize() % T::COUNT] = element;
}

/// UMOV of element `imm`; FMOV to a general-purpose register.
#[inline(always)]
pub(crate) fn umov<T: Element>(c: &mut Core, i: &Operands) {
    let element = T::elements(&c.v[number(i.rn)]).as_ref()[i.imm.low_usize() % T::COUNT];
    c.set_reg(i.rd, element.bits().low_u64());
}

/// SMOV of element `imm`; `X` for 64 bits.
#[inline(always)]
pub(crate) fn smov<T: Element, const X: bool>(c: &mut Core, i: &Operands) {
    let element = T::elements(&c.v[number(i.rn)]).as_ref()[i.imm.low_usize() % T::COUNT];
    let shift = 64 - T::BITS;
    let value = ((element.bits().low_u64() << shift).cast_signed() >> shift).cast_unsigned();
    c.set_reg(i.rd, if X { value } else { value.low_u32().into() });
}

/// FMOV from a general-purpose register.
#[inline(always)]
pub(crate) fn fmov<T: Lane>(c: &mut Core, i: &Operands) {
    c.v[number(i.rd)] = T::low(c.reg(i.rn).into()).bits();
}

/// FMOV of an immediate to a scalar.
#[inline(always)]
pub(crate) fn fmov_immediate(c: &mut Core, i: &Operands) {
    c.v[number(i.rd)] = i.imm.into();
}
