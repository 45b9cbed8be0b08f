//! Numbers of few bits, one behind the other in words.

use crate::state::Words;

/// Bits of the steps of [`Packer::falling`], and the steps that mean something else: the end, and that the step
/// follows.
const STEP: u32 = 4;
const END: u64 = 14;
const FAR: u64 = 15;
/// Bits of a number of cycles.
pub(crate) const CYCLES: u32 = 16;

/// Appends numbers to a shape.
#[derive(Debug)]
pub(crate) struct Packer<'a> {
    shape: &'a mut Vec<u64>,
    word: u64,
    used: u32,
}

impl<'a> Packer<'a> {
    pub(crate) fn new(shape: &'a mut Vec<u64>) -> Self {
        Self { shape, word: 0, used: 0 }
    }

    /// Appends a number that has no more than so many bits, 1 to 63.
    #[inline(always)]
    pub(crate) fn put(&mut self, number: u64, bits: u32) {
        self.word |= number << self.used;
        self.used += bits;
        if self.used >= 64 {
            self.shape.push(self.word);
            self.used -= 64;
            self.word = number >> (bits - self.used);
        }
    }

    /// Appends a number if it has no more than so many bits.
    #[inline(always)]
    pub(crate) fn try_put(&mut self, number: u64, bits: u32) -> Option<()> {
        if number >> bits != 0 {
            return None;
        }
        self.put(number, bits);
        Some(())
    }

    /// Appends numbers, none of which is 0 or greater than the one before.
    #[inline(always)]
    pub(crate) fn falling(&mut self, mut numbers: impl Iterator<Item = u64>) -> Option<()> {
        let mut last = numbers.next().unwrap_or(0);
        self.try_put(last, CYCLES)?;
        if last == 0 {
            return Some(());
        }
        for number in numbers {
            let step = last.wrapping_sub(number);
            last = number;
            if step < END {
                self.put(step, STEP);
            } else {
                self.put(FAR, STEP);
                self.try_put(step, CYCLES)?;
            }
        }
        self.put(END, STEP);
        Some(())
    }

    /// Goes on with a new word.
    pub(crate) fn finish(self) {
        if self.used > 0 {
            self.shape.push(self.word);
        }
    }
}

/// Reads what a [`Packer`] has written.
#[derive(Debug)]
pub(crate) struct Unpacker<'a, 'b> {
    words: &'a mut Words<'b>,
    word: u64,
    left: u32,
}

impl<'a, 'b> Unpacker<'a, 'b> {
    pub(crate) fn new(words: &'a mut Words<'b>) -> Self {
        Self { words, word: 0, left: 0 }
    }

    /// The next number, which has so many bits, 1 to 63.
    #[inline(always)]
    pub(crate) fn get(&mut self, bits: u32) -> u64 {
        let mut number = self.word;
        if self.left < bits {
            let word = self.words.next();
            number |= word << self.left;
            self.word = word >> 1 >> (bits - self.left - 1);
            self.left += 64 - bits;
        } else {
            self.word >>= bits;
            self.left -= bits;
        }
        number & ((1 << bits) - 1)
    }

    /// What [`Packer::falling`] has written.
    #[inline(always)]
    pub(crate) fn falling(&mut self, mut each: impl FnMut(u64)) {
        let mut number = self.get(CYCLES);
        if number == 0 {
            return;
        }
        loop {
            each(number);
            let step = match self.get(STEP) {
                END => return,
                FAR => self.get(CYCLES),
                step => step,
            };
            number = number.wrapping_sub(step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_comes_back() {
        let numbers: Vec<(u64, u32)> = (1..=63)
            .chain([1, 1, 62, 2, 63, 1])
            .map(|bits| ((1 << bits) - 1 - u64::from(bits == 7), bits))
            .collect();
        let runs: [&[u64]; 4] = [&[], &[1], &[60_000, 60_000, 59_987, 59_973, 59_958, 1], &[3; 100]];
        let mut shape = Vec::new();
        let mut packer = Packer::new(&mut shape);
        for &(number, bits) in &numbers {
            assert_eq!(packer.try_put(number, bits), Some(()));
        }
        for run in runs {
            assert_eq!(packer.falling(run.iter().copied()), Some(()));
        }
        packer.finish();
        let mut words = Words::new(&shape);
        let mut unpacker = Unpacker::new(&mut words);
        for &(number, bits) in &numbers {
            assert_eq!(unpacker.get(bits), number);
        }
        for run in runs {
            let mut back = Vec::new();
            unpacker.falling(|number| back.push(number));
            assert_eq!(back, run);
        }
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let mut shape = Vec::new();
        let mut packer = Packer::new(&mut shape);
        assert_eq!(packer.try_put(8, 3), None);
        assert_eq!(packer.falling([1 << 16].into_iter()), None);
    }
}
