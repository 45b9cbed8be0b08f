//! Divisions, without the host's exceptions, and products without flags.

use crate::frame::{T0, T1, T2, home, part};
use crate::plan::Access;
use crate::translate::{Done, Left, Translation};
use iced_x86::{Code, Instruction, Mnemonic as M, OpKind, Register};

impl Translation<'_> {
    /// The divisor becomes the third temporary register.
    fn divisor(&mut self, instruction: &Instruction, bytes: usize) -> Done {
        let load = if bytes == 8 { Code::Mov_r64_rm64 } else { Code::Mov_r32_rm32 };
        if instruction.op0_kind() == OpKind::Memory {
            let memory = self.memory(instruction, bytes, Access::Read)?;
            self.e.rm(load, part(T2, bytes), memory);
        } else {
            self.free_flags();
            let from = self.read(instruction.op0_register(), T2);
            if from.full_register() != T2 {
                self.e.rr(load, part(T2, bytes), from);
            }
        }
        Ok(())
    }

    /// DIV and IDIV with 32 or 64 bits. Where the quotient may not fit, the interpreter does it. Flags stay.
    pub(crate) fn divide(&mut self, instruction: &Instruction) -> Done {
        let (Some(a), Some(d)) = (home(Register::RAX.number()), home(Register::RDX.number())) else {
            return Err(Left);
        };
        let bytes = match instruction.code() {
            Code::Div_rm64 | Code::Idiv_rm64 => 8,
            Code::Div_rm32 | Code::Idiv_rm32 => 4,
            _ => return Err(Left),
        };
        let wide = bytes == 8;
        let pick = |long: Code, short: Code| if wide { long } else { short };
        let load = pick(Code::Mov_r64_rm64, Code::Mov_r32_rm32);
        let compare = pick(Code::Cmp_r64_rm64, Code::Cmp_r32_rm32);
        let (divisor, low, high) = (part(T2, bytes), part(a, bytes), part(d, bytes));
        self.divisor(instruction, bytes)?;
        let slow = self.slow();
        let code = if instruction.mnemonic() == M::Div {
            // The quotient fits if the upper half is less than the divisor, which then is not 0.
            self.e.rr(compare, high, divisor);
            self.e.jump_if(3, slow);
            pick(Code::Div_rm64, Code::Div_rm32)
        } else {
            // It fits if the upper half is the sign of the lower one, but by 0 and -1.
            let sign = part(T0, bytes);
            self.e.rr(load, sign, low);
            self.e.ri(pick(Code::Sar_rm64_imm8, Code::Sar_rm32_imm8), sign, if wide { 63 } else { 31 });
            self.e.rr(compare, sign, high);
            self.e.jump_if(5, slow);
            self.e.rm(pick(Code::Lea_r64_m, Code::Lea_r32_m), sign, crate::frame::at(T2, 1));
            self.e.ri(pick(Code::Cmp_rm64_imm8, Code::Cmp_rm32_imm8), sign, 1);
            self.e.jump_if(6, slow);
            pick(Code::Idiv_rm64, Code::Idiv_rm32)
        };
        // AX has the flags.
        self.e.rr(Code::Mov_r64_rm64, T0, Register::RAX);
        self.e.rr(load, part(Register::RAX, bytes), low);
        self.e.rr(load, part(T1, bytes), high);
        self.e.r(code, divisor);
        self.e.rr(load, low, part(Register::RAX, bytes));
        self.e.rr(load, high, part(T1, bytes));
        self.e.rr(Code::Mov_r64_rm64, Register::RAX, T0);
        self.ax_has_flags();
        Ok(())
    }

    /// MULX. If both halves go to one register it has the upper one.
    pub(crate) fn multiply_quietly(&mut self, instruction: &Instruction) -> Done {
        let d = home(Register::RDX.number()).ok_or(Left)?;
        let (upper, lower) = (instruction.op0_register(), instruction.op1_register());
        let bytes = upper.size();
        let mut changed = *instruction;
        if instruction.op2_kind() == OpKind::Memory {
            let memory = self.memory(instruction, bytes, Access::Read)?;
            self.with_memory(&mut changed, memory);
        } else {
            let factor = self.read(instruction.op2_register(), T0);
            changed.set_op_register(2, factor);
        }
        self.e.rr(Code::Mov_r64_rm64, T1, d);
        changed.set_op0_register(part(T1, bytes));
        changed.set_op1_register(part(T2, bytes));
        self.e.any(&changed);
        for (register, from) in [(lower, T2), (upper, T1)] {
            let number = register.full_register().number();
            match home(number) {
                Some(home) => self.e.rr(Code::Mov_r64_rm64, home, from),
                None => self.written(register, from),
            }
        }
        Ok(())
    }
}
