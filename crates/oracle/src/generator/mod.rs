//! Random cases.

mod memory;
mod operands;
mod sequence;

use crate::case::Case;
use crate::host::Host;
use crate::layout::{CODE, CODE_LEN, PAGE};
use crate::machine::Machine;
use crate::masks;
use crate::soft::Soft;
use crate::start::{Role, Start};
use crate::vectors::Vectors;
use iced_x86::{Code, Mnemonic};
use random_testing::Random;
use sequence::Sequence;
use soft_cpu::silicon::Silicon;

/// Makes cases from the instructions that soft-cpu implements.
#[derive(Debug)]
pub struct Generator {
    codes: Vec<Code>,
    /// Those that the CPU does not have.
    absent: Vec<Code>,
    machine: Machine,
}

/// Encodings tried to find out whether an instruction is implemented.
const PROBES: u64 = 24;

impl Generator {
    /// Instructions that soft-cpu implements and a CPU has.
    #[must_use]
    pub fn new(host: &Host) -> Self {
        let mut soft = Soft::new(Silicon::Intel);
        let comparable = Code::values().filter(|code| masks::omitted(*code).is_none());
        let implemented = comparable.filter(|code| implemented(*code, &mut soft));
        let (codes, absent) = implemented.partition(|code| host.has(*code));
        Self { codes, absent, machine: host.machine() }
    }

    /// The instructions that are compared.
    #[must_use]
    pub fn codes(&self) -> &[Code] {
        &self.codes
    }

    /// Those that are not, because the CPU does not have them.
    #[must_use]
    pub fn absent(&self) -> &[Code] {
        &self.absent
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
        let machine = self.machine;
        let offset = match random.below(16) {
            // Across the two code pages, at the end of the last one.
            0 => PAGE - random.below(24),
            1 => CODE_LEN as u64 - 1 - random.below(24),
            _ => 0x100 + random.below(0x100),
        };
        let (start, vectors) = (Start::from_seed(seed), Vectors::from_seed(seed, machine));
        let mut sequence = Sequence::new(&start, &vectors, random, CODE + offset);
        let count =
            if sequence.random.one_in(2) || masks::alone(first) { 1 } else { 1 + sequence.random.below(8) };
        sequence.push(first, &self.codes);
        for _ in 1..count {
            let code = sequence.random.pick(&self.codes);
            if !masks::only_first(code) {
                sequence.push(code, &self.codes);
            }
        }
        let mut code = sequence.code;
        code.truncate(CODE_LEN - offset as usize);
        Case { code, offset: offset as u16, seed, machine }
    }
}

/// Some forms are refused whatever implements them (LOCK on a register), so one that is not is enough.
fn implemented(code: Code, soft: &mut Soft) -> bool {
    let probe = |seed| {
        let mut start = Start::from_seed(seed);
        start.roles = [Role::Pointer; 16];
        let vectors = Vectors::from_seed(seed, Machine::Avx512);
        let random = &mut Random::new(seed);
        let mut sequence = Sequence::new(&start, &vectors, random, CODE + 0x100);
        sequence.push(code, &[]);
        let machine = Machine::Avx512;
        (!sequence.code.is_empty()).then_some(Case { code: sequence.code, offset: 0x100, seed, machine })
    };
    let refused = code.mnemonic() == Mnemonic::Ud2;
    (0..PROBES).filter_map(probe).any(|case| soft.refuses(&case) == refused)
}
