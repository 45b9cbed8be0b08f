//! What GDB has to know of a CPU.

pub(super) mod arm;
pub(super) mod x86;

use crate::engine::Registers;
use gdbstub::arch::Arch;
use std::fmt;

/// A CPU as GDB sees it.
pub trait Cpu: Arch<Usize = u64, BreakpointKind = usize> + fmt::Debug + 'static {
    /// Its registers, as its engine has them.
    type State: Registers;

    /// The content of the `g` packet.
    fn all(state: &Self::State) -> Self::Registers;

    /// Takes over the content of a `G` packet.
    fn set_all(state: &mut Self::State, registers: &Self::Registers);

    /// Reads a register; returns its size in bytes, and `None` if the buffer is too short.
    fn read(state: &Self::State, register: Self::RegId, buffer: &mut [u8]) -> Option<usize>;

    /// Writes a register. False if that is not possible.
    fn write(state: &mut Self::State, register: Self::RegId, value: &[u8]) -> bool;
}
