//! What encodings say beyond what instructions do.

use super::XMM;
use iced_x86::{
    ConditionCode, EncodingKind, Instruction, InstructionInfo, Mnemonic, OpAccess, OpKind, Register,
};
use retire::{Addressing, Encoding, Operation, RegisterSet, UpperBits};

/// Displacements that the short way from a load to the address of the next one takes.
const NEAR: std::ops::Range<i64> = 0..2048;

/// XMM0 to XMM15, whatever their width.
const VECTORS: RegisterSet = 0xFFFF << XMM;

pub(super) fn encoding(
    instruction: &Instruction,
    code: &[u8],
    info: &InstructionInfo,
    results: RegisterSet,
) -> Encoding {
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
        scaled: memory
            && instruction.memory_index() != Register::None
            && instruction.memory_index_scale() > 1,
        stack_change: if stack && instruction.mnemonic() != Mnemonic::Leave { change } else { 0 },
        stack_pointer: addressed || named && !matches!(instruction.mnemonic(), Mnemonic::Pop),
        wide: is_wide(instruction),
        constants: constants(instruction),
        opcode: opcode(instruction, code),
        two_operands: has_two_operands(instruction, info),
        joined_move: joined_move(instruction),
        plain_access: memory && is_plain_access(instruction) || is_push_or_pop(instruction),
        whole_access: memory && is_whole_access(instruction) || is_push_or_pop(instruction),
        operand_access: memory && is_operand_access(instruction) || is_push_or_pop(instruction),
        expression: if memory { expression(instruction) } else { 0 },
        operation: operation(instruction),
        high_byte: has_high_byte(instruction),
        upper_bits: upper_bits(instruction, results & VECTORS),
    }
}

fn operation(instruction: &Instruction) -> Operation {
    use ConditionCode as C;
    use Mnemonic as M;
    if !instruction.op0_register().is_gpr() && instruction.op_kind(0) == OpKind::Register {
        return Operation::Other;
    }
    let decides = !matches!(instruction.condition_code(), C::None | C::a | C::be);
    match instruction.mnemonic() {
        M::And | M::Or | M::Xor | M::Test | M::Andn | M::Blsr => Operation::Logic,
        M::Shl | M::Sal | M::Shr | M::Sar | M::Rol | M::Ror | M::Rorx | M::Shlx | M::Shrx | M::Sarx => {
            Operation::Shift
        }
        _ if decides && !instruction.is_jcc_short_or_near() => Operation::Select,
        _ => Operation::Other,
    }
}

fn has_high_byte(instruction: &Instruction) -> bool {
    use Register as R;
    (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register
            && matches!(instruction.op_register(operand), R::AH | R::BH | R::CH | R::DH)
    })
}

fn has_two_operands(instruction: &Instruction, info: &InstructionInfo) -> bool {
    instruction.op_count() == 2
        && instruction.op0_kind() == OpKind::Register
        && matches!(info.op0_access(), OpAccess::ReadWrite | OpAccess::ReadCondWrite)
        && instruction.rflags_read() == 0
}

/// Measured on Zen 5: what becomes one uop with a move.
fn joined_move(instruction: &Instruction) -> u8 {
    use Mnemonic as M;
    let mnemonic = instruction.mnemonic();
    let joins = matches!(
        mnemonic,
        M::Mov
            | M::Add
            | M::Sub
            | M::And
            | M::Or
            | M::Xor
            | M::Inc
            | M::Dec
            | M::Not
            | M::Shl
            | M::Shr
            | M::Sar
    );
    let (first, second) = (instruction.op0_register(), instruction.op1_register());
    let another = second.is_gpr() && second.full_register() != first.full_register();
    // There is no second operand of INC, and none that is a register beside a constant.
    let has_other = mnemonic != M::Mov && second == Register::None;
    if joins && first.is_gpr() && (another || has_other) && instruction.op1_kind() != OpKind::Memory {
        first.size() as u8 & (4 | 8)
    } else {
        0
    }
}

/// Measured on Redwood Cove and Raptor Cove: which accesses a store and a load without a lost cycle are.
fn is_plain_access(instruction: &Instruction) -> bool {
    let combines = instruction.op0_kind() == OpKind::Memory
        && instruction.op_count() > 1
        && instruction.op1_kind() == OpKind::Register
        && instruction.mnemonic() != Mnemonic::Mov;
    // Not those that read flags: CMOVcc, ADC, SBB.
    instruction.rflags_read() == 0
        && instruction.memory_index() == Register::None
        && !instruction.is_ip_rel_memory_operand()
        && matches!(instruction.memory_size().size(), 1 | 4 | 8)
        && !matches!(instruction.mnemonic(), Mnemonic::Movsx | Mnemonic::Movsxd)
        && matches!(instruction.code().encoding(), EncodingKind::Legacy)
        && !combines
}

/// Measured on Zen 3 and Zen 4: loads that can have the value of a store from renaming.
fn is_whole_access(instruction: &Instruction) -> bool {
    let in_place = instruction.op0_kind() == OpKind::Memory;
    let mnemonic = instruction.mnemonic();
    let moves = mnemonic == Mnemonic::Mov || instruction.condition_code() != ConditionCode::None;
    let exchanges = matches!(mnemonic, Mnemonic::Cmpxchg | Mnemonic::Xadd | Mnemonic::Xchg);
    matches!(instruction.memory_size().size(), 4 | 8) && (in_place && !exchanges || moves)
}

/// Measured on Zen 5: loads that can have the value of a store from renaming.
fn is_operand_access(instruction: &Instruction) -> bool {
    !matches!(instruction.mnemonic(), Mnemonic::Movzx | Mnemonic::Movbe)
}

fn is_push_or_pop(instruction: &Instruction) -> bool {
    let names_memory = instruction.op0_kind() == OpKind::Memory;
    matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop)
        && instruction.stack_pointer_increment().abs() == 8
        && !names_memory
}

/// `results`: the vector registers that it writes.
fn upper_bits(instruction: &Instruction, results: RegisterSet) -> UpperBits {
    // The destination is the first operand.
    let register = instruction.op0_register();
    let wide = (register.is_ymm() || register.is_zmm()) && register.number() < 16;
    match (instruction.mnemonic(), instruction.code().encoding()) {
        (Mnemonic::Vzeroupper | Mnemonic::Vzeroall, _) => UpperBits::Cleared,
        // Not FXRSTOR, which writes all of them.
        (_, EncodingKind::Legacy) if results.count_ones() == 1 => {
            UpperBits::Kept(results.trailing_zeros() as u8)
        }
        (_, EncodingKind::Legacy) => UpperBits::None,
        _ if results != 0 && wide => UpperBits::Written,
        _ => UpperBits::None,
    }
}

/// A hash (FNV-1a) of what the address is made of.
fn expression(instruction: &Instruction) -> u8 {
    let parts = [
        instruction.memory_segment() as u64,
        instruction.memory_base() as u64,
        instruction.memory_index() as u64,
        instruction.memory_index_scale().into(),
        instruction.memory_displacement64(),
    ];
    let hash = parts
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash: u64, part| (hash ^ part).wrapping_mul(0x0000_0100_0000_01B3));
    (hash ^ hash >> 32 ^ hash >> 16) as u8
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

fn constants(instruction: &Instruction) -> u8 {
    if instruction.mnemonic() == Mnemonic::Nop {
        return 0;
    }
    let displaced = instruction.op_kinds().any(|kind| kind == OpKind::Memory)
        && (instruction.memory_displ_size() > 0 || instruction.is_ip_rel_memory_operand());
    let immediates = instruction.op_kinds().map(|kind| match kind {
        OpKind::Immediate64 => 2,
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => 1,
        kind if (OpKind::Immediate8..=OpKind::Immediate32to64).contains(&kind) => 1,
        _ => 0,
    });
    u8::from(displaced) + immediates.max().unwrap_or(0)
}

/// Where the opcode is in an encoding.
fn opcode(instruction: &Instruction, code: &[u8]) -> u8 {
    let is_legacy = |byte: &u8| matches!(byte, 0x26 | 0x2E | 0x36 | 0x3E | 0x64..=0x67 | 0xF0 | 0xF2 | 0xF3);
    let prefixes = code.iter().take_while(|&byte| is_legacy(byte)).count();
    let rest = code.get(prefixes..).unwrap_or_default();
    let more = match instruction.code().encoding() {
        EncodingKind::VEX if rest.first() == Some(&0xC5) => 2,
        EncodingKind::VEX | EncodingKind::XOP => 3,
        EncodingKind::EVEX => 4,
        _ => {
            // But for code of 64 bits, INC and DEC alone begin as REX does.
            let rex = usize::from(rest.len() > 1 && rest[0] & 0xF0 == 0x40);
            match rest.get(rex..) {
                Some([0x0F, 0x38 | 0x3A, ..]) => rex + 2,
                Some([0x0F, ..]) => rex + 1,
                _ => rex,
            }
        }
    };
    (prefixes + more) as u8
}

/// An immediate value that is no sign-extended one of 32 bits, or of 16 bits beside an operand in memory.
fn is_wide(instruction: &Instruction) -> bool {
    let memory = instruction.op_kinds().any(|kind| kind == OpKind::Memory);
    instruction.op_kinds().any(|kind| match kind {
        OpKind::Immediate64 => i32::try_from(instruction.immediate64().cast_signed()).is_err(),
        OpKind::Immediate32 => memory && i16::try_from(instruction.immediate32().cast_signed()).is_err(),
        OpKind::Immediate32to64 => memory && i16::try_from(instruction.immediate32to64()).is_err(),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::InstructionInfoFactory;
    use iced_x86::code_asm::*;
    use iced_x86::{Decoder, DecoderOptions};

    #[test]
    fn upper_bits_are_kept_by_legacy_encodings_and_written_by_wide_ones() {
        let mut a = CodeAssembler::new(64).expect("64 bits");
        let assembled = (|| {
            a.movaps(xmm3, xmm4)?;
            a.pcmpistrm(xmm3, xmm4, 0)?; // Writes XMM0.
            a.movd(eax, xmm1)?;
            a.movaps(xmmword_ptr(rax), xmm1)?;
            a.add(rax, rbx)?;
            a.vmovaps(xmm3, xmm4)?;
            a.vmovaps(ymm3, ymm4)?;
            a.vmovaps(ymmword_ptr(rax), ymm4)?;
            a.vmovaps(zmm15, zmm16)?;
            a.vextracti128(xmm1, ymm2, 1)?;
            a.vmovaps(zmm16, zmm17)?;
            a.vzeroupper()?;
            a.vzeroall()
        })();
        assembled.expect("instructions");
        let mut info = InstructionInfoFactory::new();
        let kinds: Vec<_> = a
            .instructions()
            .iter()
            .map(|instruction| crate::describe::instruction(instruction, &[], &mut info).encoding.upper_bits)
            .collect();
        use UpperBits::{Cleared, Kept, None, Written};
        let expected = [
            Kept(XMM + 3),
            Kept(XMM),
            None,
            None,
            None,
            None,
            Written,
            None,
            Written,
            None,
            None,
            Cleared,
            Cleared,
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn opcodes_are_behind_prefixes_and_escapes() {
        // CMP ESI, 1; CMP R14D, 1; ADD AX, imm16; LOCK INC; MOVZX; MOVAPS; CRC32; PSHUFB; VPXOR, both ways; VADDPS.
        let cases: [(&[u8], u8); 11] = [
            (&[0x83, 0xFE, 1], 0),
            (&[0x41, 0x83, 0xFE, 1], 1),
            (&[0x66, 0x05, 1, 0], 1),
            (&[0xF0, 0x48, 0xFF, 0x00], 2),
            (&[0x0F, 0xB6, 0xC0], 1),
            (&[0x44, 0x0F, 0x28, 0xC1], 2),
            (&[0xF2, 0x48, 0x0F, 0x38, 0xF1, 0xC1], 4),
            (&[0x66, 0x0F, 0x38, 0x00, 0xC1], 3),
            (&[0xC5, 0xE9, 0xEF, 0xCA], 2),
            (&[0xC4, 0xC1, 0x69, 0xEF, 0xC8], 3),
            (&[0x62, 0xF1, 0x7C, 0x48, 0x58, 0xC1], 4),
        ];
        for (code, expected) in cases {
            let instruction = Decoder::new(64, code, DecoderOptions::NONE).decode();
            assert!(!instruction.is_invalid(), "{code:x?}");
            assert_eq!(opcode(&instruction, code), expected, "{code:x?}");
        }
    }

    #[test]
    fn constants_count_by_their_values() {
        let mut a = CodeAssembler::new(64).expect("64 bits");
        let assembled = (|| {
            a.mov(rax, 0x7FFF_FFFF_FFFF_FFFF_i64)?;
            a.mov(eax, -1)?;
            a.cmp(ebx, 0x12345)?;
            a.mov(dword_ptr(rax + 0x1000), 0x12345)?;
            a.mov(dword_ptr(rax + 0x1000), 0x7FFF)?;
            a.mov(dword_ptr(rax), 0x12345)
        })();
        assembled.expect("instructions");
        let wide: Vec<_> = a.instructions().iter().map(is_wide).collect();
        assert_eq!(wide, [true, false, false, true, false, true]);
    }
}
