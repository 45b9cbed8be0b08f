//! PERF_METRICS: fractions of the slots in fixed counter 3.
//!
//! The register is not a counter. Behind it stands one slot accumulator per field; a read divides
//! each by the slots in FIXED_CTR3 and rounds to 1/255. Hence the rules that software knows
//! (SDM vol. 3B "Performance Metrics", Linux `arch/x86/events/intel/core.c`):
//!
//! * a saved pair is restored by writing FIXED_CTR3, then PERF_METRICS: the accumulators continue
//!   from field · slots / 255;
//! * writing only one of the two gives a ratio of two different intervals. No public document says
//!   what silicon returns then; this model returns that inconsistent ratio, each field limited to 255;
//! * a written value reads back unchanged until slots have been counted, and so do the fields after
//!   a write of FIXED_CTR3.

use crate::bits::{low_u64, low_usize};
use crate::source::TopdownSlots;

/// Fields of level 1, in the register's low four bytes.
pub const LEVEL1_FIELDS: usize = 4;
/// Fields of level 1 and 2.
pub const ALL_FIELDS: usize = 8;
/// What a field of 1.0 reads as.
pub const FULL_SCALE: u64 = 255;
/// Width of the accumulators behind the fields, in bits: that of a fixed counter, so that
/// FIXED_CTR3 overflows first unless software wrote only one register of the pair.
pub const ACCUMULATOR_BITS: u32 = 48;

/// Fields, and accumulators behind them, of a CPU with the given level: [`LEVEL1_FIELDS`] or [`ALL_FIELDS`].
#[must_use]
pub fn fields_of(level: u8) -> usize {
    if level >= 2 { ALL_FIELDS } else { LEVEL1_FIELDS }
}

/// The accumulators behind PERF_METRICS.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Metrics {
    /// What the register reads while `counted` is false: the last value that software wrote, or the
    /// fields as they were when it wrote FIXED_CTR3.
    pub written: u64,
    /// Slots per field, below 2^[`ACCUMULATOR_BITS`]; 0 for fields that the CPU does not have.
    pub accumulators: [u64; ALL_FIELDS],
    /// Slots have been counted since the last write of the register or of FIXED_CTR3.
    pub counted: bool,
}

impl Metrics {
    /// WRMSR of PERF_METRICS while FIXED_CTR3 holds `slots`, on a CPU with the given level.
    pub fn write(&mut self, value: u64, slots: u64, level: u8) {
        self.written = value;
        self.counted = false;
        self.accumulators = [0; ALL_FIELDS];
        let mask = (1 << ACCUMULATOR_BITS) - 1;
        let share = |sum: u64| low_u64(u128::from(slots) * u128::from(sum) / u128::from(FULL_SCALE));
        // Level 1 by running sums, so that fields which add up to 255 seed exactly `slots`.
        let mut sum = 0;
        for (index, accumulator) in self.accumulators.iter_mut().enumerate().take(LEVEL1_FIELDS) {
            let before = share(sum);
            sum += field(value, index);
            *accumulator = (share(sum) - before) & mask;
        }
        for index in LEVEL1_FIELDS..fields_of(level) {
            self.accumulators[index] = share(field(value, index)) & mask;
        }
    }

    /// FIXED_CTR3, which holds `slots`, is about to be written: the fields stay until slots are counted.
    pub fn hold(&mut self, slots: u64, level: u8) {
        self.written = self.read(slots, level);
        self.counted = false;
    }

    /// Adds slots counted on a CPU with the given level. Returns true when an accumulator overflowed.
    pub fn add(&mut self, delta: &TopdownSlots, level: u8) -> bool {
        let mut overflow = false;
        for (accumulator, more) in self.accumulators.iter_mut().zip(delta.fields).take(fields_of(level)) {
            let sum = u128::from(*accumulator) + u128::from(more);
            overflow |= sum >> ACCUMULATOR_BITS != 0;
            *accumulator = low_u64(sum) & ((1 << ACCUMULATOR_BITS) - 1);
        }
        self.counted |= delta.slots != 0 || delta.fields.iter().any(|&f| f != 0);
        overflow
    }

    /// Per field, the slots of its category until its accumulator overflows.
    pub fn until_overflow(&self, level: u8) -> impl Iterator<Item = u64> {
        self.accumulators
            .into_iter()
            .take(fields_of(level))
            .map(|accumulator| (1 << ACCUMULATOR_BITS) - accumulator)
    }

    /// RDMSR of PERF_METRICS while FIXED_CTR3 holds `slots`, on a CPU with the given level.
    #[must_use]
    pub fn read(&self, slots: u64, level: u8) -> u64 {
        if !self.counted || slots == 0 {
            return self.written;
        }
        fractions(&self.accumulators, slots, level)
    }
}

/// The PERF_METRICS value for slot counts per category.
///
/// Level-1 categories that add up to `slots` give fields that add up to 255 (largest remainder);
/// others are rounded one by one and limited to 255. A level-2 field never exceeds its parent.
#[must_use]
pub fn fractions(categories: &[u64; ALL_FIELDS], slots: u64, level: u8) -> u64 {
    if slots == 0 {
        return 0;
    }
    let slots = u128::from(slots);
    let scaled = categories.map(|count| u128::from(count) * u128::from(FULL_SCALE));
    let rounded = |value: u128| low_u64(((value + slots / 2) / slots).min(u128::from(FULL_SCALE)));
    let mut fields = [0_u64; ALL_FIELDS];
    let level1: u128 = categories[..LEVEL1_FIELDS].iter().map(|&c| u128::from(c)).sum();
    if level1 == slots {
        let mut rest = FULL_SCALE;
        let mut remainders = [(0_u128, 0_usize); LEVEL1_FIELDS];
        for index in 0..LEVEL1_FIELDS {
            fields[index] = low_u64(scaled[index] / slots);
            rest -= fields[index];
            remainders[index] = (scaled[index] % slots, index);
        }
        remainders.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        for &(_, index) in remainders.iter().take(low_usize(rest)) {
            fields[index] += 1;
        }
    } else {
        for index in 0..LEVEL1_FIELDS {
            fields[index] = rounded(scaled[index]);
        }
    }
    if level >= 2 {
        for index in LEVEL1_FIELDS..ALL_FIELDS {
            fields[index] = rounded(scaled[index]).min(fields[index - LEVEL1_FIELDS]);
        }
    }
    fields.iter().enumerate().fold(0, |value, (index, &f)| value | f << (8 * index))
}

/// One field of a PERF_METRICS value, 0 to 255.
#[must_use]
pub fn field(value: u64, index: usize) -> u64 {
    value >> (8 * index) & 0xFF
}

/// Names of the fields in perf's terms, in the order of the register's bytes.
pub const FIELD_NAMES: [&str; ALL_FIELDS] = [
    "topdown-retiring",
    "topdown-bad-spec",
    "topdown-fe-bound",
    "topdown-be-bound",
    "topdown-heavy-ops",
    "topdown-br-mispredict",
    "topdown-fetch-lat",
    "topdown-mem-bound",
];
