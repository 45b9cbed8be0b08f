//! Memory operands: the linear address, and where that is in the host's memory.

use crate::emit::Label;
use crate::frame::{FS, GS, RAM, RAM_END, T0, T1, T2, TLB, TLB_MASK, at, local};
use crate::plan::{Access, LONGEST, Which};
use crate::translate::{Done, Left, Translation};
use core::mem::offset_of;
use iced_x86::{Code, Instruction, MemoryOperand, Register};
use soft_base::Entry;

const PAGE_BITS: i32 = 12;
const ENTRY: usize = size_of::<Entry>();
const _: () = assert!(ENTRY.is_power_of_two());

impl Translation<'_> {
    /// The address of the memory operand without its segment, as an operand of LEA. May use the first two of the
    /// temporary registers. Flags stay.
    pub(crate) fn operand(&mut self, instruction: &Instruction) -> Result<MemoryOperand, Left> {
        let (base, index) = (instruction.memory_base(), instruction.memory_index());
        let displacement = instruction.memory_displacement64();
        if base == Register::RIP {
            self.e.constant(T0, displacement);
            return Ok(at(T0, 0));
        }
        let known =
            |register: Register| register == Register::None || register.is_gpr64() || register.is_gpr32();
        if !known(base) || !known(index) || index.full_register() == Register::RSP {
            return Err(Left);
        }
        let narrow = base.is_gpr32() || index.is_gpr32();
        if base == Register::None && index == Register::None {
            self.e.constant(T0, displacement);
            return Ok(at(T0, 0));
        }
        // Of a narrow address only the lower half counts.
        let near = match i32::try_from(displacement.cast_signed()) {
            Ok(near) => near,
            Err(_) if narrow => displacement as u32 as i32,
            Err(_) => return Err(Left),
        };
        let base = if base == Register::None { base } else { self.read_all(base, T0) };
        let index = if index == Register::None { index } else { self.read_all(index, T1) };
        let scale = instruction.memory_index_scale();
        let size = if base == Register::None { 4 } else { 1 };
        let operand =
            MemoryOperand::with_base_index_scale_displ_size(base, index, scale, i64::from(near), size);
        if narrow {
            self.e.rm(Code::Lea_r32_m, T0.full_register32(), operand);
            return Ok(at(T0, 0));
        }
        Ok(operand)
    }

    /// The first temporary register becomes the linear address of the memory operand. Flags have to be free.
    fn linear(&mut self, instruction: &Instruction) -> Done {
        let operand = self.operand(instruction)?;
        if operand.base != T0 || operand.index != Register::None || operand.displacement != 0 {
            self.e.rm(Code::Lea_r64_m, T0, operand);
        }
        match instruction.memory_segment() {
            Register::FS => self.e.rm(Code::Add_r64_rm64, T0, local(FS)),
            Register::GS => self.e.rm(Code::Add_r64_rm64, T0, local(GS)),
            _ => {}
        }
        Ok(())
    }

    /// Where the memory operand is in the host's memory; the address is in the first temporary register, and the
    /// others are used up. AX has the flags.
    pub(crate) fn memory(
        &mut self,
        instruction: &Instruction,
        bytes: usize,
        access: Access,
    ) -> Result<MemoryOperand, Left> {
        self.free_flags();
        let distance = instruction.memory_displacement64().cast_signed();
        if let Some(memory) = self.in_group(Which::Memory, distance, bytes, access) {
            return Ok(memory);
        }
        self.linear(instruction)?;
        self.look_up(bytes, access)
    }

    /// The same for bytes that have to be aligned.
    pub(crate) fn aligned_memory(
        &mut self,
        instruction: &Instruction,
        bytes: usize,
        access: Access,
    ) -> Result<MemoryOperand, Left> {
        self.free_flags();
        self.linear(instruction)?;
        let slow = self.slow();
        self.e.ri(Code::Test_rm8_imm8, Register::CL, i32::try_from(bytes - 1).map_err(|_| Left)?);
        self.e.jump_if(5, slow);
        self.look_up(bytes, access)
    }

    /// The host's instruction with its memory operand there.
    pub(crate) fn with_memory(&self, changed: &mut Instruction, memory: MemoryOperand) {
        changed.set_memory_base(memory.base);
        changed.set_memory_index(Register::None);
        changed.set_memory_index_scale(1);
        changed.set_memory_displacement64(memory.displacement.cast_unsigned());
        changed.set_memory_displ_size(u32::from(memory.displacement != 0));
        changed.set_segment_prefix(Register::None);
    }

    /// The same for the stack, at a distance from where RSP points to.
    pub(crate) fn stack(&mut self, distance: i64, access: Access) -> Result<MemoryOperand, Left> {
        self.free_flags();
        if let Some(memory) = self.in_group(Which::Stack, distance, 8, access) {
            return Ok(memory);
        }
        let sp = self.read_all(Register::RSP, T0);
        self.e.rm(Code::Lea_r64_m, T0, at(sp, distance));
        self.look_up(8, access)
    }

    /// The same for the linear address in the first temporary register: what the interpreter's fast path does. Beyond
    /// that, no position gets through that is not in RAM, whatever the TLB has.
    pub(crate) fn look_up(&mut self, bytes: usize, access: Access) -> Result<MemoryOperand, Left> {
        let slow = self.slow();
        self.look_up_or(bytes, access, slow)
    }

    /// The same, which goes elsewhere if the TLB does not know it.
    pub(crate) fn look_up_or(
        &mut self,
        bytes: usize,
        access: Access,
        slow: Label,
    ) -> Result<MemoryOperand, Left> {
        let bytes = i64::try_from(bytes).map_err(|_| Left)?;
        if !(1..=LONGEST as i64).contains(&bytes) {
            return Err(Left);
        }
        self.probe(bytes, access, RAM_END, slow);
        Ok(at(T0, 0))
    }

    /// The first temporary register, a linear address, becomes where that is in the host's memory, if so many bytes
    /// may be accessed there and are in one page and the position is not beyond `end`, a word of the frame.
    pub(crate) fn probe(&mut self, bytes: i64, access: Access, end: i64, slow: Label) {
        let tag = match access {
            Access::Read => offset_of!(Entry, read),
            Access::Write => offset_of!(Entry, write),
        } as i64;
        let shift = PAGE_BITS - ENTRY.ilog2().cast_signed();
        let e = &mut self.e;
        e.rm(Code::Lea_r64_m, T2, at(T0, bytes - 1));
        e.rr(Code::Mov_r32_rm32, T1.full_register32(), T0.full_register32());
        e.ri(Code::Shr_rm32_imm8, T1.full_register32(), shift);
        e.ri(Code::And_rm64_imm32, T2, -(1 << PAGE_BITS));
        e.rm(Code::And_r32_rm32, T1.full_register32(), local(TLB_MASK));
        e.rm(Code::Add_r64_rm64, T1, local(TLB));
        e.rm(Code::Cmp_r64_rm64, T2, at(T1, tag));
        e.jump_if(5, slow);
        e.rm(Code::Add_r64_rm64, T0, at(T1, offset_of!(Entry, addend) as i64));
        e.rm(Code::Cmp_r64_rm64, T0, local(end));
        e.jump_if(7, slow);
        e.rm(Code::Add_r64_rm64, T0, local(RAM));
    }
}
