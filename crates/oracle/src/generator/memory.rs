//! Memory operands of random instructions.

use super::operands::nth;
use super::sequence::{Sequence, is_xsave};
use crate::layout::{DATA, DATA_LEN, FXSAVE_IMAGE, XSAVE_IMAGE};
use crate::start::{Role, integer};
use crate::vectors::VectorRole;
use iced_x86::{EncodingKind, Instruction, Mnemonic, OpCodeOperandKind as K, OpKind, Register};

const GPR_64: [Register; 16] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RBX,
    Register::RSP,
    Register::RBP,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

impl Sequence<'_> {
    /// An address in the data pages.
    pub(super) fn absolute(&mut self) -> u64 {
        let address = DATA + 0x100 + self.random.below(DATA_LEN - 0x200);
        if self.random.one_in(2) { address & !15 } else { address }
    }

    /// A general register with such contents; RSP if there is none.
    fn pick(&mut self, role: Role) -> Register {
        let fitting: Vec<usize> = (0..16).filter(|n| self.start.roles[*n] == role).collect();
        GPR_64[if fitting.is_empty() { 4 } else { self.random.pick(&fitting) }]
    }

    pub(super) fn memory(&mut self, to: &mut Instruction, n: u32) -> Option<()> {
        to.try_set_op_kind(n, OpKind::Memory).ok()?;
        if matches!(to.mnemonic(), Mnemonic::Fxrstor | Mnemonic::Fxrstor64) && !self.random.one_in(4) {
            to.set_memory_displ_size(4);
            to.set_memory_displacement64(FXSAVE_IMAGE);
            return Some(());
        }
        if is_xsave(to.code()) && !self.random.one_in(8) {
            to.set_memory_displ_size(4);
            to.set_memory_displacement64(XSAVE_IMAGE);
            return Some(());
        }
        let small = self.random.pick(&[0, 0, 0, 16, 32, 1, 8, 4, -16_i64, -1, -8]);
        match self.random.below(32) {
            // Relative to RIP.
            0..=2 => {
                let address = self.absolute();
                to.set_memory_base(Register::RIP);
                to.set_memory_displ_size(8);
                to.set_memory_displacement64(address);
            }
            3 => {
                let address = self.absolute();
                to.set_memory_displ_size(4);
                to.set_memory_displacement64(address);
            }
            // Anything at all.
            4 => {
                to.set_memory_base(self.random.pick(&GPR_64));
                to.set_memory_displ_size(8);
                to.set_memory_displacement64(i64::from(integer(self.random) as i32) as u64);
            }
            5 => {
                to.set_memory_base(self.random.pick(&GPR_64));
                let index = self.random.pick(&GPR_64);
                if index != Register::RSP {
                    to.set_memory_index(index);
                    to.set_memory_index_scale(1 << self.random.below(4));
                }
                to.set_memory_displ_size(8);
                to.set_memory_displacement64(i64::from(integer(self.random) as i32) as u64);
            }
            // 32-bit addresses.
            6 => {
                let number = GPR_64.iter().position(|r| *r == self.pick(Role::Pointer))?;
                to.set_memory_base(nth(Register::EAX, number as u64)?);
                to.set_memory_displ_size(4);
                to.set_memory_displacement64(u64::from(small as u32));
            }
            7..=11 => {
                to.set_memory_base(self.pick(Role::Pointer));
                let index = self.pick(Role::Small);
                if index != Register::RSP {
                    to.set_memory_index(index);
                    to.set_memory_index_scale(1 << self.random.below(4));
                }
                to.set_memory_displ_size(8);
                to.set_memory_displacement64(small as u64);
            }
            _ => {
                to.set_memory_base(self.pick(Role::Pointer));
                if small != 0 {
                    to.set_memory_displ_size(if (-128..128).contains(&small) { 1 } else { 8 });
                }
                to.set_memory_displacement64(small as u64);
            }
        }
        Some(())
    }
    /// Memory at the sums of a base and each element of a vector register.
    pub(super) fn vector_memory(
        &mut self,
        to: &mut Instruction,
        n: u32,
        kind: K,
        role: VectorRole,
    ) -> Option<()> {
        to.try_set_op_kind(n, OpKind::Memory).ok()?;
        let first = match kind {
            K::mem_vsib32x | K::mem_vsib64x => Register::XMM0,
            K::mem_vsib32y | K::mem_vsib64y => Register::YMM0,
            _ => Register::ZMM0,
        };
        let evex = to.code().op_code().encoding() == EncodingKind::EVEX;
        let fitting: Vec<u64> = (0..if evex { 32 } else { 16 })
            .filter(|n| self.vectors.roles[*n as usize] == role || self.random.one_in(64))
            .collect();
        let index = if fitting.is_empty() { self.random.below(16) } else { self.random.pick(&fitting) };
        to.set_memory_index(nth(first, index)?);
        to.set_memory_index_scale(1 << self.random.below(4));
        let base = self.pick(Role::Pointer);
        // Elements in several pages, on both sides of their ends.
        let small = self.random.pick(&[0, 0, 0, 8, -8_i64, 4, 1, 0x40, -0x200, 0x200, 0x800]);
        to.set_memory_base(base);
        if self.random.one_in(24) {
            to.set_memory_base(nth(Register::EAX, base as u64 - Register::RAX as u64)?);
            to.set_memory_displ_size(4);
            to.set_memory_displacement64(u64::from(small as u32));
        } else {
            if small != 0 {
                to.set_memory_displ_size(if (-128..128).contains(&small) { 1 } else { 8 });
            }
            to.set_memory_displacement64(small as u64);
        }
        Some(())
    }
}
