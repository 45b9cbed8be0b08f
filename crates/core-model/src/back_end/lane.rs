//! A stage that is passed in order.

use crate::state::{Shaped, Words};
use crate::totals::CoreTotals;

/// Uops per cycle, used in order, such as retirement.
#[derive(Debug, Clone, Default)]
pub(super) struct Lane {
    width: u32,
    pub(super) cycle: u64,
    used: u32,
    before: u32,
    /// Instructions whose last uop is in this cycle, and in the one before; booked only if wanted.
    instructions: u32,
    instructions_before: u32,
    counts_instructions: bool,
    /// Floating-point operations of the current cycle by kind, and how many of them a counter adds; kept only if
    /// what is lost is wanted.
    flops: [u32; 4],
    flops_limit: Option<u32>,
}

impl Lane {
    pub(super) fn new(width: u32) -> Self {
        Self { width: width.max(1), ..Self::default() }
    }

    /// Passes some uops, none before `earliest`; the cycle of the last one.
    #[inline(always)]
    pub(super) fn pass(&mut self, totals: &mut CoreTotals, earliest: u64, count: u32) -> u64 {
        if earliest > self.cycle {
            self.idle(totals, earliest);
        }
        if self.used + count <= self.width {
            self.used += count;
            return self.cycle;
        }
        self.pass_rest(totals, count)
    }

    /// As [`pass`](Self::pass), with the last uop of an instruction.
    #[inline(always)]
    pub(super) fn pass_instruction(&mut self, totals: &mut CoreTotals, earliest: u64, count: u32) -> u64 {
        let last = self.pass(totals, earliest, count);
        self.instructions = self.instructions.wrapping_add(1);
        last
    }

    /// From now on books how many instructions pass in each cycle.
    pub(super) fn count_instructions(&mut self) {
        self.counts_instructions = true;
        self.instructions = 0;
    }

    pub(super) fn counts_instructions(&self) -> bool {
        self.counts_instructions
    }

    /// From now on books what is lost of more floating-point operations in a cycle.
    pub(super) fn limit_flops(&mut self, limit: u32) {
        self.flops_limit = Some(limit);
        self.flops = [0; 4];
    }

    pub(super) fn limits_flops(&self) -> bool {
        self.flops_limit.is_some()
    }

    /// The instruction that has passed last does these floating-point operations.
    pub(super) fn pass_flops(&mut self, totals: &mut CoreTotals, flops: [u8; 4]) {
        let Some(limit) = self.flops_limit else { return };
        for (set, lost) in totals.flops_lost.iter_mut().enumerate() {
            let chosen = |of: u32, kind: usize| if set >> kind & 1 == 0 { 0 } else { of };
            let before: u32 = self.flops.iter().enumerate().map(|(kind, of)| chosen(*of, kind)).sum();
            let more: u32 = flops.iter().enumerate().map(|(kind, of)| chosen(u32::from(*of), kind)).sum();
            *lost += u64::from((before + more).saturating_sub(limit.max(before)));
        }
        for (now, more) in self.flops.iter_mut().zip(flops) {
            *now += u32::from(more);
        }
    }

    #[inline(never)]
    fn pass_rest(&mut self, totals: &mut CoreTotals, mut count: u32) -> u64 {
        loop {
            let now = count.min(self.width - self.used);
            self.used += now;
            count -= now;
            if count == 0 {
                return self.cycle;
            }
            self.end(totals);
        }
    }

    /// Everything before a cycle is over.
    pub(super) fn idle_until(&mut self, totals: &mut CoreTotals, cycle: u64) {
        if cycle > self.cycle {
            self.idle(totals, cycle);
        }
    }

    /// Ends cycles until `earliest`, of which only the first one may have uops.
    #[inline(never)]
    pub(super) fn idle(&mut self, totals: &mut CoreTotals, earliest: u64) {
        self.end(totals);
        let idle = earliest - self.cycle;
        if idle > 0 {
            totals.uops_retired.book(0, idle, self.before);
            self.before = 0;
            if self.counts_instructions {
                totals.instructions_by_cycle.book(0, idle, self.instructions_before);
                self.instructions_before = 0;
            }
            self.cycle = earliest;
        }
    }

    #[inline]
    pub(super) fn end(&mut self, totals: &mut CoreTotals) {
        totals.uops_retired.book(self.used, 1, self.before);
        self.before = self.used;
        self.used = 0;
        self.cycle += 1;
        self.flops = [0; 4];
        if self.counts_instructions {
            totals.instructions_by_cycle.book(self.instructions, 1, self.instructions_before);
            (self.instructions_before, self.instructions) = (self.instructions, 0);
        }
    }
}

impl Shaped for Lane {
    fn save(&self, now: u64, shape: &mut Vec<u64>) -> Option<()> {
        let place = u32::try_from(self.cycle.wrapping_sub(now).wrapping_add(1 << 31)).ok()?;
        let (used, before) = (u16::try_from(self.used).ok()?, u16::try_from(self.before).ok()?);
        shape.push(u64::from(place) << 32 | u64::from(used) << 16 | u64::from(before));
        if self.counts_instructions {
            shape.push(u64::from(self.instructions) << 32 | u64::from(self.instructions_before));
        }
        if self.limits_flops() {
            shape.push(self.flops.iter().fold(0, |word, kind| word << 16 | u64::from(*kind)));
        }
        Some(())
    }

    fn restore(&mut self, now: u64, shape: &mut Words<'_>) {
        let word = shape.next();
        self.cycle = now.wrapping_add(word >> 32).wrapping_sub(1 << 31);
        (self.used, self.before) = ((word >> 16 & 0xFFFF) as u32, (word & 0xFFFF) as u32);
        if self.counts_instructions {
            let word = shape.next();
            (self.instructions, self.instructions_before) = ((word >> 32) as u32, word as u32);
        }
        if self.limits_flops() {
            let word = shape.next();
            self.flops = [48, 32, 16, 0].map(|bit| (word >> bit & 0xFFFF) as u32);
        }
    }
}
