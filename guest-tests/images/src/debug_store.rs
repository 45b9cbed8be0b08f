//! The debug store: memory that the CPU writes PEBS records to (SDM volume 3, section 20.4.9).
#![expect(unsafe_code, reason = "memory that the CPU writes")]

use core::{cell::UnsafeCell, ptr};

use crate::{msr::DS_AREA, pmu::write};

/// Words of the head: base, index, maximum and threshold of the branch trace, then of PEBS, then reset values.
const HEAD: usize = 24;
const BASE: usize = 4;
const INDEX: usize = 5;
/// The reset value of counter 0.
pub const FIRST_RESET: usize = 8;

/// A debug store with room for so many words of records. For a static: the CPU has its address.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct DebugStore<const WORDS: usize> {
    area: UnsafeCell<[u64; HEAD]>,
    records: UnsafeCell<[u64; WORDS]>,
}

// SAFETY: images have one CPU, and all accesses are of single words.
unsafe impl<const WORDS: usize> Sync for DebugStore<WORDS> {}

impl<const WORDS: usize> Default for DebugStore<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const WORDS: usize> DebugStore<WORDS> {
    /// Bytes of records that there is room for.
    pub const BYTES: u64 = 8 * WORDS as u64;

    /// Nothing but zeroes.
    #[must_use]
    pub const fn new() -> Self {
        Self { area: UnsafeCell::new([0; HEAD]), records: UnsafeCell::new([0; WORDS]) }
    }

    /// Empties it, for so many bytes of records, with a threshold in bytes and reset values that make a period, and
    /// tells the CPU where it is.
    #[track_caller]
    pub fn prepare(&self, bytes: u64, threshold: u64, period: u64) {
        let base = self.records.get() as u64;
        let pebs = [base, base, base + bytes, base.wrapping_add(threshold)];
        (BASE..).zip(pebs).for_each(|(n, value)| self.set_area(n, value));
        (FIRST_RESET..HEAD).for_each(|n| self.set_area(n, period.wrapping_neg()));
        write(DS_AREA, self.area.get() as u64);
    }

    /// Empties it, and leaves all else.
    pub fn clear(&self) {
        self.set_area(INDEX, self.area(BASE));
    }

    /// Bytes of records.
    #[must_use]
    pub fn filled(&self) -> u64 {
        self.area(INDEX) - self.area(BASE)
    }

    /// A word of the records.
    #[must_use]
    pub fn word(&self, n: usize) -> u64 {
        // SAFETY: the index is checked; the CPU writes it behind the compiler's back.
        unsafe { ptr::read_volatile(&raw const (*self.records.get())[n]) }
    }

    /// Changes a word of the head.
    pub fn set_area(&self, n: usize, value: u64) {
        // SAFETY: the index is checked; the CPU reads it behind the compiler's back.
        unsafe { ptr::write_volatile(&raw mut (*self.area.get())[n], value) }
    }

    fn area(&self, n: usize) -> u64 {
        // SAFETY: the index is checked; the CPU writes it behind the compiler's back.
        unsafe { ptr::read_volatile(&raw const (*self.area.get())[n]) }
    }
}
