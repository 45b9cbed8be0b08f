//! Comparisons that set the flags, and selection by them.

use super::form::number;
use crate::context::Core;
use crate::exec::Operands;
use crate::flags::Flags;
use crate::fp::format::Float;
use crate::fp::order::compare;
use core::cmp::Ordering;

/// NZCV after a comparison (Arm ARM, FPCompare).
fn flags(order: Option<Ordering>) -> Flags {
    Flags::from_bits(match order {
        Some(Ordering::Less) => 0b1000 << 28,
        Some(Ordering::Equal) => 0b0110 << 28,
        Some(Ordering::Greater) => 0b0010 << 28,
        None => 0b0011 << 28,
    })
}

/// FCMP and FCMPE; with `ZERO` the second operand is 0.
#[inline(always)]
pub(crate) fn fcmp<F: Float, const SIGNALS: bool, const ZERO: bool>(c: &mut Core, i: &Operands) {
    let a = F::low(c.v[number(i.rn)]);
    let b = if ZERO { F::ZERO } else { F::low(c.v[number(i.rm)]) };
    c.flags = flags(compare(&mut c.fp, SIGNALS, a, b));
}

/// FCCMP and FCCMPE: [`Operands::aux`] is the condition, the immediate operand NZCV if it does not hold.
#[inline(always)]
pub(crate) fn fccmp<F: Float, const SIGNALS: bool>(c: &mut Core, i: &Operands) {
    if c.flags.hold(i.aux) {
        fcmp::<F, SIGNALS, false>(c, i);
    } else {
        c.flags = Flags::from_bits(i.imm);
    }
}

/// FCSEL: [`Operands::aux`] is the condition.
#[inline(always)]
pub(crate) fn fcsel<F: Float>(c: &mut Core, i: &Operands) {
    let register = if c.flags.hold(i.aux) { i.rn } else { i.rm };
    c.v[number(i.rd)] = F::low(c.v[number(register)]).bits();
}
