//! Operands of random instructions.

use super::sequence::Sequence;
use crate::start::integer;
use crate::vectors::VectorRole;
use iced_x86::{EncodingKind, Instruction, Mnemonic, OpCodeOperandKind as K, OpKind, Register};

impl Sequence<'_> {
    pub(super) fn operand(&mut self, to: &mut Instruction, n: u32, kind: K) -> Option<()> {
        let register = |instruction: &mut Instruction, register: Register| {
            instruction.try_set_op_kind(n, OpKind::Register).ok()?;
            instruction.try_set_op_register(n, register).ok()
        };
        let either = self.random.one_in(2);
        match kind {
            K::mem | K::mem_mib => self.memory(to, n)?,
            K::r8_or_mem | K::r16_or_mem | K::r32_or_mem | K::r64_or_mem if either => self.memory(to, n)?,
            K::mm_or_mem | K::xmm_or_mem | K::ymm_or_mem | K::zmm_or_mem | K::k_or_mem if either => {
                self.memory(to, n)?;
            }
            K::mem_vsib32x | K::mem_vsib32y | K::mem_vsib32z => {
                self.vector_memory(to, n, kind, VectorRole::Dwords)?;
            }
            K::mem_vsib64x | K::mem_vsib64y | K::mem_vsib64z => {
                self.vector_memory(to, n, kind, VectorRole::Quadwords)?;
            }
            K::mem_offs => {
                to.try_set_op_kind(n, OpKind::Memory).ok()?;
                to.set_memory_displ_size(8);
                let address = self.absolute();
                to.set_memory_displacement64(address);
            }
            K::r8_or_mem | K::r8_reg | K::r8_opcode => {
                let number = self.random.below(20);
                let all = Register::AL as u32 + number as u32;
                register(to, Register::try_from(all as usize).ok()?)?;
            }
            K::r16_or_mem | K::r16_reg | K::r16_rm | K::r16_opcode => register(to, self.gpr(Register::AX)?)?,
            K::r32_or_mem | K::r32_reg | K::r32_rm | K::r32_opcode | K::r32_vvvv => {
                register(to, self.gpr(Register::EAX)?)?;
            }
            K::r64_or_mem | K::r64_reg | K::r64_rm | K::r64_opcode | K::r64_vvvv => {
                register(to, self.gpr(Register::RAX)?)?;
            }
            K::mm_or_mem | K::mm_reg | K::mm_rm => register(to, nth(Register::MM0, self.random.below(8))?)?,
            K::xmm_or_mem | K::xmm_reg | K::xmm_rm | K::xmm_vvvv | K::xmm_is4 => {
                register(to, self.vector(to, Register::XMM0)?)?;
            }
            K::ymm_or_mem | K::ymm_reg | K::ymm_rm | K::ymm_vvvv | K::ymm_is4 => {
                register(to, self.vector(to, Register::YMM0)?)?;
            }
            K::zmm_or_mem | K::zmm_reg | K::zmm_rm | K::zmm_vvvv => {
                register(to, self.vector(to, Register::ZMM0)?)?;
            }
            K::k_or_mem | K::k_reg | K::k_rm | K::k_vvvv => {
                register(to, nth(Register::K0, self.random.below(8))?)?;
            }
            K::kp1_reg => register(to, nth(Register::K0, self.random.below(4) * 2)?)?,
            K::al => register(to, Register::AL)?,
            K::cl => register(to, Register::CL)?,
            K::ax => register(to, Register::AX)?,
            K::dx => register(to, Register::DX)?,
            K::eax => register(to, Register::EAX)?,
            K::rax => register(to, Register::RAX)?,
            K::st0 => register(to, Register::ST0)?,
            K::sti_opcode => register(to, nth(Register::ST0, self.random.below(8))?)?,
            K::imm8 => {
                let second = n > 0 && to.op_kind(n - 1) == OpKind::Immediate16;
                let kind = if second { OpKind::Immediate8_2nd } else { OpKind::Immediate8 };
                to.try_set_op_kind(n, kind).ok()?;
                let value =
                    if self.random.one_in(2) { self.random.below(40) } else { integer(self.random) & 0xFF };
                // Larger counts than the operand size have no defined result.
                let double = matches!(to.mnemonic(), Mnemonic::Shld | Mnemonic::Shrd);
                let value = if double { value % 17 } else { value };
                if second {
                    to.set_immediate8_2nd(value as u8 & 0x21);
                } else {
                    to.set_immediate8(value as u8);
                }
            }
            K::imm8_const_1 => {
                to.try_set_op_kind(n, OpKind::Immediate8).ok()?;
                to.set_immediate8(1);
            }
            K::imm8sex16 | K::imm8sex32 | K::imm8sex64 => {
                let kind = match kind {
                    K::imm8sex16 => OpKind::Immediate8to16,
                    K::imm8sex32 => OpKind::Immediate8to32,
                    _ => OpKind::Immediate8to64,
                };
                to.try_set_op_kind(n, kind).ok()?;
                to.try_set_immediate_i64(n, i64::from(integer(self.random) as i8)).ok()?;
            }
            K::imm16 => {
                to.try_set_op_kind(n, OpKind::Immediate16).ok()?;
                // RET and ENTER move the stack pointer by it.
                let stack = matches!(to.mnemonic(), Mnemonic::Ret | Mnemonic::Enter);
                let value = integer(self.random) as u16;
                to.set_immediate16(if stack && !self.random.one_in(4) { value & 0x78 } else { value });
            }
            K::imm32 => {
                to.try_set_op_kind(n, OpKind::Immediate32).ok()?;
                to.set_immediate32(integer(self.random) as u32);
            }
            K::imm32sex64 => {
                to.try_set_op_kind(n, OpKind::Immediate32to64).ok()?;
                to.set_immediate32to64(i64::from(integer(self.random) as i32));
            }
            K::imm64 => {
                to.try_set_op_kind(n, OpKind::Immediate64).ok()?;
                to.set_immediate64(integer(self.random));
            }
            K::seg_rSI => self.implicit(to, n, OpKind::MemorySegRSI, OpKind::MemorySegESI)?,
            K::es_rDI => self.implicit(to, n, OpKind::MemoryESRDI, OpKind::MemoryESEDI)?,
            K::seg_rDI => self.implicit(to, n, OpKind::MemorySegRDI, OpKind::MemorySegEDI)?,
            K::seg_rBX_al => {
                to.try_set_op_kind(n, OpKind::Memory).ok()?;
                to.set_memory_base(Register::RBX);
                to.set_memory_index(Register::AL);
            }
            K::br64_1 | K::br64_4 => to.try_set_op_kind(n, OpKind::NearBranch64).ok()?,
            _ => return None,
        }
        Some(())
    }

    /// A memory operand of a string instruction; both have the same address size.
    fn implicit(&mut self, to: &mut Instruction, n: u32, wide: OpKind, narrow: OpKind) -> Option<()> {
        let earlier = (0..n).map(|n| to.op_kind(n)).find(|kind| *kind != OpKind::Register);
        let is_narrow = match earlier {
            Some(kind) => matches!(kind, OpKind::MemorySegESI | OpKind::MemoryESEDI | OpKind::MemorySegEDI),
            None => self.random.one_in(8),
        };
        to.try_set_op_kind(n, if is_narrow { narrow } else { wide }).ok()
    }

    /// A general register of the same size as `first`. RSP as rarely as it is useful.
    fn gpr(&mut self, first: Register) -> Option<Register> {
        let mut number = self.random.below(16);
        if number == 4 && !self.random.one_in(4) {
            number = 0;
        }
        nth(first, number)
    }

    /// A vector register of the same size as `first`: of 32 with an EVEX encoding.
    fn vector(&mut self, instruction: &Instruction, first: Register) -> Option<Register> {
        let evex = instruction.code().op_code().encoding() == EncodingKind::EVEX;
        nth(first, self.random.below(if evex { 32 } else { 16 }))
    }
}

pub(super) fn nth(first: Register, number: u64) -> Option<Register> {
    Register::try_from(first as usize + number as usize).ok()
}
