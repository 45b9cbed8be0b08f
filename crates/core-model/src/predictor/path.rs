//! The path history register: which way the code came, by its taken branches.
//!
//! Yavarzadeh and others, "Half&Half: Demystifying Intel's Directional Branch Predictors for Fast, Secure Partitioned
//! Execution" (2023), found by measuring: each taken branch, of any kind, shifts the register by two bits and adds 16
//! bits of its own address and 6 of its target by an exclusive or. Which of these bits goes where is not modelled, as
//! the functions that hash them are others here too.

use crate::core::Prediction;

/// Most tables that look at the register.
pub(super) const TABLES: usize = 5;
/// Bits that a taken branch shifts the register by.
const SHIFT: u32 = 2;
/// Bits of a branch's own address, and of its target.
const ADDRESS: u64 = 0xFFFF;
const TARGET: u64 = 0x3F;
/// Pairs of bits behind the newest 64 that are kept.
const OLDER: usize = 256;

/// The polynomial of CRC-64 (ECMA-182), without its highest term. Where a register is folded by adding up pieces of
/// it instead, loops of some lengths cancel out.
const POLYNOMIAL: u64 = 0x42F0_E1EB_A9EA_3693;

/// The newest bits of the register for each table, as a remainder: a checksum of 64 bits.
pub(super) type Folds = [u64; TABLES];

/// Multiplies a remainder by x.
const fn shifted(remainder: u64) -> u64 {
    remainder << 1 ^ if remainder >> 63 == 1 { POLYNOMIAL } else { 0 }
}

/// What each value of a pair of bits adds to a remainder, from the remainder of the lower one.
const fn pairs(low: u64) -> [u64; 4] {
    [0, low, shifted(low), low ^ shifted(low)]
}

/// What a shift adds for the two highest bits of a remainder.
const OVERFLOW: [u64; 4] = pairs(POLYNOMIAL);

#[derive(Debug)]
pub(super) struct Path {
    folds: Folds,
    /// How many bits each table looks at, and what the pair adds that leaves them.
    lengths: [u32; TABLES],
    leaving: [[u64; 4]; TABLES],
    /// The newest 64 bits, and a ring of the pairs before them.
    newest: u64,
    older: Box<[u8; OLDER]>,
    place: usize,
    /// The lowest bit of a branch's address that matters.
    address_shift: u32,
}

impl Path {
    pub(super) fn new(parameters: &Prediction) -> Self {
        let mut lengths = [0; TABLES];
        let mut leaving = [[0; 4]; TABLES];
        for ((kept, leaving), &length) in lengths.iter_mut().zip(&mut leaving).zip(parameters.histories) {
            *kept = length.min(64 + SHIFT * OLDER as u32) & !1;
            *leaving = pairs((0..*kept).fold(1, |remainder, _| shifted(remainder)));
        }
        Self {
            folds: [0; TABLES],
            lengths,
            leaving,
            newest: 0,
            older: Box::new([0; OLDER]),
            place: 0,
            address_shift: parameters.path_address,
        }
    }

    #[inline(always)]
    pub(super) fn folds(&self) -> &Folds {
        &self.folds
    }

    /// Adds a taken branch, by the address of its last byte.
    #[inline]
    pub(super) fn push(&mut self, address: u64, target: u64) {
        let footprint = address >> self.address_shift & ADDRESS ^ target & TARGET;
        for ((fold, &length), leaving) in self.folds.iter_mut().zip(&self.lengths).zip(&self.leaving) {
            if length == 0 {
                break;
            }
            let last = length - SHIFT;
            let pair = match last.checked_sub(64) {
                None => self.newest >> last & 3,
                Some(bits) => self.older[self.place.wrapping_sub((bits / SHIFT) as usize) % OLDER].into(),
            };
            let overflow = OVERFLOW[(*fold >> (64 - SHIFT)) as usize % 4];
            *fold = *fold << SHIFT ^ overflow ^ leaving[pair as usize % 4] ^ footprint;
        }
        self.place = (self.place + 1) % OLDER;
        self.older[self.place] = (self.newest >> (64 - SHIFT)) as u8;
        self.newest = self.newest << SHIFT ^ footprint;
    }

    pub(super) fn forget(&mut self) {
        self.folds = [0; TABLES];
        self.newest = 0;
        self.older.fill(0);
    }
}

/// Mixes an address with a folded history.
#[inline(always)]
pub(super) fn hash(rip: u64, fold: u64) -> u64 {
    let mixed = (fold ^ rip.rotate_left(23)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 29 ^ rip).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ mixed >> 32
}

/// Marsaglia's xorshift32, which chooses among entries.
#[derive(Debug)]
pub(super) struct Xorshift(u32);

impl Xorshift {
    pub(super) const fn new() -> Self {
        Self(0x1234_5678)
    }

    pub(super) fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GOLDEN_COVE, SKYLAKE_SP};

    /// The register bit by bit, the newest first.
    fn naive(branches: &[(u64, u64)], parameters: &Prediction) -> Vec<bool> {
        let mut register = vec![false; 1024];
        for &(address, target) in branches {
            register.rotate_right(SHIFT as usize);
            register[..SHIFT as usize].fill(false);
            let footprint = address >> parameters.path_address & ADDRESS ^ target & TARGET;
            for (bit, value) in register.iter_mut().take(16).enumerate() {
                *value ^= footprint >> bit & 1 == 1;
            }
        }
        register
    }

    #[test]
    fn folds_are_those_of_the_register() {
        for parameters in [&SKYLAKE_SP.prediction, &GOLDEN_COVE.prediction] {
            let mut path = Path::new(parameters);
            let (mut branches, mut state) = (Vec::new(), 1_u64);
            for _ in 0..700 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                branches.push((state >> 20, state >> 40));
                path.push(state >> 20, state >> 40);
                let register = naive(&branches, parameters);
                for (fold, &length) in path.folds().iter().zip(parameters.histories) {
                    let bits = register[..length as usize].iter().rev();
                    let expected = bits.fold(0, |remainder, &set| shifted(remainder) ^ u64::from(set));
                    assert_eq!(*fold, expected, "{length} bits, {} branches", branches.len());
                }
            }
        }
    }
}
