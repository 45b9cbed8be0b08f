//! Lines of code that come from a uop cache whose entries have room for few instructions: Zen 5's, measured
//! (docs/silicon.md).

use crate::memory::Room;

/// Entries that are read in a cycle (guide to Zen 5: two of six instructions).
pub(super) const ENTRIES: u32 = 2;
/// Of those that begin in a line of code so many more each are read this long behind the ones before.
const NEXT_ENTRIES: u64 = 2;
/// They are counted so far.
const MOST: u32 = 64;

/// Cycles between the first entry that begins in a line and one with this number.
const fn cycles_before(entry: u32) -> u64 {
    NEXT_ENTRIES * (entry / ENTRIES) as u64
}

/// The line of code that is read, and the entry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Line {
    /// Entries that have begun in it.
    entries: u32,
    /// The cycle in which its first entry can be read.
    begun: u64,
    /// What the entry has room for yet.
    pub(super) room: Room,
}

impl Line {
    /// An entry begins in it; the first cycle in which its uops can come.
    #[inline]
    pub(super) fn enter(&mut self) -> u64 {
        let comes = self.begun + cycles_before(self.entries);
        self.entries = (self.entries + 1).min(MOST);
        comes
    }

    /// Another line of code is read from a cycle on, or later: in what is left of the cycle if a branch was taken in
    /// it, else one a cycle.
    pub(super) fn begin(&mut self, cycle: u64, taken: bool) {
        self.begun = if taken { cycle } else { cycle.max(self.last() + 1) };
        self.entries = 0;
    }

    fn last(&self) -> u64 {
        self.begun + cycles_before(self.entries.saturating_sub(1))
    }

    /// The cycle in which the newest entry comes, which has begun in the line before if none has in this one.
    pub(super) fn end(&self) -> u64 {
        self.last() - u64::from(self.entries == 0 && self.begun > 0)
    }

    /// All of it in a word; `None` if it began in a cycle too far ahead.
    pub(super) fn save(&self, cycle: u64) -> Option<u64> {
        // How long ago the line began matters no more once all of it could have come.
        let since = cycle.saturating_sub(self.begun).min(cycles_before(MOST));
        let late = u64::from(u8::try_from(self.begun.saturating_sub(cycle)).ok()?);
        let [left, room] = self.room.0.map(u64::from);
        Some(since | late << 8 | u64::from(self.entries) << 16 | left << 32 | room << 40)
    }

    pub(super) fn restore(&mut self, cycle: u64, word: u64) {
        let byte = |n: u32| word >> (8 * n) & 0xFF;
        self.begun = (cycle + byte(1)).saturating_sub(byte(0));
        self.entries = byte(2) as u32;
        self.room = Room([byte(4) as u32, byte(5) as u32]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: u32 = 6;

    /// So many lines with so many instructions each, of which entries hold six: the last one, and the cycle of its
    /// last instruction.
    fn read(lines: u32, instructions: u32) -> (Line, u64) {
        let mut line = Line::default();
        let mut cycle = 10;
        for number in 0..lines {
            line.begin(cycle, number == 0);
            for _ in 0..instructions {
                if line.room.is_full([1, 0]) {
                    line.room.open(ROOM);
                    cycle = cycle.max(line.enter());
                }
                line.room.fill([1, 0]);
            }
        }
        (line, cycle - 10)
    }

    /// Measured, beside a line of two instructions: cycles of one line, of two, and so on.
    #[test]
    fn lines_come_in_the_cycles_that_were_measured() {
        let measured = [
            (13, [4, 5, 6, 7]),
            (14, [4, 5, 6, 9]),
            (15, [4, 5, 8, 9]),
            (16, [4, 7, 8, 11]),
            (17, [4, 7, 10, 13]),
            (18, [4, 7, 10, 13]),
            (24, [4, 7, 10, 13]),
        ];
        for (instructions, cycles) in measured {
            // Where the other line begins an entry of its own, which is what its cycle is.
            for (lines, cycles) in (1..).zip(cycles) {
                assert_eq!(read(lines, instructions).1 + 2, cycles, "{lines} lines of {instructions}");
            }
        }
    }

    /// Measured in loops of many lines, of whose instructions eight are dispatched in a cycle.
    #[test]
    fn many_lines_come_at_the_pace_that_was_measured() {
        const LINES: u32 = 64;
        for (instructions, measured) in
            [(4, 1.0), (8, 1.0), (12, 1.5), (13, 1.63), (16, 2.3), (20, 3.0), (30, 5.2)]
        {
            let cycles = (read(LINES, instructions).1 + 1) as f64 / f64::from(LINES);
            let cycles = cycles.max(f64::from(instructions) / 8.0);
            assert!((cycles - measured).abs() < 0.35, "{instructions}: {cycles}");
        }
    }

    #[test]
    fn a_taken_branch_ends_a_line_behind_an_odd_number_of_cycles() {
        for (instructions, cycles) in [(6, 1), (12, 1), (13, 3), (24, 3), (25, 5), (36, 5), (37, 7), (48, 7)]
        {
            assert_eq!(read(1, instructions).0.end(), 10 + cycles - 1, "{instructions}");
        }
    }

    #[test]
    fn a_line_in_which_no_entry_begins_ends_with_the_one_before() {
        let (mut line, cycle) = read(1, 4);
        line.begin(10 + cycle, false);
        assert_eq!(line.end(), 10 + cycle);
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
