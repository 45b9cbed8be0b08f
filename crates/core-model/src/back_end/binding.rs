//! Choice of a port when a uop is allocated, before it is known when it executes.
//!
//! Abel and Reineke, "uiCA: Accurate Throughput Prediction of Basic Blocks on Recent Intel Microarchitectures" (2022),
//! found by measuring: a uop goes to the port with the fewest uops that wait, the highest number of equals; every
//! other slot of a cycle to the second of these, unless that one has three more. What counts are the uops of earlier
//! cycles, and they count until the cycle after they were dispatched, which is five cycles after allocation at the
//! earliest.
//!
//! Measured on Raptor Cove (docs/silicon.md): Golden Cove's slots go to the unit with the fewest, the second fewest and
//! so on in turn, unless that one has six more than the first.

use crate::state::cycle_bits::for_each_bit;

/// Units that can be bound to: more than the cores that bind have.
pub(super) const BOUND: usize = 16;
/// Cycles for which a uop still counts after the one in which it begins here: the five cycles between allocation and
/// dispatch, of which there is one here, and one more.
pub(super) const COUNTED: u64 = 5;
const RING: usize = 8;
/// Units that a uop has a choice of, at most.
const CHOICES: usize = 8;
/// Slots of a cycle on the cores that bind, at most.
pub(super) const SLOTS: usize = 6;

/// Which of the units with the fewest uops that wait a slot's uop goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    /// Slots take turns with so many of them.
    pub(super) ranks: usize,
    /// Unless this one has so many more than the first.
    pub(super) much: u16,
}

/// How many uops wait for each unit.
#[derive(Debug, Clone)]
pub(super) struct Binding {
    /// Now, and at the start of the cycle.
    waiting: [u16; BOUND],
    at_start: [u16; BOUND],
    /// Units that were taken in each of the last cycles.
    recent: [u32; RING],
    pub(super) cycle: u64,
    /// Units that there is a choice of: of others it does not matter how many uops wait.
    choices: u32,
    /// Units that there was a choice of last, and before that, and what was chosen: in a cycle always the same.
    chosen: [(u32, [u8; SLOTS]); 2],
    rule: Rule,
}

impl Binding {
    pub(super) fn new(choices: u32, rule: Rule) -> Self {
        let zeros = [0; BOUND];
        let chosen = [(0, [0; SLOTS]); 2];
        Self { waiting: zeros, at_start: zeros, recent: [0; RING], cycle: 0, choices, chosen, rule }
    }

    /// A uop takes a unit.
    #[inline(always)]
    pub(super) fn take(&mut self, unit: usize) {
        self.waiting[unit % BOUND] += (self.choices >> (unit % BOUND) & 1) as u16;
    }

    /// The units for uops that can go to several, by the slot of the cycle.
    #[inline(always)]
    pub(super) fn choose(&mut self, units: u32) -> [u8; SLOTS] {
        if self.chosen[0].0 != units {
            self.chosen.swap(0, 1);
            if self.chosen[0].0 != units {
                self.chosen[0] = (units, self.choose_anew(units));
            }
        }
        self.chosen[0].1
    }

    /// What is compared: the fewest that wait, and the highest number of equals.
    fn key(&self, unit: usize) -> u32 {
        u32::from(self.at_start[unit % BOUND]) << 8 | 0xFF_u32.wrapping_sub(unit as u32)
    }

    #[inline(never)]
    fn choose_anew(&self, units: u32) -> [u8; SLOTS] {
        let mut sorted = [u32::MAX; CHOICES];
        let count = if self.rule.ranks == 2 {
            (sorted[0], sorted[1]) = self.first_two(units);
            2
        } else {
            let mut keys = [u32::MAX; CHOICES];
            let mut count = 0;
            for_each_bit(units.into(), |unit| {
                keys[count % CHOICES] = self.key(unit);
                count += 1;
            });
            for key in keys {
                let rank = keys.iter().filter(|&&other| other < key).count();
                sorted[rank % CHOICES] = key;
            }
            count
        };
        let ranks = self.rule.ranks.min(count).max(1);
        let least = sorted[0];
        std::array::from_fn(|slot| {
            let key = sorted[slot % ranks % CHOICES];
            let much = key >> 8 >= (least >> 8) + u32::from(self.rule.much);
            !(if much { least } else { key }) as u8
        })
    }

    fn first_two(&self, units: u32) -> (u32, u32) {
        let key = |units: u32| self.key(units.trailing_zeros() as usize);
        let mut rest = units & units.wrapping_sub(1);
        let (first, second) = (key(units), key(rest));
        let (mut least, mut next) = (first.min(second), first.max(second));
        rest &= rest.wrapping_sub(1);
        while rest != 0 {
            let key = key(rest);
            next = next.min(key.max(least));
            least = least.min(key);
            rest &= rest - 1;
        }
        (least, next)
    }

    fn leave(waiting: &mut [u16; BOUND], units: u32) {
        for_each_bit(units.into(), |unit| {
            let waiting = &mut waiting[unit % BOUND];
            *waiting = waiting.saturating_sub(1);
        });
    }

    /// The next cycle begins, in which these units are not taken any more: all of the cycle that ends are known.
    #[inline]
    pub(super) fn step(&mut self, ended: u32) {
        let Self { waiting, recent, cycle, .. } = self;
        Self::leave(waiting, recent[cycle.wrapping_sub(COUNTED) as usize % RING]);
        recent[*cycle as usize % RING] = ended & self.choices;
        *cycle += 1;
    }

    /// Everything that was taken in the last cycles does not count any more; `left` for what was taken after them.
    pub(super) fn jump(&mut self, cycle: u64, left: impl FnOnce(&mut [u16; BOUND])) {
        for past in 1..=COUNTED {
            Self::leave(&mut self.waiting, self.recent[self.cycle.wrapping_sub(past) as usize % RING]);
        }
        left(&mut self.waiting);
        self.recent = [0; RING];
        self.cycle = cycle;
    }

    /// What was taken before the current cycle, and still counts.
    pub(super) fn note_recent(&mut self, cycle: u64, units: u32) {
        self.recent[cycle as usize % RING] = units & self.choices;
    }

    /// From now on choices see what waits now.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.at_start = self.waiting;
        self.chosen = [(0, [0; SLOTS]); 2];
    }

    /// As four words; `None` if there are too many.
    pub(super) fn save(&self, shape: &mut Vec<u64>) -> Option<()> {
        let past = |past: u64| u64::from(self.recent[self.cycle.wrapping_sub(past) as usize % RING]);
        shape.extend([past(1) << 32 | past(2), past(3) << 32 | past(4), past(5)]);
        let counts = self.waiting.iter().zip(self.at_start).enumerate();
        let added = counts.map(
            |(unit, (now, before))| {
                if self.choices >> unit & 1 == 1 { now.saturating_sub(before) } else { 0 }
            },
        );
        let word =
            added.rev().try_fold(0, |word, added| (added < 16).then_some(word << 4 | u64::from(added)));
        shape.push(word?);
        Some(())
    }

    /// `waiting`: what is taken from this cycle on.
    pub(super) fn restore(&mut self, cycle: u64, waiting: [u16; BOUND], words: [u64; 4]) {
        *self = Self { waiting, cycle, ..Self::new(self.choices, self.rule) };
        let [a, b, c, added] = words;
        let past = [a >> 32, a & 0xFFFF_FFFF, b >> 32, b & 0xFFFF_FFFF, c];
        for (past, units) in (1..).zip(past) {
            self.recent[cycle.wrapping_sub(past) as usize % RING] = units as u32;
            for_each_bit(units, |unit| self.waiting[unit % BOUND] += 1);
        }
        self.at_start = self.waiting;
        for (unit, before) in self.at_start.iter_mut().enumerate() {
            *before = before.saturating_sub((added >> (4 * unit) & 15) as u16);
        }
    }
}
