//! What is known of a block's memory operands before code is written: which of them have the same register.

use crate::emit::Label;
use crate::frame::GROUPS;
use iced_x86::{Code, Instruction, InstructionInfoFactory, Mnemonic as M, OpAccess, OpKind, Register};

/// Bytes of the longest operand.
pub(crate) const LONGEST: u64 = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    /// Also before it is written.
    Write,
}

/// How far from the first operand of a group the others are at most, in bytes: what is further is in another page too
/// often.
const NEAR: i64 = 256;
const _: () = assert!(2 * NEAR + LONGEST as i64 <= soft_base::PAGE as i64);

/// An operand of a group.
#[derive(Debug, Clone, Copy)]
struct Use {
    group: usize,
    /// Distance from where the register pointed to when it was written last.
    offset: i64,
    /// What has been added to the register since.
    moved: i64,
}

#[derive(Debug, Clone, Copy)]
struct Group {
    register: Register,
    /// What it may touch: distances from where the register pointed to when it was written last.
    first: i64,
    end: i64,
    write: bool,
}

/// The groups of a block, and which operands belong to them.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// By instruction: the memory operand, and what is on the stack.
    uses: Vec<[Option<Use>; 2]>,
    groups: Vec<Group>,
}

/// Which operand of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Memory,
    Stack,
}

/// An operand that belongs to a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    /// Number of the group.
    pub(crate) group: usize,
    pub(crate) register: Register,
    /// Distance from where the register pointed to when it was written last.
    pub(crate) offset: i64,
    /// What all of the group may touch begins there, as `offset` is, and as a distance from the register now.
    pub(crate) first: i64,
    pub(crate) from: i64,
    /// How many bytes that are, and what is done there.
    pub(crate) bytes: i64,
    pub(crate) access: Access,
}

/// An access by a register, before there are groups.
struct Seen {
    index: usize,
    which: Which,
    register: usize,
    /// Times that the register has been written before.
    version: u32,
    offset: i64,
    moved: i64,
    bytes: i64,
    write: bool,
}

/// What has become of a register.
#[derive(Clone, Copy, Default)]
struct Moved {
    version: u32,
    by: i64,
}

impl Plan {
    pub(crate) fn new(instructions: &[Instruction]) -> Self {
        let mut info = InstructionInfoFactory::new();
        let mut registers = [Moved::default(); 16];
        let mut seen = Vec::new();
        for (index, instruction) in instructions.iter().enumerate() {
            let mut see = |which, number: usize, distance: i64, bytes: usize, write| {
                let Moved { version, by } = registers[number];
                let (offset, bytes) = (by.wrapping_add(distance), bytes as i64);
                seen.push(Seen { index, which, register: number, version, offset, moved: by, bytes, write });
            };
            let used = info.info(instruction);
            if let Some((number, distance)) = by_register(instruction) {
                let write = instruction.op0_kind() == OpKind::Memory && writes(used.op0_access());
                see(Which::Memory, number, distance, instruction.memory_size().size(), write);
            }
            let stack = stack(instruction);
            if let Some((distance, write)) = stack {
                see(Which::Stack, Register::RSP.number(), distance, 8, write);
            }
            let moved = moved(instruction);
            for used in used.used_registers().iter().filter(|used| writes(used.access())) {
                let register = used.register().full_register();
                if register.is_gpr64() && moved.is_none_or(|(number, _)| number != register.number()) {
                    let Moved { version, .. } = registers[register.number()];
                    registers[register.number()] = Moved { version: version + 1, by: 0 };
                }
            }
            if let Some((number, by)) = moved {
                registers[number].by = registers[number].by.wrapping_add(by);
            }
        }
        Self::of(&seen, instructions.len())
    }

    /// Whether an operand `distance` bytes from its register belongs to a group.
    pub(crate) fn member(
        &self,
        (index, which): (usize, Which),
        distance: i64,
        bytes: usize,
        access: Access,
    ) -> Option<Member> {
        let Use { group: number, offset, moved } = (*self.uses.get(index)?.get(which as usize)?)?;
        let Group { register, first, end, write } = *self.groups.get(number)?;
        let from = first.checked_sub(moved).filter(|from| i32::try_from(*from).is_ok())?;
        let fits = first <= offset && offset + bytes as i64 <= end && offset == moved.wrapping_add(distance);
        if !fits || access == Access::Write && !write {
            return None;
        }
        let access = if write { Access::Write } else { Access::Read };
        Some(Member { group: number, register, offset, first, from, bytes: end - first, access })
    }

    fn of(seen: &[Seen], instructions: usize) -> Self {
        let mut plan = Self { uses: vec![[None; 2]; instructions], groups: Vec::new() };
        for (number, leader) in seen.iter().enumerate() {
            if plan.groups.len() == GROUPS || plan.uses[leader.index][leader.which as usize].is_some() {
                continue;
            }
            let together: Vec<&Seen> = seen[number..]
                .iter()
                .filter(|other| (other.register, other.version) == (leader.register, leader.version))
                .filter(|other| (other.offset - leader.offset).abs() <= NEAR)
                .filter(|other| (1..=LONGEST as i64).contains(&other.bytes))
                .collect();
            if together.len() < 2 || leader.offset.abs() > 1 << 30 {
                continue;
            }
            let mut group = Group {
                register: Register::RAX + leader.register as u32,
                first: leader.offset,
                end: leader.offset,
                write: false,
            };
            for Seen { index, which, offset, moved, bytes, write, .. } in together {
                group.first = group.first.min(*offset);
                group.end = group.end.max(offset + bytes);
                group.write |= write;
                plan.uses[*index][*which as usize] =
                    Some(Use { group: plan.groups.len(), offset: *offset, moved: *moved });
            }
            plan.groups.push(group);
        }
        plan
    }
}

fn writes(access: OpAccess) -> bool {
    !matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess)
}

/// The register of a memory operand and the distance from there, if there is nothing else to its address.
fn by_register(instruction: &Instruction) -> Option<(usize, i64)> {
    let accesses = !matches!(instruction.mnemonic(), M::Lea | M::Nop);
    let memory = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == OpKind::Memory);
    let (base, index) = (instruction.memory_base(), instruction.memory_index());
    let segment = matches!(instruction.memory_segment(), Register::FS | Register::GS);
    let distance = instruction.memory_displacement64().cast_signed();
    let near = i32::try_from(distance).is_ok();
    (accesses && memory && base.is_gpr64() && index == Register::None && !segment && near)
        .then(|| (base.number(), distance))
}

/// How far from RSP an instruction accesses the stack, and whether it writes there.
fn stack(instruction: &Instruction) -> Option<(i64, bool)> {
    match instruction.code() {
        Code::Push_r64 | Code::Push_rm64 | Code::Pushq_imm8 | Code::Pushq_imm32 => Some((-8, true)),
        Code::Call_rel32_64 | Code::Call_rm64 => Some((-8, true)),
        Code::Pop_r64 | Code::Retnq | Code::Retnq_imm16 => Some((0, false)),
        _ => None,
    }
}

/// The register that an instruction adds a constant to.
fn moved(instruction: &Instruction) -> Option<(usize, i64)> {
    let (first, constant) = (instruction.op0_register(), || instruction.immediate(1).cast_signed());
    let register = instruction.op0_kind() == OpKind::Register && first.is_gpr64();
    match instruction.code() {
        Code::Pop_r64 if first == Register::RSP => None,
        Code::Pop_r64 => Some((Register::RSP.number(), 8)),
        _ if stack(instruction).is_some_and(|(distance, _)| distance < 0) => {
            Some((Register::RSP.number(), -8))
        }
        Code::Add_rm64_imm8 | Code::Add_rm64_imm32 if register => Some((first.number(), constant())),
        Code::Sub_rm64_imm8 | Code::Sub_rm64_imm32 if register => {
            Some((first.number(), constant().wrapping_neg()))
        }
        Code::Inc_rm64 if register => Some((first.number(), 1)),
        Code::Dec_rm64 if register => Some((first.number(), -1)),
        Code::Lea_r64_m
            if instruction.memory_base() == first && instruction.memory_index() == Register::None =>
        {
            Some((first.number(), instruction.memory_displacement64().cast_signed()))
        }
        _ => None,
    }
}

/// An access that looks for itself, out of the way.
pub(crate) struct Alone {
    pub(crate) miss: Label,
    pub(crate) back: Label,
    pub(crate) slow: Label,
    pub(crate) member: Member,
    pub(crate) distance: i64,
    pub(crate) bytes: usize,
    pub(crate) access: Access,
    /// The group has just been found not to be in one page.
    pub(crate) first: bool,
}
