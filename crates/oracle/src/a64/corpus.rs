//! Recorded cases with what QEMU made of them, so that a machine without QEMU compares too.
//!
//! A record holds the code and the seed of the start, and the end as a difference to the start.

use super::case::{Case, Outcome, Signal};
use super::compare::{compare, mnemonic};
use super::run::Difference;
use super::soft::Soft;
use super::start::{Start, images};
use crate::changes::{Changed, Runs, changed, put};
use crate::compare::Verdict;
use crate::corpus::CorpusError;
use a64_runner::{CODE_LEN, MAX_WORDS};
use serde::{Deserialize, Serialize};

/// Recorded cases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Corpus {
    /// Checksum of the start states; other starts make the records meaningless.
    starts: u32,
    /// What was recorded, as it calls itself.
    pub version: String,
    records: Vec<Record>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    seed: u64,
    offset: u16,
    code: Vec<[u8; 4]>,
    /// Place in [`Signal::ALL`].
    signal: u8,
    address: u64,
    /// From the first instruction.
    pc: i64,
    nzcv: u8,
    x: Changed<u8, u64>,
    /// From the start.
    sp: i64,
    tpidr: Option<u64>,
    v: Changed<u8, [u8; 16]>,
    fpcr: Option<u32>,
    fpsr: u32,
    memory: Runs,
}

/// What came out of a [replay](Corpus::replay).
#[derive(Debug, Clone, Default)]
pub struct Replay {
    /// Cases that end as under QEMU.
    pub equal: u64,
    /// Cases that differ in what is not compared.
    pub masked: u64,
    /// The others.
    pub different: Vec<Difference>,
}

impl Corpus {
    /// One without cases, of something that calls itself so.
    #[must_use]
    pub fn new(version: &str) -> Self {
        Self { starts: starts(), version: version.to_owned(), records: Vec::new() }
    }

    /// Appends a case.
    pub fn push(&mut self, case: &Case, outcome: &Outcome) {
        self.records.push(Record::new(case, outcome));
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written.
    ///
    /// # Errors
    /// The bytes are no corpus, or one of other start states.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CorpusError> {
        // What begins with another checksum need not be read further.
        let (first, _) = postcard::take_from_bytes::<u32>(bytes)?;
        if first != starts() {
            return Err(CorpusError::Stale);
        }
        let mut corpus: Self = postcard::from_bytes(bytes)?;
        corpus.records.retain(Record::is_sound);
        Ok(corpus)
    }

    /// The corpus as a file.
    ///
    /// # Errors
    /// None that are known.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CorpusError> {
        Ok(postcard::to_allocvec(self)?)
    }

    /// Number of cases.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Runs every case in the interpreter.
    #[must_use]
    pub fn replay(&self, soft: &mut Soft) -> Replay {
        let mut replay = Replay::default();
        for record in &self.records {
            let case = record.case();
            let start = Start::from_seed(case.seed, case.pc());
            let native = record.outcome(&start);
            let verdict = match soft.run(&case, &start) {
                Ok(soft) => compare(&case, &native, &soft),
                Err(failure) => Verdict::Different(vec![format!("arm-cpu {failure}")]),
            };
            match verdict {
                Verdict::Same => replay.equal += 1,
                Verdict::Undefined | Verdict::Emulated => replay.masked += 1,
                Verdict::Different(lines) => {
                    let mnemonic =
                        case.at(native.state.pc).or(case.code.first().copied()).map_or("?", mnemonic);
                    replay.different.push(Difference { case, mnemonic: mnemonic.to_owned(), lines });
                }
            }
        }
        replay
    }
}

/// Checksum of some start states and of all contents of memory.
fn starts() -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for seed in 0..64 {
        hasher.update(format!("{:?}", Start::from_seed(seed, 0x1000)).as_bytes());
    }
    for image in images() {
        hasher.update(&image);
    }
    hasher.finalize()
}

/// Vector registers as bytes.
fn bytes(v: &[[u64; 2]; 32]) -> [[u8; 16]; 32] {
    v.map(|[low, high]| (u128::from(low) | u128::from(high) << 64).to_le_bytes())
}

impl Record {
    fn new(case: &Case, outcome: &Outcome) -> Self {
        let start = Start::from_seed(case.seed, case.pc()).state;
        let end = &outcome.state;
        let signal = Signal::ALL.iter().position(|signal| *signal == outcome.signal);
        Self {
            seed: case.seed,
            offset: case.offset,
            code: case.code.iter().map(|word| word.to_le_bytes()).collect(),
            signal: signal.unwrap_or_default() as u8,
            address: outcome.address,
            pc: end.pc.wrapping_sub(start.pc) as i64,
            nzcv: (end.nzcv >> 28) as u8,
            x: changed(&start.x, &end.x),
            sp: end.sp.wrapping_sub(start.sp) as i64,
            tpidr: (end.tpidr != start.tpidr).then_some(end.tpidr),
            v: changed(&bytes(&start.v), &bytes(&end.v)),
            fpcr: (end.fpcr != start.fpcr).then_some(end.fpcr),
            fpsr: end.fpsr,
            memory: Runs::of(&outcome.memory),
        }
    }

    /// Whether a case can be as the record says: files may have been changed.
    fn is_sound(&self) -> bool {
        let end = u64::from(self.offset) + 4 * self.code.len() as u64;
        self.code.len() <= MAX_WORDS && self.offset.is_multiple_of(4) && end <= CODE_LEN
    }

    fn case(&self) -> Case {
        let code = self.code.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        Case { code, offset: self.offset, seed: self.seed }
    }

    fn outcome(&self, start: &Start) -> Outcome {
        let mut outcome =
            Outcome::new(Signal::ALL.get(usize::from(self.signal)).copied().unwrap_or(Signal::Other));
        outcome.address = self.address;
        outcome.memory = self.memory.memory();
        let end = &mut outcome.state;
        *end = start.state;
        end.pc = end.pc.wrapping_add_signed(self.pc);
        end.nzcv = u64::from(self.nzcv) << 28;
        put(&mut end.x, &self.x);
        end.sp = end.sp.wrapping_add_signed(self.sp);
        end.tpidr = self.tpidr.unwrap_or(end.tpidr);
        let mut v = bytes(&end.v);
        put(&mut v, &self.v);
        end.v = v.map(u128::from_le_bytes).map(|value| [value as u64, (value >> 64) as u64]);
        end.fpcr = self.fpcr.unwrap_or(end.fpcr);
        end.fpsr = self.fpsr;
        outcome
    }
}
