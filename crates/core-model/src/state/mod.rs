//! The state of a pipeline as words, the same for states that go on in the same way.
//!
//! All cycles count from that of allocation, and what is over leaves no trace.

pub(crate) mod cycle_bits;
pub(crate) mod packed;

/// Something that has a place in a shape.
pub(crate) trait Shaped {
    /// Appends the state at cycle `now`; `None` if it is too unusual to have a shape.
    fn save(&self, now: u64, shape: &mut Vec<u64>) -> Option<()>;

    /// Takes on a state that was saved, at cycle `now`.
    fn restore(&mut self, now: u64, shape: &mut Words<'_>);
}

/// Reads a shape.
#[derive(Debug)]
pub(crate) struct Words<'a>(&'a [u64]);

impl<'a> Words<'a> {
    pub(crate) fn new(words: &'a [u64]) -> Self {
        Self(words)
    }

    /// The next word; 0 behind the end.
    pub(crate) fn next(&mut self) -> u64 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// The next words.
    pub(crate) fn take(&mut self, count: usize) -> &'a [u64] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
