//! Random cases.

use crate::case::Case;
use crate::layout::{CODE, CODE_LEN, DATA, DATA_LEN, FXSAVE_IMAGE, PAGE};
use crate::masks;
use crate::soft::Soft;
use crate::start::{Role, Start, integer};
use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, EncodingKind, Instruction, Mnemonic, OpCodeOperandKind as K,
    OpKind, Register,
};
use random_testing::Random;
use soft_cpu::silicon::Silicon;

/// Makes cases from the instructions that soft-cpu implements.
#[derive(Debug)]
pub struct Generator {
    codes: Vec<Code>,
}

/// Encodings tried to find out whether an instruction is implemented.
const PROBES: u64 = 24;
/// Attempts to encode one instruction.
const ATTEMPTS: u32 = 16;
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

impl Generator {
    /// Asks soft-cpu which instructions it implements.
    #[must_use]
    pub fn new() -> Self {
        let mut soft = Soft::new(Silicon::Intel);
        let comparable = Code::values().filter(|code| masks::omitted(*code).is_none());
        Self { codes: comparable.filter(|code| implemented(*code, &mut soft)).collect() }
    }

    /// The instructions that are compared.
    #[must_use]
    pub fn codes(&self) -> &[Code] {
        &self.codes
    }

    /// Leaves only the instructions that are wanted.
    pub fn retain(&mut self, wanted: impl Fn(Code) -> bool) {
        self.codes.retain(|code| wanted(*code));
    }

    /// The case of a seed. Each instruction gets its turn as the first one: number `turn` of the list,
    /// modulo its length.
    #[must_use]
    pub fn case(&self, seed: u64, turn: u64) -> Case {
        let first = self.codes[(turn % self.codes.len() as u64) as usize];
        let random = &mut Random::new(seed ^ 0x4F52_4143_4C45);
        let start = Start::from_seed(seed);
        let offset = match random.below(16) {
            // Across the two code pages, at the end of the last one.
            0 => PAGE - random.below(24),
            1 => CODE_LEN as u64 - 1 - random.below(24),
            _ => 0x100 + random.below(0x100),
        };
        let mut sequence = Sequence { start: &start, random, code: Vec::new(), rip: CODE + offset };
        let count = if sequence.random.one_in(2) { 1 } else { 1 + sequence.random.below(8) };
        sequence.push(first);
        for _ in 1..count {
            let code = sequence.random.pick(&self.codes);
            if !masks::only_first(code) {
                sequence.push(code);
            }
        }
        let mut code = sequence.code;
        code.truncate(CODE_LEN - offset as usize);
        Case { code, offset: offset as u16, seed }
    }
}

impl Default for Generator {
    fn default() -> Self {
        Self::new()
    }
}

/// Some forms are refused whatever implements them (LOCK on a register), so one that is not is enough.
fn implemented(code: Code, soft: &mut Soft) -> bool {
    let probe = |seed| {
        let mut start = Start::from_seed(seed);
        start.roles = [Role::Pointer; 16];
        let random = &mut Random::new(seed);
        let mut sequence = Sequence { start: &start, random, code: Vec::new(), rip: CODE + 0x100 };
        sequence.push(code);
        (!sequence.code.is_empty()).then_some(Case { code: sequence.code, offset: 0x100, seed })
    };
    let refused = code.mnemonic() == Mnemonic::Ud2;
    (0..PROBES).filter_map(probe).any(|case| soft.refuses(&case) == refused)
}

struct Sequence<'a> {
    start: &'a Start,
    random: &'a mut Random,
    code: Vec<u8>,
    /// Address of the next instruction.
    rip: u64,
}

impl Sequence<'_> {
    /// Appends an instruction, if one can be encoded.
    fn push(&mut self, code: Code) {
        for _ in 0..ATTEMPTS {
            let skipped = self.random.below(4);
            let Some(instruction) = self.instruction(code, skipped) else { continue };
            let mut encoder = Encoder::new(64);
            let Ok(len) = encoder.encode(&instruction, self.rip) else { continue };
            let mut bytes = encoder.take_buffer();
            // Encodings that only old or withdrawn CPUs have mean something else today.
            if Decoder::with_ip(64, &bytes, self.rip, DecoderOptions::NONE).decode().code() != code {
                continue;
            }
            if is_branch(&instruction) {
                // What a branch jumps over: nothing that matters, or the end.
                bytes.extend(vec![if self.random.one_in(2) { 0x90 } else { 0xCC }; skipped as usize]);
            } else if len < 12 && code.op_code().encoding() == EncodingKind::Legacy && self.random.one_in(32)
            {
                // A prefix without meaning.
                let prefix = self.random.pick(&[0x2E, 0x3E, 0x36, 0x26]);
                if !is_rip_relative(&instruction) {
                    bytes.insert(0, prefix);
                }
            }
            self.rip += bytes.len() as u64;
            self.code.extend(bytes);
            return;
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
        Some(instruction)
    }

    fn operand(&mut self, to: &mut Instruction, n: u32, kind: K) -> Option<()> {
        let register = |instruction: &mut Instruction, register: Register| {
            instruction.try_set_op_kind(n, OpKind::Register).ok()?;
            instruction.try_set_op_register(n, register).ok()
        };
        let either = self.random.one_in(2);
        match kind {
            K::mem | K::mem_mib => self.memory(to, n)?,
            K::r8_or_mem | K::r16_or_mem | K::r32_or_mem | K::r64_or_mem | K::mm_or_mem | K::xmm_or_mem
                if either =>
            {
                self.memory(to, n)?;
            }
            K::mem_offs => {
                to.try_set_op_kind(n, OpKind::Memory).ok()?;
                to.set_memory_displ_size(8);
                let address = self.absolute();
                to.set_memory_displacement64(address);
            }
            K::r8_or_mem | K::r8_reg | K::r8_opcode => {
                let number = self.random.below(20);
                let all = Register::AL as u32 + number as u32;
                register(to, Register::try_from(all as usize).ok()?)?;
            }
            K::r16_or_mem | K::r16_reg | K::r16_rm | K::r16_opcode => register(to, self.gpr(Register::AX)?)?,
            K::r32_or_mem | K::r32_reg | K::r32_rm | K::r32_opcode | K::r32_vvvv => {
                register(to, self.gpr(Register::EAX)?)?;
            }
            K::r64_or_mem | K::r64_reg | K::r64_rm | K::r64_opcode | K::r64_vvvv => {
                register(to, self.gpr(Register::RAX)?)?;
            }
            K::mm_or_mem | K::mm_reg | K::mm_rm => register(to, nth(Register::MM0, self.random.below(8))?)?,
            K::xmm_or_mem | K::xmm_reg | K::xmm_rm => {
                register(to, nth(Register::XMM0, self.random.below(16))?)?;
            }
            K::al => register(to, Register::AL)?,
            K::cl => register(to, Register::CL)?,
            K::ax => register(to, Register::AX)?,
            K::dx => register(to, Register::DX)?,
            K::eax => register(to, Register::EAX)?,
            K::rax => register(to, Register::RAX)?,
            K::st0 => register(to, Register::ST0)?,
            K::sti_opcode => register(to, nth(Register::ST0, self.random.below(8))?)?,
            K::imm8 => {
                let second = n > 0 && to.op_kind(n - 1) == OpKind::Immediate16;
                let kind = if second { OpKind::Immediate8_2nd } else { OpKind::Immediate8 };
                to.try_set_op_kind(n, kind).ok()?;
                let value =
                    if self.random.one_in(2) { self.random.below(40) } else { integer(self.random) & 0xFF };
                // Larger counts than the operand size have no defined result.
                let double = matches!(to.mnemonic(), Mnemonic::Shld | Mnemonic::Shrd);
                let value = if double { value % 17 } else { value };
                if second {
                    to.set_immediate8_2nd(value as u8 & 0x21);
                } else {
                    to.set_immediate8(value as u8);
                }
            }
            K::imm8_const_1 => {
                to.try_set_op_kind(n, OpKind::Immediate8).ok()?;
                to.set_immediate8(1);
            }
            K::imm8sex16 | K::imm8sex32 | K::imm8sex64 => {
                let kind = match kind {
                    K::imm8sex16 => OpKind::Immediate8to16,
                    K::imm8sex32 => OpKind::Immediate8to32,
                    _ => OpKind::Immediate8to64,
                };
                to.try_set_op_kind(n, kind).ok()?;
                to.try_set_immediate_i64(n, i64::from(integer(self.random) as i8)).ok()?;
            }
            K::imm16 => {
                to.try_set_op_kind(n, OpKind::Immediate16).ok()?;
                // RET and ENTER move the stack pointer by it.
                let stack = matches!(to.mnemonic(), Mnemonic::Ret | Mnemonic::Enter);
                let value = integer(self.random) as u16;
                to.set_immediate16(if stack && !self.random.one_in(4) { value & 0x78 } else { value });
            }
            K::imm32 => {
                to.try_set_op_kind(n, OpKind::Immediate32).ok()?;
                to.set_immediate32(integer(self.random) as u32);
            }
            K::imm32sex64 => {
                to.try_set_op_kind(n, OpKind::Immediate32to64).ok()?;
                to.set_immediate32to64(i64::from(integer(self.random) as i32));
            }
            K::imm64 => {
                to.try_set_op_kind(n, OpKind::Immediate64).ok()?;
                to.set_immediate64(integer(self.random));
            }
            K::seg_rSI => self.implicit(to, n, OpKind::MemorySegRSI, OpKind::MemorySegESI)?,
            K::es_rDI => self.implicit(to, n, OpKind::MemoryESRDI, OpKind::MemoryESEDI)?,
            K::seg_rDI => self.implicit(to, n, OpKind::MemorySegRDI, OpKind::MemorySegEDI)?,
            K::seg_rBX_al => {
                to.try_set_op_kind(n, OpKind::Memory).ok()?;
                to.set_memory_base(Register::RBX);
                to.set_memory_index(Register::AL);
            }
            K::br64_1 | K::br64_4 => to.try_set_op_kind(n, OpKind::NearBranch64).ok()?,
            _ => return None,
        }
        Some(())
    }

    /// A memory operand of a string instruction; both have the same address size.
    fn implicit(&mut self, to: &mut Instruction, n: u32, wide: OpKind, narrow: OpKind) -> Option<()> {
        let earlier = (0..n).map(|n| to.op_kind(n)).find(|kind| *kind != OpKind::Register);
        let is_narrow = match earlier {
            Some(kind) => matches!(kind, OpKind::MemorySegESI | OpKind::MemoryESEDI | OpKind::MemorySegEDI),
            None => self.random.one_in(8),
        };
        to.try_set_op_kind(n, if is_narrow { narrow } else { wide }).ok()
    }

    /// A general register of the same size as `first`. RSP as rarely as it is useful.
    fn gpr(&mut self, first: Register) -> Option<Register> {
        let mut number = self.random.below(16);
        if number == 4 && !self.random.one_in(4) {
            number = 0;
        }
        nth(first, number)
    }

    /// An address in the data pages.
    fn absolute(&mut self) -> u64 {
        let address = DATA + 0x100 + self.random.below(DATA_LEN - 0x200);
        if self.random.one_in(2) { address & !15 } else { address }
    }

    fn memory(&mut self, to: &mut Instruction, n: u32) -> Option<()> {
        to.try_set_op_kind(n, OpKind::Memory).ok()?;
        let pick = |roles: &[Role; 16], role: Role, random: &mut Random| {
            let fitting: Vec<usize> = (0..16).filter(|n| roles[*n] == role).collect();
            GPR_64[if fitting.is_empty() { 4 } else { random.pick(&fitting) }]
        };
        let roles = &self.start.roles;
        let random = &mut *self.random;
        if matches!(to.mnemonic(), Mnemonic::Fxrstor | Mnemonic::Fxrstor64) && !random.one_in(4) {
            to.set_memory_displ_size(4);
            to.set_memory_displacement64(FXSAVE_IMAGE);
            return Some(());
        }
        let small = random.pick(&[0, 0, 0, 16, 32, 1, 8, 4, -16_i64, -1, -8]);
        match random.below(32) {
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
                to.set_memory_base(random.pick(&GPR_64));
                to.set_memory_displ_size(8);
                to.set_memory_displacement64(i64::from(integer(random) as i32) as u64);
            }
            5 => {
                to.set_memory_base(random.pick(&GPR_64));
                let index = random.pick(&GPR_64);
                if index != Register::RSP {
                    to.set_memory_index(index);
                    to.set_memory_index_scale(1 << random.below(4));
                }
                to.set_memory_displ_size(8);
                to.set_memory_displacement64(i64::from(integer(random) as i32) as u64);
            }
            // 32-bit addresses.
            6 => {
                let number = GPR_64.iter().position(|r| *r == pick(roles, Role::Pointer, random))?;
                to.set_memory_base(nth(Register::EAX, number as u64)?);
                to.set_memory_displ_size(4);
                to.set_memory_displacement64(u64::from(small as u32));
            }
            7..=11 => {
                to.set_memory_base(pick(roles, Role::Pointer, random));
                let index = pick(roles, Role::Small, random);
                if index != Register::RSP {
                    to.set_memory_index(index);
                    to.set_memory_index_scale(1 << random.below(4));
                }
                to.set_memory_displ_size(8);
                to.set_memory_displacement64(small as u64);
            }
            _ => {
                to.set_memory_base(pick(roles, Role::Pointer, random));
                if small != 0 {
                    to.set_memory_displ_size(if (-128..128).contains(&small) { 1 } else { 8 });
                }
                to.set_memory_displacement64(small as u64);
            }
        }
        Some(())
    }
}

fn is_branch(instruction: &Instruction) -> bool {
    instruction.op0_kind() == OpKind::NearBranch64
}

fn is_rip_relative(instruction: &Instruction) -> bool {
    instruction.is_ip_rel_memory_operand()
}

fn nth(first: Register, number: u64) -> Option<Register> {
    Register::try_from(first as usize + number as usize).ok()
}
