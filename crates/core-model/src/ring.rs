//! One bit per cycle for a window of cycles.

/// Cycles of a window: how far ahead of the oldest cycle of interest anything is known.
pub(crate) const WINDOW: u64 = 1 << 12;
pub(crate) const WORDS: usize = (WINDOW / 64) as usize;

/// The word of a window that holds a cycle.
#[inline(always)]
pub(crate) fn word_of(cycle: u64) -> usize {
    (cycle / 64) as usize % WORDS
}

/// Cycles in which something is so.
#[derive(Debug, Clone)]
pub(crate) struct CycleBits(Box<[u64; WORDS]>);

impl CycleBits {
    pub(crate) fn new() -> Self {
        Self(Box::new([0; WORDS]))
    }

    /// Sets the cycles from `from` up to, and without, `to`, as far as they lie in the window that starts at `base`.
    #[inline]
    pub(crate) fn set(&mut self, base: u64, from: u64, to: u64) {
        let mut cycle = from.max(base);
        let end = to.min(base + WINDOW);
        while cycle < end {
            let next = (cycle | 63) + 1;
            let count = next.min(end) - cycle;
            let bits = if count == 64 { u64::MAX } else { ((1 << count) - 1) << (cycle % 64) };
            self.0[word_of(cycle)] |= bits;
            cycle = next;
        }
    }

    /// Takes the word of 64 cycles out.
    #[inline]
    pub(crate) fn take(&mut self, word: usize) -> u64 {
        std::mem::take(&mut self.0[word])
    }
}
