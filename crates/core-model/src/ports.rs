//! Execution ports: which cycles of each are taken.

use crate::ring::{WINDOW, WORDS, word_of};
use crate::table::Uops;

/// What one uop adds to a unit's load, of which every 64 cycles take away half.
const LOAD_STEP: u32 = 1 << 8;

/// The units of a core.
#[derive(Debug, Clone)]
pub(crate) struct Ports {
    /// Words of 64 cycles, and in each word a bitmap per unit.
    taken: Vec<u64>,
    /// Log2 of the units that a word has room for.
    shift: u32,
    /// How much each unit was used lately: the less used of two free units is taken, as real cores bind ports, so
    /// that uops with a choice keep out of the way of those without.
    load: Vec<u32>,
    /// Cycle from which the window is valid; a multiple of 64.
    base: u64,
}

impl Ports {
    pub(crate) fn new(units: usize) -> Self {
        let shift = units.max(1).next_power_of_two().trailing_zeros();
        Self { taken: vec![0; WORDS << shift], shift, load: vec![0; 1 << shift], base: 0 }
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// In which of the 64 cycles around a cycle any of these units is taken; the cycle lies in the window.
    pub(crate) fn busy(&self, cycle: u64, units: u32) -> u64 {
        let row = word_of(cycle) << self.shift;
        let words = &self.taken[row..row + (1 << self.shift)];
        words
            .iter()
            .enumerate()
            .filter(|(unit, _)| units >> unit & 1 == 1)
            .fold(0, |any, (_, word)| any | word)
    }

    /// Reserves units for some uops from `start` on; the first and the last cycle, without those of a window that
    /// is too far ahead to be known.
    #[inline]
    pub(crate) fn issue(&mut self, uops: Uops, start: u64) -> (u64, u64) {
        let end = self.base + WINDOW;
        if start >= end {
            return (start, start + 1);
        }
        let (mut first, mut last) = (u64::MAX, start);
        let mut from = start;
        for _ in 0..uops.cycles {
            let cycle = self.reserve(uops.units, from, end);
            first = first.min(cycle);
            last = last.max(cycle + 1);
            from = cycle;
        }
        (if first == u64::MAX { start } else { first }, last)
    }

    /// Takes the first cycle in which a unit of the mask is free.
    #[inline]
    fn reserve(&mut self, units: u32, from: u64, end: u64) -> u64 {
        if self.take(units, from) { from } else { self.reserve_later(units, from + 1, end) }
    }

    /// Takes the least used unit that is free in a cycle; false if none is.
    #[inline]
    fn take(&mut self, units: u32, cycle: u64) -> bool {
        let row = word_of(cycle) << self.shift;
        let width = 1 << self.shift;
        let (words, loads) = (&mut self.taken[row..row + width], &mut self.load[..width]);
        let bit = 1 << (cycle % 64);
        let (mut best, mut least) = (usize::MAX, u32::MAX);
        let mut mask = units;
        while mask != 0 {
            let unit = mask.trailing_zeros() as usize & (width - 1);
            mask &= mask - 1;
            if words[unit] & bit == 0 && loads[unit] < least {
                (best, least) = (unit, loads[unit]);
            }
        }
        if best == usize::MAX {
            return false;
        }
        words[best] |= bit;
        loads[best] += LOAD_STEP;
        true
    }

    fn reserve_later(&mut self, units: u32, from: u64, end: u64) -> u64 {
        let mut cycle = from;
        while cycle < end {
            let row = word_of(cycle) << self.shift;
            let words = &self.taken[row..row + (1 << self.shift)];
            let mut mask = units;
            let mut free = 0;
            while mask != 0 {
                let unit = mask.trailing_zeros() as usize & (words.len() - 1);
                mask &= mask - 1;
                free |= !words[unit];
            }
            free >>= cycle % 64;
            if free != 0 {
                cycle += u64::from(free.trailing_zeros());
                self.take(units, cycle);
                return cycle;
            }
            cycle = (cycle | 63) + 1;
        }
        end
    }

    /// Hands out every word of 64 cycles that lies before `cycle`, unit by unit, and forgets it.
    #[inline]
    pub(crate) fn forget_before(&mut self, cycle: u64, mut finished: impl FnMut(usize, &[u64])) {
        while self.base + 64 <= cycle {
            let word = word_of(self.base);
            let row = word << self.shift;
            let words = &mut self.taken[row..row + (1 << self.shift)];
            finished(word, words);
            words.fill(0);
            self.load.iter_mut().for_each(|load| *load /= 2);
            self.base += 64;
        }
    }
}
