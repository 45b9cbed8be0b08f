//! Bit tests and scans.

use super::Insn;
use super::operand::{self, Get, Place, is_stack};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::Done;
use crate::flags::ZF;
use crate::low::Low;
use crate::width::Width;

/// What happens to the tested bit.
pub(crate) trait BitOp {
    const WRITES: bool;
    fn apply(value: u64, bit: u64) -> u64;
}
pub(crate) struct Bt;
pub(crate) struct Bts;
pub(crate) struct Btr;
pub(crate) struct Btc;

macro_rules! bit_op {
    ($name:ident, $writes:expr, $f:expr) => {
        impl BitOp for $name {
            const WRITES: bool = $writes;
            #[inline(always)]
            fn apply(value: u64, bit: u64) -> u64 {
                let f: fn(u64, u64) -> u64 = $f;
                f(value, bit)
            }
        }
    };
}
bit_op!(Bt, false, |value, _| value);
bit_op!(Bts, true, |value, bit| value | bit);
bit_op!(Btr, true, |value, bit| value & !bit);
bit_op!(Btc, true, |value, bit| value ^ bit);

/// Bit number from a register or immediate, within the operand.
pub(crate) fn bit<B: Bus, O: BitOp, T: Width, D: Place<T>, S: Get<T>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    let number = S::get(c, b, i)?.zext().low_u32() % T::BITS;
    if !O::WRITES {
        let value = D::get(c, b, i)?.zext();
        c.flags.set_carry(value >> number & 1 != 0);
        return Ok(());
    }
    D::update(c, b, i, |c, old| {
        let value = old.zext();
        c.flags.set_carry(value >> number & 1 != 0);
        T::low(O::apply(value, 1 << number))
    })
}

/// Bit string in memory: the register counts bits from the operand's address, signed.
pub(crate) fn bit_string<B: Bus, O: BitOp, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let index = T::reg(c, i.src).sext().cast_signed();
    let words = index >> T::BITS.trailing_zeros();
    let number = (index.cast_unsigned() & u64::from(T::BITS - 1)).low_u32();
    let offset = operand::offset(c, i).wrapping_add(words.cast_unsigned().wrapping_mul(T::BYTES as u64));
    let offset = offset & operand::address_mask(i.seg);
    let linear = c.segmented(i.seg & 7, offset, T::BYTES, O::WRITES)?;
    if !O::WRITES {
        let value = c.load::<T, B>(b, linear, is_stack(i))?.zext();
        c.flags.set_carry(value >> number & 1 != 0);
        return Ok(());
    }
    let (old, target) = c.load_for_update::<T, B>(b, linear, is_stack(i))?;
    let value = old.zext();
    c.store_update(b, target, T::low(O::apply(value, 1 << number)));
    c.flags.set_carry(value >> number & 1 != 0);
    Ok(())
}

/// BSF (`FORWARD`) and BSR. A zero source leaves the destination alone, as silicon does.
pub(crate) fn scan<B: Bus, const FORWARD: bool, T: Width, S: Get<T>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    let value = S::get(c, b, i)?.zext();
    if value != 0 {
        let found = if FORWARD { value.trailing_zeros() } else { 63 - value.leading_zeros() };
        T::low(u64::from(found)).set_reg(c, i.dst);
    }
    c.flags.logic(T::low(value).sext());
    c.flags.set(ZF, if value == 0 { ZF } else { 0 });
    Ok(())
}

pub(crate) fn popcnt<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let value = S::get(c, b, i)?.zext();
    T::low(u64::from(value.count_ones())).set_reg(c, i.dst);
    // All flags but ZF are 0.
    c.flags = crate::flags::Flags::from_bits(if value == 0 { ZF } else { 0 });
    Ok(())
}
