//! The store buffer: when stores reach the cache, in order.

use crate::memo::{Shaped, Words};
use crate::packed::{CYCLES, Packer, Unpacker};

#[derive(Debug)]
pub(crate) struct StoreBuffer {
    /// When each of the newest stores reaches the cache.
    commits: Box<[u64]>,
    count: u64,
    entries: u64,
    last_commit: u64,
}

impl StoreBuffer {
    pub(crate) fn new(entries: u32) -> Self {
        let entries = entries.max(1);
        let len = entries.next_power_of_two() as usize;
        Self { commits: vec![0; len].into_boxed_slice(), count: 0, entries: entries.into(), last_commit: 0 }
    }

    /// When there is room for one more.
    #[inline]
    pub(crate) fn room(&self) -> u64 {
        if self.count < self.entries {
            return 0;
        }
        self.commits[(self.count - self.entries) as usize & (self.commits.len() - 1)]
    }

    /// When all stores have reached the cache.
    pub(crate) fn drained(&self) -> u64 {
        self.last_commit
    }

    /// Adds a store that is retired at `retired` and whose line is there at `line_ready`; when it reaches the cache.
    #[inline]
    pub(crate) fn add(&mut self, new_line: bool, retired: u64, line_ready: u64) -> u64 {
        // One line a cycle goes to the cache; neighbours on a line go together.
        let next = self.last_commit + u64::from(new_line);
        let committed = next.max(retired + 1).max(line_ready);
        self.last_commit = committed;
        let len = self.commits.len();
        self.commits[self.count as usize & (len - 1)] = committed;
        self.count += 1;
        committed
    }
}

impl StoreBuffer {
    /// The place of one of the newest stores, from 1 on.
    #[inline(always)]
    fn place(&self, n: u64) -> usize {
        self.count.wrapping_sub(n) as usize & (self.commits.len() - 1)
    }
}

impl Shaped for StoreBuffer {
    fn save(&self, now: u64, shape: &mut Vec<u64>) -> Option<()> {
        let newest = (1..=self.count.min(self.entries)).map(|n| self.commits[self.place(n)]);
        let mut packer = Packer::new(shape);
        packer.try_put(self.last_commit.saturating_sub(now), CYCLES)?;
        packer.falling(newest.map(|commit| commit.saturating_sub(now)).take_while(|&after| after > 0))?;
        packer.finish();
        Some(())
    }

    fn restore(&mut self, now: u64, shape: &mut Words<'_>) {
        let mut unpacker = Unpacker::new(shape);
        // Commits are in order: before one that is over there are no others.
        for n in 1..=self.commits.len() as u64 {
            let place = self.place(n);
            if self.commits[place] <= now {
                break;
            }
            self.commits[place] = 0;
        }
        self.last_commit = now + unpacker.get(CYCLES);
        self.count = self.count.max(self.entries);
        let mut n = 0;
        unpacker.falling(|after| {
            n += 1;
            let place = self.place(n);
            self.commits[place] = now + after;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_buffer_waits_for_its_oldest_store() {
        let mut stores = StoreBuffer::new(2);
        for n in 0..3 {
            stores.add(true, 10, 100 * (n + 1));
        }
        assert_eq!(stores.room(), 200);
        assert_eq!(stores.drained(), 300);
    }
}
