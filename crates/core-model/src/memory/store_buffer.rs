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
}

impl StoreBuffer {
    pub(crate) fn new(entries: u32) -> Self {
        let entries = (entries as usize).clamp(1, PLACES);
        Self { commits: [0; PLACES], count: 0, entries, last_commit: 0 }
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
