//! The store buffer: stores on their way to the cache, and loads that read from them.

/// Entries by bits 11:3 of the address, so that addresses that agree in their low 12 bits meet.
const PLACES: usize = 512;
/// Loads that are remembered because they once ran ahead of a store that they depend on.
const CAREFUL: usize = 256;

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// The address by 8 bytes, plus one.
    word: u64,
    /// Which of these bytes.
    bytes: u8,
    /// When the address is known, when the data, and when the cache has it.
    addressed: u64,
    data: u64,
    committed: u64,
}

/// What a load finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    /// The value can be forwarded once it is there.
    Forward {
        data: u64,
        addressed: u64,
    },
    /// Only a part is there: the load waits until the cache has it.
    Blocked {
        committed: u64,
    },
    /// Another address with the same low 12 bits.
    Alias,
}

#[derive(Debug)]
pub(crate) struct Stores {
    places: Box<[Place; PLACES]>,
    careful: Box<[u16; CAREFUL]>,
    /// When each of the newest stores reaches the cache.
    commits: Box<[u64]>,
    count: u64,
    entries: u64,
    last_commit: u64,
    latest: u64,
    last_line: u64,
}

impl Stores {
    pub(crate) fn new(entries: u32) -> Self {
        let entries = entries.max(1);
        let len = entries.next_power_of_two() as usize;
        Self {
            places: Box::new([Place::default(); PLACES]),
            careful: Box::new([0; CAREFUL]),
            commits: vec![0; len].into_boxed_slice(),
            count: 0,
            entries: entries.into(),
            last_commit: 0,
            latest: 0,
            last_line: u64::MAX,
        }
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

    /// Adds a store that is retired at `retired` and whose line is there at `line_ready`.
    #[inline]
    pub(crate) fn add(&mut self, store: &Store, retired: u64, line_ready: u64) {
        // One line a cycle goes to the cache; neighbours on a line go together.
        let line = store.linear >> 6;
        let next = self.last_commit + u64::from(line != self.last_line);
        let committed = next.max(retired + 1).max(line_ready);
        self.last_line = line;
        self.last_commit = committed;
        self.latest = committed;
        let len = self.commits.len();
        self.commits[self.count as usize & (len - 1)] = committed;
        self.count += 1;
        let mut word = store.linear >> 3;
        let mut first = (store.linear & 7) as u32;
        let mut left = u32::from(store.size);
        while left > 0 {
            let here = left.min(8 - first);
            let bytes = (((1u32 << here) - 1) << first) as u8;
            self.places[word as usize % PLACES] =
                Place { word: word + 1, bytes, addressed: store.addressed, data: store.data, committed };
            left -= here;
            first = 0;
            word += 1;
        }
    }

    /// What a load at `at` finds.
    #[inline]
    pub(crate) fn find(&self, linear: u64, size: u8, at: u64) -> Found {
        if at >= self.latest {
            return Found::Nothing;
        }
        self.search(linear, size, at)
    }

    fn search(&self, linear: u64, size: u8, at: u64) -> Found {
        let mut word = linear >> 3;
        let mut first = (linear & 7) as u32;
        let mut left = u32::from(size);
        let mut covered = 0;
        let mut missing = 0;
        let (mut data, mut addressed, mut committed) = (0, 0, 0);
        let mut alias = false;
        while left > 0 {
            let here = left.min(8 - first);
            let bytes = (((1u32 << here) - 1) << first) as u8;
            let place = &self.places[word as usize % PLACES];
            if place.committed > at && place.bytes & bytes != 0 {
                if place.word == word + 1 {
                    covered += (place.bytes & bytes).count_ones();
                    data = place.data.max(data);
                    addressed = place.addressed.max(addressed);
                    committed = place.committed.max(committed);
                } else {
                    alias = true;
                }
            }
            missing += here;
            left -= here;
            first = 0;
            word += 1;
        }
        match covered {
            0 if alias => Found::Alias,
            0 => Found::Nothing,
            _ if covered == missing => Found::Forward { data, addressed },
            _ => Found::Blocked { committed },
        }
    }

    /// True if the load at this address has been too early before.
    #[inline]
    pub(crate) fn is_careful(&self, rip: u64) -> bool {
        self.careful[rip as usize % CAREFUL] == tag(rip)
    }

    /// The load was too early; from now on it waits for the addresses of older stores.
    pub(crate) fn be_careful(&mut self, rip: u64) {
        self.careful[rip as usize % CAREFUL] = tag(rip);
    }
}

fn tag(rip: u64) -> u16 {
    (rip >> 8) as u16 | 1
}

/// A store, as it is executed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Store {
    pub(crate) linear: u64,
    pub(crate) size: u8,
    pub(crate) addressed: u64,
    pub(crate) data: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_find_younger_bytes_of_stores() {
        let mut stores = Stores::new(4);
        stores.add(&Store { linear: 0x1000, size: 4, addressed: 5, data: 9 }, 20, 0);
        assert_eq!(stores.find(0x1000, 4, 10), Found::Forward { data: 9, addressed: 5 });
        assert_eq!(stores.find(0x1000, 8, 10), Found::Blocked { committed: 21 });
        assert_eq!(stores.find(0x1004, 4, 10), Found::Nothing);
        assert_eq!(stores.find(0x3000, 4, 10), Found::Alias);
        assert_eq!(stores.find(0x1000, 8, 21), Found::Nothing);
    }

    #[test]
    fn a_full_buffer_waits_for_its_oldest_store() {
        let mut stores = Stores::new(2);
        for n in 0..3 {
            stores.add(&Store { linear: n * 64, size: 8, addressed: 0, data: 0 }, 10, 100 * (n + 1));
        }
        assert_eq!(stores.room(), 200);
        assert_eq!(stores.drained(), 300);
    }
}
