//! Exclusive accesses, and those that acquire and release (Arm ARM B2.9, C4.1.94). With one CPU that executes in
//! order, order needs nothing; what is left is that these accesses have to be aligned.

use super::Operands;
use super::address::Offset;
use super::memory::Integer;
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::Done;
use crate::mmu::Intent;
use soft_base::{Low, Operand};

/// LDAR.
pub(crate) fn load<T: Integer, B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    let va = c.operand_address::<Offset>(i)?;
    c.require_aligned(va, T::BYTES, Intent::Read)?;
    let value: T = c.load(b, va)?;
    c.set_reg(i.rd, value.to_u64());
    Ok(())
}

/// STLR.
pub(crate) fn store<T: Integer, B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    let va = c.operand_address::<Offset>(i)?;
    c.require_aligned(va, T::BYTES, Intent::Write)?;
    c.store(b, va, T::from_u64(c.reg(i.rd)))
}

/// LDXR and LDAXR.
pub(crate) fn load_exclusive<T: Integer, B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    let va = c.operand_address::<Offset>(i)?;
    c.require_aligned(va, T::BYTES, Intent::Read)?;
    let value: T = c.load(b, va)?;
    c.mark::<T, B>(b, va)?;
    c.set_reg(i.rd, value.to_u64());
    Ok(())
}

/// STXR and STLXR.
pub(crate) fn store_exclusive<T: Integer, B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    let va = c.operand_address::<Offset>(i)?;
    c.require_aligned(va, T::BYTES, Intent::Write)?;
    if c.is_marked::<T, B>(b, va)? {
        c.store(b, va, T::from_u64(c.reg(i.rd)))?;
        c.pass(i, true);
    } else {
        c.pass(i, false);
    }
    Ok(())
}

/// A pair of registers as one operand, the first one at the lower address.
pub(crate) trait Pair: Operand {
    fn join(first: u64, second: u64) -> Self;
    fn split(self) -> (u64, u64);
}

impl Pair for u64 {
    fn join(first: u64, second: u64) -> Self {
        u64::from(first.low_u32()) | second << 32
    }
    fn split(self) -> (u64, u64) {
        (u64::from(self.low_u32()), self >> 32)
    }
}

impl Pair for u128 {
    fn join(first: u64, second: u64) -> Self {
        u128::from(first) | u128::from(second) << 64
    }
    fn split(self) -> (u64, u64) {
        (self.low_u64(), (self >> 64).low_u64())
    }
}

/// LDXP and LDAXP; [`Operands::ra`] is Rt2.
pub(crate) fn load_pair<T: Pair, B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    let va = c.operand_address::<Offset>(i)?;
    c.require_aligned(va, T::BYTES, Intent::Read)?;
    let (first, second) = c.load::<T, B>(b, va)?.split();
    c.mark::<T, B>(b, va)?;
    c.set_reg(i.rd, first);
    c.set_reg(i.ra, second);
    Ok(())
}

/// STXP and STLXP.
pub(crate) fn store_pair<T: Pair, B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    let va = c.operand_address::<Offset>(i)?;
    c.require_aligned(va, T::BYTES, Intent::Write)?;
    if c.is_marked::<T, B>(b, va)? {
        c.store(b, va, T::join(c.reg(i.rd), c.reg(i.ra)))?;
        c.pass(i, true);
    } else {
        c.pass(i, false);
    }
    Ok(())
}

/// CLREX.
pub(crate) fn clear(c: &mut Core, _i: &Operands) {
    c.exclusive = None;
}

impl Core {
    /// Marks an address for exclusive access.
    fn mark<T: Operand, B: Bus>(&mut self, bus: &mut B, va: u64) -> Done {
        let address = self.physical_address(bus, va, Intent::Read)?;
        self.exclusive = Some((address, T::BYTES.low_u8()));
        Ok(())
    }

    /// Whether an address is marked for an access of the same size.
    fn is_marked<T: Operand, B: Bus>(
        &mut self,
        bus: &mut B,
        va: u64,
    ) -> Result<bool, crate::exception::Fault> {
        let Some(marked) = self.exclusive else { return Ok(false) };
        let address = self.physical_address(bus, va, Intent::Write)?;
        Ok(marked == (address, T::BYTES.low_u8()))
    }

    /// The status of an exclusive store in Rs ([`Operands::rm`]), whose mark is gone.
    fn pass(&mut self, i: &Operands, stored: bool) {
        self.exclusive = None;
        self.set_reg(i.rm, u64::from(!stored));
    }
}
