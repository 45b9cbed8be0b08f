//! The back end as words.

use super::allocation::Leaf;
use super::scheduler::Scheduler;
use super::{BackEnd, IN_FLIGHT, InFlight, LOAD_BUFFER, Restart};
use crate::instruction::RESOURCES;
use crate::state::cycle_bits::for_each_bit;
use crate::state::packed::{CYCLES, Packer, Unpacker};
use crate::state::{Shaped, Words};
use crate::totals::CoreTotals;

/// What follows in the list of what is in the reorder buffer: nothing, an entry, a large one, or a small one.
const END: u64 = 0;
const ENTRY: u64 = 1;
const LARGE: u64 = 2;
const SMALL: u64 = 3;
/// Bits of these, of how much later an entry retires than the one before, of its slots, of the cycles that it
/// computes, and of those that it waits for memory, unless it is large. A small one does not wait, and has short
/// numbers only.
const KIND: u32 = 2;
const SHORT: u32 = 4;
const COMPUTES: u32 = 8;
const MEMORY: u32 = 14;

impl BackEnd {
    /// Books what is over, so that it is not part of the shape.
    pub(crate) fn settle(&mut self, totals: &mut CoreTotals) {
        let now = self.cycle();
        self.ports.look_from(now);
        self.finish_cycles(totals, now);
        self.oldest_at(now);
        if let Some(turns) = &mut self.turns
            && self.allocation.used() == 0
        {
            turns.begin_group();
        }
    }

    /// What is in the reorder buffer.
    #[inline(always)]
    fn save_in_flight(&self, now: u64, packer: &mut Packer<'_>) -> Option<()> {
        let mut before = now;
        let mut place = self.oldest;
        while place != self.newest {
            let entry = self.in_flight[place % IN_FLIGHT];
            let slots = u64::from(entry.slots);
            place = place.wrapping_add(1);
            let after = entry.retired - before;
            let (memory_for, computes_for) = entry.waits_from(before);
            before = entry.retired;
            let numbers = ((computes_for << SHORT | slots) << SHORT | after) << KIND;
            if (after | slots | computes_for) >> SHORT | memory_for == 0 {
                packer.put(numbers | SMALL, KIND + 3 * SHORT);
            } else if (after | slots) >> SHORT | memory_for >> MEMORY | computes_for >> COMPUTES == 0 {
                packer.put(memory_for << (32 - MEMORY) | numbers | ENTRY, 32);
            } else {
                packer.put(slots << KIND | LARGE, KIND + CYCLES);
                packer.try_put(after, CYCLES)?;
                packer.try_put(memory_for, CYCLES)?;
                packer.put(computes_for, CYCLES);
            }
        }
        packer.put(END, KIND);
        Some(())
    }

    fn restore_in_flight(&mut self, now: u64, unpacker: &mut Unpacker<'_, '_>) {
        let mut retired = now;
        (self.oldest, self.newest, self.in_flight_slots) = (0, 0, 0);
        // Before the oldest one there is none to which another one could be added.
        self.in_flight[IN_FLIGHT - 1] = InFlight::default();
        loop {
            let (slots, memory_for, computes_for);
            match unpacker.get(KIND) {
                SMALL => {
                    retired += unpacker.get(SHORT);
                    slots = unpacker.get(SHORT);
                    (memory_for, computes_for) = (0, unpacker.get(SHORT));
                }
                ENTRY => {
                    retired += unpacker.get(SHORT);
                    slots = unpacker.get(SHORT);
                    computes_for = unpacker.get(COMPUTES);
                    memory_for = unpacker.get(MEMORY);
                }
                LARGE => {
                    slots = unpacker.get(CYCLES);
                    retired += unpacker.get(CYCLES);
                    (memory_for, computes_for) = (unpacker.get(CYCLES), unpacker.get(CYCLES));
                }
                _ => return,
            }
            self.in_flight[self.newest % IN_FLIGHT] = InFlight {
                retired,
                slots: slots as u16,
                memory_for: memory_for as u32,
                computes_for: computes_for as u16,
            };
            self.newest += 1;
            self.in_flight_slots += slots as u32;
        }
    }

    /// Words that are the same for the same state.
    pub(crate) fn outline(&mut self, now: u64) -> [u64; 5] {
        self.advance_schedulers(now);
        self.oldest_at(now);
        // In four mixtures, which is quicker than one after the other.
        let mut mixed = [0_u64; 4];
        let mut add = |cycles: [u64; 4]| {
            for (mixed, cycle) in mixed.iter_mut().zip(cycles) {
                *mixed = mixed.rotate_left(11) ^ cycle.saturating_sub(now);
            }
        };
        let (registers, _) = self.ready[..self.registers].as_chunks();
        registers.iter().for_each(|&registers| add(registers));
        let count = self.newest.wrapping_sub(self.oldest);
        for n in 0..4 {
            let place = |quarter: usize| self.oldest.wrapping_add(count * quarter / 4 + n);
            add([0, 1, 2, 3].map(|quarter| self.in_flight[place(quarter) % IN_FLIGHT].retired));
        }
        let ends = self.retirement.cycle.wrapping_sub(now) ^ self.last_issue.saturating_sub(now) << 24;
        let [waiting, memory] = self.schedulers.each_ref().map(Scheduler::waiting);
        let waiting = self.in_flight_slots ^ (waiting ^ memory << 6) << 12 ^ self.allocation.used() << 24;
        let [a, mut b, c, d] = mixed;
        b ^= self.turns.as_ref().map_or(0, |turns| turns.outline(now));
        [a, b, c, d, ends ^ u64::from(waiting) << 32]
    }
}

impl Shaped for BackEnd {
    /// After [`settle`](Self::settle).
    fn save(&self, now: u64, shape: &mut Vec<u64>) -> Option<()> {
        self.allocation.save(now, shape)?;
        self.retirement.save(now, shape)?;
        let after = |cycle: u64| cycle.saturating_sub(now);
        // In words of 64 registers: which are not ready everywhere, and then when they are.
        let words = self.ready[..self.registers].chunks(64);
        let lingers = self.lingers;
        let pending = |word: &[u64]| {
            word.iter().enumerate().fold(0, |set, (n, &cycle)| set | u64::from(cycle + lingers > now) << n)
        };
        shape.extend(words.clone().map(pending));
        self.domains.save(shape);
        let mut packer = Packer::new(shape);
        let mut too_far = false;
        for (number, word) in words.enumerate() {
            for_each_bit(pending(word), |register| {
                let after = after(word[register % word.len()] + lingers);
                too_far |= after >> CYCLES != 0;
                packer.put(after & ((1 << CYCLES) - 1), CYCLES);
                self.domains.save_of(64 * number + register, &mut packer);
            });
        }
        if too_far {
            return None;
        }
        let Self { last_completed, serialised, integer_divider, fp_divider, .. } = *self;
        for cycle in [last_completed, serialised, integer_divider, fp_divider] {
            packer.put(u64::from(cycle > now), 1);
            if cycle > now {
                packer.try_put(cycle - now, CYCLES)?;
            }
        }
        // Before this all is known to be empty.
        packer
            .try_put(after(self.last_issue + 1) << 1 | u64::from(self.last_issue == self.empty_until), 17)?;
        packer.put(self.restart.map_or(0, |restart| restart.leaf as u64 + 1), 3);
        if let Some(Restart { resolved, recovered, .. }) = self.restart {
            packer.try_put(after(resolved), CYCLES)?;
            packer.try_put(after(recovered), CYCLES)?;
        }
        packer.try_put(self.executed_before.into(), 5)?;
        self.save_in_flight(now, &mut packer)?;
        let loads = (1..=self.load_buffer).map(|n| self.loads[self.load_count.wrapping_sub(n) % LOAD_BUFFER]);
        packer.falling(loads.map(after).take_while(|&after| after > 0))?;
        packer.finish();
        for scheduler in self.used_schedulers() {
            scheduler.save(now, shape)?;
        }
        if let Some(turns) = &self.turns {
            turns.save(now, shape)?;
        }
        self.ports.save(now, shape)?;
        self.activity.save(now, shape);
        // What is far away has no shape.
        self.far_activity.is_empty().then_some(())
    }

    fn restore(&mut self, now: u64, shape: &mut Words<'_>) {
        self.allocation.restore(now, shape);
        self.retirement.restore(now, shape);
        let mut pending = [0; RESOURCES / 64];
        pending.iter_mut().take(self.registers.div_ceil(64)).for_each(|word| *word = shape.next());
        self.domains.restore(shape);
        let mut unpacker = Unpacker::new(shape);
        let lingers = self.lingers;
        self.ready[..self.registers].fill(now.saturating_sub(lingers));
        for (number, (word, pending)) in self.ready.chunks_mut(64).zip(pending).enumerate() {
            for_each_bit(pending, |register| {
                word[register % 64] = (now + unpacker.get(CYCLES)).saturating_sub(lingers);
                self.domains.restore_of(64 * number + register, &mut unpacker);
            });
        }
        let Self { last_completed, serialised, integer_divider, fp_divider, .. } = self;
        for cycle in [last_completed, serialised, integer_divider, fp_divider] {
            *cycle = now + if unpacker.get(1) == 1 { unpacker.get(CYCLES) } else { 0 };
        }
        let word = unpacker.get(17);
        self.last_issue = now + (word >> 1) - 1;
        self.empty_until = if word & 1 == 1 { self.last_issue } else { 0 };
        self.restart = Leaf::from_number(unpacker.get(3)).map(|leaf| Restart {
            resolved: now + unpacker.get(CYCLES),
            recovered: now + unpacker.get(CYCLES),
            leaf,
        });
        self.executed_before = unpacker.get(5) as u32;
        self.restore_in_flight(now, &mut unpacker);
        // They leave in order: before one that has left there are no others.
        for n in 1..=LOAD_BUFFER {
            let left = &mut self.loads[self.load_count.wrapping_sub(n) % LOAD_BUFFER];
            if *left <= now {
                break;
            }
            *left = 0;
        }
        let mut n = 0;
        unpacker.falling(|after| {
            n += 1;
            self.loads[self.load_count.wrapping_sub(n) % LOAD_BUFFER] = now + after;
        });
        self.activity.clear(self.ports.base(), |_| {});
        self.far_activity.clear();
        let count = self.used_schedulers().len();
        self.schedulers[..count].iter_mut().for_each(|scheduler| scheduler.restore(now, shape));
        if let Some(turns) = &mut self.turns {
            turns.restore(now, shape);
        }
        self.ports.restore(now, shape);
        self.activity.restore(now, shape, |_, _, _| {});
    }
}
