//! XCHG, XADD and CMPXCHG with memory. One CPU executes them, so that they need no lock.

use crate::frame::{T0, T2, home, part};
use crate::plan::Access;
use crate::translate::{Done, Left, Translation, is_high_byte};
use iced_x86::{Code, Instruction, OpKind, Register};

impl Translation<'_> {
    /// Where the memory operand is, and its size, if the other one is a register of 32 or 64 bits.
    fn updated(&mut self, instruction: &Instruction) -> Result<(iced_x86::MemoryOperand, usize), Left> {
        let bytes = instruction.op1_register().size();
        let unsuitable =
            instruction.op0_kind() != OpKind::Memory || instruction.op1_kind() != OpKind::Register;
        if unsuitable || bytes < 4 || is_high_byte(instruction.op1_register()) {
            return Err(Left);
        }
        Ok((self.memory(instruction, bytes, Access::Write)?, bytes))
    }

    /// The same instruction, without a lock.
    fn unlocked(&mut self, instruction: &Instruction, memory: iced_x86::MemoryOperand) -> Instruction {
        let mut changed = *instruction;
        changed.set_has_lock_prefix(false);
        changed.set_has_xacquire_prefix(false);
        changed.set_has_xrelease_prefix(false);
        self.with_memory(&mut changed, memory);
        changed
    }

    pub(crate) fn exchange_memory(&mut self, instruction: &Instruction) -> Done {
        let (memory, bytes) = self.updated(instruction)?;
        let register = instruction.op1_register();
        let (load, store) = if bytes == 8 {
            (Code::Mov_r64_rm64, Code::Mov_rm64_r64)
        } else {
            (Code::Mov_r32_rm32, Code::Mov_rm32_r32)
        };
        let host = self.read(register, T2);
        let old = part(crate::frame::T1, bytes);
        self.e.rm(load, old, memory);
        self.e.mr(store, memory, host);
        self.e.rr(load, host, old);
        self.written(register, T2);
        Ok(())
    }

    pub(crate) fn exchange_add(&mut self, instruction: &Instruction) -> Done {
        let (memory, _) = self.updated(instruction)?;
        let register = instruction.op1_register();
        let mut changed = self.unlocked(instruction, memory);
        let host = self.read(register, T2);
        changed.set_op1_register(host);
        self.e.any(&changed);
        self.host_made_flags();
        self.written(register, T2);
        Ok(())
    }

    /// CMPXCHG uses RAX, whose flags it replaces.
    pub(crate) fn compare_exchange(&mut self, instruction: &Instruction) -> Done {
        let a = home(Register::RAX.number()).ok_or(Left)?;
        let (memory, _) = self.updated(instruction)?;
        debug_assert_eq!(memory.base, T0);
        let mut changed = self.unlocked(instruction, memory);
        let host = self.read(instruction.op1_register(), T2);
        changed.set_op1_register(host);
        self.e.rr(Code::Mov_r64_rm64, Register::RAX, a);
        self.e.any(&changed);
        self.e.rr(Code::Mov_r64_rm64, a, Register::RAX);
        self.host_made_flags();
        Ok(())
    }
}
