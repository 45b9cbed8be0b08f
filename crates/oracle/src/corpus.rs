//! Recorded cases with what the CPU made of them, so that a machine without KVM compares too.
//!
//! A record holds the code and the seed of the start, and the end as a difference to the start. What is
//! masked is cleared.

use crate::case::{Case, Failure, Outcome};
use crate::changes::{Changed, Runs, changed, put};
use crate::compare::{Verdict, instructions};
use crate::cpu::CpuId;
use crate::generator::Generator;
use crate::machine::{Machine, Zmm};
use crate::masks;
use crate::run::{Difference, Oracle, verdict};
use crate::soft::Soft;
use crate::start::{Start, images};
use crate::undefined::explains;
use crate::vectors::Vectors;
use random_testing::Random;
use serde::{Deserialize, Serialize};
use soft_cpu::silicon::Silicon;

/// Recorded cases. In a file the CPU follows the cases without XSAVE, and those with it follow the CPU; older files end
/// before one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corpus {
    /// The CPU that was recorded, if the file says so.
    pub cpu: Option<CpuId>,
    cases: Cases,
    wide: WideCases,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Cases {
    /// Checksum of the start states; other starts make the records meaningless.
    starts: u32,
    records: Vec<Record>,
}

/// Cases whose machine has more than SSE.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct WideCases {
    /// Checksum of their start states.
    starts: u32,
    records: Vec<WideRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct WideRecord {
    machine: Machine,
    /// Without XMM registers.
    record: Record,
    /// A bit for each dword that differs, and those.
    zmm: Changed<u8, (u16, Vec<u32>)>,
    k: Changed<u8, u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    seed: u64,
    offset: u16,
    code: Vec<u8>,
    end: End,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct End {
    vector: u8,
    error: u16,
    cr2: u64,
    /// From the first instruction.
    rip: i64,
    rflags: u32,
    gpr: Changed<u8, u64>,
    xmm: Changed<u8, u128>,
    mxcsr: u32,
    fcw: u16,
    fsw: u16,
    ftw: u8,
    /// Not relative to TOP.
    registers: Changed<u8, u128>,
    memory: Runs,
}

/// Why a corpus cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The file is no corpus.
    #[error("not a recorded corpus: {0}")]
    Format(#[from] postcard::Error),
    /// It was recorded with other start states.
    #[error("recorded from other start states; record again: cargo xtask oracle --record FILE")]
    Stale,
}

/// Cases that are looked at for each that is recorded. Some never are: differences that are masked, and what KVM does
/// not let ring 3 see.
const TURNS: u64 = 150;
/// After so many of them, ordinary cases take the place of the telling ones that were not found.
const TURNS_TELLING: u64 = 4;

impl Corpus {
    /// Records `count` cases on which both sides agree: up to a third in which other CPUs would end otherwise, and
    /// any others. Each instruction has its turn as the first.
    pub fn record(oracle: &mut Oracle, generator: &Generator, seed: u64, count: usize) -> Self {
        let own = oracle.cpu().silicon();
        let mut own_soft = Soft::new(own);
        let mut others: Vec<Soft> =
            Silicon::ALL.into_iter().filter(|other| *other != own).map(Soft::new).collect();
        let mut random = Random::new(seed);
        let (mut records, mut wide) = (Vec::new(), Vec::new());
        let (mut telling, mut any) = (count / 3, count - count / 3);
        for turn in 0..TURNS * count as u64 {
            if turn == TURNS_TELLING * count as u64 {
                any += telling;
                telling = 0;
            }
            let case = generator.case(random.bits() >> 32, turn);
            let end = own_soft.run(&case);
            let tells = others.iter_mut().any(|other| other.run(&case) != end);
            let left = if tells { &mut telling } else { &mut any };
            if *left > 0
                && let Some(outcome) = oracle.agreed(&case)
            {
                match case.machine {
                    Machine::Sse => records.push(Record::new(&case, &outcome)),
                    _ => wide.push(WideRecord::new(&case, &outcome)),
                }
                *left -= 1;
            }
            if records.len() + wide.len() == count {
                break;
            }
        }
        let cases = Cases { starts: starts(), records };
        Self { cpu: Some(oracle.cpu()), cases, wide: WideCases { starts: wide_starts(), records: wide } }
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    /// The bytes are no corpus, or one of other start states.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CorpusError> {
        let (cases, rest): (Cases, _) = postcard::take_from_bytes(bytes)?;
        if cases.starts != starts() {
            return Err(CorpusError::Stale);
        }
        let (cpu, rest) = if rest.is_empty() {
            (None, rest)
        } else {
            let (cpu, rest) = postcard::take_from_bytes(rest)?;
            (Some(cpu), rest)
        };
        let wide: WideCases =
            if rest.is_empty() { WideCases::default() } else { postcard::from_bytes(rest)? };
        if !wide.records.is_empty() && wide.starts != wide_starts() {
            return Err(CorpusError::Stale);
        }
        Ok(Self { cpu, cases, wide })
    }

    /// The corpus as a file.
    ///
    /// # Errors
    /// None that are known.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CorpusError> {
        let mut bytes = postcard::to_allocvec(&self.cases)?;
        if let Some(cpu) = &self.cpu {
            bytes.extend(postcard::to_allocvec(cpu)?);
            if !self.wide.records.is_empty() {
                bytes.extend(postcard::to_allocvec(&self.wide)?);
            }
        }
        Ok(bytes)
    }

    /// Number of cases.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cases.records.len() + self.wide.records.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cases, and what the CPU made of them.
    fn ends(&self) -> impl Iterator<Item = (Case, Outcome)> {
        let narrow = self.cases.records.iter().map(|record| {
            let case = record.case(Machine::Sse);
            let outcome = record.outcome(&case);
            (case, outcome)
        });
        let wide = self.wide.records.iter().map(|wide| {
            let case = wide.record.case(wide.machine);
            let outcome = wide.outcome(&case);
            (case, outcome)
        });
        narrow.chain(wide)
    }

    /// Runs every case in the interpreter, which has to follow the rules of the recorded CPU. Ends after `limit`
    /// differences.
    #[must_use]
    pub fn replay(&self, soft: &mut Soft, limit: usize) -> Replay {
        let mut replay = Replay::default();
        for (case, outcome) in self.ends() {
            if replay.different.len() == limit {
                break;
            }
            match verdict(&case, &Ok(outcome.clone()), &soft.run(&case)) {
                Verdict::Same => replay.equal += 1,
                Verdict::Undefined | Verdict::Emulated => replay.masked += 1,
                Verdict::Different(_) if explains(&case, &outcome, soft) => replay.masked += 1,
                Verdict::Different(lines) => {
                    let last = instructions(&case).into_iter().rfind(|ins| ins.ip() <= outcome.rip);
                    let mnemonic =
                        last.map_or_else(String::new, |i| format!("{:?}", i.mnemonic()).to_lowercase());
                    replay.different.push(Difference { case, mnemonic, lines });
                }
            }
        }
        replay
    }
}

/// What came out of a [replay](Corpus::replay).
#[derive(Debug, Clone, Default)]
pub struct Replay {
    /// Cases that end as the CPU's did.
    pub equal: u64,
    /// Cases that differ in what is masked only.
    pub masked: u64,
    /// The others.
    pub different: Vec<Difference>,
}

/// Checksum of some start states and of all contents of memory.
fn starts() -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for seed in 0..64 {
        hasher.update(format!("{:?}", Start::from_seed(seed)).as_bytes());
    }
    for image in images(Machine::Sse) {
        hasher.update(&image);
    }
    hasher.finalize()
}

/// Checksum of the start states with XSAVE.
fn wide_starts() -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for seed in 0..64 {
        for machine in [Machine::Xsave, Machine::Avx, Machine::Avx512] {
            hasher.update(format!("{:?}", Vectors::from_seed(seed, machine)).as_bytes());
        }
    }
    for image in images(Machine::Xsave) {
        hasher.update(&image);
    }
    hasher.finalize()
}

/// ST(0) to ST(7) as physical registers, and back.
fn physical(st: &[u128; 8], fsw: u16) -> [u128; 8] {
    let mut registers = *st;
    registers.rotate_right(usize::from(fsw >> 11 & 7));
    registers
}

impl Record {
    fn new(case: &Case, outcome: &Outcome) -> Self {
        let start = Start::from_seed(case.seed);
        let end = End {
            vector: outcome.vector,
            error: outcome.error as u16,
            cr2: outcome.cr2,
            rip: outcome.rip.wrapping_sub(case.rip()) as i64,
            rflags: outcome.rflags as u32,
            gpr: changed(&start.gpr, &outcome.gpr),
            xmm: changed(&start.xmm, &outcome.zmm.map(|register| register[0])[..16]),
            mxcsr: outcome.mxcsr,
            fcw: outcome.fcw,
            fsw: outcome.fsw,
            ftw: outcome.ftw,
            registers: changed(&physical(&start.st, start.fsw), &physical(&outcome.st, outcome.fsw)),
            memory: Runs::of(&outcome.memory),
        };
        Self { seed: case.seed, offset: case.offset, code: case.code.clone(), end }
    }

    fn case(&self, machine: Machine) -> Case {
        Case { code: self.code.clone(), offset: self.offset, seed: self.seed, machine }
    }

    fn outcome(&self, case: &Case) -> Outcome {
        let start = Start::from_seed(self.seed);
        let end = &self.end;
        let mut outcome = Outcome {
            vector: end.vector,
            error: end.error.into(),
            cr2: end.cr2,
            rip: case.rip().wrapping_add(end.rip as u64),
            rflags: end.rflags.into(),
            gpr: start.gpr,
            zmm: Vectors::of(case).zmm,
            k: [0; 8],
            mxcsr: end.mxcsr,
            fcw: end.fcw,
            fsw: end.fsw,
            ftw: end.ftw,
            st: physical(&start.st, start.fsw),
            memory: end.memory.memory(),
        };
        put(&mut outcome.gpr, &end.gpr);
        for (n, xmm) in &end.xmm {
            if let Some(register) = outcome.zmm.get_mut(usize::from(*n)) {
                register[0] = *xmm;
            }
        }
        put(&mut outcome.st, &end.registers);
        outcome.st.rotate_left(usize::from(end.fsw >> 11 & 7));
        outcome
    }
}

impl WideRecord {
    fn new(case: &Case, outcome: &Outcome) -> Self {
        let start = Vectors::of(case);
        let mut record = Record::new(case, outcome);
        record.end.xmm.clear();
        let mut zmm = Vec::new();
        for (n, (before, after)) in (0..).zip(start.zmm.iter().zip(&outcome.zmm)) {
            let (mut bits, mut values) = (0_u16, Vec::new());
            for (at, (before, after)) in dwords(before).zip(dwords(after)).enumerate() {
                if before != after {
                    bits |= 1 << at;
                    values.push(after);
                }
            }
            if bits != 0 {
                zmm.push((n, (bits, values)));
            }
        }
        Self { machine: case.machine, record, zmm, k: changed(&start.k, &outcome.k) }
    }

    fn outcome(&self, case: &Case) -> Outcome {
        let mut outcome = self.record.outcome(case);
        outcome.k = Vectors::of(case).k;
        put(&mut outcome.k, &self.k);
        for (n, (bits, values)) in &self.zmm {
            let Some(register) = outcome.zmm.get_mut(usize::from(*n)) else { continue };
            let places = (0..16).filter(|at| bits >> at & 1 != 0);
            for (at, value) in places.zip(values) {
                let (quarter, shift) = (&mut register[at / 4], at % 4 * 32);
                *quarter = *quarter & !(0xFFFF_FFFF << shift) | u128::from(*value) << shift;
            }
        }
        outcome
    }
}

fn dwords(register: &Zmm) -> impl Iterator<Item = u32> {
    register.iter().flat_map(|quarter| (0..4).map(move |n| (quarter >> (32 * n)) as u32))
}

impl Oracle {
    /// Runs a case on both sides: what they agree on, with what is masked cleared. `None` if they do not
    /// agree on all else.
    pub fn agreed(&mut self, case: &Case) -> Option<Outcome> {
        if masks::outside_domain(case, &instructions(case)) {
            return None;
        }
        let (native, soft) = self.outcomes(case);
        let clear = |outcome: Result<Outcome, Failure>| {
            let mut outcome = outcome.ok()?;
            masks::clear(case, &instructions(case), &mut outcome);
            Some(outcome)
        };
        let (native, soft) = (clear(native?)?, clear(soft)?);
        (native == soft).then_some(native)
    }
}
