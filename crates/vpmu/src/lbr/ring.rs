//! The ring of entries that every kind of stack is.

use crate::bits::low_usize;

/// Most entries that a stack has.
pub const MAX_DEPTH: usize = 32;

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LbrEntry {
    /// Where the branch was.
    pub(crate) from: u64,
    /// Where it went.
    pub(crate) to: u64,
    /// What is known about it, in the layout of the INFO register, if there is one.
    pub(crate) info: u64,
}

/// A word of a ring that software can see.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RingWord {
    /// Index of the newest entry.
    Newest,
    /// How many entries there are.
    Depth,
    /// [`LbrEntry::from`] of the entry with this index.
    From(usize),
    /// [`LbrEntry::to`].
    To(usize),
    /// [`LbrEntry::info`].
    Info(usize),
}

/// A ring of entries. The newest entry's index is at most `depth - 1`, which is at most [`MAX_DEPTH`] - 1.
#[derive(Debug, Clone)]
pub(crate) struct Ring {
    entries: [LbrEntry; MAX_DEPTH],
    newest: u64,
    depth: u64,
    /// Cycle of the last push or pop since recording began.
    pub(crate) updated: Option<u64>,
}

impl Ring {
    pub(crate) fn new(depth: u64) -> Self {
        Self { entries: [LbrEntry::default(); MAX_DEPTH], newest: 0, depth, updated: None }
    }

    pub(crate) fn depth(&self) -> u64 {
        self.depth
    }

    /// Index of the entry `steps` before the newest, where the ring has so many.
    pub(crate) fn back(&self, steps: u32) -> usize {
        let (newest, steps) = (self.newest, u64::from(steps));
        index(if steps <= newest { newest - steps } else { (newest + self.depth).wrapping_sub(steps) })
    }

    /// The newest entry; all 0 when there is none.
    pub(crate) fn newest(&self) -> LbrEntry {
        self.entries[index(self.newest)]
    }

    /// FROM, TO and INFO of the entry with this index.
    pub(crate) fn entry(&self, index: usize) -> [u64; 3] {
        let LbrEntry { from, to, info } = self.entries[index];
        [from, to, info]
    }

    pub(crate) fn word(&self, word: RingWord) -> u64 {
        match word {
            RingWord::Newest => self.newest,
            RingWord::Depth => self.depth,
            RingWord::From(index) => self.entries[index].from,
            RingWord::To(index) => self.entries[index].to,
            RingWord::Info(index) => self.entries[index].info,
        }
    }

    /// Another depth clears the ring, also when it is the old one.
    pub(crate) fn set_word(&mut self, word: RingWord, value: u64) {
        match word {
            RingWord::Newest => self.newest = value,
            RingWord::Depth => *self = Self::new(value),
            RingWord::From(index) => self.entries[index].from = value,
            RingWord::To(index) => self.entries[index].to = value,
            RingWord::Info(index) => self.entries[index].info = value,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: LbrEntry, cycle: u64) {
        self.newest = if self.newest + 1 < self.depth { self.newest + 1 } else { 0 };
        self.entries[index(self.newest)] = entry;
        self.updated = Some(cycle);
    }

    /// The position after `count` pushes.
    pub(crate) fn skip(&mut self, count: u64) {
        let depth = self.depth.max(1);
        self.newest = (self.newest + count % depth) % depth;
    }

    /// Discards the newest entry; nothing happens when there is none.
    pub(crate) fn pop(&mut self, cycle: u64) {
        let newest = &mut self.entries[index(self.newest)];
        if newest.from == 0 && newest.to == 0 {
            return;
        }
        *newest = LbrEntry::default();
        self.newest = if self.newest == 0 { self.depth - 1 } else { self.newest - 1 };
        self.updated = Some(cycle);
    }

    /// Cycles since the last push or pop, saturating at 16 bits; `None` when recording has just begun.
    #[inline]
    pub(crate) fn elapsed(&self, cycle: u64) -> Option<u64> {
        let elapsed = cycle.checked_sub(self.updated?)?;
        Some(elapsed.min(u16::MAX.into()))
    }
}

/// A position as an index; software cannot set one beyond the entries.
fn index(position: u64) -> usize {
    low_usize(position % MAX_DEPTH as u64)
}
