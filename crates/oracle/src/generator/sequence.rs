//! Random instructions, one behind the other.

use crate::layout::{CODE, CODE_LEN};
use crate::masks;
use crate::start::Start;
use crate::vectors::Vectors;
use iced_x86::{
    Code, CpuidFeature, Decoder, DecoderOptions, Encoder, EncodingKind, Instruction, OpCodeInfo, OpKind,
    Register, RoundingControl,
};
use random_testing::Random;

/// The state components of AMX.
const AMX: u64 = 3 << 17;
/// Attempts to encode one instruction.
const ATTEMPTS: u32 = 16;

/// Code as it grows.
pub(super) struct Sequence<'a> {
    pub(super) start: &'a Start,
    pub(super) vectors: &'a Vectors,
    pub(super) random: &'a mut Random,
    pub(super) code: Vec<u8>,
    /// Address of the next instruction.
    rip: u64,
}

impl<'a> Sequence<'a> {
    /// No instructions yet.
    pub(super) fn new(start: &'a Start, vectors: &'a Vectors, random: &'a mut Random, rip: u64) -> Self {
        Self { start, vectors, random, code: Vec::new(), rip }
    }

    /// Appends an instruction, if one can be encoded. It may be changed into another one of those that are `known`, or
    /// into one that there is not.
    pub(super) fn push(&mut self, code: Code, known: &[Code]) {
        if is_xsave(code) && (!self.code.is_empty() || masks::alone(code) || self.start.gpr[0] & AMX != 0) {
            self.components();
        }
        for _ in 0..ATTEMPTS {
            let skipped = self.random.below(4);
            let Some(instruction) = self.instruction(code, skipped) else { continue };
            let mut encoder = self.encoder();
            let Ok(len) = encoder.encode(&instruction, self.rip) else { continue };
            let mut bytes = encoder.take_buffer();
            // Encodings that only old or withdrawn CPUs have mean something else today.
            if decode(&bytes, self.rip).code() != code {
                continue;
            }
            if is_branch(&instruction) {
                // What a branch jumps over: nothing that matters, or the end.
                bytes.extend(vec![if self.random.one_in(2) { 0x90 } else { 0xCC }; skipped as usize]);
            } else if len < 12 && self.random.one_in(32) {
                // A prefix without meaning.
                let prefix = self.random.pick(&[0x2E, 0x3E, 0x36, 0x26]);
                if !instruction.is_ip_rel_memory_operand() {
                    bytes.insert(0, prefix);
                }
            } else if !known.is_empty() && code.op_code().encoding() != EncodingKind::Legacy {
                self.mutate(&mut bytes, known);
            }
            self.rip += bytes.len() as u64;
            self.code.extend(bytes);
            return;
        }
    }

    /// MOV EAX with the components that XSAVE and its like are about: those of the machines. Ring 3 may have more.
    fn components(&mut self) {
        let all = 0xE7;
        let some = self.random.bits() as u8 & all;
        let code = [0xB8, self.random.pick(&[all, some, some]), 0, 0, 0];
        self.rip += code.len() as u64;
        self.code.extend(code);
    }

    /// Bits that an encoding ignores are random.
    fn encoder(&mut self) -> Encoder {
        let mut encoder = Encoder::new(64);
        let bits = self.random.bits() as u32;
        encoder.set_prevent_vex2(bits & 1 != 0);
        encoder.set_vex_wig(bits >> 1 & 1);
        encoder.set_vex_lig(bits >> 2 & 1);
        encoder.set_evex_wig(bits >> 3 & 1);
        encoder.set_evex_lig(bits >> 4 & 3);
        encoder
    }

    /// Inverts a bit of a VEX or EVEX prefix, or puts a prefix before it that it does not allow (SDM volume 2, sections
    /// 2.3.2 and 2.7.11).
    fn mutate(&mut self, bytes: &mut Vec<u8>, known: &[Code]) {
        // Where the code may end, a CPU fetches as much of an undefined instruction as it likes.
        if !self.random.one_in(12) || self.rip + 64 > CODE + CODE_LEN as u64 {
            return;
        }
        let Some(at) = bytes.iter().position(|byte| matches!(byte, 0x62 | 0xC4 | 0xC5)) else { return };
        let len = bytes.len();
        let mut changed = bytes.clone();
        if self.random.one_in(8) && len < 14 {
            changed.insert(at, self.random.pick(&[0x66, 0xF2, 0xF3, 0xF0, 0x48]));
        } else {
            let payload = match bytes[at] {
                0x62 => 3,
                0xC4 => 2,
                _ => 1,
            };
            changed[at + 1 + self.random.below(payload) as usize] ^= 1 << self.random.below(8);
        }
        // Also one that takes a byte more or less than before is cut off nowhere.
        let padded: Vec<u8> = changed.iter().copied().chain([0; 15]).collect();
        let instruction = decode(&padded, self.rip);
        // Either nothing, or something that is compared and as long, so that what follows is not cut in two.
        if instruction.is_invalid()
            || known.contains(&instruction.code()) && instruction.len() == changed.len()
        {
            *bytes = changed;
        }
    }

    fn instruction(&mut self, code: Code, skipped: u64) -> Option<Instruction> {
        let info = code.op_code();
        let mut instruction = Instruction::default();
        instruction.set_code(code);
        for operand in 0..info.op_count() {
            self.operand(&mut instruction, operand, info.op_kind(operand))?;
        }
        if is_branch(&instruction) {
            // The target counts from the end, which the length gives.
            let mut encoder = Encoder::new(64);
            instruction.set_near_branch64(self.rip);
            let len = encoder.encode(&instruction, self.rip).ok()? as u64;
            instruction.set_near_branch64(self.rip + len + skipped);
        }
        let memory = (0..info.op_count()).any(|n| instruction.op_kind(n) == OpKind::Memory);
        if info.can_use_lock_prefix() && self.random.one_in(if memory { 6 } else { 64 }) {
            instruction.set_has_lock_prefix(true);
        }
        if info.can_use_rep_prefix() && instruction.is_string_instruction() {
            match self.random.below(3) {
                0 => instruction.set_has_rep_prefix(true),
                1 if info.can_use_repne_prefix() => instruction.set_has_repne_prefix(true),
                _ => {}
            }
        }
        if memory && self.random.one_in(24) {
            let segment =
                self.random.pick(&[Register::FS, Register::GS, Register::SS, Register::CS, Register::ES]);
            instruction.set_segment_prefix(segment);
        }
        if info.encoding() == EncodingKind::EVEX {
            self.decorate(&mut instruction, info, memory);
        }
        Some(instruction)
    }

    /// Masks, broadcasts, rounding.
    fn decorate(&mut self, instruction: &mut Instruction, info: &OpCodeInfo, memory: bool) {
        let masked = info.can_use_op_mask_register() && !self.random.one_in(3);
        if masked || info.require_op_mask_register() {
            if let Ok(register) = Register::try_from(Register::K1 as usize + self.random.below(7) as usize) {
                instruction.set_op_mask(register);
            }
            instruction.set_zeroing_masking(info.can_use_zeroing_masking() && self.random.one_in(2));
        }
        if memory {
            instruction.set_is_broadcast(info.can_broadcast() && self.random.one_in(3));
            return;
        }
        if info.can_use_rounding_control() && self.random.one_in(3) {
            instruction.set_rounding_control(self.random.pick(&[
                RoundingControl::RoundToNearest,
                RoundingControl::RoundDown,
                RoundingControl::RoundUp,
                RoundingControl::RoundTowardZero,
            ]));
        } else if info.can_suppress_all_exceptions() && self.random.one_in(3) {
            instruction.set_suppress_all_exceptions(true);
        }
    }
}

/// Whether the components in EDX:EAX are its operand.
pub(super) fn is_xsave(code: Code) -> bool {
    use CpuidFeature as F;
    code.cpuid_features()
        .iter()
        .any(|feature| matches!(feature, F::XSAVE | F::XSAVEOPT | F::XSAVEC | F::XSAVES))
}

fn decode(bytes: &[u8], rip: u64) -> Instruction {
    Decoder::with_ip(64, bytes, rip, DecoderOptions::NONE).decode()
}

fn is_branch(instruction: &Instruction) -> bool {
    instruction.op0_kind() == OpKind::NearBranch64
}
