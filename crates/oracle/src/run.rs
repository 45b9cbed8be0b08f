//! Many cases on both sides.

use crate::case::{Case, Failure, Outcome};
use crate::compare::{GENERAL_PROTECTION, Verdict, compare, instructions, listing};
use crate::cpu::CpuId;
use crate::generator::Generator;
use crate::group;
use crate::left_open::{Sides, left_open};
use crate::native::{Native, NativeError};
use crate::reserved::{ends_in_ignored_bits, ends_in_permutation_without_w};
use crate::shrink::{Shrunk, shrink};
use crate::soft::{NotCompiling, Soft};
use crate::start::Start;
use iced_x86::{Code, Instruction, Mnemonic};
use random_testing::Random;
use soft_cpu::silicon::Silicon;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Differences that are kept.
const MAX_DIFFERENCES: usize = 200;

/// Vector of #DB.
const DEBUG: u8 = 1;
/// RFLAGS.AC.
const AC: u64 = 1 << 18;

/// MXCSR.MM (APM volume 1, section 4.2.2).
const MISALIGNED_MODE: u32 = 1 << 17;

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
        let Case { seed, offset, machine, .. } = self.case;
        writeln!(f, "{} (state {seed:#x}, code at {offset:#x}, {machine:?})", self.mnemonic)?;
        write!(f, "{}", listing(&self.case))?;
        if instructions(&self.case).first().is_some_and(|first| group::of(first.code()) == group::X87) {
            let Start { fcw, fsw, ftw, st, .. } = Start::from_seed(seed);
            let [st0, st1, ..] = st;
            writeln!(f, "    start: fcw {fcw:#x}, fsw {fsw:#x}, ftw {ftw:#x}, st0 {st0:#x}, st1 {st1:#x}")?;
        }
        for line in &self.lines {
            writeln!(f, "    {line}")?;
        }
        Ok(())
    }
}

/// Instructions of one extension.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// Encodings that were the first of a case.
    pub forms: BTreeSet<Code>,
    /// Cases that start with one of them.
    pub cases: u64,
}

/// What became of the cases.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Cases compared.
    pub cases: u64,
    /// Cases that end in each vector; 3 is the regular end.
    pub vectors: BTreeMap<u8, u64>,
    /// Cases in which each mnemonic is the first or a later instruction.
    pub mnemonics: BTreeMap<String, u64>,
    /// Cases by the group of their first instruction.
    pub groups: BTreeMap<&'static str, Group>,
    /// Cases that differ in what is masked, or in what later instructions made of it.
    pub undefined: u64,
    /// Cases in which a #GP came back as #UD; see [`Verdict::Emulated`].
    pub emulated: u64,
    /// Cases that are not compared, because they do not end.
    pub endless: u64,
    /// Cases that are not compared, because of a feature that only one side has: TF and AC by POPF, MXCSR.MM.
    pub unsupported: u64,
    /// Number of differences.
    pub different: u64,
    /// The first of them.
    pub differences: Vec<Difference>,
    /// Number of further differences, in what the manuals leave open, on a core that has not been recorded: the order
    /// of an instruction's faults, what it has done when it faults, and what recorded cores do differently.
    pub open: u64,
    /// The first of them.
    pub open_differences: Vec<Difference>,
}

/// Both sides.
#[derive(Debug)]
pub struct Oracle {
    native: Native,
    soft: Soft,
    cpu: CpuId,
    /// The CPU that executes the cases, whatever it is judged as, ignores reserved bits of VEX and EVEX.
    ignores_bits: bool,
    /// On a core that has not been recorded.
    sides: Option<Sides>,
}

impl Oracle {
    /// Builds both machines.
    ///
    /// # Errors
    /// This host has no usable KVM.
    pub fn new() -> Result<Self, NativeError> {
        Self::with_cpu(CpuId::host().ok_or(NativeError::Vendor)?)
    }

    /// Builds both machines, and judges as if the host's CPU were this one.
    ///
    /// # Errors
    /// This host has no usable KVM.
    pub fn with_cpu(cpu: CpuId) -> Result<Self, NativeError> {
        let native = Native::new()?;
        let sides = cpu.core().is_none().then(|| Sides::beside(cpu.silicon()));
        let ignores_bits = CpuId::host().is_some_and(|host| host.silicon() == Silicon::Zen4);
        Ok(Self { native, soft: Soft::new(cpu.silicon()), cpu, ignores_bits, sides })
    }

    /// The same, with every block compiled when it is come to first.
    ///
    /// # Errors
    /// The host cannot execute what is compiled.
    pub fn compiling(mut self) -> Result<Self, NotCompiling> {
        self.soft = Soft::compiling(self.cpu.silicon())?;
        Ok(self)
    }

    /// Instructions that soft-cpu has executed, and how many of them in compiled code.
    #[must_use]
    pub fn executed(&self) -> (u64, u64) {
        self.soft.executed()
    }

    /// The host's CPU.
    #[must_use]
    pub fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// Compares `cases` cases; `each` hears about every one that agrees.
    pub fn run(
        &mut self,
        generator: &Generator,
        seed: u64,
        cases: u64,
        mut each: impl FnMut(&Case, Option<&Outcome>),
    ) -> Report {
        let mut report = Report::default();
        let mut random = Random::new(seed);
        for turn in 0..cases {
            let case = generator.case(random.bits(), turn);
            let agreed = self.judge(&case, &mut report);
            each(&case, agreed.as_ref());
        }
        report
    }

    /// Compares one case. The CPU's outcome, if they agree on everything.
    pub fn judge(&mut self, case: &Case, report: &mut Report) -> Option<Outcome> {
        let (native, soft) = match self.outcomes(case) {
            (Some(native), soft) => (native, soft),
            (None, Err(Failure::Endless)) => {
                report.endless += 1;
                return None;
            }
            (None, _) => {
                report.unsupported += 1;
                return None;
            }
        };
        report.cases += 1;
        let list = instructions(case);
        if let Some(first) = list.first() {
            let group = report.groups.entry(group::of(first.code())).or_default();
            group.forms.insert(first.code());
            group.cases += 1;
        }
        let mut names: Vec<String> =
            list.iter().map(|ins| format!("{:?}", ins.mnemonic()).to_lowercase()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            *report.mnemonics.entry(name).or_default() += 1;
        }
        if let Ok(native) = &native {
            *report.vectors.entry(native.vector).or_default() += 1;
        }
        match verdict(case, &native, &soft) {
            Verdict::Same => return native.ok(),
            Verdict::Undefined => report.undefined += 1,
            Verdict::Emulated => report.emulated += 1,
            Verdict::Different(lines) => match self.shrink(case, lines) {
                None => report.undefined += 1,
                Some(difference) => {
                    let (count, list) = if self.left_open(&difference.case) {
                        (&mut report.open, &mut report.open_differences)
                    } else {
                        (&mut report.different, &mut report.differences)
                    };
                    *count += 1;
                    if list.len() < MAX_DIFFERENCES {
                        list.push(difference);
                    }
                }
            },
        }
        None
    }

    /// Finds the instruction that makes the difference. `None`: what is masked has made it earlier.
    fn shrink(&mut self, case: &Case, lines: Vec<String>) -> Option<Difference> {
        let list = instructions(case);
        let name =
            |n: usize| list.get(n).map_or_else(String::new, |i| format!("{:?}", i.mnemonic()).to_lowercase());
        let part = |numbers: Range<usize>| {
            let byte = |ip: u64| (ip - case.rip()) as usize;
            let bytes = byte(list[numbers.start].ip())..byte(list[numbers.end - 1].next_ip());
            let offset = case.offset + bytes.start as u16;
            Case { code: case.code[bytes].to_vec(), offset, seed: case.seed, machine: case.machine }
        };
        match shrink(list.len(), part, |case| self.both(case)) {
            Shrunk::Masked => None,
            Shrunk::To { case, number, lines } => Some(Difference { case, mnemonic: name(number), lines }),
            Shrunk::NotAtAll => Some(Difference { case: case.clone(), mnemonic: name(0), lines }),
        }
    }

    /// Whether a difference is one that the CPU of this host may have.
    fn left_open(&mut self, case: &Case) -> bool {
        if self.sides.is_none() {
            return false;
        }
        let (Some(Ok(native)), Ok(soft)) = self.outcomes(case) else { return false };
        left_open(case, &native, &soft)
            || self.sides.as_mut().is_some_and(|sides| sides.explain(case, &native))
    }

    fn both(&mut self, case: &Case) -> Verdict {
        match self.outcomes(case) {
            (Some(native), soft) => verdict(case, &native, &soft),
            (None, _) => Verdict::Same,
        }
    }

    /// What a case gives on the CPU and in the interpreter. `None` where the CPU is not asked, or not to be compared:
    /// cases without an end, and those that use what only one side has.
    pub(crate) fn outcomes(
        &mut self,
        case: &Case,
    ) -> (Option<Result<Outcome, Failure>>, Result<Outcome, Failure>) {
        let soft = self.soft.run(case);
        // Only the interpreter can tell before the CPU has to.
        if soft == Err(Failure::Endless) || !comparable(&soft) || ends_in_permutation_without_w(case, &soft) {
            return (None, soft);
        }
        if self.ignores_bits && ends_in_ignored_bits(case, &soft) {
            return (None, soft);
        }
        let native = self.native.run(case);
        // A gather stops at TF with elements left.
        if native.as_ref().is_ok_and(|outcome| outcome.vector == DEBUG) {
            return (None, soft);
        }
        // LDMXCSR has set MXCSR.MM, which only AMD has; XRSTOR may have cleared it.
        let amd = self.cpu.amd && passes_ldmxcsr(case, &native, &soft)
            || native.as_ref().is_ok_and(|outcome| outcome.mxcsr & MISALIGNED_MODE != 0);
        ((!amd).then_some(native), soft)
    }
}

/// Whether POPF has left TF and AC alone, which para-virtual KVM does not let ring 3 have.
fn comparable(soft: &Result<Outcome, Failure>) -> bool {
    soft.as_ref().map_or(true, |outcome| outcome.vector != DEBUG && outcome.rflags & AC == 0)
}

/// Whether the CPU goes on behind an LDMXCSR at which the interpreter raises #GP. Bits that AMD reserves too end the
/// case there on both sides.
fn passes_ldmxcsr(case: &Case, native: &Result<Outcome, Failure>, soft: &Result<Outcome, Failure>) -> bool {
    let (Ok(native), Ok(soft)) = (native, soft) else { return false };
    let loads = |code: &Instruction| matches!(code.mnemonic(), Mnemonic::Ldmxcsr | Mnemonic::Vldmxcsr);
    soft.vector == GENERAL_PROTECTION
        && native.rip > soft.rip
        && instructions(case).iter().any(|instruction| instruction.ip() == soft.rip && loads(instruction))
}

/// Compares two ends of a case.
pub(crate) fn verdict(
    case: &Case,
    native: &Result<Outcome, Failure>,
    soft: &Result<Outcome, Failure>,
) -> Verdict {
    match (native, soft) {
        (Ok(native), Ok(soft)) => compare(case, native, soft),
        (Err(native), Err(soft)) if native == soft => Verdict::Same,
        (native, soft) => {
            let word = |result: &Result<Outcome, Failure>| match result {
                Ok(outcome) => format!("vector {}", outcome.vector),
                Err(failure) => failure.to_string(),
            };
            Verdict::Different(vec![format!("end: CPU {}, soft-cpu {}", word(native), word(soft))])
        }
    }
}
