//! The schedulers: uops between allocation and execution.

use crate::memo::{Shaped, Words};
use crate::ring::{WINDOW, WORDS, word_of};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cycles from now on of which the uops that leave are known one by one: those of a window but for the word that now is
/// in, so that each word stands for one time.
const KNOWN: u64 = WINDOW - 64;

/// How many uops leave the schedulers in which cycle.
#[derive(Debug, Clone)]
pub(crate) struct Scheduler {
    /// Uops that leave in each cycle of a window that starts at `now`, by words of 64 cycles.
    leaving: Box<[[u16; 64]; WORDS]>,
    /// Words of it with any.
    occupied: u64,
    /// What leaves after the window.
    far: BinaryHeap<Reverse<(u64, u16)>>,
    /// Everything before this cycle has left.
    now: u64,
    waiting: u32,
}

impl Scheduler {
    pub(crate) fn new(entries: u32) -> Self {
        Self {
            leaving: Box::new([[0; 64]; WORDS]),
            occupied: 0,
            far: BinaryHeap::with_capacity(entries as usize + 1),
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

    #[inline(never)]
    fn enter_far(&mut self, uops: u16, leave: u64) {
        if leave >= self.now && uops > 0 {
            self.waiting += u32::from(uops);
            self.far.push(Reverse((leave, uops)));
        }
    }

    #[inline(always)]
    fn place(&mut self, uops: u16, leave: u64) {
        let word = word_of(leave);
        self.leaving[word][(leave % 64) as usize] += uops;
        self.occupied |= 1 << word;
    }

    /// Uops that leave before `cycle` have left.
    #[inline]
    pub(crate) fn advance(&mut self, cycle: u64) {
        if self.now < cycle {
            self.advance_to(cycle);
        }
    }

    fn advance_to(&mut self, cycle: u64) {
        if self.waiting == 0 {
            self.now = cycle;
            return;
        }
        let end = cycle.min(self.now + KNOWN);
        while self.now < end {
            let (word, first) = (word_of(self.now), (self.now % 64) as usize);
            let next = ((self.now | 63) + 1).min(end);
            if self.occupied >> word & 1 == 1 {
                let leaving = &mut self.leaving[word][first..];
                let count = leaving.len().min((next - self.now) as usize);
                self.waiting -= leaving[..count].iter().map(|&uops| u32::from(uops)).sum::<u32>();
                leaving[..count].fill(0);
                if count == leaving.len() {
                    self.occupied &= !(1 << word);
                }
            }
            self.now = next;
        }
        self.now = cycle;
        while let Some(&Reverse((leave, uops))) = self.far.peek() {
            if leave >= self.now + KNOWN {
                break;
            }
            self.far.pop();
            if leave < self.now {
                self.waiting -= u32::from(uops);
            } else {
                self.place(uops, leave);
            }
        }
    }

    /// The first cycle after which uops will have left; `None` if nothing waits.
    pub(crate) fn next_departure(&self) -> Option<u64> {
        let mut cycle = self.now;
        while cycle < self.now + KNOWN {
            let word = word_of(cycle);
            if self.occupied >> word & 1 == 1 {
                let leaving = &self.leaving[word][(cycle % 64) as usize..];
                if let Some(later) = leaving.iter().position(|&uops| uops > 0) {
                    return Some(cycle + later as u64 + 1);
                }
            }
            cycle = (cycle | 63) + 1;
        }
        self.far.peek().map(|Reverse((leave, _))| leave + 1)
    }
}

impl Shaped for Scheduler {
    /// Everything before `now` has left.
    fn save(&self, now: u64, shape: &mut Vec<u64>) -> Option<()> {
        let start = shape.len();
        shape.push(0);
        let mut left = self.waiting;
        let mut cycle = now;
        while left > 0 && cycle < now + KNOWN {
            let word = word_of(cycle);
            if self.occupied >> word & 1 == 1 {
                let first = (cycle % 64) as usize;
                for (n, &uops) in self.leaving[word][first..].iter().enumerate() {
                    if uops > 0 {
                        shape.push((cycle + n as u64 - now) << 16 | u64::from(uops));
                        left = left.saturating_sub(uops.into());
                    }
                }
            }
            cycle = (cycle | 63) + 1;
        }
        shape[start] = (shape.len() - start - 1) as u64;
        // What leaves far away has no shape.
        (left == 0).then_some(())
    }

    fn restore(&mut self, now: u64, shape: &mut Words<'_>) {
        for word in 0..WORDS {
            if self.occupied >> word & 1 == 1 {
                self.leaving[word].fill(0);
            }
        }
        self.far.clear();
        (self.occupied, self.now, self.waiting) = (0, now, 0);
        let count = shape.next() as usize;
        for &leaves in shape.take(count) {
            self.enter(leaves as u16, now + (leaves >> 16));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uops_leave_in_their_cycle_near_and_far() {
        let mut scheduler = Scheduler::new(8);
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
}
