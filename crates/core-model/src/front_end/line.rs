//! A line of code that comes from a uop cache whose lines have room for few instructions: Zen 5's, measured
//! (docs/silicon.md).

use crate::memory::Room;

/// Instructions of a line, or its constants if they are more, that come in its first cycle, and of which two cycles
/// more each make so many more if a branch is taken behind them.
const PAIR: u32 = 12;
/// They are counted so far.
const MOST: u32 = 64;

/// Cycles behind which the next line can follow one with so many.
const fn cycles(count: u32) -> u64 {
    match count {
        0..=13 => 1,
        14..=16 => 2,
        17..=24 => 3,
        25..=26 => 4,
        27..=36 => 5,
        _ => 7,
    }
}

/// The line of code that is read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Line {
    /// Its instructions and their constants so far.
    had: [u32; 2],
    /// The cycle in which it began.
    begun: u64,
    /// It shares that cycle with the line before.
    pub(super) shares: bool,
    /// What the line of the uop cache has room for yet.
    pub(super) room: Room,
}

impl Line {
    /// Instructions, or constants if they are more.
    fn count(&self) -> u32 {
        self.had[0].max(self.had[1])
    }

    /// They are read; the first cycle in which they can come.
    #[inline]
    pub(super) fn read(&mut self, more: [u32; 2]) -> u64 {
        self.had = [0, 1].map(|n| (self.had[n] + more[n]).min(MOST));
        self.begun + cycles(self.count()) - 1
    }

    /// Another line of code is read from a cycle on, or later: in what is left of the cycle if a branch was taken in
    /// it, else one a cycle. The cycle.
    pub(super) fn begin(&mut self, cycle: u64, used: bool, taken: bool) -> u64 {
        let follows = if taken { cycle } else { self.begun + cycles(self.count()) };
        self.shares = used && !taken && follows <= cycle;
        self.begun = follows.max(cycle);
        self.had = [0; 2];
        self.begun
    }

    /// The last cycle of the line if a branch is taken behind it.
    pub(super) fn end(&self) -> u64 {
        self.begun + u64::from(2 * (self.count().max(1) - 1).div_euclid(PAIR))
    }

    /// All of it in a word; `None` if it began in a cycle too far ahead.
    pub(super) fn save(&self, cycle: u64) -> Option<u64> {
        // How long ago the line began matters no more once all of it could have come.
        let since = cycle.saturating_sub(self.begun).min(cycles(MOST));
        let late = u64::from(u8::try_from(self.begun.saturating_sub(cycle)).ok()?);
        let [instructions, constants] = self.had.map(u64::from);
        let [left, room] = self.room.0.map(u64::from);
        Some(
            since
                | late << 8
                | instructions << 16
                | constants << 24
                | left << 32
                | room << 40
                | u64::from(self.shares) << 48,
        )
    }

    pub(super) fn restore(&mut self, cycle: u64, word: u64) {
        let byte = |n: u32| word >> (8 * n) & 0xFF;
        self.begun = (cycle + byte(1)).saturating_sub(byte(0));
        self.had = [byte(2) as u32, byte(3) as u32];
        self.room = Room([byte(4) as u32, byte(5) as u32]);
        self.shares = byte(6) == 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cycles of many lines one behind the other, each of so many instructions of one uop, at eight a cycle.
    fn one_behind_the_other(instructions: u32) -> f64 {
        const LINES: u32 = 64;
        let mut line = Line::default();
        let (mut cycle, mut used) = (0, 0);
        for _ in 0..LINES {
            let begins = line.begin(cycle, used > 0, false);
            if begins > cycle {
                (cycle, used) = (begins, 0);
            }
            for _ in 0..instructions {
                let comes = line.read([1, 0]);
                if comes > cycle || used == 8 {
                    (cycle, used) = (comes.max(cycle + u64::from(used == 8)), 0);
                }
                used += 1;
            }
        }
        (cycle + 1) as f64 / f64::from(LINES)
    }

    /// Measured in loops: see docs/silicon.md.
    #[test]
    fn lines_come_in_the_cycles_that_were_measured() {
        for (instructions, measured) in
            [(4, 1.0), (8, 1.0), (12, 1.5), (13, 1.63), (16, 2.3), (20, 3.0), (30, 5.2)]
        {
            let cycles = one_behind_the_other(instructions);
            assert!((cycles - measured).abs() < 0.35, "{instructions}: {cycles}");
        }
    }

    #[test]
    fn a_taken_branch_ends_a_line_behind_an_odd_number_of_cycles() {
        for (instructions, cycles) in [(6, 1), (12, 1), (13, 3), (24, 3), (25, 5), (36, 5), (37, 7), (48, 7)]
        {
            let mut line = Line::default();
            line.begin(10, false, true);
            (0..instructions).for_each(|_| _ = line.read([1, 0]));
            assert_eq!(line.end(), 10 + cycles - 1, "{instructions}");
        }
    }

    #[test]
    fn constants_take_room_as_instructions_do() {
        let mut line = Line::default();
        line.room.open(6);
        for _ in 0..3 {
            assert!(!line.room.is_full([1, 2]));
            line.room.fill([1, 2]);
        }
        assert!(line.room.is_full([1, 1]) && !line.room.is_full([1, 0]));
    }
}
