//! Random instructions encoded with VEX or EVEX.

use iced_x86::{Code, EncodingKind, Instruction, OpCodeOperandKind as K, OpKind, Register, RoundingControl};
use std::sync::LazyLock;

/// Those that have vector or mask registers, and operands that are made here.
static CODES: LazyLock<Vec<Code>> = LazyLock::new(|| {
    let known = |code: &Code| {
        let op_code = code.op_code();
        matches!(op_code.encoding(), EncodingKind::VEX | EncodingKind::EVEX)
            && op_code.mode64()
            && op_code.op_count() > 0
            && op_code.op_kinds().iter().all(|kind| operand(*kind) != Operand::Unknown)
    };
    Code::values().filter(known).collect()
});

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operand {
    Register(Register),
    RegisterOrMemory(Register),
    Memory,
    Immediate,
    Unknown,
}

fn operand(kind: K) -> Operand {
    use Operand as O;
    match kind {
        K::xmm_reg | K::xmm_vvvv | K::xmm_rm | K::xmm_is4 => O::Register(Register::XMM0),
        K::ymm_reg | K::ymm_vvvv | K::ymm_rm | K::ymm_is4 => O::Register(Register::YMM0),
        K::zmm_reg | K::zmm_vvvv | K::zmm_rm => O::Register(Register::ZMM0),
        K::xmm_or_mem => O::RegisterOrMemory(Register::XMM0),
        K::ymm_or_mem => O::RegisterOrMemory(Register::YMM0),
        K::zmm_or_mem => O::RegisterOrMemory(Register::ZMM0),
        K::k_reg | K::k_vvvv | K::k_rm => O::Register(Register::K0),
        K::k_or_mem => O::RegisterOrMemory(Register::K0),
        K::r32_reg | K::r32_rm | K::r32_vvvv => O::Register(Register::EAX),
        K::r64_reg | K::r64_rm | K::r64_vvvv => O::Register(Register::RAX),
        K::r32_or_mem => O::RegisterOrMemory(Register::EAX),
        K::r64_or_mem => O::RegisterOrMemory(Register::RAX),
        K::mem => O::Memory,
        K::imm8 => O::Immediate,
        _ => O::Unknown,
    }
}

/// One of them; `below` is a random number below another one.
pub(crate) fn any(below: &mut dyn FnMut(usize) -> usize) -> Instruction {
    let code = CODES[below(CODES.len())];
    let op_code = code.op_code();
    let evex = op_code.encoding() == EncodingKind::EVEX;
    let mut instruction = Instruction::default();
    instruction.set_code(code);
    let in_memory = below(2) == 0;
    for (n, kind) in (0..).zip(op_code.op_kinds()) {
        match operand(*kind) {
            Operand::Memory => memory(&mut instruction, n, below),
            Operand::RegisterOrMemory(_) if in_memory => memory(&mut instruction, n, below),
            Operand::Register(first) | Operand::RegisterOrMemory(first) => {
                let count = match first {
                    Register::K0 => 8,
                    _ if evex && first.is_vector_register() => 32,
                    _ => 16,
                };
                let mut number = below(count);
                if number == 4 && first.is_gpr() {
                    number = 9;
                }
                instruction.set_op_kind(n, OpKind::Register);
                instruction.set_op_register(n, first + number as u32);
            }
            Operand::Immediate => {
                instruction.set_op_kind(n, OpKind::Immediate8);
                instruction.set_immediate8(below(256) as u8);
            }
            Operand::Unknown => {}
        }
    }
    let has_memory = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == OpKind::Memory);
    if op_code.can_use_op_mask_register() && (op_code.require_op_mask_register() || below(2) == 0) {
        instruction.set_op_mask(Register::K1 + below(7) as u32);
        let stores = instruction.op0_kind() == OpKind::Memory;
        instruction.set_zeroing_masking(op_code.can_use_zeroing_masking() && !stores && below(2) == 0);
    }
    if has_memory && op_code.can_broadcast() {
        instruction.set_is_broadcast(below(2) == 0);
    }
    if !has_memory && op_code.can_use_rounding_control() && below(3) == 0 {
        let controls = [RoundingControl::RoundDown, RoundingControl::RoundTowardZero];
        instruction.set_rounding_control(controls[below(2)]);
    } else if !has_memory && op_code.can_suppress_all_exceptions() && below(3) == 0 {
        instruction.set_suppress_all_exceptions(true);
    }
    instruction
}

fn memory(instruction: &mut Instruction, n: u32, below: &mut dyn FnMut(usize) -> usize) {
    instruction.set_op_kind(n, OpKind::Memory);
    let base = [Register::RSI, Register::RDI, Register::R10, Register::R13, Register::RSP][below(5)];
    instruction.set_memory_base(base);
    instruction.set_memory_index_scale(1);
    let step = if below(2) == 0 { 64 } else { 1 };
    instruction.set_memory_displacement64(step * below(64) as u64);
    instruction.set_memory_displ_size(8);
}
