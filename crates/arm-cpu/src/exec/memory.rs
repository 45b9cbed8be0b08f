//! Loads and stores of general-purpose registers.

use super::Operands;
use super::address::{Address, Offset};
use super::path::Path;
use crate::bus::Bus;
use crate::context::{Core, SCTLR_SA, SCTLR_SA0};
use crate::exception::{Class, Done, Exception, Fault};
use crate::register::Own;
use soft_base::{Low, Operand};

/// What becomes of a loaded value.
pub(crate) trait Extension {
    fn extend(value: u64, bits: u32) -> u64;
}

/// Zero-extended.
pub(crate) enum Zero {}
/// Sign-extended to 32 bits.
pub(crate) enum Sign32 {}
/// Sign-extended to 64 bits.
pub(crate) enum Sign64 {}

impl Extension for Zero {
    #[inline(always)]
    fn extend(value: u64, _bits: u32) -> u64 {
        value
    }
}

impl Extension for Sign64 {
    #[inline(always)]
    fn extend(value: u64, bits: u32) -> u64 {
        ((value << (64 - bits)).cast_signed() >> (64 - bits)).cast_unsigned()
    }
}

impl Extension for Sign32 {
    #[inline(always)]
    fn extend(value: u64, bits: u32) -> u64 {
        u64::from(Sign64::extend(value, bits).low_u32())
    }
}

/// Integers of up to 64 bits as operands.
pub(crate) trait Integer: Operand {
    fn to_u64(self) -> u64;
    /// The low bits.
    fn from_u64(value: u64) -> Self;
}

macro_rules! integer {
    ($($t:ty: $low:ident)*) => { $(
        impl Integer for $t {
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self.into()
            }
            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                value.$low()
            }
        }
    )* };
}
integer!(u8: low_u8 u16: low_u16 u32: low_u32 u64: low_u64);

/// Bits of an operand.
#[inline(always)]
fn bits<T: Operand>() -> u32 {
    8 * T::BYTES.low_u32()
}

impl Core {
    /// The address of an access. With SP as the base, for which [`Operands::more`] is 15, it has to be aligned.
    #[inline(always)]
    pub(crate) fn operand_address<A: Address>(&mut self, i: &Operands) -> Result<u64, Fault> {
        if self.reg(i.rn) & u64::from(i.more) != 0 {
            self.check_stack_pointer()?;
        }
        Ok(A::address(self, i))
    }

    /// SP is not aligned.
    #[cold]
    fn check_stack_pointer(&mut self) -> Done {
        let control = if self.el == 0 { SCTLR_SA0 } else { SCTLR_SA };
        if self.own(Own::Sctlr) & control == 0 {
            return Ok(());
        }
        Err(self.raise(Exception::new(Class::SpAlignment, 0)))
    }
}

/// LDR, LDRB, LDRSW and so on.
#[inline(always)]
pub(crate) fn load<T: Integer, E: Extension, A: Address, P: Path, B: Bus>(
    c: &mut Core,
    b: &mut B,
    i: &Operands,
) -> Done {
    let va = P::address::<A>(c, i)?;
    let value: T = P::load(c, b, va)?;
    c.set_reg(i.rd, E::extend(value.to_u64(), bits::<T>()));
    A::write_back(c, i, va);
    Ok(())
}

/// STR, STRB, STRH.
#[inline(always)]
pub(crate) fn store<T: Integer, A: Address, P: Path, B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    let va = P::address::<A>(c, i)?;
    let value = T::from_u64(c.reg(i.rd));
    P::store(c, b, va, value)?;
    A::write_back(c, i, va);
    Ok(())
}

/// LDP, LDNP and LDPSW.
#[inline(always)]
pub(crate) fn load_pair<T: Integer, E: Extension, A: Address, P: Path, B: Bus>(
    c: &mut Core,
    b: &mut B,
    i: &Operands,
) -> Done {
    let va = P::address::<A>(c, i)?;
    let first: T = P::load(c, b, va)?;
    let second: T = P::load(c, b, va.wrapping_add(T::BYTES as u64))?;
    c.set_reg(i.rd, E::extend(first.to_u64(), bits::<T>()));
    c.set_reg(i.ra, E::extend(second.to_u64(), bits::<T>()));
    A::write_back(c, i, va);
    Ok(())
}

/// STP and STNP.
#[inline(always)]
pub(crate) fn store_pair<T: Integer, A: Address, P: Path, B: Bus>(
    c: &mut Core,
    b: &mut B,
    i: &Operands,
) -> Done {
    let va = P::address::<A>(c, i)?;
    let value = T::from_u64(c.reg(i.rd));
    P::store(c, b, va, value)?;
    let value = T::from_u64(c.reg(i.ra));
    P::store(c, b, va.wrapping_add(T::BYTES as u64), value)?;
    A::write_back(c, i, va);
    Ok(())
}

/// LDTR and such: with the rights of EL0.
pub(crate) fn load_unprivileged<T: Integer, E: Extension, B: Bus>(
    c: &mut Core,
    b: &mut B,
    i: &Operands,
) -> Done {
    let va = c.operand_address::<Offset>(i)?;
    let value: T = c.load_unprivileged(b, va)?;
    c.set_reg(i.rd, E::extend(value.to_u64(), bits::<T>()));
    Ok(())
}

/// STTR and such.
pub(crate) fn store_unprivileged<T: Integer, B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    let va = c.operand_address::<Offset>(i)?;
    c.store_unprivileged(b, va, T::from_u64(c.reg(i.rd)))
}
