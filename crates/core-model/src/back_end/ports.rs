//! Execution ports: which cycles of each are taken.

use super::Units;
use super::binding::{BOUND, Binding, COUNTED, Rule, SLOTS};
use super::far::Far;
use crate::instruction::NEVER;
use crate::state::cycle_bits::{AHEAD, CycleBits, WORDS, cycles_of, for_each_bit, word_of};
use crate::state::{Shaped, Words};
use crate::table::{MAX_UNITS, Uops};

/// Cycles before the one in question, of the 64 in which it counts how much a unit is used.
const BEFORE: u64 = 24;
/// Cycles that are looked at one by one before whole words of them.
const SOON: u64 = 3;
/// Uops of a group that are bound one by one.
const MANY: u16 = 4;
/// Cycles by which the counted window is moved instead of being counted anew.
const NEAR: u64 = 4;

/// Cycles by which the result of a multiplication is later than that of an operation of one cycle.
const LATE: u64 = 2;

/// The units of a core.
#[derive(Debug, Clone)]
pub(crate) struct Ports {
    /// By unit the cycles in which it is taken.
    taken: CycleBits<MAX_UNITS>,
    /// By cycle the units that are taken; before `base` of its word anything.
    busy: Box<[[u32; 64]; WORDS]>,
    /// Cycle from which the window is valid.
    base: u64,
    /// Cycle up to which anything can be taken.
    horizon: u64,
    /// Uops that begin behind it.
    far: Far<Uops>,
    /// In how many of the 64 cycles from one on each unit is taken. What was before that is in `busy`.
    counts: [u8; MAX_UNITS],
    counted_from: u64,
    /// Ports are chosen at allocation.
    binding: Option<Box<Binding>>,
    /// The unit that was taken last.
    newest: usize,
    /// Units of loads, which a uop that was bound to one of them takes from whichever is free.
    load_units: u32,
}

impl Ports {
    pub(super) fn new(units: &Units<'_>, rule: Option<Rule>) -> Self {
        Self {
            binding: rule.map(|rule| Box::new(Binding::new(units.choices, rule))),
            newest: 0,
            load_units: units.loads,
            taken: CycleBits::new(),
            busy: Box::new([[0; 64]; WORDS]),
            base: 0,
            horizon: AHEAD,
            far: Far::new(),
            counts: [0; MAX_UNITS],
            counted_from: NEVER,
        }
    }

    #[inline(always)]
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    #[inline(always)]
    pub(crate) fn horizon(&self) -> u64 {
        self.horizon
    }

    /// What comes is of interest from this cycle on, in which nothing is allocated yet.
    #[inline(always)]
    pub(crate) fn wait_from(&mut self, cycle: u64) {
        self.horizon = cycle + AHEAD;
    }

    /// What comes is of interest from this cycle on.
    #[inline(always)]
    pub(crate) fn look_from(&mut self, cycle: u64) {
        self.wait_from(cycle);
        if self.binding.as_ref().is_some_and(|binding| binding.cycle != cycle) {
            self.bind_from(cycle);
        }
    }

    /// Choices are made from a later cycle on.
    fn bind_from(&mut self, cycle: u64) {
        let Self { binding: Some(binding), busy, taken, .. } = self else { return };
        if cycle < binding.cycle {
            return;
        }
        let busy = |cycle: u64| busy[word_of(cycle)][(cycle % 64) as usize];
        if cycle - binding.cycle <= NEAR {
            for ended in binding.cycle..cycle {
                binding.step(busy(ended));
            }
        } else {
            let from = binding.cycle;
            let counted = cycle - COUNTED.min(cycle - from);
            binding.jump(cycle, |waiting| {
                let mut first = from;
                while first < counted {
                    let next = ((first | 63) + 1).min(counted);
                    let words = taken.word(word_of(first));
                    for (waiting, word) in waiting.iter_mut().zip(words) {
                        let left = (word & cycles_of(first, next)).count_ones() as u16;
                        *waiting = waiting.saturating_sub(left);
                    }
                    first = next;
                }
            });
            (counted..cycle).for_each(|cycle| binding.note_recent(cycle, busy(cycle)));
        }
        binding.begin();
    }

    /// As [`issue`](Self::issue), where ports are chosen at allocation, in a slot.
    #[inline(always)]
    pub(crate) fn issue_bound(&mut self, uops: Uops, start: u64, slot: usize) -> u64 {
        let choice = uops.units & (uops.units.wrapping_sub(1)) != 0 && uops.units & !self.load_units != 0;
        match &mut self.binding {
            Some(binding) if choice && start < self.horizon => {
                if uops.cycles > MANY {
                    // Microcode, whose uops do not wait in the scheduler together.
                    self.issue(uops, start)
                } else if uops.cycles == 1 {
                    let unit = binding.choose(uops.units)[slot % SLOTS];
                    self.reserve(self.bound(unit.into(), uops.units), start)
                } else {
                    self.issue_many_bound(uops, start, slot)
                }
            }
            _ => self.issue(uops, start),
        }
    }

    /// What a uop that was bound to a unit can take.
    #[inline(always)]
    fn bound(&self, unit: usize, units: u32) -> u32 {
        let bit = 1 << unit;
        if bit & self.load_units != 0 { units & self.load_units } else { bit }
    }

    #[inline(never)]
    fn issue_many_bound(&mut self, uops: Uops, start: u64, slot: usize) -> u64 {
        let (mut first, mut last) = (NEVER, start);
        let Some(binding) = &mut self.binding else { return start };
        let units = binding.choose(uops.units).map(|unit| self.bound(unit.into(), uops.units));
        for number in 0..uops.cycles {
            let issued = self.reserve(units[(slot + usize::from(number)) % SLOTS], start);
            (first, last) = (first.min(issued), last.max(issued));
        }
        first.min(last).max((last + 1).saturating_sub(uops.cycles.into()))
    }

    /// True if any of these units is taken in a cycle of the window.
    pub(crate) fn is_busy(&self, cycle: u64, units: u32) -> bool {
        self.busy[word_of(cycle)][(cycle % 64) as usize] & units != 0
    }

    /// In how many cycles of the window any of these units is taken.
    pub(crate) fn count_busy(&self, from: u64, to: u64, units: u32) -> u64 {
        let (mut cycle, mut count) = (from, 0);
        while cycle < to {
            let next = ((cycle | 63) + 1).min(to);
            let words = self.taken.word(word_of(cycle));
            let mut any = 0;
            for_each_bit(units.into(), |unit| any |= words[unit % MAX_UNITS]);
            count += u64::from((any & cycles_of(cycle, next)).count_ones());
            cycle = next;
        }
        count
    }

    /// Reserves units for some uops from `start` on; the cycle in which the last of them begins. What begins after the
    /// window, which is too far ahead to be known, does so at once.
    #[inline(always)]
    pub(crate) fn issue(&mut self, uops: Uops, start: u64) -> u64 {
        if start >= self.horizon {
            self.far.add(start, uops);
            return start;
        }
        self.issue_near(uops, start)
    }

    #[inline(always)]
    fn issue_near(&mut self, uops: Uops, start: u64) -> u64 {
        if uops.cycles == 1 { self.reserve(uops.units, start) } else { self.issue_many(uops, start) }
    }

    #[inline(never)]
    fn issue_many(&mut self, uops: Uops, start: u64) -> u64 {
        if uops.cycles == 0 {
            return start;
        }
        let first = self.reserve(uops.units, start);
        let last = (1..uops.cycles).fold(first, |from, _| self.reserve(uops.units, from));
        first.max((last + 1).saturating_sub(u64::from(uops.cycles)))
    }

    /// Takes the first cycle in which a unit of the mask is free.
    #[inline(always)]
    fn reserve(&mut self, units: u32, from: u64) -> u64 {
        let free = units & !self.busy[word_of(from)][(from % 64) as usize];
        if free == 0 {
            return self.reserve_later(units, from + 1);
        }
        self.take(free, from);
        from
    }

    /// Takes the unit that is the least used around a cycle of those that are free in it, as real cores bind ports, so
    /// that uops with a choice keep out of the way of those without.
    #[inline(always)]
    fn take(&mut self, free: u32, cycle: u64) {
        let only = free & (free - 1) == 0 || self.binding.is_some();
        let unit = if only { free.trailing_zeros() as usize } else { self.least_used(free, cycle) };
        self.newest = unit;
        if let Some(binding) = &mut self.binding {
            binding.take(unit);
        }
        self.mark(unit, cycle);
    }

    /// A unit is taken in a cycle.
    #[inline(always)]
    fn mark(&mut self, unit: usize, cycle: u64) {
        self.taken.set(unit, cycle);
        self.busy[word_of(cycle)][(cycle % 64) as usize] |= 1 << unit;
        if self.binding.is_none() {
            let counts = cycle.wrapping_sub(self.counted_from) < 64;
            self.counts[unit] = self.counts[unit].wrapping_add(counts.into());
        }
    }

    #[inline(never)]
    fn least_used(&mut self, units: u32, cycle: u64) -> usize {
        let now = self.horizon - AHEAD;
        if cycle > now + BEFORE {
            return self.least_used_from(units, cycle - BEFORE);
        }
        // Of what lies before now nothing is known.
        if now != self.counted_from {
            self.count_from(now);
        }
        let mut least = u32::MAX;
        for_each_bit(units.into(), |unit| {
            least = least.min(u32::from(self.counts[unit % MAX_UNITS]) << 8 | unit as u32);
        });
        least as usize % MAX_UNITS
    }

    #[inline(never)]
    fn count_from(&mut self, now: u64) {
        if self.counted_from <= now && now - self.counted_from <= NEAR {
            let Self { busy, counts, counted_from, .. } = self;
            for cycle in *counted_from..now {
                let busy = |cycle| u64::from(busy[word_of(cycle)][(cycle % 64) as usize]);
                for_each_bit(busy(cycle), |unit| counts[unit % MAX_UNITS] -= 1);
                for_each_bit(busy(cycle + 64), |unit| counts[unit % MAX_UNITS] += 1);
            }
        } else {
            let (word, shift) = (word_of(now), now % 64);
            let words = self.taken.word(word).iter().zip(self.taken.word(word + 1));
            for (count, (&here, &next)) in self.counts.iter_mut().zip(words) {
                *count = (here >> shift | (next << 1) << (63 - shift)).count_ones() as u8;
            }
        }
        self.counted_from = now;
    }

    #[inline(never)]
    fn least_used_from(&self, units: u32, start: u64) -> usize {
        let (word, shift) = (word_of(start), start % 64);
        let (here, next) = (self.taken.word(word), self.taken.word(word + 1));
        let mut least = u32::MAX;
        for_each_bit(units.into(), |unit| {
            let used = here[unit % MAX_UNITS] >> shift | (next[unit % MAX_UNITS] << 1) << (63 - shift);
            least = least.min(used.count_ones() << 8 | unit as u32);
        });
        least as usize % MAX_UNITS
    }

    #[inline(never)]
    fn reserve_later(&mut self, units: u32, from: u64) -> u64 {
        let end = self.horizon;
        let mut cycle = from;
        // Mostly it is not much later, which for one unit takes no more than a look at its word.
        let soon = if units & units.wrapping_sub(1) == 0 { from } else { end.min(from + SOON) };
        while cycle < soon {
            let free = units & !self.busy[word_of(cycle)][(cycle % 64) as usize];
            if free != 0 {
                self.take(free, cycle);
                return cycle;
            }
            cycle += 1;
        }
        while cycle < end {
            let words = self.taken.word(word_of(cycle));
            let mut free = 0;
            for_each_bit(units.into(), |unit| free |= !words[unit % MAX_UNITS]);
            free >>= cycle % 64;
            if free != 0 {
                cycle += u64::from(free.trailing_zeros());
                if cycle >= end {
                    break;
                }
                self.take(units & !self.busy[word_of(cycle)][(cycle % 64) as usize], cycle);
                return cycle;
            }
            cycle = (cycle | 63) + 1;
        }
        end
    }

    /// The window has moved: what begins in it has its units there. By whole words: how far it has moved in between
    /// depends on who looks at what is booked.
    #[inline]
    pub(crate) fn come_near(&mut self) {
        while let Some((start, uops)) = self.far.take_before((self.base & !63) + AHEAD) {
            self.issue_near(uops, start.max(self.base));
        }
    }

    /// A uop that has taken a unit in a cycle takes another one in the same cycle instead; false if that is taken, or
    /// the cycle is not in the window.
    pub(crate) fn exchange(&mut self, cycle: u64, from: usize, to: usize) -> bool {
        if self.busy[word_of(cycle)][(cycle % 64) as usize] >> to & 1 == 1 || !self.release(cycle, from) {
            return false;
        }
        self.take(1 << to, cycle);
        true
    }

    /// A uop gives back the unit that it has taken in a cycle; false if that is not in the window any more.
    pub(crate) fn release(&mut self, cycle: u64, unit: usize) -> bool {
        if cycle < self.base || cycle >= self.horizon {
            return false;
        }
        self.busy[word_of(cycle)][(cycle % 64) as usize] &= !(1 << unit);
        self.taken.clear_one(unit, cycle);
        let counts = cycle.wrapping_sub(self.counted_from) < 64;
        self.counts[unit] = self.counts[unit].wrapping_sub(counts.into());
        true
    }

    /// Reserves one of these units from `start` on; when, and which, if that is in the window.
    #[inline(always)]
    pub(crate) fn issue_one(&mut self, units: u32, start: u64) -> (u64, Option<usize>) {
        let issued = self.issue(Uops { units, cycles: 1 }, start);
        (issued, (issued < self.horizon).then_some(self.newest))
    }

    /// As [`issue_one`](Self::issue_one), for one unit that has one result in a cycle: that of an operation of one
    /// cycle, or of a [late](Self::issue_late) one. `results`: what stands for the cycles in which the former cannot
    /// begin.
    #[inline]
    pub(crate) fn issue_prompt(&mut self, unit: usize, results: usize, start: u64) -> u64 {
        let mut cycle = start;
        while cycle < self.horizon {
            let words = self.taken.word(word_of(cycle));
            let free = !(words[unit % MAX_UNITS] | words[results % MAX_UNITS]) >> (cycle % 64);
            if free == 0 {
                cycle = (cycle | 63) + 1;
                continue;
            }
            cycle += u64::from(free.trailing_zeros());
            if cycle < self.horizon {
                self.take(1 << unit, cycle);
                return cycle;
            }
        }
        self.issue(Uops { units: 1 << unit, cycles: 1 }, cycle)
    }

    /// The same for an operation whose result is [`LATE`] cycles later than that of others, and goes ahead of an older
    /// one of those that would have its result in the same cycle, if it `may` do so in a cycle; when it begins, and
    /// from which cycle to which one the other one goes.
    #[inline(never)]
    pub(crate) fn issue_late(
        &mut self,
        unit: usize,
        results: usize,
        start: u64,
        may: impl Fn(u64) -> bool,
    ) -> (u64, Option<[u64; 2]>) {
        let mut cycle = start;
        while cycle + 2 * LATE < self.horizon {
            let other = cycle + LATE;
            // The others of its kind do not get in its way.
            let prompt = self.is_busy(other, 1 << unit) && !self.is_busy(other + LATE, 1 << results);
            if !self.is_busy(cycle, 1 << unit) && (!prompt || may(cycle)) {
                let displaced = prompt && self.release(other, unit);
                self.take(1 << unit, cycle);
                self.mark(results, other);
                let moved = displaced.then(|| [other, self.issue_prompt(unit, results, other + 1)]);
                return (cycle, moved);
            }
            cycle += 1;
        }
        (self.issue(Uops { units: 1 << unit, cycles: 1 }, cycle), None)
    }

    /// Hands out what lies before `cycle`, by words of 64 cycles and unit by unit, and forgets it.
    #[inline]
    pub(crate) fn forget_before(
        &mut self,
        cycle: u64,
        mut finished: impl FnMut(usize, u64, &[u64; MAX_UNITS]),
    ) {
        while self.base < cycle {
            let next = ((self.base | 63) + 1).min(cycle);
            let (word, cycles) = (word_of(self.base), cycles_of(self.base, next));
            finished(word, cycles, &self.taken.take(word, cycles));
            if next.is_multiple_of(64) {
                self.busy[word] = [0; 64];
                self.counted_from = NEVER;
            }
            self.base = next;
        }
    }
}

impl Shaped for Ports {
    /// Everything before `now` has been handed out. What is far away has no shape.
    fn save(&self, now: u64, shape: &mut Vec<u64>) -> Option<()> {
        if !self.far.is_empty() {
            return None;
        }
        self.taken.save(now, shape);
        self.binding.as_ref().map_or(Some(()), |binding| binding.save(shape))
    }

    fn restore(&mut self, now: u64, shape: &mut Words<'_>) {
        self.taken.clear(self.base, |word| self.busy[word] = [0; 64]);
        self.far.clear();
        (self.base, self.horizon, self.counted_from) = (now, now + AHEAD, NEVER);
        let Self { taken, busy, .. } = self;
        let mut waiting = [0; BOUND];
        taken.restore(now, shape, |unit, word, cycles| {
            for_each_bit(cycles, |cycle| busy[word][cycle] |= 1 << unit);
            waiting[unit % BOUND] += cycles.count_ones() as u16;
        });
        if let Some(binding) = &mut self.binding {
            binding.restore(now, waiting, [0; 4].map(|_: u64| shape.next()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kept_counts_choose_as_counting_anew_does() {
        let mut ports = Ports::new(&Units::default(), None);
        let (mut now, mut seed) = (0, 1_u64);
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random = seed >> 33;
            now += [0, 0, 1, 3, 9, 70, 0, 0][(random % 8) as usize];
            ports.look_from(now);
            if random & 1 << 9 == 0 {
                ports.forget_before(now, |_, _, _| {});
            }
            let units = (random >> 10 & 0xFF | 1) as u32;
            let from = now + (random >> 18) % BEFORE;
            assert_eq!(ports.least_used(units, from), ports.least_used_from(units, now));
            let (issued, unit) = ports.issue_one(units, now + (random >> 18) % 90);
            if let Some(unit) = unit.filter(|_| random & 1 << 25 == 0) {
                let other = (random >> 26) as usize % 8;
                assert!(ports.exchange(issued, unit, other) || ports.release(issued, unit));
            }
        }
    }
}
