//! What stores wrote that the cache does not have yet, for loads that read it.

/// Entries by bits 11:3 of the address, so that addresses that agree in their low 12 bits meet.
const PLACES: usize = 512;
/// Counters of loads, by the low bits of their addresses, and executions that depend on no store after which a load
/// runs ahead of stores again (Intel's patents US 7,590,825 and 8,549,263: a saturating counter of four bits).
const CAREFUL: usize = 256;
const EXECUTIONS: u8 = 15;

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// The address by 8 bytes, plus one.
    word: u64,
    /// Which of these bytes.
    bytes: u8,
    /// The number of the store, among those to this place, is odd.
    odd: bool,
    /// Renaming can connect it with a load.
    renamed: bool,
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
        odd: bool,
        /// It begins where the load begins, and renaming can connect the two.
        same: bool,
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
    careful: Box<[u8; CAREFUL]>,
    latest: u64,
    last_line: u64,
    /// The newest store reaches the cache together with the one before.
    joined: bool,
}

impl Stores {
    pub(crate) fn new() -> Self {
        Self {
            places: Box::new([Place::default(); PLACES]),
            careful: Box::new([0; CAREFUL]),
            latest: 0,
            last_line: u64::MAX,
            joined: false,
        }
    }

    /// True if a store, from one line up to the same or the next, reaches the cache together with the one before: two
    /// of a line do.
    #[inline]
    pub(crate) fn joins(&mut self, first: u64, last: u64) -> bool {
        self.joined = self.last_line == first && !self.joined;
        self.last_line = last;
        self.joined
    }

    /// True if the newest store was to this line.
    pub(crate) fn wrote_last(&self, line: u64) -> bool {
        self.last_line == line
    }

    /// Keeps what a store wrote until the cache has it, at `committed`: loads can read from it.
    #[inline]
    pub(crate) fn keep(&mut self, linear: u64, size: u8, times: StoreTimes, committed: u64) {
        let StoreTimes { addressed, data, renamed, .. } = times;
        self.latest = committed;
        let Some(end) = linear.wrapping_add(size.into()).checked_sub(1).filter(|_| size > 0) else { return };
        let (first, last) = (linear >> 3, end >> 3);
        let odd = !self.places[first as usize % PLACES].odd;
        let mut bytes = 0xFF << (linear & 7);
        let mut word = first;
        while word < last {
            self.places[word as usize % PLACES] =
                Place { word: word + 1, bytes, odd, renamed, addressed, data, committed };
            bytes = 0xFF;
            word += 1;
        }
        bytes &= 0xFF >> (7 - (end & 7));
        self.places[word as usize % PLACES] =
            Place { word: word + 1, bytes, odd, renamed, addressed, data, committed };
    }

    /// What a load at `at` finds.
    #[inline]
    pub(crate) fn find(&self, linear: u64, size: u8, at: u64) -> Found {
        if at >= self.latest {
            return Found::Nothing;
        }
        let first = (linear & 7) as u32;
        if first + u32::from(size) > 8 {
            return self.search(linear, size, at);
        }
        // All in one place, as is usual.
        let (word, bytes) = (linear >> 3, (((1u32 << size) - 1) << first) as u8);
        let place = &self.places[word as usize % PLACES];
        let covered = place.bytes & bytes;
        if place.committed <= at || covered == 0 {
            Found::Nothing
        } else if place.word != word + 1 {
            Found::Alias
        } else if covered == bytes {
            let same = place.renamed && place.bytes.trailing_zeros() == first;
            Found::Forward { data: place.data, addressed: place.addressed, odd: place.odd, same }
        } else {
            Found::Blocked { committed: place.committed }
        }
    }

    fn search(&self, linear: u64, size: u8, at: u64) -> Found {
        let mut word = linear >> 3;
        let mut first = (linear & 7) as u32;
        let mut left = u32::from(size);
        let mut covered = 0;
        let mut missing = 0;
        let (mut data, mut addressed, mut committed) = (0, 0, 0);
        let (mut alias, mut odd) = (false, false);
        while left > 0 {
            let here = left.min(8 - first);
            let bytes = (((1u32 << here) - 1) << first) as u8;
            let place = &self.places[word as usize % PLACES];
            if place.committed > at && place.bytes & bytes != 0 {
                if place.word == word + 1 {
                    covered += (place.bytes & bytes).count_ones();
                    odd |= place.odd && place.data >= data;
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
            _ if covered == missing => Found::Forward { data, addressed, odd, same: false },
            _ => Found::Blocked { committed },
        }
    }

    /// True if the load at this address waits for the addresses of older stores, because it was too early not long
    /// ago.
    #[inline]
    pub(crate) fn is_careful(&self, rip: u64) -> bool {
        self.careful[rip as usize % CAREFUL] > 0
    }

    /// The load at this address was too early, or would have been.
    #[inline]
    pub(crate) fn was_early(&mut self, rip: u64) {
        self.careful[rip as usize % CAREFUL] = EXECUTIONS;
    }

    /// The load at this address read from no older store. One that did, of which it knew the address, says nothing:
    /// what the patent counts are loads that do not conflict with stores that are still pending.
    #[inline]
    pub(crate) fn was_independent(&mut self, rip: u64) {
        let counter = &mut self.careful[rip as usize % CAREFUL];
        *counter = counter.saturating_sub(1);
    }
}

/// Cycles of a store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreTimes {
    pub(crate) allocated: u64,
    /// When its address is known, and when its data.
    pub(crate) addressed: u64,
    pub(crate) data: u64,
    pub(crate) retired: u64,
    /// Renaming can connect it with a load.
    pub(crate) renamed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_find_younger_bytes_of_stores() {
        let mut stores = Stores::new();
        stores.keep(
            0x1000,
            4,
            StoreTimes { allocated: 3, addressed: 5, data: 9, retired: 10, renamed: true },
            21,
        );
        assert_eq!(
            stores.find(0x1000, 4, 10),
            Found::Forward { data: 9, addressed: 5, odd: true, same: true }
        );
        assert_eq!(stores.find(0x1000, 8, 10), Found::Blocked { committed: 21 });
        assert_eq!(stores.find(0x1004, 4, 10), Found::Nothing);
        assert_eq!(stores.find(0x3000, 4, 10), Found::Alias);
        assert_eq!(stores.find(0x1000, 8, 21), Found::Nothing);
    }
}
