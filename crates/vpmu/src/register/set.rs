//! What the declarations of a vendor have in common, for the bank that keeps their values.

use super::Register;
use core::fmt::Debug;

/// A vendor's declarations, by the ids of its registers.
pub(crate) trait RegisterSet: Copy + PartialEq + 'static {
    /// One word for each instance of each register in the bank.
    type Words: AsRef<[u64]> + AsMut<[u64]> + Clone + Debug;
    /// All words 0.
    const ZERO: Self::Words;
    /// Every id, in order of declaration.
    const ALL: &'static [Self];
    /// The declarations, in the same order.
    const REGISTERS: &'static [Register];

    /// Position in [`ALL`](Self::ALL).
    fn index(self) -> usize;

    /// The register itself, where this one is another address of it.
    fn owner(self) -> Self;

    /// The declaration.
    fn register(self) -> &'static Register {
        &Self::REGISTERS[self.index()]
    }
}

/// The type of a register in the bank: a value with accessors for the fields.
pub(crate) trait Typed<Id: RegisterSet>: Copy {
    /// The word of instance 0.
    const SLOT: usize;

    fn new(bits: u64) -> Self;
    fn bits(self) -> u64;
}

/// Words of the first `count` registers.
pub(super) const fn words_before(words: &[usize], count: usize) -> usize {
    let (mut n, mut sum) = (0, 0);
    while n < count {
        sum += words[n];
        n += 1;
    }
    sum
}
