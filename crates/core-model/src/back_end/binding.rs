//! Choice of a port when a uop is allocated, before it is known when it executes.
//!
//! Abel and Reineke, "uiCA: Accurate Throughput Prediction of Basic Blocks on Recent Intel Microarchitectures" (2022),
//! found by measuring: a uop goes to the port with the fewest uops that wait, the highest number of equals; every
//! other slot of a cycle to the second of these, unless that one has three more. What counts are the uops of earlier
//! cycles, and they count until the cycle after they were dispatched, which is five cycles after allocation at the
//! earliest.

use crate::state::cycle_bits::for_each_bit;

/// Units that can be bound to: more than the cores that bind have.
pub(super) const BOUND: usize = 16;
/// Cycles for which a uop still counts after the one in which it begins here: the five cycles between allocation and
/// dispatch, of which there is one here, and one more.
pub(super) const COUNTED: u64 = 5;
const RING: usize = 8;
/// The port that is chosen has so many fewer that slots do not matter.
const MUCH: u16 = 3;

/// How many uops wait for each unit.
#[derive(Debug, Clone)]
pub(super) struct Binding {
    /// Now, and at the start of the cycle.
    waiting: [u16; BOUND],
    at_start: [u16; BOUND],
    /// Units that were taken in each of the last cycles.
    recent: [u32; RING],
    pub(super) cycle: u64,
}

impl Binding {
    pub(super) fn new() -> Self {
        Self { waiting: [0; BOUND], at_start: [0; BOUND], recent: [0; RING], cycle: 0 }
    }

    /// A uop takes a unit.
    #[inline(always)]
    pub(super) fn take(&mut self, unit: usize) {
        self.waiting[unit % BOUND] += 1;
    }

    /// The unit for a uop that can go to several, in an even or odd slot.
    #[inline]
    pub(super) fn choose(&self, units: u32, odd: bool) -> usize {
        let (mut least, mut next, mut rest) = (u32::MAX, u32::MAX, units);
        let mut consider = || {
            let unit = rest.trailing_zeros();
            let key = u32::from(self.at_start[unit as usize % BOUND]) << 8 | 0xFF_u32.wrapping_sub(unit);
            let key = if rest == 0 { u32::MAX } else { key };
            next = next.min(key.max(least));
            least = least.min(key);
            rest &= rest.wrapping_sub(1);
            rest != 0
        };
        // Mostly there are two to four: without a branch for each.
        consider();
        consider();
        consider();
        while consider() {}
        let much = next >> 8 >= (least >> 8) + u32::from(MUCH);
        let key = if odd && !much { next } else { least };
        0xFF - (key & 0xFF) as usize
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
        recent[*cycle as usize % RING] = ended;
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
        self.recent[cycle as usize % RING] = units;
    }

    /// From now on choices see what waits now.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.at_start = self.waiting;
    }

    /// As four words; `None` if there are too many.
    pub(super) fn save(&self, shape: &mut Vec<u64>) -> Option<()> {
        let past = |past: u64| u64::from(self.recent[self.cycle.wrapping_sub(past) as usize % RING]);
        shape.extend([past(1) << 32 | past(2), past(3) << 32 | past(4), past(5)]);
        let counts = self.waiting.iter().zip(self.at_start);
        let added = counts.map(|(now, before)| now.saturating_sub(before));
        let word =
            added.rev().try_fold(0, |word, added| (added < 16).then_some(word << 4 | u64::from(added)));
        shape.push(word?);
        Some(())
    }

    /// `waiting`: what is taken from this cycle on.
    pub(super) fn restore(&mut self, cycle: u64, waiting: [u16; BOUND], words: [u64; 4]) {
        *self = Self { waiting, cycle, ..Self::new() };
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
