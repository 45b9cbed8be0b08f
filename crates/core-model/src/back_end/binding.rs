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
    /// Units that there is a choice of: of others it does not matter how many uops wait.
    choices: u32,
    /// Units that there was a choice of last, and what was chosen: in a cycle always the same.
    chosen: (u32, [u8; 2]),
}

impl Binding {
    pub(super) fn new(choices: u32) -> Self {
        let zeros = [0; BOUND];
        Self { waiting: zeros, at_start: zeros, recent: [0; RING], cycle: 0, choices, chosen: (0, [0; 2]) }
    }

    /// A uop takes a unit.
    #[inline(always)]
    pub(super) fn take(&mut self, unit: usize) {
        self.waiting[unit % BOUND] += (self.choices >> (unit % BOUND) & 1) as u16;
    }

    /// The units for uops that can go to several: in an even, and in an odd slot.
    #[inline(always)]
    pub(super) fn choose(&mut self, units: u32) -> [usize; 2] {
        if self.chosen.0 != units {
            self.chosen = (units, self.choose_anew(units));
        }
        self.chosen.1.map(usize::from)
    }

    #[inline(never)]
    fn choose_anew(&self, units: u32) -> [u8; 2] {
        let key = |units: u32| {
            let unit = units.trailing_zeros();
            u32::from(self.at_start[unit as usize % BOUND]) << 8 | 0xFF_u32.wrapping_sub(unit)
        };
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
        let much = next >> 8 >= (least >> 8) + u32::from(MUCH);
        let odd = if much { least } else { next };
        [least, odd].map(|key| !key as u8)
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
        self.chosen.0 = 0;
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
        *self = Self { waiting, cycle, ..Self::new(self.choices) };
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
