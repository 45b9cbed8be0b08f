//! What an engine uses: one core, from retired instructions to totals.

use crate::back_end::{Kind, Sharing, Units};
use crate::core::{Bypass, Core, LinearTags, PortBinding, Uncore};
use crate::instruction::{Definition, Predicted, Prepared, UnitsInTurn};
use crate::machine::Machine;
use crate::offload::Offload;
use crate::predictor::Predictor;
use crate::sampling::{Sampling, SamplingReport};
use crate::table::{Form, TableError, UopTable, is_port};
use crate::totals::CoreTotals;
use crate::upper_bits::{self, UpperBitsTracker};
use retire::{Block, BlockId, CoreEvent, Instruction, InstructionSet, Observer, RegisterSet};

/// A model of one core.
///
/// The same stream gives the same totals, on every host.
#[derive(Debug)]
pub struct Model {
    core: &'static Core,
    /// See [`PortBinding::InTurn`].
    in_turn: UnitsInTurn,
    /// See [`Bypass::Kept`]: units of integers, and the registers that are flags.
    kept: Option<(u32, RegisterSet)>,
    table: UopTable,
    /// Names of blocks that were released, and how many have been given out.
    free: Vec<u32>,
    indices: u32,
    generation: u32,
    /// Branches are predicted here, in the order in which they retire: that takes no time of the machine.
    predictor: Predictor,
    /// As are upper bits of vector registers, on a core for which they matter.
    upper_bits: Option<UpperBitsTracker>,
    machine: Offload,
}

impl Model {
    /// A core in which nothing has run yet: caches and predictors are empty. `set` is how the producer of the
    /// retirement stream numbers what the core's uop table names.
    ///
    /// # Errors
    /// The core's uop table cannot be read; with the [instruction set](Core::isa) of the core, those of this crate can
    /// be.
    pub fn new(core: &'static Core, set: &InstructionSet) -> Result<Self, TableError> {
        let mut table = UopTable::parse_wide(core.table, core.wide, set.form)?;
        for corrections in core.corrections {
            table.correct(UopTable::parse_wide(corrections, core.wide, set.form)?);
        }
        table.add_system(core.system, set.form)?;
        let engine = core.stack_engine.and_then(|(_, name)| table.cost((set.form)(name)?, Form::Register));
        // Where renaming adds, it also brings the stack pointer up to date.
        let engine = engine.filter(|_| !core.adds_at_renaming);
        let stack = engine.map_or(0, |cost| cost.uops.iter().fold(0, |units, uops| units | uops.units));
        let (loads, choices) = (table.load_units(), table.choice_units() | stack);
        let memory = core.memory_scheduler.map_or(0, |(_, names)| table.known_units(names));
        let (names, way) = (table.units(), table.longest_way());
        let (turns, in_turn) = match core.binding {
            PortBinding::InTurn { units, addresses, jumps, entries } => {
                let [arithmetic, addresses, jumps] =
                    [units, addresses, jumps].map(|names| table.known_units(names));
                let arithmetic = UnitsInTurn { all: arithmetic, jumps };
                (Sharing { arithmetic, addresses, entries }, arithmetic)
            }
            _ => Default::default(),
        };
        let stores = match core.memory.linear_tags {
            LinearTags::StoreAgain { units } => table.known_units(units),
            _ => 0,
        };
        let kept = match core.bypass {
            Bypass::Kept { integers } => Some((table.known_units(&[integers]), set.flags)),
            _ => None,
        };
        let units = Units { names, loads, choices, turns, stack, memory, stores, way };
        let machine = Offload::new(Machine::new(core, &units, set.registers));
        let predictor = Predictor::new(core);
        let upper_bits = core.merges_upper_bits.then(UpperBitsTracker::default);
        Ok(Self {
            core,
            in_turn,
            kept,
            table,
            free: Vec::new(),
            indices: 0,
            generation: 0,
            predictor,
            upper_bits,
            machine,
        })
    }

    /// Defines a block as the core executes it.
    fn define_as(&mut self, instructions: &[Instruction]) -> BlockId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.indices += 1;
            self.indices - 1
        });
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            // From now on names come again, and those that have gone must not be remembered.
            self.machine.get().forget();
        }
        let id = BlockId { index, generation: self.generation };
        let prepare = |instruction| {
            let mut prepared = Prepared::new(instruction, self.core, &self.table);
            if let Some((integer_units, flags)) = self.kept {
                prepared.operation = Kind::classify(instruction, &prepared, integer_units, flags);
            }
            prepared
        };
        let prepared = instructions.iter().map(prepare).collect();
        self.machine.define(id, Definition::new(prepared, self.core, self.in_turn));
        id
    }

    /// Changes what the core finds outside of itself, before anything has run; what `uncore` leaves open stays.
    pub fn set_uncore(&mut self, uncore: Uncore) {
        self.machine.get().set_uncore(self.core.memory.llc, uncore);
    }

    /// From now on only samples of what retires go through the pipeline, and what lies between them is estimated:
    /// everything but instructions, branches and their predictions.
    pub fn sample(&mut self, sampling: Sampling) {
        self.machine.get().sample(sampling);
    }

    /// What [sampling](Self::sample) has come to; `None` without.
    #[must_use]
    pub fn sampling(&mut self) -> Option<SamplingReport> {
        self.machine.get().sampling()
    }

    /// From now on the model may work on a thread of its own while its results are not read: see
    /// [`expect_quiet`](Self::expect_quiet). No result depends on it. Without effect if the host has no thread left.
    pub fn start_thread(&mut self) {
        self.machine.start_thread();
    }

    /// The core's parameters.
    #[must_use]
    pub fn core(&self) -> &'static Core {
        self.core
    }

    /// Names of the ports, in the order of [`CoreTotals::ports`].
    #[must_use]
    pub fn ports(&self) -> Vec<&str> {
        self.table.units().iter().map(String::as_str).filter(|name| is_port(name)).collect()
    }

    /// Cycles, totals and events are not wanted before so many instructions have retired. The model waits for its
    /// thread if they are wanted earlier.
    #[inline]
    pub fn expect_quiet(&mut self, instructions: u64) {
        self.machine.expect_quiet(instructions);
    }

    /// Core cycles until now: up to the newest instruction's allocation, and after [`CoreEvent::Serialise`] up to its
    /// retirement. Halted time is not part of it.
    #[must_use]
    #[inline]
    pub fn cycles(&mut self) -> u64 {
        self.machine.get().cycles()
    }

    /// Running totals of user mode if `user`, else of kernel mode.
    #[must_use]
    pub fn totals(&mut self, user: bool) -> &CoreTotals {
        self.machine.get().totals(user)
    }

    /// From now on fills [`CoreTotals::instructions_by_cycle`], which takes a little time for each instruction.
    pub fn count_instructions_by_cycle(&mut self) {
        self.machine.get().count_instructions();
    }

    /// From now on fills [`CoreTotals::flops_lost`] with what is beyond `limit` in each cycle, which takes a little
    /// time for each instruction of floating point. Another limit later changes nothing.
    pub fn count_lost_flops(&mut self, limit: u8) {
        self.machine.get().limit_flops(u32::from(limit));
    }

    /// From now on counts loads of more than so many cycles in [`CoreTotals::slow_loads`].
    pub fn count_slow_loads(&mut self, cycles: u16) {
        self.machine.get().count_slow_loads(cycles.into());
    }
}

impl Observer for Model {
    /// An instruction that the uop table does not know gets costs by its class.
    fn define(&mut self, instructions: &[Instruction]) -> BlockId {
        if self.upper_bits.is_none() {
            return self.define_as(instructions);
        }
        let [clean, merging] = [false, true].map(|in_use| upper_bits::merge(instructions, in_use));
        let id = self.define_as(&clean);
        let merging = (merging != clean).then(|| self.define_as(&merging));
        if let Some(tracker) = &mut self.upper_bits {
            tracker.define(id, merging, instructions);
        }
        id
    }

    fn release(&mut self, block: BlockId) {
        self.free.push(block.index);
        let merging = self.upper_bits.as_mut().and_then(|tracker| tracker.release(block));
        self.free.extend(merging.map(|merging| merging.index));
    }

    /// Never ends the run.
    #[inline]
    fn retire(&mut self, block: &Block<'_>) -> bool {
        let at = |offset: u16| block.rip.wrapping_add(u64::from(offset));
        let outcome = self.predictor.outcome(block.branch.as_ref(), at(block.last), at(block.end));
        let merging;
        let block = match self.upper_bits.as_mut().map(|tracker| tracker.retire(block)) {
            Some(id) if id != block.id => {
                merging = Block { id, ..*block };
                &merging
            }
            _ => block,
        };
        self.machine.retire(&Predicted { block, outcome });
        false
    }

    fn quiet_horizon(&mut self) -> u64 {
        u64::MAX
    }

    fn event(&mut self, event: CoreEvent) {
        if event == CoreEvent::PredictorBarrier {
            self.predictor.forget();
        }
        self.machine.get().event(event);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "test code")]
mod tests {
    use super::*;
    use crate::{Isa, cores};
    use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory};
    use retire::{Branch, BranchKind, MemoryAccess};
    use soft_cpu::describe;

    /// `1: mov rax, [rax]; dec rdi; jnz 1b`
    const CHASE: [u8; 8] = [0x48, 0x8B, 0x00, 0x48, 0xFF, 0xCF, 0x75, 0xF8];
    const CODE: u64 = 0x40_0000;

    fn described(code: &[u8]) -> Vec<Instruction> {
        let mut info = InstructionInfoFactory::new();
        let decoded = Decoder::with_ip(64, code, CODE, DecoderOptions::NONE).into_iter();
        let described = decoded.map(|instruction| {
            let bytes = &code[(instruction.ip() - CODE) as usize..][..instruction.len()];
            describe::instruction(&instruction, bytes, &mut info)
        });
        described.collect()
    }

    /// One iteration of a loop of so many instructions at an address.
    fn iteration(
        (id, rip, count): (BlockId, u64, u8),
        [last, end]: [u8; 2],
        memory: &[MemoryAccess],
        taken: bool,
    ) -> Block<'_> {
        Block {
            id,
            first: 0,
            count,
            whole: true,
            user: true,
            fetch_page: 12,
            rip,
            fetch_pa: rip,
            memory,
            branch: Some(Branch { kind: BranchKind::Conditional, taken, target: rip }),
            last: last.into(),
            end: end.into(),
            repetitions: 1,
        }
    }

    /// What the code without questions leaves out, this core does not have.
    #[test]
    fn cores_without_quirks_do_the_same_where_they_are_asked_for() {
        // 1: mov rax, [rsi]; add rbx, rax; mov [rdi], rbx; nop; shl rcx, 3; addps xmm0, xmm1; paddd xmm0, xmm1
        //    lea rdx, [rdx + rax*2 + 8]; imul rdx, rbx; nop dword [rax]; add rax, [rsi]; dec r8; jnz 1b
        const MIXED: [u8; 42] = [
            0x48, 0x8B, 0x06, 0x48, 0x01, 0xC3, 0x48, 0x89, 0x1F, 0x90, 0x48, 0xC1, 0xE1, 0x03, 0x0F, 0x58,
            0xC1, 0x66, 0x0F, 0xFE, 0xC1, 0x48, 0x8D, 0x54, 0x42, 0x08, 0x48, 0x0F, 0xAF, 0xD3, 0x0F, 0x1F,
            0x40, 0x00, 0x48, 0x03, 0x06, 0x49, 0xFF, 0xC8, 0x75, 0xD6,
        ];
        let code = described(&MIXED);
        for core in cores(Isa::X86) {
            let totals = |asked: bool| {
                let mut model = Model::new(core, &describe::X86).unwrap();
                if asked {
                    model.machine.get().ask_for_quirks();
                }
                let id = model.define(&code);
                for n in 0..20_000_u64 {
                    let access = |owner, place, write| MemoryAccess {
                        owner,
                        linear: place,
                        physical: place,
                        size: 8,
                        page: 12,
                        write,
                        ..MemoryAccess::default()
                    };
                    let place = 0x10_0000 + n * n % 977 * 40;
                    let memory = [
                        access(0, place, false),
                        access(2, place + n % 7 * 8, true),
                        access(10, place, false),
                    ];
                    model.retire(&iteration((id, CODE, 13), [40, 42], &memory, n * n % 11 != 3));
                }
                *model.totals(true)
            };
            assert_eq!(totals(false), totals(true), "{}", core.name);
        }
    }

    /// What a program does most must not cost what the pipeline costs: a loop that it begins long after anything came
    /// from the decoders, too.
    #[test]
    fn a_loop_is_known_after_a_while_on_every_core() {
        let place = 0x10_0000;
        let memory =
            [MemoryAccess { linear: place, physical: place, size: 8, page: 12, ..MemoryAccess::default() }];
        for core in cores(Isa::X86) {
            let mut model = Model::new(core, &describe::X86).unwrap();
            let instructions = described(&CHASE);
            let ids = [(); 2].map(|()| model.define(&instructions));
            let mut run = |which: usize, iterations| {
                let (id, code) = (ids[which], CODE + 0x1000 * which as u64);
                let retire = |n| {
                    model.retire(&iteration((id, code, 3), [6, 8], &memory, n + 1 < iterations));
                    model.machine.get().is_memoised()
                };
                (0..iterations).map(retire).filter(|known| *known).count()
            };
            run(0, 2000);
            run(1, 50_000);
            let known = run(0, 10_000);
            assert!(known > 8000, "{}: {known} of 10,000", core.name);
        }
    }
}
