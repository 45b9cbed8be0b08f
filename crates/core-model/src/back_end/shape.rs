//! The back end as words.

use super::{BackEnd, IN_FLIGHT, InFlight, LOADS, Restart};
use crate::memo::{Shaped, Words, restore_short, save_short};
use crate::prepared::UNREAD;
use crate::slots::Leaf;
use crate::totals::CoreTotals;

impl BackEnd {
    /// Books what is over, so that it is not part of the shape.
    pub(crate) fn settle(&mut self, totals: &mut CoreTotals) {
        let now = self.cycle();
        self.ports.look_from(now);
        self.finish_cycles(totals, now);
        self.oldest_at(now);
    }
}

impl Shaped for BackEnd {
    /// After [`settle`](Self::settle).
    fn save(&self, now: u64, shape: &mut Vec<u64>) -> Option<()> {
        self.allocation.save(now, shape)?;
        self.retirement.save(now, shape)?;
        let after = |cycle: u64| cycle.saturating_sub(now);
        save_short(self.ready[..UNREAD.into()].iter().map(|&cycle| after(cycle)), shape)?;
        let Self { last_completed, serialised, loads_after, integer_divider, fp_divider, .. } = *self;
        shape.extend([last_completed, serialised, loads_after, integer_divider, fp_divider].map(after));
        // Before this all is known to be empty.
        shape.push(after(self.last_issue + 1) << 1 | u64::from(self.last_issue == self.empty_until));
        let restart = self.restart.map(|restart| {
            let Restart { resolved, recovered, leaf } = restart;
            [after(resolved) << 8 | (leaf as u64 + 1), after(recovered)]
        });
        shape.extend(restart.unwrap_or_default());
        shape.push(self.executed_before.into());
        let start = shape.len();
        shape.push(0);
        let mut place = self.oldest;
        while place != self.newest {
            let InFlight { retired, slots, memory_for, computes_for } = self.in_flight[place % IN_FLIGHT];
            let (retired, memory_for) = (u16::try_from(retired - now).ok()?, u16::try_from(memory_for).ok()?);
            let times =
                u64::from(retired) << 48 | u64::from(memory_for) << 32 | u64::from(computes_for) << 16;
            // Neighbours with the same times leave together.
            match shape[start + 1..].last_mut() {
                Some(last) if *last ^ times <= 0xFFFF && (*last & 0xFFFF) + u64::from(slots) <= 0xFFFF => {
                    *last += u64::from(slots);
                }
                _ => shape.push(times | u64::from(slots)),
            }
            place = place.wrapping_add(1);
        }
        shape[start] = (shape.len() - start - 1) as u64;
        let loads = (1..=self.load_buffer).map(|n| self.loads[self.load_count.wrapping_sub(n) % LOADS]);
        save_short(loads.take_while(|&left| left > now).map(after), shape)?;
        self.scheduler.save(now, shape)?;
        self.ports.save(now, shape)?;
        self.activity.all().iter().for_each(|activity| activity.save(now, shape));
        Some(())
    }

    fn restore(&mut self, now: u64, shape: &mut Words<'_>) {
        self.allocation.restore(now, shape);
        self.retirement.restore(now, shape);
        for (ready, after) in self.ready.iter_mut().zip(restore_short(shape)) {
            *ready = now + after;
        }
        let Self { last_completed, serialised, loads_after, integer_divider, fp_divider, .. } = self;
        for cycle in [last_completed, serialised, loads_after, integer_divider, fp_divider] {
            *cycle = now + shape.next();
        }
        let word = shape.next();
        self.last_issue = now + (word >> 1) - 1;
        self.empty_until = if word & 1 == 1 { self.last_issue } else { 0 };
        let (resolved, recovered) = (shape.next(), shape.next());
        self.restart = Leaf::from_number(resolved & 0xFF).map(|leaf| Restart {
            resolved: now + (resolved >> 8),
            recovered: now + recovered,
            leaf,
        });
        self.executed_before = shape.next() as u32;
        (self.oldest, self.newest, self.in_flight_slots) = (0, shape.next() as usize, 0);
        for (place, &word) in self.in_flight.iter_mut().zip(shape.take(self.newest)) {
            let (slots, computes_for, memory_for) = (word as u16, (word >> 16) as u16, (word >> 32) as u16);
            *place =
                InFlight { retired: now + (word >> 48), slots, memory_for: memory_for.into(), computes_for };
            self.in_flight_slots += u32::from(slots);
        }
        self.loads.fill(0);
        for (n, left) in (1..).zip(restore_short(shape)) {
            self.loads[self.load_count.wrapping_sub(n) % LOADS] = now + left;
        }
        self.scheduler.restore(now, shape);
        self.ports.restore(now, shape);
        self.activity.all_mut().into_iter().for_each(|activity| activity.restore(now, shape));
    }
}
