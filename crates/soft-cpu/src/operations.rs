//! Retired floating-point and vector operations by type, as AMD's events of Zen 4 and Zen 5 tell them apart
//! (`fp_ops_retired_by_type`, `sse_avx_ops_retired` and others). An instruction is one operation.
//!
//! They are counted from the moment they are wanted, because every vector instruction takes a longer way then. Who
//! counts and who reads share them, so that they need not be published.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Operations by file and type, and x87 behind them.
const KINDS: usize = OperationFile::COUNT * TYPES;
/// Types, as four bits of a unit mask say; none is 0, and 15 stands for all.
const TYPES: usize = 16;

/// Where an operation works, and on how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationFile {
    /// One floating-point element.
    ScalarFloat,
    /// Packed floating point of 128 bits.
    Float128,
    /// Of 256 bits.
    Float256,
    /// Of 512 bits.
    Float512,
    /// Integers in MMX registers.
    Mmx,
    /// Integers of 128 bits.
    Integer128,
    /// Of 256 bits.
    Integer256,
    /// Of 512 bits.
    Integer512,
    /// x87, without a type.
    X87,
}

impl OperationFile {
    const COUNT: usize = 9;
}

/// Whose types of operations they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationTypes {
    /// Those of Zen 4.
    Zen4,
    /// Those of Zen 5, which has types for VNNI and bfloat16, and moves of floating point.
    Zen5,
}

/// File and type of an instruction's operation, in eight bits; 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Operation(u8);

impl Operation {
    /// One of that type, 1 to 14. x87 has no types.
    #[expect(clippy::cast_possible_truncation, reason = "nine files of 16")]
    pub(crate) fn new(file: OperationFile, kind: u8) -> Self {
        Self((file as u8 * TYPES as u8) | kind & 0xF)
    }

    pub(crate) fn is_some(self) -> bool {
        self != Self::default()
    }
}

/// Running counts at CPL 0 and above it; they never go down.
#[derive(Debug)]
pub struct Operations {
    counts: [[AtomicU64; KINDS]; 2],
    wanted: AtomicBool,
}

impl Default for Operations {
    fn default() -> Self {
        Self { counts: [const { [const { AtomicU64::new(0) }; KINDS] }; 2], wanted: AtomicBool::new(false) }
    }
}

impl Operations {
    /// From now on they are counted.
    pub fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// True if they are.
    #[must_use]
    pub fn are_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// What has retired in a file at CPL 0, or above it: of the types with a bit in `types`.
    #[must_use]
    pub fn total(&self, user: bool, file: OperationFile, types: u16) -> u64 {
        let counts = self.counts[usize::from(user)].iter().skip(file as usize * TYPES).take(TYPES);
        let wanted = counts.enumerate().filter(|(kind, _)| types >> kind & 1 != 0);
        wanted.map(|(_, count)| count.load(Ordering::Relaxed)).sum()
    }

    /// All counts, to be saved; none if none was wanted.
    #[must_use]
    pub fn save(&self) -> Vec<u64> {
        if !self.are_wanted() {
            return Vec::new();
        }
        self.counts.iter().flatten().map(|count| count.load(Ordering::Relaxed)).collect()
    }

    /// Goes on from saved counts. False, and nothing happens, if they are not as many as there have to be.
    pub fn restore(&self, saved: &[u64]) -> bool {
        if !saved.is_empty() && saved.len() != 2 * KINDS {
            return false;
        }
        self.wanted.store(!saved.is_empty(), Ordering::Relaxed);
        let saved = saved.iter().copied().chain(core::iter::repeat(0));
        self.counts
            .iter()
            .flatten()
            .zip(saved)
            .for_each(|(count, saved)| count.store(saved, Ordering::Relaxed));
        true
    }
}

/// What a CPU counts operations in.
#[derive(Debug, Clone)]
pub(crate) struct Counting {
    pub(crate) types: OperationTypes,
    pub(crate) operations: Arc<Operations>,
    /// Blocks have been decoded so that they count.
    pub(crate) on: bool,
}

impl Counting {
    /// An instruction has retired. Only one thread counts.
    pub(crate) fn count(&self, user: bool, operation: Operation) {
        let counts = &self.operations.counts[usize::from(user)];
        if let Some(count) = counts.get(usize::from(operation.0)) {
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }
}
