//! Addresses of loads and stores.

use super::Operands;
use super::alu::extend;
use crate::context::Core;

/// How an address is made of operands.
pub(crate) trait Address {
    /// The address of the access.
    fn address(c: &Core, i: &Operands) -> u64;
    /// What the base register is afterwards.
    #[inline(always)]
    fn write_back(_c: &mut Core, _i: &Operands, _address: u64) {}
}

/// Base and immediate; of literals the base is that of the block.
pub(crate) enum Offset {}
/// The same, and the base becomes the address.
pub(crate) enum PreIndex {}
/// The base, to which the immediate is added afterwards.
pub(crate) enum PostIndex {}
/// Base and register, shifted left by [`Operands::aux`].
pub(crate) enum Index {}
/// Base and register, extended as the option in [`Operands::ra`] says and shifted left by [`Operands::aux`].
pub(crate) enum ExtendedIndex {}

impl Address for Offset {
    #[inline(always)]
    fn address(c: &Core, i: &Operands) -> u64 {
        c.reg(i.rn).wrapping_add(i.imm)
    }
}

impl Address for PreIndex {
    #[inline(always)]
    fn address(c: &Core, i: &Operands) -> u64 {
        Offset::address(c, i)
    }
    #[inline(always)]
    fn write_back(c: &mut Core, i: &Operands, address: u64) {
        c.set_reg(i.rn, address);
    }
}

impl Address for PostIndex {
    #[inline(always)]
    fn address(c: &Core, i: &Operands) -> u64 {
        c.reg(i.rn)
    }
    #[inline(always)]
    fn write_back(c: &mut Core, i: &Operands, address: u64) {
        c.set_reg(i.rn, address.wrapping_add(i.imm));
    }
}

impl Address for Index {
    #[inline(always)]
    fn address(c: &Core, i: &Operands) -> u64 {
        c.reg(i.rn).wrapping_add(c.reg(i.rm) << i.aux)
    }
}

impl Address for ExtendedIndex {
    #[inline(always)]
    fn address(c: &Core, i: &Operands) -> u64 {
        c.reg(i.rn).wrapping_add(extend(c.reg(i.rm), i.ra) << i.aux)
    }
}
