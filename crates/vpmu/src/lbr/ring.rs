//! The ring of entries below both kinds of stacks.

/// Most entries that a stack has.
pub const MAX_DEPTH: usize = 32;

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct LbrEntry {
    /// Where the branch was.
    pub from: u64,
    /// Where it went.
    pub to: u64,
    /// What is known about it, in the layout of the INFO register.
    pub info: u64,
}

impl LbrEntry {
    pub(super) const EMPTY: Self = Self { from: 0, to: 0, info: 0 };
}

/// A ring of entries. The newest entry's index is at most `depth - 1`, which is at most [`MAX_DEPTH`] - 1.
#[derive(Debug, Clone)]
pub(super) struct Ring {
    pub(super) entries: [LbrEntry; MAX_DEPTH],
    pub(super) newest: u64,
    pub(super) depth: u64,
    /// Cycle of the last push or pop since recording began.
    pub(super) updated: Option<u64>,
}

impl Ring {
    pub(super) const fn new(depth: u64) -> Self {
        Self { entries: [LbrEntry::EMPTY; MAX_DEPTH], newest: 0, depth, updated: None }
    }

    /// Index of the entry `steps` before the newest.
    pub(super) fn back(&self, steps: u64) -> usize {
        let newest = self.newest;
        (if steps <= newest { newest - steps } else { newest + self.depth - steps }) as usize % MAX_DEPTH
    }

    #[inline]
    pub(super) fn push(&mut self, entry: LbrEntry, cycle: u64) {
        self.newest = if self.newest + 1 < self.depth { self.newest + 1 } else { 0 };
        self.entries[self.newest as usize % MAX_DEPTH] = entry;
        self.updated = Some(cycle);
    }

    /// The position after `count` pushes.
    pub(super) fn skip(&mut self, count: u64) {
        let depth = self.depth.max(1);
        self.newest = (self.newest + count % depth) % depth;
    }

    /// Discards the newest entry; nothing happens when there is none.
    pub(super) fn pop(&mut self, cycle: u64) {
        let newest = &mut self.entries[self.newest as usize % MAX_DEPTH];
        if newest.from == 0 && newest.to == 0 {
            return;
        }
        *newest = LbrEntry::EMPTY;
        self.newest = if self.newest == 0 { self.depth - 1 } else { self.newest - 1 };
        self.updated = Some(cycle);
    }

    /// Cycles since the last push or pop, saturating at 16 bits; `None` when recording has just begun.
    #[inline]
    pub(super) fn elapsed(&self, cycle: u64) -> Option<u64> {
        let elapsed = cycle.checked_sub(self.updated?)?;
        Some(elapsed.min(0xFFFF))
    }
}
