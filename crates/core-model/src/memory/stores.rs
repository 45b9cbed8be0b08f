//! What stores wrote that the cache does not have yet, for loads that read it.

use super::renaming::{Follow, Forwarder};
use retire::MemoryAccess;

/// Entries by bits 11:3 of the address, so that addresses that agree in their low 12 bits meet.
const PLACES: usize = 512;
/// Two neighbouring stores to any addresses reach the cache together.
pub(crate) const ANYWHERE: u32 = 64;
/// Stores that one to a part of four bytes can conflict with: measured on Zen 3.
const RECENT: usize = 4;

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// The address by 8 bytes, plus one.
    word: u64,
    /// Which of these bytes.
    bytes: u8,
    /// The number of the store, among those to this place, is odd.
    odd: bool,
    /// How renaming can connect it with a load, and that it has.
    follow: Follow,
    source: bool,
    /// The number of the store, among all.
    number: u32,
    /// When the newest load that it was forwarded to had the value, and the same of the store to the same bytes before
    /// it; 0 if there is none.
    forwarded: u64,
    before: u64,
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
        /// For renaming.
        store: Forwarder,
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
    latest: u64,
    /// When all stores so far have their addresses.
    addressed: u64,
    /// Stores so far.
    count: u32,
    /// The last byte of the newest store.
    last_store: u64,
    /// The newest store reaches the cache together with the one before.
    joined: bool,
    /// Renaming had connected a load with the store before to its place.
    last_source: bool,
    /// The eight bytes that the last stores wrote to.
    recent: [u64; RECENT],
}

impl Stores {
    pub(crate) fn new() -> Self {
        Self {
            places: Box::new([Place::default(); PLACES]),
            latest: 0,
            addressed: 0,
            count: 0,
            last_store: u64::MAX,
            joined: false,
            last_source: false,
            recent: [u64::MAX; RECENT],
        }
    }

    /// True if a store reaches the cache together with the one before: two to the same aligned bytes do, or `runs` of
    /// any length. `shift`: log2 of these.
    #[inline]
    pub(crate) fn joins(&mut self, access: &MemoryAccess, shift: u32, runs: bool) -> bool {
        let last = access.linear.wrapping_add(access.size.max(1).into()).wrapping_sub(1);
        let source = self.is_source(access.linear);
        let apart = std::mem::replace(&mut self.last_source, source) || source;
        let same = shift >= ANYWHERE || self.last_store >> shift == access.linear >> shift && shift > 0;
        self.joined = same && (runs || !self.joined) && !apart;
        self.last_store = last;
        self.joined
    }

    /// True if a store goes from one such place to the next, or from line to line.
    #[inline]
    pub(crate) fn crosses(access: &MemoryAccess, shift: u32) -> bool {
        let shift = if shift == 0 { 6 } else { shift.min(6) };
        let last = access.linear.wrapping_add(access.size.max(1).into()).wrapping_sub(1);
        last >> shift != access.linear >> shift
    }

    /// True if renaming has connected a load with the newest store to these 8 bytes.
    fn is_source(&self, linear: u64) -> bool {
        let place = &self.places[(linear >> 3) as usize % PLACES];
        place.source && place.word == (linear >> 3) + 1
    }

    /// Renaming has connected a load of these 8 bytes with its store: the next one reaches the cache alone, as Zen 3
    /// has it (measured).
    pub(crate) fn was_renamed(&mut self, linear: u64) {
        self.places[(linear >> 3) as usize % PLACES].source = true;
    }

    /// True if a store to a part of four bytes, that of its eight bytes one of the last few stores wrote to, is not the
    /// neighbour of one to the same 32 bytes. It is added to these.
    #[inline]
    pub(crate) fn is_partial(&mut self, access: &MemoryAccess) -> bool {
        let parts = (access.linear | u64::from(access.size)) & 3 != 0;
        let word = access.linear >> 3;
        let apart = |other: &u64| other >> 2 != word >> 2;
        let again = parts
            && self
                .recent
                .iter()
                .position(|&other| other == word)
                .is_some_and(|place| self.recent[..place].iter().any(apart));
        if again {
            // It has waited for all of them.
            self.recent = [u64::MAX; RECENT];
        }
        self.recent.rotate_right(1);
        self.recent[0] = word;
        again
    }

    /// The newest store to these eight bytes is forwarded to a load that has its value at `ready`.
    #[inline]
    pub(crate) fn was_forwarded(&mut self, linear: u64, ready: u64) {
        self.places[(linear >> 3) as usize % PLACES].forwarded = ready;
    }

    /// When the load had its value that the store before the newest one to these eight bytes was forwarded to, if the
    /// newest one's may be made of it, as it came within so many cycles.
    #[inline]
    pub(crate) fn forwarded_before(&self, linear: u64, within: u64) -> Option<u64> {
        let Place { before, data, .. } = self.places[(linear >> 3) as usize % PLACES];
        (before > 0 && (before..=before + within).contains(&data)).then_some(before)
    }

    /// When all stores so far have their addresses.
    #[inline]
    pub(crate) fn all_addressed(&self) -> u64 {
        self.addressed
    }

    /// Stores so far.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// True if the newest store was to this line.
    pub(crate) fn wrote_last(&self, line: u64) -> bool {
        self.last_store >> 6 == line
    }

    /// Keeps what a store wrote until the cache has it, at `committed`: loads can read from it.
    #[inline]
    pub(crate) fn keep(&mut self, linear: u64, size: u8, times: StoreTimes, committed: u64) {
        let StoreTimes { addressed, data, follow, .. } = times;
        self.latest = committed;
        self.addressed = self.addressed.max(addressed);
        let Some(end) = linear.wrapping_add(size.into()).checked_sub(1).filter(|_| size > 0) else { return };
        let (first, last) = (linear >> 3, end >> 3);
        self.count = self.count.wrapping_add(1);
        let number = self.count;
        let odd = !self.places[first as usize % PLACES].odd;
        let mut put = |word: u64, bytes| {
            let place = &mut self.places[word as usize % PLACES];
            let word = word + 1;
            let before = if place.word == word { place.forwarded } else { 0 };
            *place = Place {
                word,
                bytes,
                odd,
                follow,
                source: false,
                number,
                forwarded: 0,
                before,
                addressed,
                data,
                committed,
            };
        };
        let mut bytes = 0xFF << (linear & 7);
        for word in first..last {
            put(word, bytes);
            bytes = 0xFF;
        }
        put(last, bytes & 0xFF >> (7 - (end & 7)));
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
            let follow = if place.bytes.trailing_zeros() == first { place.follow } else { Follow::NO };
            let younger = self.count.wrapping_sub(place.number);
            let store = Forwarder { follow, younger };
            Found::Forward { data: place.data, addressed: place.addressed, odd: place.odd, store }
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
        // Nothing is put together that several stores wrote: measured on Zen 5, and Intel's optimisation manual.
        let (mut lowest, mut one) = (None, true);
        while left > 0 {
            let here = left.min(8 - first);
            let bytes = (((1u32 << here) - 1) << first) as u8;
            let place = &self.places[word as usize % PLACES];
            if place.committed > at && place.bytes & bytes != 0 {
                if place.word == word + 1 {
                    covered += (place.bytes & bytes).count_ones();
                    let starts = place.bytes.trailing_zeros() == first;
                    let (of, _) = lowest.get_or_insert((place, starts));
                    one &= of.number == place.number;
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
        let store = lowest.map_or(Forwarder::default(), |(place, starts)| Forwarder {
            follow: if starts { place.follow } else { Follow::NO },
            younger: self.count.wrapping_sub(place.number),
        });
        match covered {
            0 if alias => Found::Alias,
            0 => Found::Nothing,
            _ if covered == missing && one => Found::Forward { data, addressed, odd, store },
            _ => Found::Blocked { committed },
        }
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
    /// How renaming can connect it with a load.
    pub(crate) follow: Follow,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCESS: Follow = Follow::STACK;

    #[test]
    fn loads_find_younger_bytes_of_stores() {
        let mut stores = Stores::new();
        stores.keep(
            0x1000,
            4,
            StoreTimes { allocated: 3, addressed: 5, data: 9, retired: 10, follow: ACCESS },
            21,
        );
        assert_eq!(
            stores.find(0x1000, 4, 10),
            Found::Forward {
                data: 9,
                addressed: 5,
                odd: true,
                store: Forwarder { follow: ACCESS, younger: 0 }
            }
        );
        assert_eq!(stores.find(0x1000, 8, 10), Found::Blocked { committed: 21 });
        assert_eq!(stores.find(0x1004, 4, 10), Found::Nothing);
        assert_eq!(stores.find(0x3000, 4, 10), Found::Alias);
        assert_eq!(stores.find(0x1000, 8, 21), Found::Nothing);
    }

    /// Measured on Zen 5: a load that reads from two stores waits as long as one that reads from a part of one.
    #[test]
    fn no_load_puts_together_what_two_stores_wrote() {
        let times = StoreTimes { allocated: 3, addressed: 5, data: 9, retired: 10, follow: ACCESS };
        let mut stores = Stores::new();
        stores.keep(0x1000, 16, times, 21);
        assert!(matches!(stores.find(0x1000, 16, 10), Found::Forward { .. }));
        stores.keep(0x1008, 8, times, 22);
        assert_eq!(stores.find(0x1000, 16, 10), Found::Blocked { committed: 22 });
        assert_eq!(stores.find(0x1004, 8, 10), Found::Blocked { committed: 22 });
        assert!(matches!(stores.find(0x1008, 8, 10), Found::Forward { .. }));
    }
}
