//! Execution ports: which cycles of each are taken.

use crate::memo::{Shaped, Words};
use crate::ring::{AHEAD, WORDS, cycles_of, restore_cycles, save_cycles, word_of};
use crate::table::{MAX_UNITS, Uops};

/// More than any load of a unit.
const TAKEN: u32 = u32::MAX;
/// Cycles before the one in question, of the 64 in which it counts how much a unit is used.
const BEFORE: u64 = 24;

/// The units of a core.
#[derive(Debug, Clone)]
pub(crate) struct Ports {
    /// Words of 64 cycles, and in each word a bitmap per unit.
    taken: Box<[[u64; MAX_UNITS]; WORDS]>,
    units: usize,
    /// Cycle from which the window is valid.
    base: u64,
    /// Cycle up to which anything can be taken.
    horizon: u64,
    /// The last cycle in which anything was taken.
    latest: u64,
}

impl Ports {
    pub(crate) fn new(units: usize) -> Self {
        Self {
            taken: Box::new([[0; MAX_UNITS]; WORDS]),
            units: units.min(MAX_UNITS),
            base: 0,
            horizon: AHEAD,
            latest: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    #[inline(always)]
    pub(crate) fn horizon(&self) -> u64 {
        self.horizon
    }

    /// What comes is of interest from this cycle on.
    #[inline(always)]
    pub(crate) fn look_from(&mut self, cycle: u64) {
        self.horizon = cycle + AHEAD;
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
        if uops.cycles == 1 && start < self.horizon {
            self.reserve(uops.units, start)
        } else {
            self.issue_many(uops, start)
        }
    }

    #[inline(never)]
    fn issue_many(&mut self, uops: Uops, start: u64) -> u64 {
        if start >= self.horizon || uops.cycles == 0 {
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

    /// Takes the unit that is free in a cycle and the least used around it, as real cores bind ports, so that uops with a
    /// choice keep out of the way of those without; false if none is free.
    #[inline(always)]
    fn take(&mut self, units: u32, cycle: u64) -> bool {
        // Of what lies before now nothing is known.
        let start = (self.horizon - AHEAD).max(cycle.saturating_sub(BEFORE));
        let (word, shift, place) = (word_of(start), start % 64, cycle - start);
        let (here, next) = (&self.taken[word], &self.taken[(word + 1) % WORDS]);
        let mut least = TAKEN;
        let mut mask = units;
        while mask != 0 {
            let unit = mask.trailing_zeros() as usize % MAX_UNITS;
            mask &= mask - 1;
            let used = here[unit] >> shift | (next[unit] << 1) << (63 - shift);
            let load = if used >> place & 1 == 1 { TAKEN } else { used.count_ones() << 8 | unit as u32 };
            least = least.min(load);
        }
        if least == TAKEN {
            return false;
        }
        let unit = least as usize % MAX_UNITS;
        self.taken[word_of(cycle)][unit] |= 1 << (cycle % 64);
        self.latest = self.latest.max(cycle);
        true
    }

    #[inline(never)]
    fn reserve_later(&mut self, units: u32, from: u64) -> u64 {
        let end = self.horizon;
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
                if cycle >= end {
                    break;
                }
                self.take(units, cycle);
                return cycle;
            }
            cycle = (cycle | 63) + 1;
        }
        end
    }

    /// Hands out what lies before `cycle`, by words of 64 cycles and unit by unit, and forgets it.
    #[inline]
    pub(crate) fn forget_before(&mut self, cycle: u64, mut finished: impl FnMut(usize, u64, &[u64])) {
        let mut past = [0; MAX_UNITS];
        while self.base < cycle {
            let next = ((self.base | 63) + 1).min(cycle);
            let (word, cycles) = (word_of(self.base), cycles_of(self.base, next));
            let past = &mut past[..self.units];
            for (past, now) in past.iter_mut().zip(&mut self.taken[word]) {
                *past = *now & cycles;
                *now &= !cycles;
            }
            finished(word, cycles, past);
            self.base = next;
        }
    }
}

impl Shaped for Ports {
    /// Everything before `now` has been handed out.
    fn save(&self, now: u64, shape: &mut Vec<u64>) -> Option<()> {
        for unit in 0..self.units {
            save_cycles(now, self.latest + 1, shape, |word| self.taken[word][unit]);
        }
        Some(())
    }

    fn restore(&mut self, now: u64, shape: &mut Words<'_>) {
        for cycle in (self.base & !63..=self.latest).step_by(64).take(WORDS) {
            self.taken[word_of(cycle)][..self.units].fill(0);
        }
        (self.base, self.horizon, self.latest) = (now, now + AHEAD, now);
        for unit in 0..self.units {
            let end = restore_cycles(now, shape, |word, bits| self.taken[word][unit] |= bits);
            self.latest = self.latest.max(end);
        }
    }
}
