//! Which flags anything behind an instruction may look at.

use iced_x86::{ConditionCode, Instruction, Mnemonic as M, OpKind, RflagsBits};

const ALL: u32 =
    RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::CF | RflagsBits::PF;

/// For each instruction the flags that matter behind it. All do at the end, and where an exception may show them.
pub(crate) fn behind(instructions: &[Instruction]) -> Vec<u32> {
    let mut live = ALL;
    let mut all: Vec<u32> = instructions
        .iter()
        .rev()
        .map(|instruction| {
            let behind = live;
            live = if is_internal(instruction) {
                behind & !overwritten(instruction) | instruction.rflags_read() & ALL
            } else {
                ALL
            };
            behind
        })
        .collect();
    all.reverse();
    all
}

/// No exception, and nothing but registers.
fn is_internal(instruction: &Instruction) -> bool {
    let known = match instruction.mnemonic() {
        M::Add | M::Adc | M::Sub | M::Sbb | M::And | M::Or | M::Xor | M::Cmp | M::Test => true,
        M::Inc | M::Dec | M::Neg | M::Not | M::Imul | M::Mul => true,
        M::Shl | M::Sal | M::Shr | M::Sar | M::Rol | M::Ror => true,
        M::Mov | M::Movzx | M::Movsx | M::Movsxd | M::Lea | M::Bswap => true,
        M::Cbw | M::Cwde | M::Cdqe | M::Cwd | M::Cdq | M::Cqo | M::Nop => true,
        _ => {
            instruction.condition_code() != ConditionCode::None
                && !instruction.is_jcc_short_or_near()
                && !instruction.is_loopcc()
        }
    };
    known
        && (0..instruction.op_count()).all(|n| match instruction.op_kind(n) {
            OpKind::Register => instruction.op_register(n).is_gpr(),
            OpKind::Memory => matches!(instruction.mnemonic(), M::Lea | M::Nop),
            _ => true,
        })
}

/// The flags that are written whatever the operands are.
fn overwritten(instruction: &Instruction) -> u32 {
    match instruction.mnemonic() {
        M::Add | M::Adc | M::Sub | M::Sbb | M::And | M::Or | M::Xor | M::Cmp | M::Test | M::Neg => ALL,
        M::Imul | M::Mul => ALL,
        M::Inc | M::Dec => ALL & !RflagsBits::CF,
        _ => 0,
    }
}
