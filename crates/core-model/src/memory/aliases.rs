//! Linear tags of the first-level data cache: each line is found by a hash of the linear address that it was used by.
//!
//! AMD's cores from Zen on predict the way by that hash. A load by another linear address of the same physical line
//! misses, though the line is there, and is known by its own from then on (Software Optimization Guide for AMD Family
//! 19h, "L1 Data Cache"). That two lines of a set can have the same hash is left out.

use retire::MemoryAccess;

/// Lines that are told apart: as many as a cache of 32 KiB has.
const LINES: usize = 512;
/// Cycles from a load by another address to its value, without those of a hit: measured on Zen 3, 19 together.
const MISS: u64 = 15;
/// The same where each load misses by itself, whatever older loads of the line have met: measured on Zen 4, 21
/// together.
pub(super) const OWN_MISS: u64 = 17;
/// Cycles from one such miss to the next, of the same line and of any: measured on Zen 3.
const SAME_LINE: u64 = 4;
const ANY_LINE: u64 = 2;

/// How often the first load to miss takes a port again before that: measured on Zen 3, one to two times. On Zen 4 it
/// does not.
const AGAIN: u8 = 2;

/// Addresses of a line that are remembered: what waits for an older one than those misses once more.
const KNOWN: usize = 6;

/// By which addresses a line is known, and from when on, the newest first.
#[derive(Debug, Clone, Copy)]
struct Tags {
    line: u64,
    tags: [(u8, u64); KNOWN],
}

#[derive(Debug)]
pub(super) struct Aliases {
    lines: Box<[Tags; LINES]>,
    /// For loads, and for stores.
    next: [u64; 2],
}

/// Bits of a linear address (Lipp and others, "Take A Way", 2020, for Zen to Zen 2).
fn hash(linear: u64) -> u8 {
    let pairs = [(12, 27), (13, 26), (14, 25), (15, 20), (16, 21), (17, 22), (18, 23), (19, 24)];
    pairs.iter().fold(0, |hash, (low, high)| hash << 1 | ((linear >> low ^ linear >> high) & 1) as u8)
}

impl Aliases {
    pub(super) fn new() -> Self {
        let tags = Tags { line: u64::MAX, tags: [(0, 0); KNOWN] };
        Self { lines: Box::new([tags; LINES]), next: [0; 2] }
    }

    /// A line that is in the cache is known by the address of an access from now on; true if it was not, nor by the
    /// one before that.
    pub(super) fn learns(&mut self, line: u64, access: &MemoryAccess) -> bool {
        let hash = hash(access.linear);
        let known = &mut self.lines[line as usize % LINES];
        if known.line != line {
            *known = Tags { line, tags: [(hash, 0); KNOWN] };
        }
        let [(newest, _), (older, _), ..] = known.tags;
        if newest == hash {
            return false;
        }
        known.tags[1] = known.tags[0];
        known.tags[0] = (hash, 0);
        older != hash
    }

    /// When a line that is in the cache is known by the address of an access at `at`: then, mostly. And how often a
    /// load takes a port again until then.
    pub(super) fn known(&mut self, line: u64, access: &MemoryAccess, at: u64) -> (u64, u8) {
        let hash = hash(access.linear);
        let next = &mut self.next[usize::from(access.write)];
        let known = &mut self.lines[line as usize % LINES];
        if known.line != line {
            *known = Tags { line, tags: [(hash, 0); KNOWN] };
        }
        let (_, newest) = known.tags[0];
        for (tag, since) in &mut known.tags {
            if *tag == hash {
                // What will know it later, a store that has not retired, is not waited for.
                let own = at.max(*next) + MISS;
                if *since <= own {
                    return ((*since).max(at), 0);
                }
                *next = own - MISS + ANY_LINE;
                *since = own;
                return (own, AGAIN);
            }
            if *since <= at {
                break;
            }
        }
        let start = at.max(*next).max((newest + SAME_LINE).saturating_sub(MISS));
        *next = start + ANY_LINE;
        known.tags.rotate_right(1);
        known.tags[0] = (hash, start + MISS);
        (start + MISS, AGAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_known_by_one_address_at_a_time() {
        let mut aliases = Aliases::new();
        let mut known = |linear: u64, at| {
            let access = MemoryAccess { linear, physical: linear & 0xFFF, ..MemoryAccess::default() };
            aliases.known(linear >> 6 & 63, &access, at).0
        };
        assert_eq!((known(0x1000, 10), known(0x1008, 11)), (10, 11));
        assert_eq!(known(0x2000, 20), 35);
        assert_eq!(known(0x1000, 21), 21, "until the other one is there");
        assert_eq!((known(0x2000, 40), known(0x1000, 40), known(0x1040, 41)), (40, 55, 41));
    }
}
