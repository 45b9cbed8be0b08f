//! Random bytes as guest code: whatever they do, the interpreter neither panics nor hangs, and executes exactly as
//! many instructions as it says.

mod code;
mod machine;

pub use code::{Code, Source};

use machine::{CODE_END, CODE_START, Machine};
use random_testing::{Random, caught};
use soft_cpu::{Budget, Cpu, Exit};
use std::sync::atomic::{AtomicU64, Ordering};

/// How the CPU is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// 64-bit mode.
    Long,
    /// Compatibility mode: 32-bit code with four-level paging.
    Compatibility,
    /// 32-bit protected mode without paging.
    Protected,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Long, Self::Compatibility, Self::Protected];

    /// Size in bits of addresses and of what the decoder expects.
    #[must_use]
    pub fn bitness(self) -> u32 {
        if self == Self::Long { 64 } else { 32 }
    }

    /// As it is called in the manuals.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Long => "64-bit",
            Self::Compatibility => "compatibility",
            Self::Protected => "32-bit protected",
        }
    }
}

/// What a round has found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Defect {
    /// The interpreter has panicked.
    #[error("panic: {0}")]
    Panic(String),
    /// It does not keep a state that it has given.
    #[error("another state than the one that was set")]
    State,
    /// Compiled blocks do not do what interpreted ones do.
    #[error("compiled: {0}")]
    Compiled(String),
    /// It does not count what it executes.
    #[error("{exit} after {done} of {budget} instructions")]
    Count {
        /// Why it returned.
        exit: String,
        /// Instructions retired.
        done: u64,
        /// Instructions allowed.
        budget: u64,
    },
}

/// What makes rounds, of several kinds.
pub trait Rounds {
    /// The kinds: how the CPU is set up, and where the code comes from.
    fn kinds(&self) -> Vec<[&'static str; 2]>;

    /// One round of a kind: fresh memory, many states. The same seed does the same. Returns how many instructions have
    /// retired.
    ///
    /// # Errors
    /// What the interpreter should not have done.
    fn round(&self, seed: u64, kind: usize) -> Result<u64, Defect>;

    /// Instructions executed in compiled code as well, if any are.
    fn compiled(&self) -> Option<u64> {
        None
    }
}

impl Rounds for Fuzzer {
    fn kinds(&self) -> Vec<[&'static str; 2]> {
        Mode::ALL.iter().flat_map(|mode| Source::ALL.map(|source| [mode.name(), source.name()])).collect()
    }

    fn round(&self, seed: u64, kind: usize) -> Result<u64, Defect> {
        let sources = Source::ALL.len();
        Self::round(self, seed, Mode::ALL[kind / sources % Mode::ALL.len()], Source::ALL[kind % sources])
    }

    fn compiled(&self) -> Option<u64> {
        self.compiles.then(|| self.compiled.load(Ordering::Relaxed))
    }
}

/// Fresh states that a round runs from.
const STATES: u32 = 48;
/// States that find the same code, each at another place of it: to make code takes longer than to run it.
const STATES_OF_CODE: u32 = 16;
/// Runs from one state, with an interrupt or an NMI between them.
const RUNS: u32 = 24;
/// Largest number of instructions of one run.
const LONGEST: u64 = 400;

/// The machine and the code makers, which rounds share.
#[derive(Debug)]
pub struct Fuzzer {
    code: Code,
    compiles: bool,
    /// Instructions executed in compiled code.
    compiled: AtomicU64,
}

impl Default for Fuzzer {
    fn default() -> Self {
        Self::new()
    }
}

impl Fuzzer {
    /// Asks soft-cpu which instructions it implements.
    #[must_use]
    pub fn new() -> Self {
        Self { code: Code::new(), compiles: false, compiled: AtomicU64::new(0) }
    }

    /// The same, which lets another CPU do the same with every block compiled, and compares the two after each run.
    #[must_use]
    pub fn compiling(self) -> Self {
        Self { compiles: true, ..self }
    }

    /// One round: fresh memory, many states. The same seed does the same.
    ///
    /// # Errors
    /// What the interpreter should not have done.
    pub fn round(&self, seed: u64, mode: Mode, source: Source) -> Result<u64, Defect> {
        caught(|| self.run(seed, mode, source)).unwrap_or_else(|text| Err(Defect::Panic(text)))
    }

    fn run(&self, seed: u64, mode: Mode, source: Source) -> Result<u64, Defect> {
        let random = &mut Random::new(seed);
        let mut machine = Machine::new(random);
        let mut cpu = Cpu::default();
        let mut other = self.compiles.then(|| Other::new(&machine)).transpose()?;
        let mut code = Vec::new();
        for number in 0..STATES {
            if number % STATES_OF_CODE == 0 {
                code = self.code.bytes(random, mode, source, (CODE_END - CODE_START) as usize);
            }
            // Runs before this one may have written to it.
            machine.load(&code);
            machine.tables(random, mode);
            let state = machine::state(random, mode);
            cpu.set_state(&state);
            if let Some(other) = &mut other {
                other.machine.clone_from(&machine);
                other.cpu.set_state(&state);
            }
            for _ in 0..RUNS {
                let before = cpu.totals().instructions();
                let budget = 1 + random.below(LONGEST);
                let run = Budget { instructions: budget, interrupt_window: false };
                let exit = cpu.run(&mut machine, run);
                let done = cpu.totals().instructions() - before;
                if done > budget || exit == Exit::Budget && done != budget {
                    return Err(Defect::Count { exit: format!("{exit:?}"), done, budget });
                }
                if let Some(other) = &mut other {
                    let compiled = other.cpu.run(&mut other.machine, run);
                    other.compare(compiled, &cpu, &machine, exit)?;
                }
                let cpus = [Some(&mut cpu), other.as_mut().map(|other| &mut other.cpu)];
                match random.below(8) {
                    0 => cpus.into_iter().flatten().for_each(Cpu::inject_nmi),
                    1 => {
                        let vector = random.bits() as u8;
                        for cpu in cpus.into_iter().flatten() {
                            cpu.inject_interrupt(vector);
                        }
                    }
                    _ => {}
                }
                if exit == Exit::Shutdown {
                    break;
                }
            }
        }
        if let Some(other) = other {
            self.compiled.fetch_add(other.cpu.compiled(), Ordering::Relaxed);
        }
        Ok(cpu.totals().instructions())
    }
}

/// The CPU with compiled blocks.
struct Other {
    machine: Machine,
    cpu: Cpu<Machine>,
}

impl Other {
    fn new(machine: &Machine) -> Result<Self, Defect> {
        let mut machine = machine.clone();
        let missing = || Defect::Compiled("this host cannot execute it".to_owned());
        let compiler = machine.compiler().ok_or_else(missing)?;
        Ok(Self { machine, cpu: Cpu::default().with_compiler(compiler) })
    }

    /// Whether it has come to where the interpreter has.
    fn compare(&self, exit: Exit, cpu: &Cpu<Machine>, machine: &Machine, wanted: Exit) -> Result<(), Defect> {
        let differs = |text: String| Err(Defect::Compiled(text));
        if exit != wanted {
            return differs(format!("{exit:?}, not {wanted:?}"));
        }
        let (state, other) = (cpu.state(), self.cpu.state());
        if state != other {
            return differs(format!("the state {other:x?} is not {state:x?}"));
        }
        if cpu.totals() != self.cpu.totals() {
            return differs(format!("{:?} are not {:?}", self.cpu.totals(), cpu.totals()));
        }
        match machine.difference(&self.machine) {
            Some(at) => differs(format!("another byte of RAM at {at:#x}")),
            None => Ok(()),
        }
    }
}
