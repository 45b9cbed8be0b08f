//! Allocation: every slot of every cycle gets its leaf here.

use crate::state::{Shaped, Words};
use crate::totals::{CoreTotals, Slots};

/// Where a slot goes to; level 2 of TMA without the retiring ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Leaf {
    BranchMispredicts,
    MachineClears,
    /// Latency in cycles without any uop, bandwidth in the others.
    FrontEnd,
    Memory,
    Core,
}

impl Leaf {
    /// The leaf whose number plus one this is; `None` for 0.
    pub(crate) fn from_number(number: u64) -> Option<Self> {
        let all = [Self::BranchMispredicts, Self::MachineClears, Self::FrontEnd, Self::Memory, Self::Core];
        all.into_iter().find(|&leaf| leaf as u64 + 1 == number)
    }
}

/// Progress of allocation, in cycles and slots.
#[derive(Debug, Clone)]
pub(crate) struct Allocation {
    width: u32,
    cycle: u64,
    /// Slots of this cycle that are booked.
    used: u32,
    issued: u32,
    bubbles: u32,
    /// The same of the cycle before.
    issued_before: u32,
    bubbles_before: u32,
}

impl Allocation {
    pub(crate) fn new(width: u32) -> Self {
        Self {
            width: width.max(1),
            cycle: 0,
            used: 0,
            issued: 0,
            bubbles: 0,
            issued_before: 0,
            bubbles_before: 0,
        }
    }

    /// The current cycle.
    #[inline]
    pub(crate) fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Slots of the current cycle that are taken.
    #[inline]
    pub(crate) fn used(&self) -> u32 {
        self.used
    }

    /// True if the front end left slots of the cycle before empty.
    pub(crate) fn was_short(&self) -> bool {
        self.bubbles_before > 0
    }

    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// Books all empty slots before `until` to a leaf. Wrong-path uops fill the slots with `issue`.
    #[inline(always)]
    pub(crate) fn wait(&mut self, totals: &mut CoreTotals, until: u64, leaf: Leaf, issue: bool) {
        if until > self.cycle {
            self.wait_longer(totals, until, leaf, issue);
        }
    }

    #[inline(never)]
    fn wait_longer(&mut self, totals: &mut CoreTotals, until: u64, leaf: Leaf, issue: bool) {
        let rest = self.width - self.used;
        let first_is_latency = self.used == 0;
        if issue {
            self.issued += rest;
        }
        if leaf == Leaf::FrontEnd {
            self.bubbles += rest;
        }
        self.end_cycle(totals);
        let whole = until - self.cycle;
        let width = u64::from(self.width);
        if whole > 0 {
            let issued = if issue { self.width } else { 0 };
            let bubbles = if leaf == Leaf::FrontEnd { self.width } else { 0 };
            totals.uops_issued.book_run(issued, whole, &mut self.issued_before);
            totals.uops_not_delivered.book_run(bubbles, whole, &mut self.bubbles_before);
            totals.cycles += whole;
            self.cycle = until;
        }
        let Slots {
            branch_mispredicts,
            machine_clears,
            fetch_latency,
            fetch_bandwidth,
            memory_bound,
            core_bound,
            ..
        } = &mut totals.slots;
        let (first, others) = match leaf {
            Leaf::BranchMispredicts => (None, branch_mispredicts),
            Leaf::MachineClears => (None, machine_clears),
            Leaf::FrontEnd if first_is_latency => (None, fetch_latency),
            Leaf::FrontEnd => (Some(fetch_bandwidth), fetch_latency),
            Leaf::Memory => (None, memory_bound),
            Leaf::Core => (None, core_bound),
        };
        *others += whole * width;
        *first.unwrap_or(others) += u64::from(rest);
    }

    /// What a cycle has slots for is not begun in one that has too few left.
    pub(crate) fn make_whole(&mut self, totals: &mut CoreTotals, slots: u32) {
        if slots <= self.width && self.used + slots > self.width {
            self.wait(totals, self.cycle + 1, Leaf::Core, false);
        }
    }

    /// Books all empty slots before `until`, which is later than now, to the back end: in so many of the cycles it
    /// waits for memory. `first`: the leaf of this cycle.
    pub(crate) fn hold(&mut self, totals: &mut CoreTotals, until: u64, first: Leaf, waiting: u64) {
        let (width, rest) = (u64::from(self.width), u64::from(self.width - self.used));
        self.end_cycle(totals);
        let whole = until - self.cycle;
        if whole > 0 {
            totals.uops_issued.book_run(0, whole, &mut self.issued_before);
            totals.uops_not_delivered.book_run(0, whole, &mut self.bubbles_before);
            totals.cycles += whole;
            self.cycle = until;
        }
        let is_memory = u64::from(first == Leaf::Memory);
        let waiting = waiting - is_memory;
        totals.slots.memory_bound += waiting * width + is_memory * rest;
        totals.slots.core_bound += (whole - waiting) * width + (1 - is_memory) * rest;
    }

    /// In a cycle that begins, behind what should have been allocated in it, and was too early: these slots are the
    /// back end's.
    pub(crate) fn resume(&mut self, totals: &mut CoreTotals, used: u32) {
        self.used = used;
        totals.slots.core_bound += u64::from(used);
    }

    /// Takes slots for uops that retire; the cycle of the last one.
    #[inline(always)]
    pub(crate) fn take(&mut self, totals: &mut CoreTotals, slots: u32) -> u64 {
        if self.used + slots < self.width {
            self.used += slots;
            self.issued += slots;
            return self.cycle;
        }
        self.take_rest(totals, slots)
    }

    #[inline(never)]
    fn take_rest(&mut self, totals: &mut CoreTotals, mut slots: u32) -> u64 {
        let mut last = self.cycle;
        while slots > 0 {
            last = self.cycle;
            let taken = slots.min(self.width - self.used);
            self.used += taken;
            self.issued += taken;
            slots -= taken;
            if self.used == self.width {
                self.end_cycle(totals);
            }
        }
        last
    }

    #[inline(always)]
    fn end_cycle(&mut self, totals: &mut CoreTotals) {
        totals.uops_issued.book_run(self.issued, 1, &mut self.issued_before);
        totals.uops_not_delivered.book_run(self.bubbles, 1, &mut self.bubbles_before);
        totals.cycles += 1;
        self.cycle += 1;
        (self.used, self.issued, self.bubbles) = (0, 0, 0);
    }
}

impl Shaped for Allocation {
    fn save(&self, _: u64, shape: &mut Vec<u64>) -> Option<()> {
        let Self { width: _, cycle: _, used, issued, bubbles, issued_before, bubbles_before } = *self;
        let parts = [used, issued, bubbles, issued_before, bubbles_before];
        shape.push(
            parts.iter().try_fold(0, |word, &part| Some(word << 8 | u64::from(u8::try_from(part).ok()?)))?,
        );
        Some(())
    }

    fn restore(&mut self, now: u64, shape: &mut Words<'_>) {
        let word = shape.next();
        let part = |n: u32| (word >> (8 * n) & 0xFF) as u32;
        self.cycle = now;
        (self.used, self.issued, self.bubbles) = (part(4), part(3), part(2));
        (self.issued_before, self.bubbles_before) = (part(1), part(0));
    }
}
