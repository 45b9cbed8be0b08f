//! Bytes to blocks of handlers. iced-x86 decodes, and `operands`, `integer`, `system`, `vector` choose
//! the handler.

mod absent;
mod bmi;
mod context;
mod crypto;
mod integer;
mod legacy;
mod mmx;
mod operands;
mod select;
mod sse4;
mod system;
mod vector;
mod vex;
mod vex_quick;
mod x87;

use crate::block::Ending;
use crate::block::Position;
use crate::bus::Bus;
use crate::context::{Core, Mode};
use crate::describe::{operation, register_file};
use crate::exec::chain::{self, Chain};
use crate::exec::{self, Handler, Insn};
use crate::low::Low;
use crate::vector::description::Descriptions;
use iced_x86::{
    Decoder, DecoderError, DecoderOptions, EncodingKind, FlowControl, Instruction, InstructionInfoFactory,
    InstructionInfoOptions, Mnemonic, OpAccess,
};
use retire::{BranchKind, RegisterFile};

/// Instructions in a block at most.
pub(crate) const MAX_INSNS: usize = 32;

/// What was decoded.
pub(crate) struct Decoded<B> {
    pub(crate) insns: Box<[Insn<B>]>,
    /// Executes them.
    pub(crate) chain: Chain<B>,
    /// Length in bytes and what retires.
    pub(crate) end: Position,
}

pub(crate) fn decoder(bytes: &[u8], mode: Mode) -> Decoder<'_> {
    let bitness = match mode {
        Mode::Bits16 => 16,
        Mode::Bits32 => 32,
        Mode::Bits64 => 64,
    };
    // The block starts at 0, so that relative operands come out relative to the block.
    Decoder::with_ip(bitness, bytes, 0, DecoderOptions::NONE)
}

/// Decodes a block from the bytes up to the end of a page. `None` if the first instruction needs more.
pub(crate) fn block<B: Bus>(core: &mut Core, bytes: &[u8]) -> Option<Decoded<B>> {
    let decoded = decode(core, bytes, MAX_INSNS);
    (!decoded.insns.is_empty()).then_some(decoded)
}

/// Decodes one instruction from at least 15 bytes.
pub(crate) fn single<B: Bus>(core: &mut Core, bytes: &[u8]) -> Decoded<B> {
    decode(core, bytes, 1)
}

fn decode<B: Bus>(core: &mut Core, bytes: &[u8], limit: usize) -> Decoded<B> {
    let mode = core.mode;
    let mut decoder = decoder(bytes, mode);
    let mut info = InstructionInfoFactory::new();
    let mut insns: Vec<Insn<B>> = Vec::new();
    let mut instructions = Vec::new();
    let mut position = Position::default();
    let mut instruction = Instruction::default();
    while insns.len() < limit && decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if decoder.last_error() == DecoderError::NoMoreBytes {
            break;
        }
        if let Some(older) = core.features.older(&instruction) {
            instruction = older;
        }
        position.len = instruction.len().low_u8();
        let mut insn = operands::operands(&instruction, mode);
        insn.position = position;
        let mut ends = true;
        if instruction.is_invalid() {
            insn.run = exec::undefined;
        } else {
            let own = bytes.get(usize::from(position.start)..).unwrap_or_default();
            insn.run = handler(core, &instruction, &mut insn, own);
            ends = ends_block(&instruction);
            let (loads, stores) = memory_operands(&mut info, &instruction);
            position.loads = position.loads.saturating_add(loads);
            position.stores = position.stores.saturating_add(stores);
            match register_file(&instruction) {
                RegisterFile::General => {}
                RegisterFile::X87 => position.fpu += 1,
                RegisterFile::Mmx => position.fpu += 1 << 4,
                RegisterFile::Vector => position.sse += 1,
            }
            ends |= is_full(position);
        }
        position.start += u16::from(position.len);
        position.index += 1;
        insns.push(insn);
        instructions.push(instruction);
        if ends {
            break;
        }
    }
    position.len = Ending::new(position.len, instructions.last().and_then(near_branch)).raw();
    context::choose(&instructions, &mut insns);
    if let Some(counting) = core.counting.as_ref().filter(|counting| counting.on) {
        for (insn, instruction) in insns.iter_mut().zip(&instructions) {
            insn.operation = operation::operation(instruction, counting.types);
            if insn.operation.is_some() {
                insn.next = chain::counted;
            }
        }
    }
    let chain = link(&mut insns);
    Decoded { insns: insns.into_boxed_slice(), chain, end: position }
}

/// Another instruction might have more of something than a [`Position`] can say. None has half as many operands.
fn is_full(position: Position) -> bool {
    let Position { loads, stores, fpu, .. } = position;
    loads.max(stores) > u8::MAX / 2 || fpu & 0xF == 0xF || fpu >> 4 == 0xF
}

/// What it is if it is a near branch. Not a conditional jump to the next instruction.
fn near_branch(instruction: &Instruction) -> Option<BranchKind> {
    Some(match instruction.flow_control() {
        FlowControl::ConditionalBranch if jumps_to_next(instruction) => return None,
        FlowControl::ConditionalBranch => BranchKind::Conditional,
        FlowControl::UnconditionalBranch if instruction.is_jmp_short_or_near() => BranchKind::DirectJump,
        FlowControl::IndirectBranch if instruction.is_jmp_near_indirect() => BranchKind::IndirectJump,
        FlowControl::Call if instruction.is_call_near() => BranchKind::DirectCall,
        FlowControl::IndirectCall if instruction.is_call_near_indirect() => BranchKind::IndirectCall,
        FlowControl::Return if instruction.mnemonic() == Mnemonic::Ret => BranchKind::Return,
        _ => return None,
    })
}

/// True if a relative branch leads where it would go on without it.
fn jumps_to_next(instruction: &Instruction) -> bool {
    instruction.near_branch_target() == instruction.next_ip()
}

/// Has each instruction call the next one. Returns what executes all.
fn link<B: Bus>(insns: &mut [Insn<B>]) -> Chain<B> {
    let mut next: Chain<B> = chain::end;
    for insn in insns.iter_mut().rev() {
        std::mem::swap(&mut insn.next, &mut next);
    }
    next
}

/// `bytes` are those of the instruction.
fn handler<B: Bus>(
    core: &mut Core,
    instruction: &Instruction,
    insn: &mut Insn<B>,
    bytes: &[u8],
) -> Handler<B> {
    let Core { features, descriptions, mode, .. } = core;
    let exists =
        if is_vector(instruction) { features.allow(instruction) } else { !features.lack(instruction) };
    if !exists {
        return exec::undefined;
    }
    select(instruction, insn, *mode, bytes, descriptions).unwrap_or(if absent::is_absent(instruction) {
        exec::undefined
    } else {
        exec::unimplemented
    })
}

/// What the decoder does with an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Implemented,
    /// #UD, as it should be.
    Undefined,
    /// #UD, because it is not implemented.
    Missing,
}

/// For [`coverage`](crate::coverage).
pub(crate) fn choose<B: Bus>(instruction: &Instruction, mode: Mode) -> Choice {
    let mut insn: Insn<B> = operands::operands(instruction, mode);
    match select(instruction, &mut insn, mode, &[], &mut Descriptions::default()) {
        Some(_) => Choice::Implemented,
        None if absent::is_absent(instruction) => Choice::Undefined,
        None => Choice::Missing,
    }
}

/// VEX and EVEX encodings, but for those of BMI.
fn is_vector(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    matches!(instruction.encoding(), EncodingKind::VEX | EncodingKind::EVEX)
        && !matches!(
            instruction.mnemonic(),
            M::Andn
                | M::Bextr
                | M::Blsi
                | M::Blsmsk
                | M::Blsr
                | M::Bzhi
                | M::Mulx
                | M::Pdep
                | M::Pext
                | M::Rorx
                | M::Sarx
                | M::Shlx
                | M::Shrx
        )
}

fn select<B: Bus>(
    instruction: &Instruction,
    insn: &mut Insn<B>,
    mode: Mode,
    bytes: &[u8],
    descriptions: &mut Descriptions,
) -> Option<Handler<B>> {
    if is_vector(instruction) {
        return vex::handler(instruction, insn, descriptions);
    }
    integer::handler(instruction, insn, mode)
        .or_else(|| system::handler(instruction, insn, mode))
        .or_else(|| vector::handler(instruction, insn))
        .or_else(|| bmi::handler(instruction, insn))
        .or_else(|| mmx::handler(instruction, insn))
        .or_else(|| x87::handler(instruction, insn, bytes))
        .or_else(|| legacy::handler(instruction))
}

/// Whether a block ends with this instruction: branches, and whatever changes translation, mode or
/// interruptibility.
fn ends_block(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    if instruction.flow_control() != FlowControl::Next {
        return true;
    }
    match instruction.mnemonic() {
        M::Hlt
        | M::Sti
        | M::Popf
        | M::Popfd
        | M::Popfq
        | M::Wrmsr
        | M::Lmsw
        | M::Invlpg
        | M::Invpcid
        | M::Clts => true,
        M::Mov | M::Pop => {
            instruction.op0_register().is_segment_register()
                || instruction.op0_register().is_cr()
                || instruction.op0_register().is_dr()
        }
        M::Lss => true,
        _ => false,
    }
}

/// Memory operands read and written. String instructions count while they run.
fn memory_operands(info: &mut InstructionInfoFactory, instruction: &Instruction) -> (u8, u8) {
    if instruction.is_string_instruction() {
        return (0, 0);
    }
    let info = info.info_options(instruction, InstructionInfoOptions::NO_REGISTER_USAGE);
    let mut counts = (0, 0);
    for memory in info.used_memory() {
        match memory.access() {
            OpAccess::Read | OpAccess::CondRead => counts.0 += 1,
            OpAccess::Write | OpAccess::CondWrite => counts.1 += 1,
            OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
                counts.0 += 1;
                counts.1 += 1;
            }
            OpAccess::None | OpAccess::NoMemAccess => {}
        }
    }
    counts
}

/// iced's name of the instruction at the start of `bytes`.
pub(crate) fn name(bytes: &[u8], mode: Mode) -> String {
    format!("{:?}", decoder(bytes, mode).decode().code())
}
