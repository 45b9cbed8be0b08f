//! The schedulers: uops between allocation and execution.

use super::far::Far;
use crate::state::cycle_bits::{CycleBits, WINDOW, WORDS, cycles_of, for_each_bit, word_of};
use crate::state::packed::{Packer, Unpacker};
use crate::state::{Shaped, Words};

/// Cycles from now on of which the uops that leave are known one by one: those of a window but for the word that now
/// is in, so that each word stands for one time.
const KNOWN: u64 = WINDOW - 64;
/// Bits of the uops that leave in a cycle, in a shape, and the number that says that there are more.
const FEW: u32 = 4;
const MORE: u64 = 15;

/// How many uops leave the schedulers in which cycle.
#[derive(Debug, Clone)]
pub(crate) struct Scheduler {
    /// Uops that leave in each cycle of a window that starts at `now`, by words of 64 cycles.
    leaving: Box<[[u16; 64]; WORDS]>,
    /// Cycles in which any leave.
    any: CycleBits<1>,
    /// What leaves after the window.
    far: Far<u16>,
    /// Everything before this cycle has left.
    now: u64,
    waiting: u32,
}

impl Scheduler {
    pub(crate) fn new() -> Self {
        Self {
            leaving: Box::new([[0; 64]; WORDS]),
            any: CycleBits::new(),
            far: Far::new(),
            now: 0,
            waiting: 0,
        }
    }

    /// Uops that have not left.
    #[inline(always)]
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Adds uops that leave at a cycle; at once if that has passed.
    #[inline(always)]
    pub(crate) fn enter(&mut self, uops: u16, leave: u64) {
        // Earlier than now is too far away as well.
        if leave.wrapping_sub(self.now) >= KNOWN {
            return self.enter_far(uops, leave);
        }
        self.waiting += u32::from(uops);
        self.place(uops, leave);
    }

    /// A uop that was to leave at a cycle, and entered alone, leaves no more; false if it has left.
    pub(crate) fn withdraw(&mut self, leave: u64) -> bool {
        // Whether it is far away depends on when this was looked at, and decides nothing.
        if self.far.take_at(leave).is_some() {
            self.waiting -= 1;
            return true;
        }
        let leaving = &mut self.leaving[word_of(leave)][(leave % 64) as usize];
        if leave.wrapping_sub(self.now) >= KNOWN || *leaving == 0 {
            return false;
        }
        *leaving -= 1;
        self.waiting -= 1;
        if *leaving == 0 {
            self.any.clear_one(0, leave);
        }
        true
    }

    #[inline(never)]
    fn enter_far(&mut self, uops: u16, leave: u64) {
        if leave >= self.now && uops > 0 {
            self.waiting += u32::from(uops);
            self.far.add(leave, uops);
        }
    }

    #[inline(always)]
    fn place(&mut self, uops: u16, leave: u64) {
        self.leaving[word_of(leave)][(leave % 64) as usize] += uops;
        self.any.set(0, leave);
    }

    /// Uops that leave before `cycle` have left.
    #[inline]
    pub(crate) fn advance(&mut self, cycle: u64) {
        if self.now < cycle {
            self.advance_to(cycle);
        }
    }

    fn advance_to(&mut self, cycle: u64) {
        let end = cycle.min(self.now + KNOWN);
        while self.waiting > 0 && self.now < end {
            let next = ((self.now | 63) + 1).min(end);
            let word = word_of(self.now);
            let [cycles] = self.any.take(word, cycles_of(self.now, next));
            let leaving = &mut self.leaving[word];
            for_each_bit(cycles, |cycle| self.waiting -= u32::from(std::mem::take(&mut leaving[cycle])));
            self.now = next;
        }
        self.now = cycle;
        self.come_near();
    }

    /// What leaves within the window from now on has its place there.
    fn come_near(&mut self) {
        while let Some((leave, uops)) = self.far.take_before(self.now + KNOWN) {
            if leave < self.now {
                self.waiting -= u32::from(uops);
            } else {
                self.place(uops, leave);
            }
        }
    }

    /// Goes on to the first cycle in which no more than so many uops are left; the cycle.
    pub(crate) fn advance_until(&mut self, most: u32) -> u64 {
        while self.waiting > most {
            let (word, first) = (word_of(self.now), self.now & !63);
            let mut cycles = self.any.word(word)[0] & cycles_of(self.now, first + 64);
            if cycles == 0 {
                let Some(next) = self.next_departure() else { break };
                self.advance_to(next - 1);
                continue;
            }
            let all = cycles;
            while cycles != 0 && self.waiting > most {
                let cycle = cycles.trailing_zeros();
                cycles &= cycles - 1;
                self.waiting -= u32::from(std::mem::take(&mut self.leaving[word][cycle as usize]));
                self.now = first + u64::from(cycle) + 1;
            }
            self.any.take(word, all & !cycles);
            self.come_near();
        }
        self.now
    }

    /// The first cycle after which uops will have left; `None` if nothing waits.
    fn next_departure(&self) -> Option<u64> {
        let mut cycle = self.now;
        while cycle < self.now + KNOWN {
            let later = self.any.word(word_of(cycle))[0] >> (cycle % 64);
            if later != 0 {
                return Some(cycle + u64::from(later.trailing_zeros()) + 1);
            }
            cycle = (cycle | 63) + 1;
        }
        self.far.first().map(|leave| leave + 1)
    }
}

impl Shaped for Scheduler {
    /// Everything before `now` has left.
    fn save(&self, now: u64, shape: &mut Vec<u64>) -> Option<()> {
        // What leaves far away has no shape.
        if !self.far.is_empty() {
            return None;
        }
        self.any.save(now, shape);
        let mut packer = Packer::new(shape);
        for word in self.any.words_from(now) {
            for_each_bit(self.any.word(word)[0], |cycle| {
                let uops = u64::from(self.leaving[word][cycle]);
                if uops < MORE {
                    packer.put(uops, FEW);
                } else {
                    packer.put(MORE, FEW);
                    packer.put(uops, u16::BITS);
                }
            });
        }
        packer.finish();
        Some(())
    }

    fn restore(&mut self, now: u64, shape: &mut Words<'_>) {
        let Self { leaving, any, .. } = self;
        any.clear(self.now, |word| leaving[word] = [0; 64]);
        self.far.clear();
        (self.now, self.waiting) = (now, 0);
        any.restore(now, shape, |_, _, _| {});
        let mut unpacker = Unpacker::new(shape);
        for word in any.words_from(now) {
            for_each_bit(any.word(word)[0], |cycle| {
                let uops = match unpacker.get(FEW) {
                    MORE => unpacker.get(u16::BITS),
                    uops => uops,
                };
                leaving[word][cycle] = uops as u16;
                self.waiting += uops as u32;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uops_leave_in_their_cycle_near_and_far() {
        let mut scheduler = Scheduler::new();
        scheduler.enter(2, 10);
        scheduler.enter(1, 100_000);
        assert_eq!(scheduler.next_departure(), Some(11));
        scheduler.advance(10);
        assert_eq!(scheduler.waiting(), 3);
        scheduler.advance(11);
        assert_eq!(scheduler.waiting(), 1);
        assert_eq!(scheduler.next_departure(), Some(100_001));
        scheduler.advance(100_000);
        assert_eq!(scheduler.waiting(), 1);
        scheduler.advance(100_001);
        assert_eq!((scheduler.waiting(), scheduler.next_departure()), (0, None));
    }

    #[test]
    fn a_uop_is_withdrawn_whether_or_not_its_time_has_come_near() {
        for seen in [0, 30_000] {
            let mut scheduler = Scheduler::new();
            scheduler.enter(1, 30_100);
            scheduler.advance(seen);
            assert!(!scheduler.withdraw(30_099) && scheduler.withdraw(30_100), "{seen}");
            assert_eq!((scheduler.waiting(), scheduler.withdraw(30_100)), (0, false), "{seen}");
        }
    }

    #[test]
    fn room_is_where_enough_have_left() {
        let mut scheduler = Scheduler::new();
        for leave in [70, 10, 63, 10, 64, 9000] {
            scheduler.enter(2, leave);
        }
        assert_eq!((scheduler.advance_until(12), scheduler.waiting()), (0, 12));
        assert_eq!((scheduler.advance_until(11), scheduler.waiting()), (11, 8));
        assert_eq!((scheduler.advance_until(4), scheduler.waiting()), (65, 4));
        assert_eq!((scheduler.advance_until(0), scheduler.waiting()), (9001, 0));
    }
}
