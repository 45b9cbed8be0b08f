//! Execution ports: which cycles of each are taken.

use crate::ring::{WINDOW, WORDS, word_of};
use crate::table::{MAX_UNITS, Uops};

/// What one uop adds to a unit's load, of which every 64 cycles take away half. The bits below it are the unit's
/// number, so that of two units with the same load the first one is smaller.
const LOAD_STEP: u32 = 1 << 13;
const NUMBER: u32 = MAX_UNITS as u32 - 1;
/// More than any load: as many uops as a unit can take in the cycles that count.
const TAKEN: u32 = 1 << 31;

/// The units of a core.
#[derive(Debug, Clone)]
pub(crate) struct Ports {
    /// Words of 64 cycles, and in each word a bitmap per unit.
    taken: Box<[[u64; MAX_UNITS]; WORDS]>,
    /// How much each unit was used lately: the less used of two free units is taken, as real cores bind ports, so
    /// that uops with a choice keep out of the way of those without.
    load: [u32; MAX_UNITS],
    units: usize,
    /// Cycle from which the window is valid; a multiple of 64.
    base: u64,
}

impl Ports {
    pub(crate) fn new(units: usize) -> Self {
        Self {
            taken: Box::new([[0; MAX_UNITS]; WORDS]),
            load: std::array::from_fn(|unit| unit as u32),
            units: units.min(MAX_UNITS),
            base: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// In which of the 64 cycles around a cycle any of these units is taken; the cycle lies in the window.
    pub(crate) fn busy(&self, cycle: u64, units: u32) -> u64 {
        let words = self.taken[word_of(cycle)].iter().enumerate();
        words.filter(|(unit, _)| units >> unit & 1 == 1).fold(0, |any, (_, word)| any | word)
    }

    /// Reserves units for some uops from `start` on; the cycle in which the last of them begins. What begins after the
    /// window, which is too far ahead to be known, takes none.
    #[inline(always)]
    pub(crate) fn issue(&mut self, uops: Uops, start: u64) -> u64 {
        if uops.cycles == 1 && start < self.base + WINDOW {
            self.reserve(uops.units, start)
        } else {
            self.issue_many(uops, start)
        }
    }

    #[inline(never)]
    fn issue_many(&mut self, uops: Uops, start: u64) -> u64 {
        if start >= self.base + WINDOW || uops.cycles == 0 {
            return start;
        }
        let first = self.reserve(uops.units, start);
        let last = (1..uops.cycles).fold(first, |from, _| self.reserve(uops.units, from));
        first.max((last + 1).saturating_sub(u64::from(uops.cycles)))
    }

    /// Takes the first cycle in which a unit of the mask is free.
    #[inline(always)]
    fn reserve(&mut self, units: u32, from: u64) -> u64 {
        if self.take(units, from) { from } else { self.reserve_later(units, from + 1) }
    }

    /// Takes the least used unit that is free in a cycle; false if none is.
    #[inline(always)]
    fn take(&mut self, units: u32, cycle: u64) -> bool {
        let words = &mut self.taken[word_of(cycle)];
        let mut least = TAKEN;
        let mut mask = units;
        while mask != 0 {
            let unit = mask.trailing_zeros() as usize % MAX_UNITS;
            mask &= mask - 1;
            let taken = ((words[unit] >> (cycle % 64)) as u32) << 31;
            least = least.min(self.load[unit] | taken);
        }
        if least >= TAKEN {
            return false;
        }
        let unit = (least & NUMBER) as usize;
        words[unit] |= 1 << (cycle % 64);
        self.load[unit] += LOAD_STEP;
        true
    }

    #[inline(never)]
    fn reserve_later(&mut self, units: u32, from: u64) -> u64 {
        let end = self.base + WINDOW;
        let mut cycle = from;
        while cycle < end {
            let words = &self.taken[word_of(cycle)];
            let mut mask = units;
            let mut free = 0;
            while mask != 0 {
                free |= !words[mask.trailing_zeros() as usize % MAX_UNITS];
                mask &= mask - 1;
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
            let words = &mut self.taken[word][..self.units];
            finished(word, words);
            words.fill(0);
            for load in &mut self.load[..self.units] {
                *load = *load >> 1 & !NUMBER | *load & NUMBER;
            }
            self.base += 64;
        }
    }
}
