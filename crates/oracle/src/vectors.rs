//! The vector and mask registers in which a case starts, where its [`Machine`] has more than SSE.

use crate::case::Case;
use crate::machine::{Machine, Zmm};
use crate::start::{Start, float, integer, vector};
use random_testing::Random;

/// What a vector register holds, for the choice of operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorRole {
    /// Offsets of 4 bytes each, most of them small.
    Dwords,
    /// Offsets of 8 bytes each, most of them small.
    Quadwords,
    /// Anything.
    Value,
}

/// The vector and mask registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vectors {
    /// ZMM0 to ZMM31; what the machine does not have is 0.
    pub zmm: [Zmm; 32],
    /// What is in them.
    pub roles: [VectorRole; 32],
    /// k0 to k7.
    pub k: [u64; 8],
}

/// Makes an element.
type Make = fn(&mut Random) -> u64;

impl Vectors {
    /// The start of a case.
    #[must_use]
    pub fn of(case: &Case) -> Self {
        if case.machine != Machine::Sse {
            return Self::from_seed(case.seed, case.machine);
        }
        let mut vectors = Self { zmm: [[0; 4]; 32], roles: [VectorRole::Value; 32], k: [0; 8] };
        for (register, xmm) in vectors.zmm.iter_mut().zip(Start::from_seed(case.seed).xmm) {
            register[0] = xmm;
        }
        vectors
    }

    /// The start of a seed on a machine with more than SSE.
    #[must_use]
    pub fn from_seed(seed: u64, machine: Machine) -> Self {
        let random = &mut Random::new(seed ^ 0x5645_4354_4F52_5300);
        let mut zmm = [[0; 4]; 32];
        let mut roles = [VectorRole::Value; 32];
        for (register, role) in zmm.iter_mut().zip(&mut roles) {
            (*role, *register) = match random.below(16) {
                0 | 1 => (VectorRole::Dwords, lanes(random, 4, offset)),
                2 | 3 => (VectorRole::Quadwords, lanes(random, 8, offset)),
                _ => (VectorRole::Value, value(random)),
            };
        }
        // Some registers are equal, or all but.
        for _ in 0..random.below(6) {
            let (from, to) = (random.below(32) as usize, random.below(32) as usize);
            (zmm[to], roles[to]) = (zmm[from], roles[from]);
            if random.one_in(2) {
                zmm[to][random.below(4) as usize] ^= 1 << random.below(128);
            }
        }
        let mut k = [0; 8];
        k.fill_with(|| mask(random));
        // Components in their initial state, which XSAVE looks at.
        match random.below(16) {
            0 => zmm[..16].iter_mut().for_each(|register| register[1..].fill(0)),
            1 => zmm[..16].iter_mut().for_each(|register| register[2..].fill(0)),
            2 => zmm[16..].fill([0; 4]),
            3 => k.fill(0),
            _ => {}
        }
        for (n, register) in zmm.iter_mut().enumerate() {
            let (low, wide) = (n < 16, machine == Machine::Avx512);
            register[if low { machine.quarters() } else { 4 * usize::from(wide) }..].fill(0);
        }
        if machine != Machine::Avx512 {
            k.fill(0);
        }
        Self { zmm, roles, k }
    }
}

/// Elements of `size` bytes.
fn lanes(random: &mut Random, size: usize, make: Make) -> Zmm {
    let mut bytes = [0; 64];
    for element in bytes.chunks_exact_mut(size) {
        element.copy_from_slice(&make(random).to_le_bytes()[..size]);
    }
    from_bytes(&bytes)
}

fn from_bytes(bytes: &[u8; 64]) -> Zmm {
    let mut value = [0; 4];
    for (quarter, bytes) in value.iter_mut().zip(bytes.chunks_exact(16)) {
        let mut array = [0; 16];
        array.copy_from_slice(bytes);
        *quarter = u128::from_le_bytes(array);
    }
    value
}

/// What an element of an index register holds: times a scale it stays in the data pages, or leaves them.
fn offset(random: &mut Random) -> u64 {
    match random.below(24) {
        0 => integer(random),
        1 => random.below(0x1000),
        2..=5 => random.below(64).wrapping_neg(),
        _ => random.below(128),
    }
}

fn value(random: &mut Random) -> Zmm {
    let (size, make): (usize, Make) = match random.below(10) {
        0 | 1 => (8, |random| float(random, 52, 11)),
        2 | 3 => (4, |random| float(random, 23, 8)),
        4 | 5 => (2, |random| float(random, 10, 5)),
        6 => (2, |random| float(random, 7, 8)),
        7 => (random.pick(&[1, 2, 4, 8]), integer),
        _ => return [(); 4].map(|()| vector(random)),
    };
    let mut value = lanes(random, size, make);
    // A few elements that matter among many that do not.
    if random.one_in(4) {
        let same = make(random).to_le_bytes();
        let mut bytes = [0; 64];
        for (n, element) in bytes.chunks_exact_mut(size).enumerate() {
            let (quarter, byte) = (n * size / 16, n * size % 16);
            let old = value[quarter].to_le_bytes();
            let keep = random.one_in(8);
            element.copy_from_slice(if keep { &old[byte..byte + size] } else { &same[..size] });
        }
        value = from_bytes(&bytes);
    }
    value
}

/// A mask: none, one, few, many or all elements, with anything beyond those that count.
fn mask(random: &mut Random) -> u64 {
    match random.below(10) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << random.below(64),
        3 => 1 << random.below(8),
        4 => random.bits() & random.bits() & random.bits(),
        5 => u64::MAX >> random.below(64),
        6 => !(1 << random.below(16)),
        7 => random.bits() << random.below(64),
        _ => random.bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_its_registers_only() {
        for seed in 0..64 {
            let sse = Vectors::from_seed(seed, Machine::Sse);
            let avx = Vectors::from_seed(seed, Machine::Avx);
            let all = Vectors::from_seed(seed, Machine::Avx512);
            assert!(sse.zmm[..16].iter().all(|register| register[1..] == [0; 3]));
            assert!(avx.zmm[..16].iter().all(|register| register[2..] == [0; 2]));
            assert_eq!((avx.k, &avx.zmm[16..]), ([0; 8], &[[0; 4]; 16][..]));
            for n in 0..16 {
                assert_eq!((sse.zmm[n][0], avx.zmm[n][0]), (all.zmm[n][0], all.zmm[n][0]));
            }
        }
        let used = |n: usize| (0..64).any(|seed| Vectors::from_seed(seed, Machine::Avx512).zmm[n][3] != 0);
        assert!((0..32).all(used));
    }
}
