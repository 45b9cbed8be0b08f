//! The register stack, its tags, and how exceptions are reported.

use super::float::{DE, Env, F80, IE, OE, PE, SF, UE, ZE};
use crate::context::{CR0_EM, CR0_NE, CR0_TS, Core};
use crate::exception::{self, Done, Exception};
use crate::exec::Insn;
use crate::exec::operand;
use crate::low::Low;
use retire::Assist;

pub(crate) const C0: u16 = 1 << 8;
pub(crate) const C1: u16 = 1 << 9;
pub(crate) const C2: u16 = 1 << 10;
pub(crate) const C3: u16 = 1 << 14;
/// The top of the stack, in the status word.
pub(crate) const TOP: u16 = 7 << 11;
const EXCEPTIONS: u16 = 0x3F;
/// ES, and B, which copies it.
const SUMMARY: u16 = 1 << 7 | 1 << 15;

impl Core {
    /// #NM if x87 instructions are to be emulated or the state belongs to another task.
    #[inline(always)]
    pub(crate) fn require_x87(&mut self) -> Done {
        if self.cr0 & (CR0_EM | CR0_TS) != 0 {
            Err(self.raise(Exception::plain(exception::NM)))
        } else {
            Ok(())
        }
    }

    /// #NM, or #MF for an unmasked exception of an earlier instruction: all but the FN instructions start so.
    #[inline(always)]
    pub(crate) fn require_x87_settled(&mut self) -> Done {
        self.require_x87()?;
        self.x87_settled()
    }

    /// #MF for an unmasked exception of an earlier instruction.
    #[inline(always)]
    pub(crate) fn x87_settled(&mut self) -> Done {
        if self.fsw & SUMMARY != 0 && self.cr0 & CR0_NE != 0 {
            return Err(self.raise(Exception::plain(exception::MF)));
        }
        Ok(())
    }

    /// Brings ES and B in line with exception flags and masks, after a change of either.
    pub(crate) fn update_x87_summary(&mut self) {
        self.fsw &= !SUMMARY;
        if self.fsw & !self.fcw & EXCEPTIONS != 0 {
            self.fsw |= SUMMARY;
        }
    }

    pub(crate) fn x87_top(&self) -> usize {
        usize::from(self.fsw >> 11 & 7)
    }

    fn physical(&self, n: u8) -> usize {
        (self.x87_top() + usize::from(n)) & 7
    }

    pub(super) fn rotate_stack(&mut self, by: u16) {
        self.fsw = self.fsw & !TOP | self.fsw.wrapping_add(by << 11) & TOP;
    }

    pub(super) fn st(&self, n: u8) -> F80 {
        F80::from_bits(self.st[self.physical(n)])
    }

    pub(super) fn is_empty(&self, n: u8) -> bool {
        self.ftw >> self.physical(n) & 1 == 0
    }

    pub(super) fn set_st(&mut self, n: u8, value: F80) {
        let register = self.physical(n);
        self.st[register] = value.bits();
        self.ftw |= 1 << register;
    }

    pub(super) fn free(&mut self, n: u8) {
        self.ftw &= !(1 << self.physical(n));
    }

    pub(super) fn pop_st(&mut self) {
        self.free(0);
        self.rotate_stack(1);
    }

    pub(super) fn push_st(&mut self, value: F80) {
        self.rotate_stack(7);
        self.set_st(0, value);
    }

    /// Reports the exceptions of an instruction. Whether it may write its result: not if an exception
    /// that comes before the operation is unmasked.
    #[inline(always)]
    pub(super) fn commit<B>(&mut self, i: &Insn<B>, env: &Env) -> bool {
        self.x87_pointers.1 = self.instruction_rip();
        let unmasked = env.raised & !self.fcw & EXCEPTIONS;
        if unmasked != 0 {
            return self.commit_unmasked(i, env, unmasked);
        }
        self.fsw = self.fsw & !C1 | env.raised | u16::from(env.c1) << 9;
        if env.assist {
            self.note_assist(Assist::FloatingPoint);
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn commit_unmasked<B>(&mut self, i: &Insn<B>, env: &Env, unmasked: u16) -> bool {
        let mut env = *env;
        let before = unmasked & (IE | DE | ZE) != 0;
        if before {
            env.raised &= !(OE | UE | PE);
            env.c1 &= env.raised & SF != 0;
        }
        self.fsw = self.fsw & !C1 | env.raised | u16::from(env.c1) << 9 | SUMMARY;
        // The decoder puts the opcode there; a ModRM byte below C0H has a memory operand.
        let opcode = i.imm.low_u16();
        self.x87_pointers.0 = opcode;
        if opcode & 0xFF < 0xC0 {
            self.x87_pointers.2 = operand::effective_address(self, i);
        }
        !before
    }

    /// Writes a value to the new top of the stack, or what a stack overflow leaves there. An unmasked DE does not
    /// prevent that.
    pub(super) fn push_result<B>(&mut self, i: &Insn<B>, mut env: Env, value: F80) {
        let value = if self.is_empty(7) || env.raised & SF != 0 {
            value
        } else {
            env.raised = IE | SF;
            env.c1 = true;
            F80::INDEFINITE
        };
        self.commit(i, &env);
        if env.raised & IE == 0 || env.masked(IE) {
            self.push_st(value);
        }
    }

    /// IE and SF if a register is empty.
    pub(super) fn underflow(&self, env: &mut Env, registers: &[u8]) -> bool {
        let empty = registers.iter().any(|register| self.is_empty(*register));
        if empty {
            env.raise(IE | SF);
        }
        empty
    }
}
