//! What encodings say beyond what instructions do.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use retire::{Addressing, Encoding};

/// Displacements that the short way from a load to the address of the next one takes.
const NEAR: std::ops::Range<i64> = 0..2048;

pub(super) fn encoding(instruction: &Instruction) -> Encoding {
    let memory = instruction.op_kinds().any(|kind| kind == OpKind::Memory);
    let stack = instruction.is_stack_instruction();
    let named = (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register
            && instruction.op_register(operand).full_register() == Register::RSP
    });
    let addressed = memory && instruction.memory_base().full_register() == Register::RSP;
    let change = i8::try_from(instruction.stack_pointer_increment()).unwrap_or(0);
    Encoding {
        addressing: if memory { addressing(instruction) } else { Addressing::None },
        stack_change: if stack && instruction.mnemonic() != Mnemonic::Leave { change } else { 0 },
        stack_pointer: addressed || named && !matches!(instruction.mnemonic(), Mnemonic::Pop),
        wide: is_wide(instruction),
    }
}

fn addressing(instruction: &Instruction) -> Addressing {
    let base = instruction.memory_base() != Register::None;
    let displaced = instruction.memory_displ_size() != 0;
    if instruction.memory_index() != Register::None {
        return if base && displaced { Addressing::All } else { Addressing::Index };
    }
    let displacement = instruction.memory_displacement64().cast_signed();
    if base && !instruction.is_ip_rel_memory_operand() && NEAR.contains(&displacement) {
        Addressing::Near
    } else {
        Addressing::Far
    }
}

/// A constant of 64 bits, or two of 32.
fn is_wide(instruction: &Instruction) -> bool {
    let displaced = instruction.is_ip_rel_memory_operand() || instruction.memory_displ_size() > 1;
    instruction.op_kinds().any(|kind| match kind {
        OpKind::Immediate64 => true,
        OpKind::Immediate32 | OpKind::Immediate32to64 => displaced,
        _ => false,
    })
}
