//! What has to hold of a [`vpmu::Vpmu`] whatever a guest does.
//!
//! [`check`] turns bytes into a sequence of operations on the vPMU of one CPU and checks after each what the
//! registers' declarations and the counting rules say. The bytes come from a random generator (the program of this
//! crate, `cargo xtask properties`), from a fuzzer (`crates/vpmu/fuzz`), or from files that either has kept.

#![forbid(unsafe_code)]

mod arm;
mod latched;
mod machine;
mod model;
mod op;
mod report;
mod retirement;
mod subject;
mod totals;

pub use latched::{Latched, Saved};
pub use report::{Reached, Report};

use arbitrary::Unstructured;
use machine::Machine;
use op::Op;
use random_testing::caught;
use std::fmt;
use subject::{SUBJECTS, Subject};

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{profile}, operation {at} ({op}): {what}")]
pub struct Violation {
    /// The CPU.
    pub profile: &'static str,
    /// Number of the operation, from 0.
    pub at: usize,
    /// The operation.
    pub op: String,
    /// What is not as it has to be.
    pub what: String,
}

/// A CPU under test.
#[derive(Debug, Clone, Copy)]
enum Cpu {
    X86(&'static Subject),
    Arm(&'static arm::Subject),
}

/// One step of a sequence.
#[derive(Debug, Clone)]
enum Step {
    X86(Op),
    Arm(arm::Op),
}

/// A vPMU that goes through a sequence.
enum Tested<'a> {
    X86(Box<Machine<'a>>),
    Arm(Box<arm::Machine<'a>>),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::X86(op) => op.fmt(f),
            Self::Arm(op) => op.fmt(f),
        }
    }
}

impl Cpu {
    /// x86 CPUs come first.
    fn chosen(by: u8) -> Self {
        let at = usize::from(by) % (SUBJECTS.len() + arm::SUBJECTS.len());
        SUBJECTS.get(at).map_or_else(|| Self::Arm(&arm::SUBJECTS[at - SUBJECTS.len()]), Self::X86)
    }

    fn name(self) -> &'static str {
        match self {
            Self::X86(subject) => &subject.profile.name,
            Self::Arm(subject) => &subject.profile.name,
        }
    }

    fn read(self, input: &mut Unstructured<'_>) -> arbitrary::Result<Step> {
        Ok(match self {
            Self::X86(subject) => Step::X86(Op::read(input, subject)?),
            Self::Arm(subject) => Step::Arm(arm::Op::read(input, subject)?),
        })
    }

    fn power_on(self, report: &mut Report) -> Tested<'_> {
        match self {
            Self::X86(subject) => Tested::X86(Box::new(Machine::power_on(subject, report))),
            Self::Arm(subject) => Tested::Arm(Box::new(arm::Machine::power_on(subject, report))),
        }
    }
}

impl Tested<'_> {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        match (self, step) {
            (Self::X86(machine), Step::X86(op)) => machine.step(op),
            (Self::Arm(machine), Step::Arm(op)) => machine.step(op),
            _ => Err(String::from("an operation of another CPU")),
        }
    }

    fn finish(&mut self) -> Result<(), String> {
        match self {
            Self::X86(machine) => machine.finish(),
            Self::Arm(machine) => machine.finish(),
        }
    }
}

/// The CPU that the first byte chooses, and the operations that the others stand for, with the bytes of each.
fn sequence(bytes: &[u8]) -> (Cpu, impl Iterator<Item = (Step, &[u8])>) {
    let mut input = Unstructured::new(bytes);
    let cpu = Cpu::chosen(input.arbitrary().unwrap_or(0));
    let steps = std::iter::from_fn(move || {
        let rest = &bytes[bytes.len() - input.len()..];
        // Behind the end everything is 0; nothing else goes wrong.
        let step = (!input.is_empty()).then(|| cpu.read(&mut input).ok())??;
        Some((step, &rest[..rest.len() - input.len()]))
    });
    (cpu, steps)
}

/// The name of the CPU and the operations that `bytes` stand for, in words.
#[must_use]
pub fn describe(bytes: &[u8]) -> (&'static str, Vec<String>) {
    let (cpu, ops) = sequence(bytes);
    (cpu.name(), ops.map(|(op, _)| op.to_string()).collect())
}

/// Runs the sequence that `bytes` stand for from power-on.
///
/// # Errors
/// The first rule that does not hold.
pub fn check(bytes: &[u8], report: &mut Report) -> Result<(), Violation> {
    let (cpu, ops) = sequence(bytes);
    report.sequences += 1;
    let mut machine = cpu.power_on(report);
    let violation = |at, op: &str, what| Violation { profile: cpu.name(), at, op: op.to_owned(), what };
    let mut count = 0;
    for (at, (op, _)) in ops.enumerate() {
        machine.step(&op).map_err(|what| violation(at, &op.to_string(), what))?;
        count = at + 1;
    }
    machine.finish().map_err(|what| violation(count, "the end", what))
}

/// As [`check`]; a panic is a violation too.
///
/// # Errors
/// The first rule that does not hold.
pub fn check_without_panic(bytes: &[u8], report: &mut Report) -> Result<(), Violation> {
    caught(|| check(bytes, report)).unwrap_or_else(|panic| {
        let (profile, ops) = describe(bytes);
        Err(Violation {
            profile,
            at: ops.len(),
            op: String::from("unknown"),
            what: format!("panic: {panic}"),
        })
    })
}

/// The shortest bytes found that fail as `bytes` do, on the same CPU.
#[must_use]
pub fn shrink(bytes: &[u8]) -> Vec<u8> {
    let Some((cpu, _)) = bytes.split_first() else { return Vec::new() };
    let ops: Vec<Vec<u8>> = sequence(bytes).1.map(|(_, bytes)| bytes.to_vec()).collect();
    let whole = |ops: &[Vec<u8>]| [&[*cpu], ops.concat().as_slice()].concat();
    let fails = |ops: &[Vec<u8>]| check_without_panic(&whole(ops), &mut Report::default()).is_err();
    whole(&random_testing::shrink(&ops, |op| simpler(op), fails))
}

/// The bytes of an operation with one of them smaller. The first one is the kind of operation.
fn simpler(op: &[u8]) -> Vec<Vec<u8>> {
    let smaller = |at: usize, byte: u8| {
        let mut op = op.to_vec();
        op[at] = byte;
        op
    };
    let places = (1..op.len()).filter(|&at| op[at] != 0);
    places.flat_map(|at| [smaller(at, 0), smaller(at, op[at] / 2)]).collect()
}
