//! Synthetic streams for the model.
#![allow(dead_code, reason = "each test file uses a part")]

use core_model::{Core, CoreTotals, Model};
use iced_x86::{
    Decoder, DecoderOptions, Encoder, FlowControl, Instruction, InstructionInfoFactory, OpAccess, UsedMemory,
    code_asm::CodeAssembler,
};
use retire::{Block, BlockId, Branch, BranchKind, CoreEvent, MemoryAccess, Observer};
use soft_cpu::describe;
use std::ops::RangeInclusive;

/// Where code is assembled.
pub(crate) const CODE: u64 = 0x40_0000;

/// Marsaglia's xorshift64: the same numbers everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Assembled code with its instructions.
pub(crate) fn assemble(body: impl FnOnce(&mut CodeAssembler)) -> Vec<Instruction> {
    let mut assembler = CodeAssembler::new(64).unwrap();
    body(&mut assembler);
    let bytes = assembler.assemble(CODE).unwrap();
    Decoder::with_ip(64, &bytes, CODE, DecoderOptions::NONE).into_iter().collect()
}

/// A model that runs assembled code; the test says how branches go and where memory is.
pub(crate) struct Run {
    pub(crate) model: Model,
    pub(crate) user: bool,
}

impl Run {
    pub(crate) fn new(core: &'static Core) -> Self {
        Self { model: new(core), user: true }
    }

    /// A block of each instruction.
    pub(crate) fn define(&mut self, code: &[Instruction]) -> Vec<(BlockId, Instruction)> {
        code.iter().map(|instruction| (self.model.define(&alone(*instruction)), *instruction)).collect()
    }

    /// Retires one instruction.
    pub(crate) fn step(
        &mut self,
        &(id, instruction): &(BlockId, Instruction),
        memory: &[MemoryAccess],
        branch: Option<(bool, u64)>,
    ) {
        let branch = branch.map(|(taken, target)| Branch { kind: kind(&instruction), taken, target });
        let (rip, user) = (instruction.ip(), self.user);
        self.model.retire(&Block {
            rip,
            fetch_pa: rip,
            user,
            memory,
            branch,
            ..block(id, &alone(instruction))
        });
    }

    pub(crate) fn totals(&mut self) -> CoreTotals {
        self.model.event(CoreEvent::Serialise);
        *self.model.totals(self.user)
    }
}

pub(crate) fn new(core: &'static Core) -> Model {
    Model::new(core, &describe::X86).unwrap()
}

/// Instructions as a model gets them.
pub(crate) fn describe(code: &[Instruction]) -> Vec<retire::Instruction> {
    let mut info = InstructionInfoFactory::new();
    let mut encoder = Encoder::new(64);
    let described = code.iter().map(|instruction| {
        encoder.encode(instruction, instruction.ip()).unwrap();
        describe::instruction(instruction, &encoder.take_buffer(), &mut info)
    });
    described.collect()
}

/// An instruction as a block of its own.
fn alone(instruction: Instruction) -> Vec<retire::Instruction> {
    describe(&[instruction]).into_iter().map(|one| retire::Instruction { offset: 0, ..one }).collect()
}

/// A block in user mode, without accesses and branch.
pub(crate) fn block(id: BlockId, instructions: &[retire::Instruction]) -> Block<'static> {
    let last = instructions.last().unwrap();
    Block {
        id,
        first: 0,
        count: instructions.len() as u8,
        whole: true,
        user: true,
        fetch_page: 12,
        rip: CODE,
        fetch_pa: CODE,
        memory: &[],
        branch: None,
        last: last.offset,
        end: last.offset + u16::from(last.length),
        repetitions: 1,
    }
}

pub(crate) fn kind(instruction: &Instruction) -> BranchKind {
    match instruction.flow_control() {
        FlowControl::ConditionalBranch => BranchKind::Conditional,
        FlowControl::UnconditionalBranch => BranchKind::DirectJump,
        FlowControl::IndirectBranch => BranchKind::IndirectJump,
        FlowControl::Call => BranchKind::DirectCall,
        FlowControl::IndirectCall => BranchKind::IndirectCall,
        FlowControl::Return => BranchKind::Return,
        other => panic!("{:?} is no branch but {other:?}", instruction.code()),
    }
}

pub(crate) fn read(address: u64, size: u8) -> MemoryAccess {
    MemoryAccess {
        linear: address,
        physical: address,
        size,
        page: 12,
        owner: 0,
        write: false,
        uncached: false,
    }
}

pub(crate) fn write(address: u64, size: u8) -> MemoryAccess {
    MemoryAccess { write: true, ..read(address, size) }
}

/// Shares of level 1 and 2 in percent, for messages and bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    pub(crate) retiring: f64,
    pub(crate) bad: f64,
    pub(crate) front: f64,
    pub(crate) latency: f64,
    pub(crate) memory: f64,
    pub(crate) core: f64,
}

pub(crate) fn shares(totals: &CoreTotals) -> Shares {
    let slots = &totals.slots;
    let share = |part: u64| 100.0 * part as f64 / slots.total() as f64;
    Shares {
        retiring: share(slots.retiring()),
        bad: share(slots.bad_speculation()),
        front: share(slots.frontend_bound()),
        latency: share(slots.fetch_latency),
        memory: share(slots.memory_bound),
        core: share(slots.core_bound),
    }
}

/// Instructions of a loop that count, and its passes; as many come before, and bring its code and data to the caches.
const INSTRUCTIONS: usize = 60_000;
const PASSES: RangeInclusive<usize> = 50..=1_000;
const COPIES: u32 = 56;
const PLACE: u64 = 0x10_0000;

/// What an instruction with a memory operand does to one place; LEA does nothing.
fn accesses(instruction: &Instruction) -> Vec<MemoryAccess> {
    let place = PLACE + instruction.memory_displacement64();
    let mut factory = InstructionInfoFactory::new();
    match factory.info(instruction).used_memory().first().map(UsedMemory::access) {
        Some(OpAccess::Read) => vec![read(place, 8)],
        Some(OpAccess::Write) => vec![write(place, 8)],
        Some(OpAccess::ReadWrite | OpAccess::ReadCondWrite) => vec![read(place, 8), write(place, 8)],
        _ => Vec::new(),
    }
}

/// Cycles of each of some executions, by number, the second time that all of them are executed.
pub(crate) fn second_time<T>(
    times: usize,
    on: &mut T,
    mut execute: impl FnMut(&mut T, usize),
    cycles: impl Fn(&mut T) -> u64,
) -> f64 {
    let ends = [(); 2].map(|()| {
        (0..times).for_each(|n| execute(on, n));
        cycles(on)
    });
    (ends[1] - ends[0]) as f64 / times as f64
}

/// Cycles of each pass of a loop of so many instructions.
pub(crate) fn per_pass<T>(
    instructions: usize,
    on: &mut T,
    pass: impl Fn(&mut T),
    cycles: impl Fn(&mut T) -> u64,
) -> f64 {
    let passes = (INSTRUCTIONS / instructions).clamp(*PASSES.start(), *PASSES.end());
    second_time(passes, on, |on, _| pass(on), cycles)
}

/// Cycles of some instructions on a core, in a loop of some copies; what they access is one place, by displacement.
pub(crate) fn looped(core: &'static Core, body: impl Fn(&mut CodeAssembler)) -> f64 {
    let mut run = Run::new(core);
    let code = run.define(&assemble(|a| {
        (0..COPIES).for_each(|_| body(a));
        a.jmp(CODE).unwrap();
    }));
    let memory: Vec<_> = code.iter().map(|(_, one)| accesses(one)).collect();
    let pass = |run: &mut Run| {
        for (step, memory) in code.iter().zip(&memory) {
            let jump = step.1.is_jmp_short_or_near();
            run.step(step, memory, jump.then_some((true, CODE)));
        }
    };
    per_pass(code.len(), &mut run, pass, |run| run.totals().cycles) / f64::from(COPIES)
}

/// The same of instructions without memory that are defined and retire as one block.
pub(crate) fn looped_as_block(core: &'static Core, body: impl Fn(&mut CodeAssembler)) -> f64 {
    let code = assemble(|a| {
        (0..COPIES).for_each(|_| body(a));
        a.jmp(CODE).unwrap();
    });
    let mut instructions = describe(&code);
    instructions
        .iter_mut()
        .zip(&code)
        .for_each(|(described, one)| described.offset = (one.ip() - CODE) as u16);
    let mut model = new(core);
    let id = model.define(&instructions);
    let branch = Some(Branch { kind: BranchKind::DirectJump, taken: true, target: CODE });
    let pass = |model: &mut Model| {
        model.retire(&Block { branch, ..block(id, &instructions) });
    };
    let cycles = |model: &mut Model| {
        model.event(CoreEvent::Serialise);
        model.totals(true).cycles
    };
    per_pass(code.len(), &mut model, pass, cycles) / f64::from(COPIES)
}

/// Within 8 %.
#[track_caller]
pub(crate) fn about(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.08, "{found:.3} cycles instead of {expected}");
}
