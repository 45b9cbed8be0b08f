//! One bit per cycle for a window of cycles.

use crate::memo::Words;

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

/// Cycles in which something is so.
#[derive(Debug, Clone)]
pub(crate) struct CycleBits {
    words: Box<[u64; WORDS]>,
    /// None of these cycles is later.
    end: u64,
}

impl CycleBits {
    pub(crate) fn new() -> Self {
        Self { words: Box::new([0; WORDS]), end: 0 }
    }

    /// Sets the cycles from `from` up to, and without, `to`, as far as they lie between `base` and `end`.
    #[inline]
    pub(crate) fn set(&mut self, base: u64, end: u64, from: u64, to: u64) {
        let mut cycle = from.max(base);
        let end = to.min(end);
        self.end = self.end.max(end);
        while cycle < end {
            let next = ((cycle | 63) + 1).min(end);
            self.words[word_of(cycle)] |= cycles_of(cycle, next);
            cycle = next;
        }
    }

    /// Appends the cycles from `now` on to a shape, by words of 64 cycles that begin with `now`.
    pub(crate) fn save(&self, now: u64, shape: &mut Vec<u64>) {
        save_cycles(now, self.end, shape, |word| self.words[word]);
    }

    pub(crate) fn restore(&mut self, now: u64, shape: &mut Words<'_>) {
        self.words.fill(0);
        self.end = restore_cycles(now, shape, |word, bits| self.words[word] |= bits);
    }

    /// Takes some cycles of a word out.
    #[inline]
    pub(crate) fn take(&mut self, word: usize, cycles: u64) -> u64 {
        let taken = self.words[word] & cycles;
        self.words[word] &= !cycles;
        taken
    }
}

/// Appends cycles of a window to a shape, as many words as have any, after their number.
pub(crate) fn save_cycles(now: u64, end: u64, shape: &mut Vec<u64>, bits: impl Fn(usize) -> u64) {
    let start = shape.len();
    shape.push(0);
    let shift = now % 64;
    let words = end.saturating_sub(now).div_ceil(64) as usize;
    let mut low = bits(word_of(now)) >> shift;
    for n in 1..=words {
        let next = bits((word_of(now) + n) % WORDS);
        shape.push(low | (next << 1) << (63 - shift));
        low = next >> shift;
    }
    let used = shape[start + 1..].iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
    shape.truncate(start + 1 + used);
    shape[start] = used as u64;
}

/// What [`save_cycles`] has saved; none of the cycles is later than the returned one.
pub(crate) fn restore_cycles(now: u64, shape: &mut Words<'_>, mut add: impl FnMut(usize, u64)) -> u64 {
    let count = shape.next() as usize;
    let shift = now % 64;
    for (n, &bits) in shape.take(count).iter().enumerate() {
        let word = (word_of(now) + n) % WORDS;
        add(word, bits << shift);
        add((word + 1) % WORDS, bits >> 1 >> (63 - shift));
    }
    now + 64 * count as u64
}
