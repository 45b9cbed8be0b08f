//! Units that uops take in turn when they are allocated, each with a scheduler of its own.
//!
//! Measured on an EPYC 7003 (docs/silicon.md): blocks of additions, comparisons and NOPs take the cycles of four
//! schedulers that uops enter one after the other, whatever waits in them, and of allocation that stops at a uop whose
//! scheduler is full. A uop that cannot use the unit of its turn changes places with another one: on silicon with a
//! neighbour on either side, here with the one before, or the next one whose turn it can have.

use super::ports::Ports;
use super::scheduler::Scheduler;
use crate::state::{Shaped, Words};
use crate::table::Uops;

/// How many units there are: those of arithmetic.
const TURNS: usize = 4;
/// Uops of LEA of three parts, which take the first two or the last two turns of four (measured).
const PAIR: u16 = 2;

/// A uop that has a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Placed {
    /// Its turn, of which it has the unit, and the turns that it could have.
    turn: usize,
    turns: u8,
    /// When it executes.
    issued: u64,
}

#[derive(Debug)]
pub(super) struct Turns {
    /// The units as places, and all of them as bits.
    units: [u8; TURNS],
    all: u32,
    entries: u32,
    pub(super) schedulers: [Scheduler; TURNS],
    /// Whose turn it is.
    next: usize,
    /// The newest uop, if it has its own turn.
    newest: Option<Placed>,
    /// By turn the one that the uop gets instead which has it next, because an older one has taken it.
    instead: [Option<usize>; TURNS],
}

impl Turns {
    /// Takes turns among these units, whose schedulers have so many entries; `None` if it is not as many as there are.
    pub(super) fn new(units: u32, entries: u32) -> Option<Self> {
        if units.count_ones() as usize != TURNS {
            return None;
        }
        let mut places = (0..u32::BITS as u8).filter(|&place| units >> place & 1 == 1);
        Some(Self {
            units: [0; TURNS].map(|_| places.next().unwrap_or_default()),
            all: units,
            entries,
            schedulers: [0; TURNS].map(|_| Scheduler::new()),
            next: 0,
            newest: None,
            instead: [None; TURNS],
        })
    }

    /// True if uops that can go to these units wait for their turn.
    #[inline(always)]
    pub(super) fn include(&self, units: u32) -> bool {
        units & !self.all == 0 && units != 0
    }

    /// The turns that uops of these units can have, a bit each.
    #[inline(always)]
    fn turns(&self, units: u32) -> u8 {
        (0..).zip(self.units).fold(0, |turns, (turn, unit)| turns | ((units >> unit & 1) as u8) << turn)
    }

    /// The turn that a uop gets which can have these, and what the uop gets instead whose turn that is.
    #[inline(always)]
    fn choose(&mut self, turns: u8, now: u64) -> (usize, Option<usize>) {
        let fits = |turn: usize| turns >> turn & 1 == 1;
        let own = self.next;
        // An older one may have taken the turn.
        let left = self.instead[own % TURNS];
        let free = left.unwrap_or(own);
        if fits(free) {
            return (free, None);
        }
        // The other one of the pair first.
        let others = [1, 2, 3].map(|other| own ^ other).into_iter().filter(|&turn| fits(turn));
        let given = |turn: usize| self.instead[turn % TURNS].is_some();
        match left {
            None => {
                others.clone().next().map_or((own, None), |turn| (turn, Some(free).filter(|_| !given(turn))))
            }
            // One that is still to come.
            Some(_) => match others.clone().find(|&turn| turn > own && !given(turn)) {
                Some(turn) => (turn, left),
                None => {
                    // What has left by now does not count, whether or not that has been looked at.
                    self.schedulers.iter_mut().for_each(|scheduler| scheduler.advance(now));
                    let fitting = std::iter::once(own).filter(|&turn| fits(turn)).chain(others);
                    let waiting = |turn: &usize| self.schedulers[*turn % TURNS].waiting();
                    (fitting.min_by_key(waiting).unwrap_or(own), None)
                }
            },
        }
    }

    /// The turn that the newest uop can exchange for that of the next one, which can have these and not its own.
    #[inline(always)]
    fn exchangeable(&self, turns: u8, now: u64) -> Option<Placed> {
        let fits = |turns: u8, turn: usize| turns >> turn & 1 == 1;
        let newest = self.newest.filter(|newest| newest.issued > now)?;
        let exchanges = !fits(turns, self.next)
            && self.instead[self.next % TURNS].is_none()
            && fits(turns, newest.turn)
            && fits(newest.turns, self.next);
        exchanges.then_some(newest)
    }

    /// The newest uop changes places with the next one, if its new unit is free when it executes.
    #[inline(never)]
    fn exchange(&mut self, ports: &mut Ports, newest: Placed) -> bool {
        let Placed { turn, issued, .. } = newest;
        let [from, to] = [turn, self.next].map(|turn| usize::from(self.units[turn % TURNS]));
        let exchanged = ports.exchange(issued, from, to);
        if exchanged && self.schedulers[turn % TURNS].withdraw(issued) {
            self.schedulers[self.next % TURNS].enter(1, issued);
        }
        exchanged
    }

    /// When there is room for the next uop, if it can go to these units; not before `now`.
    #[inline]
    pub(super) fn room(&mut self, units: u32, now: u64) -> u64 {
        let turns = self.turns(units);
        let (turn, _) = match self.exchangeable(turns, now) {
            Some(newest) => (newest.turn, None),
            None => self.choose(turns, now),
        };
        let scheduler = &mut self.schedulers[turn % TURNS];
        if scheduler.waiting() < self.entries {
            return now;
        }
        scheduler.advance(now);
        scheduler.advance_until(self.entries.saturating_sub(1)).max(now)
    }

    /// Issues uops, not before `start`; when the last one begins, if all of them could begin in one cycle.
    #[inline]
    pub(super) fn issue(&mut self, ports: &mut Ports, uops: Uops, start: u64, now: u64) -> u64 {
        let (mut first, mut last) = (u64::MAX, start);
        if uops.cycles == PAIR && self.next % 2 == 1 {
            // Nobody gets the turn that is left.
            self.pass();
        }
        for _ in 0..uops.cycles {
            let turns = self.turns(uops.units);
            let own = self.next;
            let (turn, left) = match self.exchangeable(turns, now) {
                Some(newest) if self.exchange(ports, newest) => (newest.turn, None),
                _ => self.choose(turns, now),
            };
            self.pass();
            if left.is_some() {
                self.instead[turn % TURNS] = left;
            }
            let issued = ports.issue(Uops { units: 1 << self.units[turn % TURNS], cycles: 1 }, start);
            self.schedulers[turn % TURNS].enter(1, issued);
            self.newest = (turn == own).then_some(Placed { turn, turns, issued });
            (first, last) = (first.min(issued), last.max(issued));
        }
        first.min(last).max((last + 1).saturating_sub(uops.cycles.into()))
    }

    /// The next turn is over.
    #[inline(always)]
    fn pass(&mut self) {
        self.instead[self.next % TURNS] = None;
        self.next = (self.next + 1) % TURNS;
    }

    /// A word that is the same for the same state.
    pub(super) fn outline(&self) -> u64 {
        self.schedulers.iter().fold(self.word(), |word, scheduler| word << 8 ^ u64::from(scheduler.waiting()))
    }

    fn word(&self) -> u64 {
        let number = |turn: Option<usize>| turn.map_or(0, |turn| turn + 1);
        self.instead.iter().rev().fold(0, |word, &turn| word << 4 | number(turn)) as u64
            | (self.next as u64) << 16
    }
}

impl Shaped for Turns {
    fn save(&self, now: u64, shape: &mut Vec<u64>) -> Option<()> {
        shape.push(self.word());
        let newest = self.newest.filter(|newest| newest.issued > now);
        let word = |Placed { turn, turns, issued }: Placed| {
            (issued - now) << 8 | u64::from(turns) << 4 | turn as u64
        };
        shape.push(newest.map_or(0, word));
        self.schedulers.iter().try_for_each(|scheduler| scheduler.save(now, shape))
    }

    fn restore(&mut self, now: u64, shape: &mut Words<'_>) {
        let word = shape.next() as usize;
        self.next = word >> 16;
        let newest = shape.next();
        self.newest = (newest > 0).then_some(Placed {
            turn: (newest & 3) as usize,
            turns: (newest >> 4 & 15) as u8,
            issued: now + (newest >> 8),
        });
        self.instead = [0, 4, 8, 12].map(|shift| (word >> shift & 7).checked_sub(1));
        self.schedulers.iter_mut().for_each(|scheduler| scheduler.restore(now, shape));
    }
}
