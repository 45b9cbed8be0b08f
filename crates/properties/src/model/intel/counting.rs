//! Counting, eagerly: every batch of occurrences goes into every counter that is on.

use super::events::{fixed, selected};
use super::{Books, Intel, Tick, bit, ones};
use vpmu::event::Event;

impl Intel {
    fn frozen(&self) -> bool {
        self.cpu.version >= 4 && bit(self.global_status, 59)
    }

    /// EN, the ring's bit, GLOBAL_CTRL and no freeze.
    fn gp_counts(&self, n: usize, os: bool) -> bool {
        let select = self.evtsel[n];
        bit(select, 22)
            && bit(select, if os { 17 } else { 16 })
            && (self.cpu.version < 2 || bit(self.global_ctrl, n as u32))
            && !self.frozen()
    }

    /// The ring's bit, GLOBAL_CTRL and no freeze.
    fn fixed_counts(&self, n: usize, os: bool) -> bool {
        bit(self.fixed_ctr_ctrl, 4 * n as u32 + u32::from(!os))
            && bit(self.global_ctrl, 32 + n as u32)
            && !self.frozen()
    }

    /// The metrics have an enable of their own but no ring filter: they follow fixed counter 3.
    fn metrics_count(&self, os: bool) -> bool {
        self.fixed_counts(3, os) && bit(self.global_ctrl, 48)
    }

    fn selected(&self, n: usize) -> Option<Event> {
        selected(&self.cpu, self.evtsel[n], n, self.frontend, self.ld_lat)
    }

    /// One batch of occurrences happens.
    pub(super) fn count(&mut self, tick: &Tick, books: &mut Books) {
        let mut overflowed = 0_u64;
        let mut interrupt = false;
        for n in 0..self.cpu.gp as usize {
            let Some(event) = self.selected(n) else { continue };
            for os in [true, false] {
                if !self.gp_counts(n, os) {
                    continue;
                }
                let count = tick.occurrences(event, os);
                books.gp[n] += count;
                if carry(&mut self.pmc[n], count, self.cpu.gp_width) {
                    overflowed |= 1 << n;
                    interrupt |= bit(self.evtsel[n], 20);
                }
            }
        }
        for n in 0..self.cpu.fixed as usize {
            for os in [true, false] {
                if !self.fixed_counts(n, os) {
                    continue;
                }
                let count = tick.occurrences(fixed(n), os);
                books.fixed[n] += count;
                if carry(&mut self.fixed[n], count, self.cpu.fixed_width) {
                    overflowed |= 1 << (32 + n);
                    interrupt |= bit(self.fixed_ctr_ctrl, 4 * n as u32 + 3);
                }
            }
        }
        for slots in &tick.slots {
            if self.metrics_count(slots.os) {
                books.metrics[0] += slots.total();
                for (sum, more) in books.metrics[1..].iter_mut().zip(slots.fields) {
                    *sum += more;
                }
                // A PMI follows; there is no enable for it.
                if self.metrics.count(slots, self.cpu.metric_fields) {
                    overflowed |= 1 << 48;
                    interrupt = true;
                }
            }
        }
        self.global_status |= overflowed;
        if interrupt {
            self.pmi = true;
            if bit(self.debugctl, 12) {
                if self.cpu.version >= 4 {
                    self.global_status |= 1 << 59;
                } else {
                    self.global_ctrl = 0;
                }
            }
        }
    }
}

/// Adds to a counter; true when it passed from all ones to 0.
pub(super) fn carry(counter: &mut u64, count: u64, width: u32) -> bool {
    let sum = u128::from(*counter) + u128::from(count);
    *counter = (sum as u64) & ones(width);
    sum > u128::from(ones(width))
}
