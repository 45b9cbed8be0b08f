//! Bits per cycle for a window of cycles.

use crate::state::Words;
use std::ops::Range;

/// Cycles of a window: how far ahead of the oldest cycle of interest anything is known.
pub(crate) const WINDOW: u64 = 1 << 12;
pub(crate) const WORDS: usize = (WINDOW / 64) as usize;

/// So far ahead of a cycle of interest anything is told apart: the word behind does not overlap the first one.
pub(crate) const AHEAD: u64 = WINDOW - 192;

/// Bits of a word of 64 cycles from `from` up to, and without, `to`, which are at most a word apart.
#[inline(always)]
pub(crate) fn cycles_of(from: u64, to: u64) -> u64 {
    match to - from {
        64.. => u64::MAX,
        count => ((1 << count) - 1) << (from % 64),
    }
}

/// The word of a window that holds a cycle.
#[inline(always)]
pub(crate) fn word_of(cycle: u64) -> usize {
    (cycle / 64) as usize % WORDS
}

/// Several things that are so or not in each cycle: words of 64 cycles, and in each word a bitmap of each thing.
#[derive(Debug, Clone)]
pub(crate) struct CycleBits<const N: usize> {
    words: Box<[[u64; N]; WORDS]>,
    /// The cycle behind the last one that was set.
    end: u64,
}

impl<const N: usize> CycleBits<N> {
    pub(crate) fn new() -> Self {
        Self { words: Box::new([[0; N]; WORDS]), end: 0 }
    }

    /// The bitmaps of a word.
    #[inline(always)]
    pub(crate) fn word(&self, word: usize) -> &[u64; N] {
        &self.words[word % WORDS]
    }

    /// Sets a thing in one cycle.
    #[inline(always)]
    pub(crate) fn set(&mut self, thing: usize, cycle: u64) {
        self.words[word_of(cycle)][thing % N] |= 1 << (cycle % 64);
        self.end = self.end.max(cycle + 1);
    }

    /// Clears a thing in one cycle.
    #[inline(always)]
    pub(crate) fn clear_one(&mut self, thing: usize, cycle: u64) {
        self.words[word_of(cycle)][thing % N] &= !(1 << (cycle % 64));
    }

    /// Sets the first of some things in the cycles from `from` up to, and without, `to`.
    #[inline]
    pub(crate) fn set_all(&mut self, things: Range<usize>, from: u64, to: u64) {
        if from >= to {
            return;
        }
        self.end = self.end.max(to);
        let mut cycle = from;
        while cycle < to {
            let next = ((cycle | 63) + 1).min(to);
            let bits = cycles_of(cycle, next);
            if let Some(words) = self.words[word_of(cycle)].get_mut(things.clone()) {
                words.iter_mut().for_each(|word| *word |= bits);
            }
            cycle = next;
        }
    }

    /// From `from` on the first of so many cycles in a row, before `end` or from it on, in which a thing is not.
    pub(crate) fn gap(&self, thing: usize, from: u64, cycles: u64, end: u64) -> u64 {
        let (mut begin, mut cycle) = (from, from);
        while cycle < end && cycle - begin < cycles {
            let set = self.words[word_of(cycle)][thing % N] >> (cycle % 64);
            let clear = u64::from(set.trailing_zeros()).min(64 - cycle % 64);
            cycle += clear;
            if set != 0 && cycle - begin < cycles {
                cycle += u64::from((set >> clear).trailing_ones());
                begin = cycle;
            }
        }
        begin
    }

    /// Takes some cycles of a word out.
    #[inline(always)]
    pub(crate) fn take(&mut self, word: usize, cycles: u64) -> [u64; N] {
        let words = &mut self.words[word % WORDS];
        let taken = words.map(|word| word & cycles);
        *words = words.map(|word| word & !cycles);
        taken
    }

    /// Forgets everything; before the word of `from` there is nothing. Calls `each` with the words that may have had
    /// something.
    pub(crate) fn clear(&mut self, from: u64, mut each: impl FnMut(usize)) {
        self.end = self.end.max(from + 1);
        for word in self.words_from(from) {
            self.words[word] = [0; N];
            each(word);
        }
        self.end = 0;
    }

    /// The words from that of `now` on that may have something.
    pub(crate) fn words_from(&self, now: u64) -> impl Iterator<Item = usize> + use<N> {
        let words = (self.end.max(now).div_ceil(64) - now / 64) as usize;
        (0..words.min(WORDS)).map(move |n| (word_of(now) + n) % WORDS)
    }

    /// Appends the cycles from `now` on to a shape, before which there is nothing: how many, which things there are,
    /// and the words of each, which begin with `now`.
    pub(crate) fn save(&self, now: u64, shape: &mut Vec<u64>) {
        let cycles = self.end.saturating_sub(now);
        let words = cycles.div_ceil(64) as usize;
        let (first, shift) = (word_of(now), now % 64);
        let mut any = [0; N];
        for n in 0..=words {
            let row = &self.words[(first + n) % WORDS];
            any.iter_mut().zip(row).for_each(|(any, word)| *any |= word);
        }
        let things = any.iter().enumerate().fold(0, |things, (n, &any)| things | u64::from(any != 0) << n);
        shape.push(cycles << 32 | things);
        for_each_bit(things, |thing| {
            let word = |n: usize| self.words[(first + n) % WORDS][thing % N];
            let mut low = word(0) >> shift;
            shape.extend((1..=words).map(|n| {
                let next = word(n);
                let whole = low | (next << 1) << (63 - shift);
                low = next >> shift;
                whole
            }));
        });
    }

    /// Takes on what was saved, after [`clear`](Self::clear). Calls `each` with things, words, and the cycles that
    /// are set.
    pub(crate) fn restore(
        &mut self,
        now: u64,
        shape: &mut Words<'_>,
        mut each: impl FnMut(usize, usize, u64),
    ) {
        let header = shape.next();
        let cycles = header >> 32;
        self.end = if cycles == 0 { 0 } else { now + cycles };
        let (first, shift) = (word_of(now), now % 64);
        for_each_bit(header & 0xFFFF_FFFF, |thing| {
            for (n, &bits) in shape.take(cycles.div_ceil(64) as usize).iter().enumerate() {
                let parts = [bits << shift, bits >> 1 >> (63 - shift)];
                for (word, part) in (first + n..).zip(parts) {
                    self.words[word % WORDS][thing % N] |= part;
                    each(thing % N, word % WORDS, part);
                }
            }
        });
    }
}

/// The numbers of the bits that are set.
#[inline(always)]
pub(crate) fn for_each_bit(mut bits: u64, mut each: impl FnMut(usize)) {
    while bits != 0 {
        each(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_gap_is_the_first_one_that_is_long_enough(
            start in 3900_u64..4200,
            stretches in prop::collection::vec((0_u64..90, 1_u64..=90), 0..6),
            cycles in 1_u64..=80,
        ) {
            let mut bits = CycleBits::<1>::new();
            let mut end = start;
            for (clear, set) in stretches {
                bits.set_all(0..1, end + clear, end + clear + set);
                end += clear + set;
            }
            let is_clear = |cycle: u64| bits.word(word_of(cycle))[0] >> (cycle % 64) & 1 == 0;
            let naive = (start..).find(|&from| (from..from + cycles).all(is_clear));
            prop_assert_eq!(Some(bits.gap(0, start, cycles, end)), naive);
        }
    }
}
