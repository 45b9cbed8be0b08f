//! Shifts and rotations.

use crate::frame::{T0, T1, T2, part};
use crate::integer::{First, Undefined};
use crate::translate::{Done, Left, Translation, is_high_byte};
use iced_x86::{Code, Instruction, Mnemonic as M, OpKind, Register};

impl Translation<'_> {
    pub(crate) fn shift(&mut self, instruction: &Instruction) -> Done {
        let bytes = match instruction.op0_kind() {
            OpKind::Register => instruction.op0_register().size(),
            _ => instruction.memory_size().size(),
        };
        let left = matches!(instruction.mnemonic(), M::Shl | M::Sal);
        let rotates = matches!(instruction.mnemonic(), M::Rol | M::Ror);
        let several = match instruction.mnemonic() {
            M::Shl | M::Sal => Undefined::ShiftLeft,
            M::Rol => Undefined::RotateLeft,
            M::Ror => Undefined::RotateRight,
            _ => Undefined::ShiftRight,
        };
        if rotates && self.live != 0 && instruction.op0_kind() != OpKind::Register {
            return Err(Left);
        }
        if instruction.op1_kind() == OpKind::Register {
            return self.shift_by_cl(instruction, several, bytes);
        }
        let count = instruction.immediate(1) & if bytes == 8 { 63 } else { 31 };
        // CF is undefined behind the last bit, and without a count flags stay.
        if count == 0 || count > 8 * bytes as u64 || (left || rotates) && count == 8 * bytes as u64 {
            return Err(Left);
        }
        let undefined = if count == 1 && !rotates { Undefined::ShiftByOne } else { several };
        self.ordinary(instruction, First::Update, undefined)
    }

    /// A register by CL. What flags are depends on whether the count is 0.
    fn shift_by_cl(&mut self, instruction: &Instruction, several: Undefined, bytes: usize) -> Done {
        let register = instruction.op0_register();
        // CF is undefined behind the last bit.
        if instruction.op0_kind() != OpKind::Register || bytes < 4 && self.live != 0 {
            return Err(Left);
        }
        if is_high_byte(register) {
            return Err(Left);
        }
        let mut changed = *instruction;
        self.free_flags();
        let count = self.read_all(Register::RCX, T0);
        if count != T0 {
            self.e.rr(Code::Mov_r64_rm64, T0, count);
        }
        let host = self.write(register, T1, true);
        changed.set_op_register(0, host);
        let done = self.e.label();
        if self.live != 0 {
            // The upper half becomes 0 in any case.
            if bytes == 4 {
                self.e.rr(Code::Mov_r32_rm32, host, host);
            }
            let mask = if bytes == 8 { 63 } else { 31 };
            if instruction.mnemonic() == M::Shr {
                self.e.rr(Code::Mov_r32_rm32, part(T2, 4), part(T0, 4));
                self.e.ri(Code::And_rm32_imm32, part(T2, 4), mask);
            }
            self.e.ri(Code::Test_rm8_imm8, Register::CL, mask);
            self.e.jump_if(4, done);
            if several == Undefined::RotateLeft || several == Undefined::RotateRight {
                self.restore_flags();
            }
        }
        self.e.any(&changed);
        if self.live == 0 {
            self.host_made_flags();
        } else if instruction.mnemonic() == M::Shr {
            self.define_right_by_count();
        } else {
            self.define(several, Some(host))?;
        }
        self.e.place(done);
        self.written(register, T1);
        Ok(())
    }

    /// SHR by 1 has the sign of the operand in OF; other counts have 0 there. The count is in the third temporary
    /// register.
    fn define_right_by_count(&mut self) {
        self.e.bare(Code::Lahf);
        self.e.r(Code::Seto_rm8, Register::AL);
        self.e.ri(Code::And_rm8_imm8, Register::AH, !0x10);
        let by_one = self.e.label();
        self.e.ri(Code::Cmp_rm32_imm8, part(T2, 4), 1);
        self.e.jump_if(4, by_one);
        self.e.rr(Code::Xor_rm8_r8, Register::AL, Register::AL);
        self.e.place(by_one);
        self.ax_has_flags();
    }
}
