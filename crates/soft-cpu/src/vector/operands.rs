//! What an operation works on.

use super::registers::Vector;
use crate::silicon::Rules;
use crate::sse::float::Env;

/// What an operation works on. A mask register or general-purpose register is the lowest 64 bits of a [`Vector`].
pub(crate) struct Operands<'a> {
    /// Where the result goes; holds the destination's old value on entry. The bits above `bytes` do not matter, unless
    /// the result is shorter than that: then the rest up to the destination's length has to be zero.
    pub(crate) result: &'a mut Vector,
    /// The first source (VEX.vvvv); of an instruction with one source the destination.
    pub(crate) a: &'a Vector,
    /// The last source: a register or memory, already broadcast.
    pub(crate) b: &'a Vector,
    /// The register that bits 7:4 of the immediate choose (VBLENDVPS).
    pub(crate) third: &'a Vector,
    pub(crate) imm: u8,
    /// Vector length (16, 32, 64), of scalars the element's size.
    pub(crate) bytes: usize,
    /// The elements to work on: of the write mask, or all. Operations without exceptions may work on all.
    pub(crate) active: u64,
    /// Rounding as the instruction says; collects exceptions.
    pub(crate) env: &'a mut Env,
    /// Where CPUs differ.
    pub(crate) rules: Rules,
    /// Replaces the arithmetic flags.
    pub(crate) flags: Option<u64>,
}

/// What an instruction does to its operands.
pub(crate) type Operation = fn(&mut Operands<'_>);
