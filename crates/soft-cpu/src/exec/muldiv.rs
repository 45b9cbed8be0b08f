//! Multiplication and division.

use super::Insn;
use super::operand::Get;
use crate::bus::Bus;
use crate::context::{Core, RAX, RDX, number};
use crate::exception::{self, Done, Exception};
use crate::low::Low;
use crate::width::Width;

/// Writes a double-width product to RDX:RAX, or AX.
fn set_product<T: Width>(c: &mut Core, product: u128) {
    if T::BITS == 8 {
        product.low_u16().set_reg(c, number(RAX));
    } else {
        T::low(product.low_u64()).set_reg(c, number(RAX));
        T::low((product >> T::BITS).low_u64()).set_reg(c, number(RDX));
    }
}

#[inline(always)]
fn set_flags<T: Width>(c: &mut Core, low: T, overflow: bool) {
    c.flags.shifted(low.sext(), overflow, overflow);
}

pub(crate) fn mul<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let right = S::get(c, b, i)?.zext();
    let product = u128::from(T::reg(c, number(RAX)).zext()) * u128::from(right);
    set_product::<T>(c, product);
    set_flags(c, T::low(product.low_u64()), product >> T::BITS != 0);
    Ok(())
}

/// IMUL with one operand.
pub(crate) fn imul<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let right = S::get(c, b, i)?;
    let (product, overflow) = signed_product(T::reg(c, number(RAX)), right);
    set_product::<T>(c, product.cast_unsigned());
    set_flags(c, T::low(product.low_u64()), overflow);
    Ok(())
}

#[inline(always)]
fn signed_product<T: Width>(a: T, b: T) -> (i128, bool) {
    let product = i128::from(a.sext().cast_signed()) * i128::from(b.sext().cast_signed());
    (product, product != i128::from(T::low(product.low_u64()).sext().cast_signed()))
}

/// IMUL reg, r/m and IMUL reg, r/m, imm.
pub(crate) fn imul_to<B: Bus, T: Width, L: Get<T>, R: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let left = L::get(c, b, i)?;
    let right = R::get(c, b, i)?;
    let (product, overflow) = signed_product(left, right);
    let low = T::low(product.low_u64());
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
        return u128::from(c.regs[RAX].low_u16());
    }
    u128::from(T::reg(c, number(RDX)).zext()) << T::BITS | u128::from(T::reg(c, number(RAX)).zext())
}

fn set_quotient<T: Width>(c: &mut Core, quotient: T, remainder: T) {
    if T::BITS == 8 {
        (remainder.zext() << 8 | quotient.zext()).low_u16().set_reg(c, number(RAX));
    } else {
        quotient.set_reg(c, number(RAX));
        remainder.set_reg(c, number(RDX));
    }
}

/// True if the dividend needs the upper of two registers of 64 bits: some CPUs take longer.
#[inline(always)]
fn is_long<T: Width>(c: &Core, signed: bool) -> bool {
    let extension = if signed { (c.regs[RAX].cast_signed() >> 63).cast_unsigned() } else { 0 };
    T::BITS == 64 && c.regs[RDX] != extension
}

/// Such a division is reported by itself.
#[inline(always)]
fn note_long<B: Bus, T: Width>(c: &mut Core, signed: bool) -> Done {
    if B::OBSERVED && c.watch.on && is_long::<T>(c, signed) { c.note_long_division() } else { Ok(()) }
}

/// Quotient and remainder of the dividend; nothing is #DE.
#[inline(always)]
fn divided<T: Width>(c: &Core, divisor: u64) -> Option<(T, T)> {
    let (quotient, remainder) = match u64::try_from(dividend::<T>(c)) {
        Ok(small) => {
            let quotient = small.checked_div(divisor)?;
            (quotient, small - quotient * divisor)
        }
        // Else the quotient has more than 64 bits.
        Err(_) if c.regs[RDX] < divisor => {
            let (dividend, divisor) = (dividend::<T>(c), u128::from(divisor));
            ((dividend / divisor).low_u64(), (dividend % divisor).low_u64())
        }
        Err(_) => return None,
    };
    let fits = T::BITS == 64 || quotient >> T::BITS == 0;
    fits.then(|| (T::low(quotient), T::low(remainder)))
}

/// The same of signed numbers.
fn divided_signed<T: Width>(c: &Core, divisor: i64) -> Option<(T, T)> {
    let shift = 128 - 2 * T::BITS;
    let dividend = (dividend::<T>(c) << shift).cast_signed() >> shift;
    let (quotient, remainder) = match i64::try_from(dividend) {
        Ok(small) => (small.checked_div(divisor)?, small.checked_rem(divisor)?),
        Err(_) => {
            let divisor = i128::from(divisor);
            let quotient = i64::try_from(dividend.checked_div(divisor)?).ok()?;
            // It is closer to 0 than the divisor.
            (quotient, i64::try_from(dividend.checked_rem(divisor)?).ok()?)
        }
    };
    let low = T::low(quotient.cast_unsigned());
    let fits = quotient == low.sext().cast_signed();
    fits.then(|| (low, T::low(remainder.cast_unsigned())))
}

pub(crate) fn div<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    note_long::<B, T>(c, false)?;
    let divisor = S::get(c, b, i)?.zext();
    let Some((quotient, remainder)) = divided::<T>(c, divisor) else { return divide_error(c) };
    set_quotient(c, quotient, remainder);
    Ok(())
}

pub(crate) fn idiv<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    note_long::<B, T>(c, true)?;
    let divisor = S::get(c, b, i)?.sext().cast_signed();
    let Some((quotient, remainder)) = divided_signed::<T>(c, divisor) else { return divide_error(c) };
    set_quotient(c, quotient, remainder);
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
        let low = T::low(product.low_u64());
        set_flags(c, low, overflow);
        low.set_reg(c, i.dst);
        true
    }

    #[inline(always)]
    pub(crate) fn div<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        if B::OBSERVED && is_long::<T>(c, false) {
            return false;
        }
        let Some(divisor) = S::quick(c, b, i) else { return false };
        let Some((quotient, remainder)) = divided::<T>(c, divisor.zext()) else { return false };
        set_quotient(c, quotient, remainder);
        true
    }
}
