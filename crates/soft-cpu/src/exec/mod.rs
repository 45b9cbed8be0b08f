//! Handlers: one function per operation, width and operand form, chosen when a block is decoded.

pub(crate) mod alu;
pub(crate) mod bits;
pub(crate) mod bmi;
pub(crate) mod chain;
pub(crate) mod control;
pub(crate) mod direct;
pub(crate) mod event;
pub(crate) mod far;
pub(crate) mod flag;
pub(crate) mod io;
pub(crate) mod legacy;
pub(crate) mod mov;
pub(crate) mod muldiv;
pub(crate) mod operand;
pub(crate) mod protection;
pub(crate) mod random;
pub(crate) mod shift;
pub(crate) mod stack;
pub(crate) mod string;
pub(crate) mod system;
pub(crate) mod tsc_aux;
pub(crate) mod x87;
pub(crate) mod xsave;

use crate::block::Position;
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::Done;
use crate::operations::Operation;

/// Executes one instruction.
pub(crate) type Handler<B> = fn(&mut Core, &mut B, &Insn<B>) -> Done;

/// [`Insn::seg`]: the address needs masking or the segment a limit check.
pub(crate) const SEG_SLOW: u8 = 0x80;
/// [`Insn::seg`]: 32-bit addresses.
pub(crate) const SEG_ADDRESS_32: u8 = 0x10;
/// [`Insn::seg`]: 16-bit addresses.
pub(crate) const SEG_ADDRESS_16: u8 = 0x20;

/// A decoded instruction. Register numbers as `Core::regs` has them.
pub(crate) struct Insn<B> {
    /// Executes what follows. While a block is being decoded: this instruction and what follows.
    pub(crate) next: chain::Chain<B>,
    /// Executes it.
    pub(crate) run: Handler<B>,
    /// Immediate operand, sign-extended to 64 bits.
    pub(crate) imm: u64,
    /// Displacement; for near branches the target's distance from the start of the block.
    pub(crate) disp: u64,
    pub(crate) position: Position,
    /// Register of the first operand.
    pub(crate) dst: u8,
    /// Register of the second operand.
    pub(crate) src: u8,
    pub(crate) base: u8,
    pub(crate) index: u8,
    /// Shift count of the index.
    pub(crate) scale: u8,
    /// Segment number in the low three bits, with SEG_ flags.
    pub(crate) seg: u8,
    /// What else the handler needs: operand size in bytes, REP kind, a third register.
    pub(crate) aux: u8,
    /// What it counts as, while operations are counted.
    pub(crate) operation: Operation,
}

impl<B: Bus> Clone for Insn<B> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl Core {
    /// It has retired.
    #[inline(always)]
    pub(crate) fn count_operation<B>(&self, i: &Insn<B>) {
        if i.operation.is_some()
            && let Some(counting) = &self.counting
        {
            counting.count(self.cpl != 0, i.operation);
        }
    }
}

/// Raises #UD: not an instruction, or not one of a CPU with our CPUID.
pub(crate) fn undefined<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    Err(c.ud())
}

/// Raises #UD and asks the run loop to note what is missing.
pub(crate) fn unimplemented<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.unimplemented = true;
    Err(c.ud())
}

pub(crate) fn nop<B: Bus>(_c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    Ok(())
}

pub(crate) mod quick {
    use super::*;

    #[inline(always)]
    pub(crate) fn nop<B: Bus>(_c: &mut Core, _b: &mut B, _i: &Insn<B>) -> bool {
        true
    }
}
