//! An instruction of a given code, with operands as the decoder would find them.

use crate::context::Mode;
use iced_x86::{Code, Instruction, OpCodeOperandKind as K, OpKind, Register};

/// `memory`: operands that are a register or memory are in memory. `None` if that is no choice that the code has.
pub(super) fn instruction(code: Code, mode: Mode, memory: bool) -> Option<Instruction> {
    let info = code.op_code();
    let mut instruction = Instruction::default();
    instruction.set_code(code);
    instruction.set_memory_base(if mode == Mode::Bits16 { Register::BX } else { Register::RBX });
    let mut choice = false;
    // Only VEX forms have more operands than that.
    for n in 0..info.op_count().min(4) {
        let kind = info.op_kind(n);
        let either = register_of_either(kind);
        choice |= either.is_some();
        match either {
            Some(_) if memory => instruction.set_op_kind(n, OpKind::Memory),
            Some(register) => set_register(&mut instruction, n, register),
            None => set(&mut instruction, n, kind, mode),
        }
    }
    (choice || !memory).then_some(instruction)
}

fn set_register(instruction: &mut Instruction, n: u32, register: Register) {
    instruction.set_op_kind(n, OpKind::Register);
    instruction.set_op_register(n, register);
}

/// The register of an operand that may also be in memory.
fn register_of_either(kind: K) -> Option<Register> {
    Some(match kind {
        K::r8_or_mem => Register::CL,
        K::r16_or_mem => Register::CX,
        K::r32_or_mem | K::r32_or_mem_mpx => Register::ECX,
        K::r64_or_mem | K::r64_or_mem_mpx => Register::RCX,
        K::mm_or_mem => Register::MM1,
        K::xmm_or_mem => Register::XMM1,
        K::ymm_or_mem => Register::YMM1,
        K::zmm_or_mem => Register::ZMM1,
        K::bnd_or_mem_mpx => Register::BND1,
        K::k_or_mem => Register::K1,
        _ => return None,
    })
}

fn set(instruction: &mut Instruction, n: u32, kind: K, mode: Mode) {
    match register(kind) {
        Some(register) => set_register(instruction, n, register),
        None => instruction.set_op_kind(n, other(kind, mode)),
    }
}

fn register(kind: K) -> Option<Register> {
    Some(match kind {
        K::r8_reg | K::r8_opcode => Register::DL,
        K::r16_reg | K::r16_reg_mem | K::r16_rm | K::r16_opcode => Register::DX,
        K::r32_reg | K::r32_reg_mem | K::r32_rm | K::r32_opcode | K::r32_vvvv => Register::EDX,
        K::r64_reg | K::r64_reg_mem | K::r64_rm | K::r64_opcode | K::r64_vvvv => Register::RDX,
        K::seg_reg => Register::DS,
        K::k_reg | K::kp1_reg | K::k_rm | K::k_vvvv => Register::K2,
        K::mm_reg | K::mm_rm => Register::MM2,
        K::xmm_reg | K::xmm_rm | K::xmm_vvvv | K::xmmp3_vvvv | K::xmm_is4 | K::xmm_is5 => Register::XMM2,
        K::ymm_reg | K::ymm_rm | K::ymm_vvvv | K::ymm_is4 | K::ymm_is5 => Register::YMM2,
        K::zmm_reg | K::zmm_rm | K::zmm_vvvv | K::zmmp3_vvvv => Register::ZMM2,
        K::cr_reg => Register::CR0,
        K::dr_reg => Register::DR0,
        K::tr_reg => Register::TR6,
        K::bnd_reg => Register::BND2,
        K::tmm_reg | K::tmm_rm | K::tmm_vvvv => Register::TMM2,
        K::es => Register::ES,
        K::cs => Register::CS,
        K::ss => Register::SS,
        K::ds => Register::DS,
        K::fs => Register::FS,
        K::gs => Register::GS,
        K::al => Register::AL,
        K::cl => Register::CL,
        K::ax => Register::AX,
        K::dx => Register::DX,
        K::eax => Register::EAX,
        K::rax => Register::RAX,
        K::st0 => Register::ST0,
        K::sti_opcode => Register::ST1,
        _ => return None,
    })
}

fn other(kind: K, mode: Mode) -> OpKind {
    let by_address = |kinds: [OpKind; 3]| match mode {
        Mode::Bits16 => kinds[0],
        Mode::Bits32 => kinds[1],
        Mode::Bits64 => kinds[2],
    };
    match kind {
        K::farbr2_2 => OpKind::FarBranch16,
        K::farbr4_2 => OpKind::FarBranch32,
        K::br16_1 | K::br16_2 | K::xbegin_2 | K::brdisp_2 => OpKind::NearBranch16,
        K::br32_1 | K::br32_4 | K::brdisp_4 => OpKind::NearBranch32,
        K::br64_1 | K::br64_4 => OpKind::NearBranch64,
        K::xbegin_4 => by_address([OpKind::NearBranch32, OpKind::NearBranch32, OpKind::NearBranch64]),
        K::imm4_m2z | K::imm8 | K::imm8_const_1 => OpKind::Immediate8,
        K::imm8sex16 => OpKind::Immediate8to16,
        K::imm8sex32 => OpKind::Immediate8to32,
        K::imm8sex64 => OpKind::Immediate8to64,
        K::imm16 => OpKind::Immediate16,
        K::imm32 => OpKind::Immediate32,
        K::imm32sex64 => OpKind::Immediate32to64,
        K::imm64 => OpKind::Immediate64,
        K::seg_rSI => by_address([OpKind::MemorySegSI, OpKind::MemorySegESI, OpKind::MemorySegRSI]),
        K::es_rDI => by_address([OpKind::MemoryESDI, OpKind::MemoryESEDI, OpKind::MemoryESRDI]),
        K::seg_rDI => by_address([OpKind::MemorySegDI, OpKind::MemorySegEDI, OpKind::MemorySegRDI]),
        _ => OpKind::Memory,
    }
}
