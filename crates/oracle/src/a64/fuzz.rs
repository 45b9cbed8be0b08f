//! Random code for `arm-cpu`, at EL0 and EL1, with translation tables, registers and interrupts that make sense at
//! times.

mod machine;

use super::forms::Form;
use super::generator::Generator;
use crate::fuzz::{Defect, Rounds};
use arm_cpu::{Budget, Cpu, Exit};
use machine::{CODE_WORDS, Machine};
use random_testing::{Random, caught};

/// Where the words come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Random words.
    Words,
    /// Words of the encodings that there are, and system instructions.
    Instructions,
    /// Sequences of the oracle, with bits flipped, and words replaced, removed and repeated.
    Mutations,
}

const SOURCES: [(Source, &str); 3] = [
    (Source::Words, "random words"),
    (Source::Instructions, "random instructions"),
    (Source::Mutations, "mutated sequences"),
];
const LEVELS: [(u8, &str); 2] = [(0, "EL0"), (1, "EL1")];

/// Fresh states that a round runs from.
const STATES: u32 = 24;
/// Runs from one state, with interrupts between them.
const RUNS: u32 = 24;
/// Largest number of instructions of one run.
const LONGEST: u64 = 400;

/// The code makers, which rounds share.
#[derive(Debug)]
pub struct Fuzzer {
    generator: Generator,
    absent: Vec<Form>,
}

impl Default for Fuzzer {
    fn default() -> Self {
        Self::new()
    }
}

impl Fuzzer {
    /// Of all encodings.
    #[must_use]
    pub fn new() -> Self {
        Self { generator: Generator::new(), absent: Form::all().1 }
    }

    fn run(&self, seed: u64, level: u8, source: Source) -> Result<u64, Defect> {
        let random = &mut Random::new(seed);
        let mut machine = Machine::new(random);
        let mut cpu = Cpu::new(&machine::state(random, level));
        for _ in 0..STATES {
            machine.load(&self.code(random, source));
            if !random.one_in(4) {
                machine.load_vectors();
            }
            machine.tables(random);
            cpu.set_state(&machine::state(random, level));
            for _ in 0..RUNS {
                let before = cpu.totals().instructions();
                let budget = 1 + random.below(LONGEST);
                let exit = cpu.run(&mut machine, Budget { instructions: budget });
                let done = cpu.totals().instructions() - before;
                if done > budget || exit == Exit::Budget && done != budget {
                    return Err(Defect::Count { exit: format!("{exit:?}"), done, budget });
                }
                // Nothing but exceptions: other states have more to show.
                if done == 0 && exit == Exit::Yield {
                    break;
                }
                let waits = exit == Exit::WaitForInterrupt;
                cpu.set_interrupt_lines(waits || random.one_in(8), random.one_in(16));
                // The state can be taken and given back between any two instructions.
                if random.one_in(8) {
                    let state = cpu.state();
                    cpu.set_state(&state);
                    if cpu.state() != state {
                        return Err(Defect::State);
                    }
                }
            }
        }
        Ok(cpu.totals().instructions())
    }

    fn code(&self, random: &mut Random, source: Source) -> Vec<u32> {
        let mut code = Vec::with_capacity(CODE_WORDS);
        while code.len() < CODE_WORDS {
            match source {
                Source::Words => code.push(random.bits() as u32),
                Source::Instructions => code.push(self.instruction(random)),
                Source::Mutations => {
                    let (mut case, _, _) = self.generator.case(random.bits(), random.bits());
                    mutate(random, &mut case.code);
                    code.extend(case.code);
                }
            }
        }
        code.truncate(CODE_WORDS);
        code
    }

    fn instruction(&self, random: &mut Random) -> u32 {
        let any = random.bits() as u32;
        match random.below(16) {
            0 => super::system::word(random),
            // Registers of EL1.
            1 => 0xD510_0000 | any & 0x2F_FFFF,
            2 => random.pick(&self.absent).word(any),
            _ => random.pick(self.generator.forms()).word(any),
        }
    }
}

impl Rounds for Fuzzer {
    fn kinds(&self) -> Vec<[&'static str; 2]> {
        LEVELS.iter().flat_map(|(_, level)| SOURCES.map(|(_, source)| [*level, source])).collect()
    }

    fn round(&self, seed: u64, kind: usize) -> Result<u64, Defect> {
        let (level, source) = (LEVELS[kind / SOURCES.len() % 2].0, SOURCES[kind % SOURCES.len()].0);
        caught(|| self.run(seed, level, source)).unwrap_or_else(|text| Err(Defect::Panic(text)))
    }
}

fn mutate(random: &mut Random, code: &mut Vec<u32>) {
    for _ in 0..random.below(4) {
        if code.is_empty() {
            return;
        }
        let at = random.below(code.len() as u64) as usize;
        match random.below(4) {
            0 => code[at] = random.bits() as u32,
            1 => {
                code.remove(at);
            }
            2 => code.insert(at, code[at]),
            _ => code[at] ^= 1 << random.below(32),
        }
    }
}
