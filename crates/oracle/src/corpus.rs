//! Recorded cases with what the CPU made of them, so that a machine without KVM compares too.
//!
//! A record holds the code and the seed of the start, and the end as a difference to the start. What is
//! masked is cleared.

use crate::case::{Case, Failure, Outcome};
use crate::changes::{Changed, Runs, changed, put};
use crate::compare::{Verdict, instructions};
use crate::cpu::CpuId;
use crate::generator::Generator;
use crate::masks;
use crate::run::{Difference, Oracle, verdict};
use crate::soft::Soft;
use crate::start::{Start, images};
use crate::undefined::explains;
use random_testing::Random;
use serde::{Deserialize, Serialize};
use soft_cpu::silicon::Silicon;

/// Recorded cases. In a file the CPU follows the cases; older files end without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corpus {
    /// The CPU that was recorded, if the file says so.
    pub cpu: Option<CpuId>,
    cases: Cases,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Cases {
    /// Checksum of the start states; other starts make the records meaningless.
    starts: u32,
    records: Vec<Record>,
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

impl Corpus {
    /// Records `count` cases on which both sides agree: up to a third in which other CPUs would end otherwise, and
    /// any others. Each instruction has its turn as the first.
    pub fn record(oracle: &mut Oracle, generator: &Generator, seed: u64, count: usize) -> Self {
        let own = oracle.cpu().silicon();
        let mut own_soft = Soft::new(own);
        let mut others: Vec<Soft> =
            Silicon::ALL.into_iter().filter(|other| *other != own).map(Soft::new).collect();
        let mut random = Random::new(seed);
        let mut records = Vec::new();
        let (mut telling, mut any) = (count / 3, count - count / 3);
        for turn in 0..TURNS * count as u64 {
            let case = generator.case(random.bits() >> 32, turn);
            let end = own_soft.run(&case);
            let tells = others.iter_mut().any(|other| other.run(&case) != end);
            let left = if tells { &mut telling } else { &mut any };
            if *left > 0
                && let Some(outcome) = oracle.agreed(&case)
            {
                records.push(Record::new(&case, &outcome));
                *left -= 1;
            }
            if records.len() == count {
                break;
            }
        }
        Self { cpu: Some(oracle.cpu()), cases: Cases { starts: starts(), records } }
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
        let cpu = if rest.is_empty() { None } else { Some(postcard::from_bytes(rest)?) };
        Ok(Self { cpu, cases })
    }

    /// The corpus as a file.
    ///
    /// # Errors
    /// None that are known.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CorpusError> {
        let mut bytes = postcard::to_allocvec(&self.cases)?;
        if let Some(cpu) = &self.cpu {
            bytes.extend(postcard::to_allocvec(cpu)?);
        }
        Ok(bytes)
    }

    /// Number of cases.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cases.records.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cases.records.is_empty()
    }

    /// Runs every case in the interpreter, which has to follow the rules of the recorded CPU. Ends after `limit`
    /// differences.
    #[must_use]
    pub fn replay(&self, soft: &mut Soft, limit: usize) -> Replay {
        let mut replay = Replay::default();
        for record in &self.cases.records {
            if replay.different.len() == limit {
                break;
            }
            let case = record.case();
            match verdict(&case, &Ok(record.outcome()), &soft.run(&case)) {
                Verdict::Same => replay.equal += 1,
                Verdict::Undefined | Verdict::Emulated => replay.masked += 1,
                Verdict::Different(_) if explains(&case, &record.outcome(), soft) => replay.masked += 1,
                Verdict::Different(lines) => {
                    let last = instructions(&case).into_iter().rfind(|ins| ins.ip() <= record.rip());
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
    for image in images() {
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
            xmm: changed(&start.xmm, &outcome.xmm),
            mxcsr: outcome.mxcsr,
            fcw: outcome.fcw,
            fsw: outcome.fsw,
            ftw: outcome.ftw,
            registers: changed(&physical(&start.st, start.fsw), &physical(&outcome.st, outcome.fsw)),
            memory: Runs::of(&outcome.memory),
        };
        Self { seed: case.seed, offset: case.offset, code: case.code.clone(), end }
    }

    /// RIP at the end.
    fn rip(&self) -> u64 {
        self.case().rip().wrapping_add(self.end.rip as u64)
    }

    fn case(&self) -> Case {
        Case { code: self.code.clone(), offset: self.offset, seed: self.seed }
    }

    fn outcome(&self) -> Outcome {
        let start = Start::from_seed(self.seed);
        let end = &self.end;
        let mut outcome = Outcome {
            vector: end.vector,
            error: end.error.into(),
            cr2: end.cr2,
            rip: self.rip(),
            rflags: end.rflags.into(),
            gpr: start.gpr,
            xmm: start.xmm,
            mxcsr: end.mxcsr,
            fcw: end.fcw,
            fsw: end.fsw,
            ftw: end.ftw,
            st: physical(&start.st, start.fsw),
            memory: end.memory.memory(),
        };
        put(&mut outcome.gpr, &end.gpr);
        put(&mut outcome.xmm, &end.xmm);
        put(&mut outcome.st, &end.registers);
        outcome.st.rotate_left(usize::from(end.fsw >> 11 & 7));
        outcome
    }
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
