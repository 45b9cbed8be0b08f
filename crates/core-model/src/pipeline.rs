//! Dispatch, issue and retirement, one instruction after the other.

use crate::core::Core;
use crate::operation::{Operation, RESOURCES};
use crate::table::Uops;
use std::collections::VecDeque;

/// Cycles ahead of the oldest instruction for which a unit's reservations are known.
const WINDOW: u64 = 1 << 12;
/// What one uop adds to a unit's load, of which every 64 cycles take away half.
const LOAD_STEP: u32 = 1 << 8;
const WORDS: usize = (WINDOW / 64) as usize;

/// When an instruction passed the stages, in core cycles from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// Its last uop was dispatched.
    pub dispatched: u64,
    /// Its first uop went to a unit; without uops, when its sources were ready.
    pub issued: u64,
    /// Its results were ready.
    pub completed: u64,
    /// It retired.
    pub retired: u64,
}

/// Which cycles of a unit are taken: a ring of bits.
#[derive(Debug, Clone)]
struct Unit {
    taken: Box<[u64; WORDS]>,
    /// How much it was used lately: the less used of two free units is taken, as real cores bind ports, so that
    /// uops with a choice keep out of the way of those without.
    load: u32,
}

impl Unit {
    /// First free cycle from `from`; the window's end if there is none.
    fn first_free(&self, from: u64, end: u64) -> u64 {
        let mut cycle = from;
        while cycle < end {
            let free = !self.taken[(cycle % WINDOW / 64) as usize] >> (cycle % 64);
            if free != 0 {
                return (cycle + u64::from(free.trailing_zeros())).min(end);
            }
            cycle = (cycle | 63) + 1;
        }
        end
    }

    fn take(&mut self, cycle: u64) {
        self.taken[(cycle % WINDOW / 64) as usize] |= 1 << (cycle % 64);
        self.load += LOAD_STEP;
    }
}

/// Something with so many entries per cycle, used in order.
#[derive(Debug, Clone, Copy)]
struct Lane {
    width: u32,
    cycle: u64,
    used: u32,
}

impl Lane {
    /// Passes `count` entries, none before `earliest`; the cycle of the last one.
    fn pass(&mut self, earliest: u64, count: u32) -> u64 {
        if earliest > self.cycle {
            *self = Self { cycle: earliest, used: 0, ..*self };
        }
        let total = self.used + count;
        // The last cycle may be full, so that nothing is skipped when nothing follows.
        let cycles = total.saturating_sub(1) / self.width;
        self.cycle += u64::from(cycles);
        self.used = total - cycles * self.width;
        self.cycle
    }
}

/// A core that executes a stream of instructions.
#[derive(Debug, Clone)]
pub struct Pipeline {
    dispatch: Lane,
    retire: Lane,
    reorder_buffer: u32,
    scheduler: u32,
    units: Vec<Unit>,
    /// Cycle from which the units' rings are valid.
    base: u64,
    ready: [u64; RESOURCES],
    /// Retirement cycle and slots of what is in the reorder buffer, oldest first.
    in_flight: VecDeque<(u64, u32)>,
    in_flight_slots: u32,
    /// Issue cycles of the uops that wait in the scheduler, a count per cycle.
    waiting: VecDeque<u32>,
    waiting_base: u64,
    waiting_slots: u32,
}

impl Pipeline {
    /// An empty pipeline with `units` ports; see [`UopTable::units`](crate::UopTable::units).
    #[must_use]
    pub fn new(core: &Core, units: usize) -> Self {
        Self {
            dispatch: Lane { width: core.dispatch_width.max(1), cycle: 0, used: 0 },
            retire: Lane { width: core.retire_width.max(1), cycle: 0, used: 0 },
            reorder_buffer: core.reorder_buffer,
            scheduler: core.scheduler,
            units: vec![Unit { taken: Box::new([0; WORDS]), load: 0 }; units],
            base: 0,
            ready: [0; RESOURCES],
            in_flight: VecDeque::new(),
            in_flight_slots: 0,
            waiting: VecDeque::new(),
            waiting_base: 0,
            waiting_slots: 0,
        }
    }

    /// Cycles until everything so far has retired.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.retire.cycle
    }

    /// Slots that are taken of the cycle in which the newest instruction was dispatched.
    pub(crate) fn dispatched_in_cycle(&self) -> u32 {
        self.dispatch.used
    }

    /// Waits until everything has retired; the first cycle after that, in which dispatch goes on.
    pub(crate) fn drain(&mut self) -> u64 {
        let full = self.dispatch.used > 0;
        self.dispatch.cycle = self.retire.cycle.max(self.dispatch.cycle + u64::from(full));
        self.dispatch.used = 0;
        self.dispatch.cycle
    }

    /// Executes one instruction.
    pub fn step(&mut self, operation: &Operation) -> Times {
        let slots = u32::from(operation.slots);
        let room = self.wait_for_room(slots);
        let dispatched = self.dispatch.pass(room, slots);
        self.forget_before(dispatched);

        let ready =
            |registers: &[u8]| registers.iter().map(|&n| self.ready[usize::from(n)]).max().unwrap_or(0);
        let address = ready(&operation.address).max(dispatched + 1);
        let value = ready(&operation.sources).max(dispatched + 1);
        let load = u64::from(operation.load);
        // The first uops of an instruction with a load wait for the address only.
        let start =
            if operation.load == 0 { address.max(value) } else { address.max(value.saturating_sub(load)) };
        let mut issued = start;
        for uops in &operation.uops {
            let (first, last) = self.issue(*uops, start);
            issued = issued.max(first).max(last.saturating_sub(u64::from(uops.cycles)));
        }
        let completed = issued + load + u64::from(operation.compute);
        for &register in &operation.results {
            self.ready[usize::from(register)] = completed;
        }
        let retired = self.retire.pass(completed, slots);
        self.in_flight.push_back((retired, slots));
        self.in_flight_slots += slots;
        self.wait_in_scheduler(issued, slots);
        Times { dispatched, issued, completed, retired }
    }

    /// First cycle in which the reorder buffer and the scheduler have room.
    fn wait_for_room(&mut self, slots: u32) -> u64 {
        let mut cycle = self.dispatch.cycle;
        while self.in_flight_slots + slots > self.reorder_buffer {
            let Some((retired, freed)) = self.in_flight.pop_front() else { break };
            self.in_flight_slots -= freed;
            cycle = cycle.max(retired);
        }
        self.leave_scheduler(cycle);
        while self.waiting_slots + slots > self.scheduler && self.waiting_slots > 0 {
            cycle = cycle.max(self.waiting_base + 1);
            self.leave_scheduler(cycle);
        }
        cycle
    }

    /// Units' cycles before this are of no interest any more.
    fn forget_before(&mut self, cycle: u64) {
        while self.base + 64 <= cycle {
            let word = (self.base % WINDOW / 64) as usize;
            if cycle - self.base > WINDOW {
                self.units.iter_mut().for_each(|unit| unit.taken.fill(0));
                self.base = cycle & !63;
                return;
            }
            for unit in &mut self.units {
                unit.taken[word] = 0;
                unit.load /= 2;
            }
            self.base += 64;
        }
    }

    /// Reserves units for some uops; the first and the last cycle.
    fn issue(&mut self, uops: Uops, start: u64) -> (u64, u64) {
        let end = self.base + WINDOW;
        let start = start.min(end);
        let (mut first, mut last) = (u64::MAX, start);
        for _ in 0..uops.cycles {
            let mut best = (end, u32::MAX, usize::MAX);
            let mut mask = uops.units;
            while mask != 0 {
                let index = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                let Some(unit) = self.units.get(index) else { continue };
                let free = unit.first_free(start, end);
                if (free, unit.load) < (best.0, best.1) {
                    best = (free, unit.load, index);
                }
            }
            if let Some(unit) = self.units.get_mut(best.2) {
                unit.take(best.0);
            }
            first = first.min(best.0);
            last = last.max(best.0 + 1);
        }
        (if first == u64::MAX { start } else { first }, last)
    }

    fn wait_in_scheduler(&mut self, issued: u64, slots: u32) {
        if self.waiting.is_empty() {
            self.waiting_base = issued;
        }
        while issued < self.waiting_base {
            self.waiting.push_front(0);
            self.waiting_base -= 1;
        }
        let index = (issued - self.waiting_base) as usize;
        if self.waiting.len() <= index {
            self.waiting.resize(index + 1, 0);
        }
        self.waiting[index] += slots;
        self.waiting_slots += slots;
    }

    /// What was issued before this cycle is no longer in the scheduler.
    fn leave_scheduler(&mut self, cycle: u64) {
        while self.waiting_base < cycle {
            let Some(slots) = self.waiting.pop_front() else { return };
            self.waiting_slots -= slots;
            self.waiting_base += 1;
        }
    }
}
