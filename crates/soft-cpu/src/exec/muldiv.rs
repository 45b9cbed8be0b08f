//! Multiplication and division.

use super::Insn;
use super::operand::Get;
use crate::bus::Bus;
use crate::context::{Core, RAX, RDX};
use crate::exception::{self, Done, Exception};
use crate::width::Width;

/// Writes a double-width product to RDX:RAX, or AX.
fn set_product<T: Width>(c: &mut Core, product: u128) {
    if T::BITS == 8 {
        (product as u16).set_reg(c, RAX as u8);
    } else {
        T::low(product as u64).set_reg(c, RAX as u8);
        T::low((product >> T::BITS) as u64).set_reg(c, RDX as u8);
    }
}

#[inline(always)]
fn set_flags<T: Width>(c: &mut Core, low: T, overflow: bool) {
    c.flags.shifted(low.sext(), overflow, overflow);
}

pub(crate) fn mul<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let right = S::get(c, b, i)?.zext();
    let product = u128::from(T::reg(c, RAX as u8).zext()) * u128::from(right);
    set_product::<T>(c, product);
    set_flags(c, T::low(product as u64), product >> T::BITS != 0);
    Ok(())
}

/// IMUL with one operand.
pub(crate) fn imul<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let right = S::get(c, b, i)?;
    let (product, overflow) = signed_product(T::reg(c, RAX as u8), right);
    set_product::<T>(c, product as u128);
    set_flags(c, T::low(product as u64), overflow);
    Ok(())
}

#[inline(always)]
fn signed_product<T: Width>(a: T, b: T) -> (i128, bool) {
    let product = i128::from(a.sext() as i64) * i128::from(b.sext() as i64);
    (product, product != i128::from(T::low(product as u64).sext() as i64))
}

/// IMUL reg, r/m and IMUL reg, r/m, imm.
pub(crate) fn imul_to<B: Bus, T: Width, L: Get<T>, R: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let left = L::get(c, b, i)?;
    let right = R::get(c, b, i)?;
    let (product, overflow) = signed_product(left, right);
    let low = T::low(product as u64);
    low.set_reg(c, i.dst);
    set_flags(c, low, overflow);
    Ok(())
}

fn divide_error(c: &mut Core) -> Done {
    Err(c.raise(Exception::plain(exception::DE)))
}

/// RDX:RAX or AX.
fn dividend<T: Width>(c: &Core) -> u128 {
    if T::BITS == 8 {
        return u128::from(c.regs[RAX] as u16);
    }
    u128::from(T::reg(c, RDX as u8).zext()) << T::BITS | u128::from(T::reg(c, RAX as u8).zext())
}

fn set_quotient<T: Width>(c: &mut Core, quotient: T, remainder: T) {
    if T::BITS == 8 {
        ((remainder.zext() << 8 | quotient.zext()) as u16).set_reg(c, RAX as u8);
    } else {
        quotient.set_reg(c, RAX as u8);
        remainder.set_reg(c, RDX as u8);
    }
}

pub(crate) fn div<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let divisor = S::get(c, b, i)?.zext();
    if divisor == 0 {
        return divide_error(c);
    }
    let dividend = dividend::<T>(c);
    let (quotient, remainder) = match u64::try_from(dividend) {
        Ok(small) => (u128::from(small / divisor), small % divisor),
        Err(_) => (dividend / u128::from(divisor), (dividend % u128::from(divisor)) as u64),
    };
    if quotient >> T::BITS != 0 {
        return divide_error(c);
    }
    set_quotient(c, T::low(quotient as u64), T::low(remainder));
    Ok(())
}

pub(crate) fn idiv<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let divisor = i128::from(S::get(c, b, i)?.sext() as i64);
    if divisor == 0 {
        return divide_error(c);
    }
    let shift = 128 - 2 * T::BITS;
    let dividend = (dividend::<T>(c) << shift) as i128 >> shift;
    let (quotient, remainder) = (dividend.wrapping_div(divisor), dividend.wrapping_rem(divisor));
    let low = T::low(quotient as u64);
    // i128::MIN / -1 wraps to itself, which does not fit either.
    if quotient != i128::from(low.sext() as i64) {
        return divide_error(c);
    }
    set_quotient(c, low, T::low(remainder as u64));
    Ok(())
}

/// See [`chain`](super::chain).
pub(crate) mod quick {
    use super::*;

    #[inline(always)]
    pub(crate) fn imul_to<B: Bus, T: Width, L: Get<T>, R: Get<T>>(
        c: &mut Core,
        b: &mut B,
        i: &Insn<B>,
    ) -> bool {
        let (Some(left), Some(right)) = (L::quick(c, b, i), R::quick(c, b, i)) else { return false };
        let (product, overflow) = signed_product(left, right);
        let low = T::low(product as u64);
        set_flags(c, low, overflow);
        low.set_reg(c, i.dst);
        true
    }
}
