//! How far a load or store goes: all the way, or only where it is a matter of a few instructions.

use super::Operands;
use super::address::Address;
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Done, Fault};
use soft_base::Operand;

/// What handlers of loads and stores are made of.
pub(crate) trait Path {
    /// The address of the access.
    fn address<A: Address>(c: &mut Core, i: &Operands) -> Result<u64, Fault>;
    /// [`Core::load`].
    fn load<T: Operand, B: Bus>(c: &mut Core, b: &mut B, va: u64) -> Result<T, Fault>;
    /// [`Core::store`].
    fn store<T: Operand, B: Bus>(c: &mut Core, b: &mut B, va: u64, value: T) -> Done;
    /// [`Core::require_fp`].
    fn require_fp(c: &mut Core) -> Done;
}

/// All the way.
pub(crate) enum Full {}

/// Aligned operands in RAM whose translation is at hand. A [`Fault`] means that [`Full`] has to do it: nothing has
/// happened, but for a store to RAM that is to happen again.
pub(crate) enum Quick {}

impl Path for Full {
    #[inline(always)]
    fn address<A: Address>(c: &mut Core, i: &Operands) -> Result<u64, Fault> {
        c.operand_address::<A>(i)
    }
    #[inline(always)]
    fn load<T: Operand, B: Bus>(c: &mut Core, b: &mut B, va: u64) -> Result<T, Fault> {
        c.load(b, va)
    }
    #[inline(always)]
    fn store<T: Operand, B: Bus>(c: &mut Core, b: &mut B, va: u64, value: T) -> Done {
        c.store(b, va, value)
    }
    #[inline(always)]
    fn require_fp(c: &mut Core) -> Done {
        c.require_fp()
    }
}

impl Path for Quick {
    #[inline(always)]
    fn address<A: Address>(c: &mut Core, i: &Operands) -> Result<u64, Fault> {
        if c.reg(i.rn) & u64::from(i.more) == 0 { Ok(A::address(c, i)) } else { Err(Fault) }
    }
    #[inline(always)]
    fn load<T: Operand, B: Bus>(c: &mut Core, b: &mut B, va: u64) -> Result<T, Fault> {
        c.load_quick(b, va).ok_or(Fault)
    }
    #[inline(always)]
    fn store<T: Operand, B: Bus>(c: &mut Core, b: &mut B, va: u64, value: T) -> Done {
        if c.store_quick(b, va, value) { Ok(()) } else { Err(Fault) }
    }
    #[inline(always)]
    fn require_fp(c: &mut Core) -> Done {
        if c.fp_enabled { Ok(()) } else { Err(Fault) }
    }
}
