//! Operands of an iced instruction, as [`Insn`] holds them.

use crate::block::Position;
use crate::bus::Bus;
use crate::context::{BLOCK, DS, Mode, ZERO, number};
use crate::exec::{self, Insn, SEG_ADDRESS_16, SEG_ADDRESS_32, SEG_SLOW};
use crate::low::Low;
use crate::operations::Operation;
use iced_x86::{Instruction, OpKind, Register};

/// Where the first two operands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    RegReg,
    RegMem,
    MemReg,
    RegImm,
    MemImm,
}

pub(crate) fn form(instruction: &Instruction) -> Option<Form> {
    let kind = |n| Kind::of(instruction, n);
    Some(match (kind(0), kind(1)) {
        (Kind::Register, Kind::Register) => Form::RegReg,
        (Kind::Register, Kind::Memory) => Form::RegMem,
        (Kind::Memory, Kind::Register) => Form::MemReg,
        (Kind::Register, Kind::Immediate) => Form::RegImm,
        (Kind::Memory, Kind::Immediate) => Form::MemImm,
        _ => return None,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    None,
    Register,
    Memory,
    Immediate,
    Branch,
}

impl Kind {
    pub(crate) fn of(instruction: &Instruction, n: u32) -> Self {
        if n >= instruction.op_count() {
            return Self::None;
        }
        match instruction.op_kind(n) {
            OpKind::Register => Self::Register,
            OpKind::NearBranch16
            | OpKind::NearBranch32
            | OpKind::NearBranch64
            | OpKind::FarBranch16
            | OpKind::FarBranch32 => Self::Branch,
            OpKind::Immediate8
            | OpKind::Immediate8_2nd
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64 => Self::Immediate,
            _ => Self::Memory,
        }
    }
}

/// Operand `n` is in memory.
pub(crate) fn is_memory(instruction: &Instruction, n: u32) -> bool {
    Kind::of(instruction, n) == Kind::Memory
}

/// Size of operand `n` in bytes.
pub(crate) fn size(instruction: &Instruction, n: u32) -> usize {
    match Kind::of(instruction, n) {
        Kind::Register => instruction.op_register(n).size(),
        Kind::Memory => instruction.memory_size().size(),
        _ => 0,
    }
}

/// Register number as `Width::reg` wants it.
fn register(register: Register) -> u8 {
    let number = register.number().low_u8();
    if register.is_gpr8() {
        return match number {
            0..4 => number,
            // AH, CH, DH, BH.
            4..8 => 16 + number - 4,
            // SPL and up.
            _ => number - 4,
        };
    }
    number
}

/// All that does not depend on the mnemonic.
pub(crate) fn operands<B: Bus>(instruction: &Instruction, mode: Mode) -> Insn<B> {
    let mut insn = Insn {
        next: exec::chain::any,
        run: exec::undefined,
        imm: 0,
        disp: 0,
        position: Position::default(),
        dst: 0,
        src: 0,
        base: number(ZERO),
        index: number(ZERO),
        scale: 0,
        seg: number(DS),
        aux: 0,
        operation: Operation::default(),
    };
    for n in 0..instruction.op_count() {
        match Kind::of(instruction, n) {
            Kind::Register if n == 0 => insn.dst = register(instruction.op_register(0)),
            Kind::Register if n == 1 => insn.src = register(instruction.op_register(1)),
            Kind::Immediate => insn.imm = instruction.immediate(n),
            Kind::Branch => match instruction.op_kind(n) {
                OpKind::FarBranch16 => {
                    insn.imm = u64::from(instruction.far_branch16());
                    insn.disp = u64::from(instruction.far_branch_selector());
                }
                OpKind::FarBranch32 => {
                    insn.imm = u64::from(instruction.far_branch32());
                    insn.disp = u64::from(instruction.far_branch_selector());
                }
                _ => insn.disp = instruction.near_branch_target(),
            },
            Kind::Memory => memory(instruction, n, mode, &mut insn),
            Kind::Register | Kind::None => {}
        }
    }
    insn
}

fn memory<B>(instruction: &Instruction, n: u32, mode: Mode, insn: &mut Insn<B>) {
    let segment = match instruction.segment_prefix() {
        // These prefixes mean nothing in 64-bit mode: the base register decides between #SS and #GP.
        Register::ES | Register::CS | Register::DS if mode == Mode::Bits64 => match instruction.memory_base()
        {
            Register::RSP | Register::RBP | Register::ESP | Register::EBP => Register::SS,
            _ => Register::DS,
        },
        _ => instruction.memory_segment(),
    };
    insn.seg = if segment.is_segment_register() { segment.number().low_u8() } else { number(DS) };
    let size = match instruction.op_kind(n) {
        OpKind::Memory => {
            insn.disp = instruction.memory_displacement64();
            let (base, index) = (instruction.memory_base(), instruction.memory_index());
            insn.base = match base {
                Register::RIP | Register::EIP => number(BLOCK),
                Register::None => number(ZERO),
                base => base.number().low_u8(),
            };
            if index != Register::None {
                insn.index = index.number().low_u8();
                insn.scale = instruction.memory_index_scale().trailing_zeros().low_u8();
            }
            match (base, index) {
                // An index vector does not tell the size of addresses.
                (Register::None, index) if index == Register::None || index.is_vector_register() => {
                    instruction.memory_displ_size() as usize
                }
                (Register::None, index) => index.size(),
                (base, _) => base.size(),
            }
        }
        OpKind::MemorySegSI | OpKind::MemorySegDI | OpKind::MemoryESDI => 2,
        OpKind::MemorySegESI | OpKind::MemorySegEDI | OpKind::MemoryESEDI => 4,
        _ => 8,
    };
    set_address_size(insn, size, mode);
}

/// Notes the address size in bytes.
pub(crate) fn set_address_size<B>(insn: &mut Insn<B>, size: usize, mode: Mode) {
    insn.seg |= match size {
        2 => SEG_ADDRESS_16,
        4 => SEG_ADDRESS_32,
        _ => 0,
    };
    if size != 8 || mode != Mode::Bits64 {
        insn.seg |= SEG_SLOW;
    }
}
