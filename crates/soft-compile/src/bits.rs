//! Bit counts and scans, and what BMI1 and BMI2 add. Flags that are undefined behind them are the interpreter's.

use crate::frame::{T0, T1, T2, part};
use crate::plan::Access;
use crate::translate::{Done, Left, Translation};
use iced_x86::{Code, Instruction, Mnemonic as M, OpKind, Register};

/// Flags in AH, as LAHF has them.
pub(crate) const SF: i32 = 0x80;
pub(crate) const ZF: i32 = 0x40;
pub(crate) const CF: i32 = 1;

impl Translation<'_> {
    /// Registers of the host for all operands: the first one is written, and the others are read.
    fn operands(&mut self, instruction: &Instruction) -> Result<Instruction, Left> {
        let mut changed = *instruction;
        let memory = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == OpKind::Memory);
        if memory {
            let memory = self.memory(instruction, instruction.memory_size().size(), Access::Read)?;
            self.with_memory(&mut changed, memory);
        }
        // Only one of the last two can be in memory, and then RCX has its address.
        let through = [T1, T2, if memory { T2 } else { T0 }];
        for n in 0..instruction.op_count() {
            match instruction.op_kind(n) {
                OpKind::Register => {
                    let (register, through) = (instruction.op_register(n), through[n as usize % 3]);
                    let host = match n {
                        0 => self.write(register, through, false),
                        _ => self.read(register, through),
                    };
                    changed.set_op_register(n, host);
                }
                OpKind::Memory | OpKind::Immediate8 => {}
                _ => return Err(Left),
            }
        }
        Ok(changed)
    }

    /// Those whose other flags are 0.
    pub(crate) fn with_flags(&mut self, instruction: &Instruction, flags: i32) -> Done {
        let register = instruction.op0_register();
        if register.size() < 4 {
            return Err(Left);
        }
        let changed = self.operands(instruction)?;
        self.e.any(&changed);
        self.host_made_flags();
        if self.live != 0 {
            self.e.bare(Code::Lahf);
            self.e.ri(Code::And_rm8_imm8, Register::AH, flags);
            self.e.ri(Code::Mov_r8_imm8, Register::AL, 0);
            self.ax_has_flags();
        }
        self.written(register, T1);
        Ok(())
    }

    /// Those that leave flags alone.
    pub(crate) fn quiet(&mut self, instruction: &Instruction) -> Done {
        let changed = self.operands(instruction)?;
        self.e.any(&changed);
        self.written(instruction.op0_register(), T1);
        Ok(())
    }

    /// BSF and BSR. Flags are those of a comparison of the operand with 0; then the other operand stays.
    pub(crate) fn scan(&mut self, instruction: &Instruction) -> Done {
        let register = instruction.op0_register();
        let bytes = register.size();
        if bytes < 4 {
            return Err(Left);
        }
        let wide = bytes == 8;
        let (load, test) = if wide {
            (Code::Mov_r64_rm64, Code::Test_rm64_r64)
        } else {
            (Code::Mov_r32_rm32, Code::Test_rm32_r32)
        };
        let source = part(T2, bytes);
        if instruction.op1_kind() == OpKind::Memory {
            let memory = self.memory(instruction, bytes, Access::Read)?;
            self.e.rm(load, source, memory);
        } else {
            self.free_flags();
            let from = self.read(instruction.op1_register(), T2);
            if from != source {
                self.e.rr(load, source, from);
            }
        }
        let host = self.write(register, T1, true);
        let zero = self.e.label();
        self.e.rr(test, source, source);
        self.e.jump_if(4, zero);
        let code = match (instruction.mnemonic(), wide) {
            (M::Bsf, true) => Code::Bsf_r64_rm64,
            (M::Bsf, false) => Code::Bsf_r32_rm32,
            (_, true) => Code::Bsr_r64_rm64,
            (_, false) => Code::Bsr_r32_rm32,
        };
        self.e.rr(code, host, source);
        self.e.rr(test, source, source);
        self.e.place(zero);
        self.host_made_flags();
        if self.live != 0 {
            self.e.bare(Code::Lahf);
            self.e.ri(Code::And_rm8_imm8, Register::AH, !0x10);
            self.e.ri(Code::Mov_r8_imm8, Register::AL, 0);
            self.ax_has_flags();
        }
        self.written(register, T1);
        Ok(())
    }
}
