//! Many cases on both sides.

use super::case::{Case, Failure, Outcome, Signal};
use super::compare::{compare, listing, mnemonic};
use super::forms::Group;
use super::generator::Generator;
use super::native::Native;
use super::rules;
use super::runner::NativeError;
use super::soft::Soft;
use super::start::Start;
use crate::compare::Verdict;
use crate::shrink::{Shrunk, shrink};
use a64_runner::MAX_BATCH;
use random_testing::Random;
use std::collections::{BTreeMap, BTreeSet};

/// Differences that are kept.
const MAX_DIFFERENCES: usize = 1000;

/// A difference, reduced to what it takes to see it.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The case.
    pub case: Case,
    /// The instruction that behaves differently.
    pub mnemonic: String,
    /// What differs, line by line.
    pub lines: Vec<String>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Case { seed, offset, .. } = self.case;
        writeln!(f, "{} (state {seed:#x}, code at {offset:#x})", self.mnemonic)?;
        write!(f, "{}", listing(&self.case))?;
        let Start { state, .. } = Start::from_seed(seed, self.case.pc());
        writeln!(f, "    start: nzcv {:#x}, fpcr {:#x}, fpsr {:#x}", state.nzcv, state.fpcr, state.fpsr)?;
        let mut numbers: Vec<u32> = Vec::new();
        for word in &self.case.code {
            numbers.extend([0, 5, 10, 16].map(|lowest| word >> lowest & 31));
        }
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            let [low, high] = state.v[number as usize];
            let (name, x) = state
                .x
                .get(number as usize)
                .map_or_else(|| ("sp".to_owned(), state.sp), |x| (format!("x{number}"), *x));
            writeln!(f, "    start: {name} {x:#x}, v{number} {high:#018x}_{low:016x}")?;
        }
        for line in &self.lines {
            writeln!(f, "    {line}")?;
        }
        Ok(())
    }
}

/// Cases of one group.
#[derive(Debug, Clone, Default)]
pub struct Count {
    /// Mnemonics that were the first of a case.
    pub mnemonics: BTreeSet<&'static str>,
    /// Cases that start with one of them.
    pub cases: u64,
}

/// What became of the cases.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Cases compared.
    pub cases: u64,
    /// Cases by the signal in which QEMU ended them.
    pub signals: BTreeMap<Signal, u64>,
    /// Cases by what they start with.
    pub groups: BTreeMap<Group, Count>,
    /// Mnemonics in all of them.
    pub mnemonics: BTreeSet<&'static str>,
    /// Cases that differ in what is not compared.
    pub masked: u64,
    /// Cases that are not compared, because they do not end.
    pub endless: u64,
    /// Number of differences.
    pub different: u64,
    /// The first of them.
    pub differences: Vec<Difference>,
}

/// Both sides.
#[derive(Debug)]
pub struct Oracle {
    native: Native,
    soft: Soft,
}

impl Oracle {
    /// Both sides.
    ///
    /// # Errors
    /// There is no QEMU, or no toolchain for AArch64.
    pub fn new() -> Result<Self, NativeError> {
        Ok(Self { native: Native::new()?, soft: Soft::new() })
    }

    /// What QEMU says that it is.
    #[must_use]
    pub fn version(&self) -> &str {
        self.native.version()
    }

    /// Compares `cases` cases; `each` hears of those on which both sides agree but for what is not compared, with
    /// QEMU's outcome, and of the others.
    pub fn run(
        &mut self,
        generator: &Generator,
        seed: u64,
        cases: u64,
        mut each: impl FnMut(&Case, Option<&Outcome>),
    ) -> Report {
        let mut report = Report::default();
        let mut random = Random::new(seed);
        let mut turns = 0..cases;
        let mut batch = |soft: &mut Soft, report: &mut Report| {
            let mut batch = Batch::default();
            for turn in turns.by_ref().take(MAX_BATCH) {
                let (case, start, group) = generator.case(random.bits(), turn);
                // Only the interpreter can tell before QEMU has to.
                match soft.run(&case, &start) {
                    Ok(outcome) => {
                        batch.cases.push((case, start));
                        batch.ends.push((outcome, group));
                    }
                    Err(_) => report.endless += 1,
                }
            }
            batch
        };
        let mut next = batch(&mut self.soft, &mut report);
        while !next.cases.is_empty() {
            self.native.send(&next.cases);
            // While QEMU runs these.
            let behind = batch(&mut self.soft, &mut report);
            let natives = self.native.receive();
            for ((case, _), ((soft, group), native)) in next.cases.iter().zip(next.ends.iter().zip(natives)) {
                let agreed = self.judge(case, *group, &native, soft, &mut report);
                each(case, native.as_ref().ok().filter(|_| agreed));
            }
            next = behind;
        }
        report
    }

    /// Compares two ends; false if they differ in what is compared.
    fn judge(
        &mut self,
        case: &Case,
        group: Group,
        native: &Result<Outcome, Failure>,
        soft: &Outcome,
        report: &mut Report,
    ) -> bool {
        report.cases += 1;
        let names = case.code.iter().map(|word| mnemonic(*word));
        let count = report.groups.entry(group).or_default();
        count.cases += 1;
        count.mnemonics.extend(names.clone().next());
        report.mnemonics.extend(names);
        if let Ok(native) = native {
            *report.signals.entry(native.signal).or_default() += 1;
        }
        match verdict(case, native, soft) {
            Verdict::Same => {}
            Verdict::Undefined | Verdict::Emulated => report.masked += 1,
            Verdict::Different(lines) => match self.shrink(case, lines) {
                None => {
                    report.masked += 1;
                    return false;
                }
                Some(difference) => {
                    report.different += 1;
                    if report.differences.len() < MAX_DIFFERENCES {
                        report.differences.push(difference);
                    }
                    return false;
                }
            },
        }
        true
    }

    /// Finds the instruction that makes the difference. `None`: what is masked has made it earlier.
    fn shrink(&mut self, case: &Case, lines: Vec<String>) -> Option<Difference> {
        let name = |n: usize| case.code.get(n).map_or("?", |word| mnemonic(*word)).to_owned();
        let part = |numbers: std::ops::Range<usize>| {
            let offset = case.offset + 4 * numbers.start as u16;
            Case { code: case.code[numbers].to_vec(), offset, seed: case.seed }
        };
        match shrink(case.code.len(), part, |case| self.both(case)) {
            Shrunk::Masked => None,
            Shrunk::To { case, number, lines } => Some(Difference { case, mnemonic: name(number), lines }),
            Shrunk::NotAtAll => Some(Difference { case: case.clone(), mnemonic: name(0), lines }),
        }
    }

    fn both(&mut self, case: &Case) -> Verdict {
        let start = Start::from_seed(case.seed, case.pc());
        let Ok(soft) = self.soft.run(case, &start) else { return Verdict::Same };
        verdict(case, &self.native.run(case, &start), &soft)
    }
}

/// What is sent at once, and how the interpreter ended it.
#[derive(Debug, Default)]
struct Batch {
    cases: Vec<(Case, Start)>,
    ends: Vec<(Outcome, Group)>,
}

fn verdict(case: &Case, native: &Result<Outcome, Failure>, soft: &Outcome) -> Verdict {
    match native {
        Ok(native) => compare(case, native, soft),
        Err(Failure::Endless) if rules::may_go_on(case, soft) => Verdict::Undefined,
        Err(failure) => {
            Verdict::Different(vec![format!("end: QEMU {failure}, arm-cpu {}", soft.signal.name())])
        }
    }
}
