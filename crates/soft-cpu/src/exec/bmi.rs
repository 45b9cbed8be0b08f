//! LZCNT, BMI1 and BMI2: bit manipulation in general-purpose registers.

use super::Insn;
use super::operand::Get;
use crate::bus::Bus;
use crate::context::{Core, RDX, number};
use crate::exception::{Done, Fault};
use crate::flags::{CF, Flags, SF, ZF};
use crate::low::Low;
use crate::width::Width;

/// The third register operand, [`Insn::aux`].
pub(crate) struct Third;

impl<T: Width> Get<T> for Third {
    #[inline(always)]
    fn get<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Result<T, Fault> {
        Ok(T::reg(c, i.aux))
    }
}

fn flag(holds: bool, flag: u64) -> u64 {
    if holds { flag } else { 0 }
}

/// TZCNT (`TRAILING`) and LZCNT. OF, SF, PF and AF, undefined, are 0.
pub(crate) fn count_zeros<B: Bus, const TRAILING: bool, T: Width, S: Get<T>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    let value = S::get(c, b, i)?.zext();
    let found =
        if TRAILING { value.trailing_zeros().min(T::BITS) } else { value.leading_zeros() - (64 - T::BITS) };
    T::low(u64::from(found)).set_reg(c, i.dst);
    c.flags = Flags::from_bits(flag(value == 0, CF) | flag(found == 0, ZF));
    Ok(())
}

/// An operation on two operands that gives a result and CF.
pub(crate) trait Pair {
    fn apply<T: Width>(a: u64, b: u64) -> (u64, bool);
}

/// An operation on two operands without flags.
pub(crate) trait Quiet {
    fn apply<T: Width>(a: u64, b: u64) -> u64;
}

macro_rules! operations {
    ($trait:ident -> $result:ty: $($name:ident = |$a:ident, $b:ident, $bits:ident| $body:expr;)*) => { $(
        pub(crate) struct $name;
        impl $trait for $name {
            #[inline(always)]
            fn apply<T: Width>($a: u64, $b: u64) -> $result {
                #[allow(unused_variables, reason = "not every operation looks at its width")]
                let $bits = T::BITS;
                $body
            }
        }
    )* };
}
// The first operand of the two in the order of the encoding's table in the SDM: source before control.
operations! { Pair -> (u64, bool):
    Andn = |a, b, bits| (!a & b, false);
    Bextr = |a, control, bits| {
        let (start, length) = (control.low_u8(), (control >> 8).low_u8());
        let shifted = if start < 64 { a >> start } else { 0 };
        (if length < 64 { shifted & ((1 << length) - 1) } else { shifted }, false)
    };
    Bzhi = |a, index, bits| {
        let index = index.low_u8();
        if u32::from(index) < bits { (a & ((1 << index) - 1), false) } else { (a, true) }
    };
    Blsr = |a, _b, bits| (a & a.wrapping_sub(1), a == 0);
    Blsmsk = |a, _b, bits| (a ^ a.wrapping_sub(1), a == 0);
    Blsi = |a, _b, bits| (a & a.wrapping_neg(), a != 0);
}

operations! { Quiet -> u64:
    Pdep = |a, mask, bits| {
        let (mut rest, mut result, mut n) = (mask, 0, 0);
        while rest != 0 {
            result |= (a >> n & 1) << rest.trailing_zeros();
            rest &= rest - 1;
            n += 1;
        }
        result
    };
    Pext = |a, mask, bits| {
        let (mut rest, mut result, mut n) = (mask, 0, 0);
        while rest != 0 {
            result |= (a >> rest.trailing_zeros() & 1) << n;
            rest &= rest - 1;
            n += 1;
        }
        result
    };
    Rorx = |a, count, bits| {
        let count = count.low_u32() & (bits - 1);
        if count == 0 { a } else { a >> count | a << (bits - count) }
    };
    Sarx = |a, count, bits| (T::low(a).sext().cast_signed() >> (count.low_u32() & (bits - 1))).cast_unsigned();
    Shlx = |a, count, bits| a << (count.low_u32() & (bits - 1));
    Shrx = |a, count, bits| a >> (count.low_u32() & (bits - 1));
}

/// Sets SF, ZF and CF, except that BLSMSK's ZF is 0 by its result; OF is 0, and so are AF and PF, which are undefined.
pub(crate) fn pair<B: Bus, O: Pair, T: Width, L: Get<T>, R: Get<T>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    let left = L::get(c, b, i)?;
    let right = R::get(c, b, i)?;
    let (result, carry) = O::apply::<T>(left.zext(), right.zext());
    let result = T::low(result);
    result.set_reg(c, i.dst);
    c.flags = Flags::from_bits(flag(carry, CF) | flag(result.zext() == 0, ZF) | flag(result.sign(), SF));
    Ok(())
}

pub(crate) fn quiet<B: Bus, O: Quiet, T: Width, L: Get<T>, R: Get<T>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    let left = L::get(c, b, i)?;
    let right = R::get(c, b, i)?;
    T::low(O::apply::<T>(left.zext(), right.zext())).set_reg(c, i.dst);
    Ok(())
}

/// MULX: RDX times the last operand; the low half goes to the second operand, then the high half to the
/// first.
pub(crate) fn mulx<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let right = S::get(c, b, i)?.zext();
    let product = u128::from(T::reg(c, number(RDX)).zext()) * u128::from(right);
    T::low(product.low_u64()).set_reg(c, i.src);
    T::low((product >> T::BITS).low_u64()).set_reg(c, i.dst);
    Ok(())
}

/// ADCX (`CARRY`) and ADOX: addition with CF or OF alone.
pub(crate) fn add_one_flag<B: Bus, const CARRY: bool, T: Width, S: Get<T>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    let right = S::get(c, b, i)?.zext();
    let old = if CARRY { c.flags.carry() } else { c.flags.overflow() };
    let sum = u128::from(T::reg(c, i.dst).zext()) + u128::from(right) + u128::from(old);
    T::low(sum.low_u64()).set_reg(c, i.dst);
    let out = sum >> T::BITS != 0;
    let (carry, overflow) = if CARRY { (out, c.flags.overflow()) } else { (c.flags.carry(), out) };
    c.flags.set_carry_overflow(carry, overflow);
    Ok(())
}
