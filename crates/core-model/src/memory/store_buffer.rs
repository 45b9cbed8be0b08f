//! The store buffer: when stores reach the cache, in order.

/// Stores that are remembered: as many as any core has entries for.
const PLACES: usize = 128;

#[derive(Debug)]
pub(crate) struct StoreBuffer {
    /// When each of the newest stores reaches the cache.
    commits: [u64; PLACES],
    count: usize,
    entries: usize,
    last_commit: u64,
    /// The line of the newest store, when the first of those to it in a row has reached the cache, and whether the
    /// first level had to get it.
    line: u64,
    line_commit: u64,
    missed: bool,
}

impl StoreBuffer {
    pub(crate) fn new(entries: u32) -> Self {
        let entries = (entries as usize).clamp(1, PLACES);
        Self {
            commits: [0; PLACES],
            count: 0,
            entries,
            last_commit: 0,
            line: u64::MAX,
            line_commit: 0,
            missed: false,
        }
    }

    /// When there is room for one more.
    #[inline]
    pub(crate) fn room(&self) -> u64 {
        self.commits[self.count.wrapping_sub(self.entries) % PLACES]
    }

    /// When all stores have reached the cache.
    #[inline]
    pub(crate) fn drained(&self) -> u64 {
        self.last_commit
    }

    /// When the next store is one of the `oldest` of the buffer.
    #[inline]
    pub(crate) fn among(&self, oldest: u32) -> u64 {
        self.commits[self.count.wrapping_sub(oldest as usize) % PLACES]
    }

    /// When the first level has a line for the next store that it gets from the second, at the earliest: so many cycles
    /// behind the first store to a line that it had, or that it got too, and a cycle less behind the last one to the
    /// latter.
    #[inline]
    pub(crate) fn filled(&self, [behind_hit, behind_miss]: [u32; 2]) -> u64 {
        if self.missed {
            (self.line_commit + u64::from(behind_miss))
                .max(self.last_commit + u64::from(behind_miss.saturating_sub(1)))
        } else {
            self.line_commit + u64::from(behind_hit)
        }
    }

    /// Notes the line of the store that was added last, and whether the first level had to get it.
    #[inline]
    pub(crate) fn note_line(&mut self, line: u64, missed: bool) {
        if line != self.line {
            (self.line, self.line_commit, self.missed) = (line, self.last_commit, missed);
        }
    }

    /// Adds a store that writes so many lines in addition to the one that the store before it has written, is retired
    /// at `retired`, and whose line is there at `line_ready`; when it reaches the cache.
    #[inline]
    pub(crate) fn add(&mut self, writes: u64, retired: u64, line_ready: u64) -> u64 {
        // One line a cycle goes to the cache.
        let next = self.last_commit + writes;
        let committed = next.max(retired + 1).max(line_ready);
        self.last_commit = committed;
        self.commits[self.count % PLACES] = committed;
        self.count = self.count.wrapping_add(1);
        committed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_buffer_waits_for_its_oldest_store() {
        let mut stores = StoreBuffer::new(3);
        let rooms = [100, 200, 300, 400, 500].map(|line_ready| {
            stores.add(1, 10, line_ready);
            stores.room()
        });
        assert_eq!(rooms, [0, 0, 100, 200, 300]);
        assert_eq!(stores.drained(), 500);
    }

    #[test]
    fn a_line_is_written_in_a_cycle_and_stores_stay_in_order() {
        let mut stores = StoreBuffer::new(8);
        assert_eq!(stores.add(1, 10, 50), 50);
        assert_eq!(stores.add(0, 12, 13), 50);
        assert_eq!(stores.add(1, 12, 13), 51);
        assert_eq!(stores.add(1, 60, 0), 61);
    }
}
