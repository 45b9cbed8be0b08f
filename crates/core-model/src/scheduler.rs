//! The schedulers: uops between allocation and execution.

use crate::ring::{WINDOW, WORDS, word_of};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many uops leave the schedulers in which cycle.
#[derive(Debug, Clone)]
pub(crate) struct Scheduler {
    /// Uops that leave in each cycle of a window that starts at `now`.
    leaving: Box<[u16; WINDOW as usize]>,
    /// Cycles of it with any.
    occupied: Box<[u64; WORDS]>,
    /// What leaves after the window.
    far: BinaryHeap<Reverse<(u64, u16)>>,
    /// Everything before this cycle has left.
    now: u64,
    waiting: u32,
}

impl Scheduler {
    pub(crate) fn new(entries: u32) -> Self {
        Self {
            leaving: Box::new([0; WINDOW as usize]),
            occupied: Box::new([0; WORDS]),
            far: BinaryHeap::with_capacity(entries as usize + 1),
            now: 0,
            waiting: 0,
        }
    }

    /// Uops that have not left.
    #[inline]
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Adds uops that leave at a cycle; at once if that has passed.
    #[inline]
    pub(crate) fn enter(&mut self, uops: u16, leave: u64) {
        if leave < self.now || uops == 0 {
            return;
        }
        self.waiting += u32::from(uops);
        if leave >= self.now + WINDOW {
            self.far.push(Reverse((leave, uops)));
        } else {
            self.place(uops, leave);
        }
    }

    #[inline]
    fn place(&mut self, uops: u16, leave: u64) {
        self.leaving[(leave % WINDOW) as usize] += uops;
        self.occupied[word_of(leave)] |= 1 << (leave % 64);
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
        while self.now < cycle {
            let word = word_of(self.now);
            let rest = self.occupied[word] >> (self.now % 64);
            let left_in_word = 64 - self.now % 64;
            let next = if rest == 0 { left_in_word } else { u64::from(rest.trailing_zeros()) };
            if self.now + next >= cycle || rest == 0 {
                self.now = (self.now + next).min(cycle);
                continue;
            }
            let leave = self.now + next;
            self.waiting -= u32::from(std::mem::take(&mut self.leaving[(leave % WINDOW) as usize]));
            self.occupied[word] &= !(1 << (leave % 64));
            self.now = leave + 1;
        }
        while let Some(&Reverse((leave, uops))) = self.far.peek() {
            if leave >= self.now + WINDOW {
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
        while cycle < self.now + WINDOW {
            let rest = self.occupied[word_of(cycle)] >> (cycle % 64);
            if rest != 0 {
                return Some(cycle + u64::from(rest.trailing_zeros()) + 1);
            }
            cycle = (cycle | 63) + 1;
        }
        self.far.peek().map(|Reverse((leave, _))| leave + 1)
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
