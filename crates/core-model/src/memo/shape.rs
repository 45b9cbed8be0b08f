//! The state of a pipeline as words, the same for states that go on in the same way.
//!
//! All cycles count from that of allocation, and what is over leaves no trace.

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

/// Appends values of 16 bits, four to a word, after their number.
pub(crate) fn save_short(values: impl IntoIterator<Item = u64>, shape: &mut Vec<u64>) -> Option<()> {
    let start = shape.len();
    shape.push(0);
    let (mut count, mut word) = (0_u64, 0);
    for value in values {
        word |= u64::from(u16::try_from(value).ok()?) << (count % 4 * 16);
        count += 1;
        if count % 4 == 0 {
            shape.push(word);
            word = 0;
        }
    }
    if count % 4 != 0 {
        shape.push(word);
    }
    shape[start] = count;
    Some(())
}

/// The values that [`save_short`] has saved.
pub(crate) fn restore_short<'a>(shape: &mut Words<'a>) -> impl Iterator<Item = u64> + use<'a> {
    let count = shape.next() as usize;
    let words = shape.take(count.div_ceil(4));
    (0..count).map(|n| words.get(n / 4).map_or(0, |word| word >> (n % 4 * 16) & 0xFFFF))
}
