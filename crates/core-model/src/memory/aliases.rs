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
/// The same on Zen 5, 14 together.
const SWITCH: u64 = 10;
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
    tags: [(u16, u64); KNOWN],
}

#[derive(Debug)]
pub(super) struct Aliases {
    lines: Box<[Tags; LINES]>,
    /// For loads, and for stores.
    next: [u64; 2],
    /// Bits of an address that are part of the tag as they are.
    alone: u64,
}

/// The bits of an address behind those that are added up, which Zen 5 has in its tags too: measured, by chains through
/// two addresses of a line that differ in one bit or in two.
pub(super) const HIGH: u64 = 0xF << HIGH_SHIFT;
const HIGH_SHIFT: u32 = 28;

/// Bits of a linear address (Lipp and others, "Take A Way", 2020, for Zen to Zen 2; the same pairs were measured on
/// Zen 5).
fn hash(linear: u64, alone: u64) -> u16 {
    // Bits 15 to 19 with 20 to 24, and three pairs that lie one within the other.
    let high = (linear & alone) >> HIGH_SHIFT << 5 | (linear >> 15 ^ linear >> 20) & 0x1F;
    let nested = [(12, 27), (13, 26), (14, 25)];
    nested.iter().fold(high, |hash, (low, high)| hash << 1 | (linear >> low ^ linear >> high) & 1) as u16
}

/// The addresses by which a line is known, which is this one if it was not met.
fn tags_of(lines: &mut [Tags; LINES], line: u64, hash: u16) -> &mut Tags {
    let known = &mut lines[line as usize % LINES];
    if known.line != line {
        *known = Tags { line, tags: [(hash, 0); KNOWN] };
    }
    known
}

impl Aliases {
    pub(super) fn new(alone: u64) -> Self {
        let tags = Tags { line: u64::MAX, tags: [(0, 0); KNOWN] };
        Self { lines: Box::new([tags; LINES]), next: [0; 2], alone }
    }

    /// When a line that is in the cache has its value for a load at `at`, where what another address has brought is
    /// used until the line is known by this one: then, mostly. And how often the load takes a port besides: so many
    /// times if neither of the last two addresses was its own, once if the newest was not.
    pub(super) fn switches(&mut self, line: u64, access: &MemoryAccess, at: u64, again: u8) -> (u64, u8) {
        let hash = hash(access.linear, self.alone);
        let known = tags_of(&mut self.lines, line, hash);
        let [(newest, _), (older, _), ..] = known.tags;
        let again = if newest == hash {
            0
        } else if older == hash {
            1
        } else {
            again
        };
        // Those before it will know the line later, as some loads are early and others late.
        let now = known.tags.iter().position(|&(_, since)| since <= at).unwrap_or(KNOWN);
        if known.tags.get(now).is_some_and(|&(tag, _)| tag == hash) {
            return (at, again);
        }
        if let Some(&(_, since)) = known.tags[..now].iter().rfind(|&&(tag, _)| tag == hash) {
            return (since, again);
        }
        let place = known.tags[..now].partition_point(|&(_, since)| since > at + SWITCH);
        let place = place.min(KNOWN - 1);
        known.tags[place..].rotate_right(1);
        known.tags[place] = (hash, at + SWITCH);
        (at + SWITCH, again)
    }

    /// When a line that is in the cache is known by the address of an access at `at`: then, mostly. And how often a
    /// load takes a port again until then.
    pub(super) fn known(&mut self, line: u64, access: &MemoryAccess, at: u64) -> (u64, u8) {
        let hash = hash(access.linear, self.alone);
        let next = &mut self.next[usize::from(access.write)];
        let known = tags_of(&mut self.lines, line, hash);
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

    fn at_page(page: u64) -> MemoryAccess {
        MemoryAccess { linear: page << 12, ..MemoryAccess::default() }
    }

    #[test]
    fn a_load_by_another_address_waits_until_the_line_is_known_by_it() {
        let mut aliases = Aliases::new(HIGH);
        let mut load = |page, at| aliases.switches(0, &at_page(page), at, 4);
        assert_eq!(load(1, 10), (10, 0));
        assert_eq!(load(2, 20), (30, 4));
        assert_eq!((load(2, 25), load(2, 31)), ((30, 0), (31, 0)));
        assert_eq!(load(1, 28), (28, 1), "as early as that it is known by the first one yet");
        assert_eq!(load(1, 40), (50, 1));
        assert_eq!(load(3, 60), (70, 4));
        // Of many that come late, those that come first are kept.
        let late: Vec<_> = (10..20).map(|page| load(page, 100).0).collect();
        assert_eq!(late, [110; 10]);
    }

    /// Measured on Zen 5, by chains through two addresses of a line.
    #[test]
    fn addresses_differ_by_twelve_bits() {
        let other = |bits: &[u32]| {
            let mut aliases = Aliases::new(HIGH);
            let flipped = bits.iter().fold(0x1_5555_0000, |page, bit| page ^ 1 << (bit - 12));
            aliases.switches(0, &at_page(0x1_5555_0000), 0, 4);
            aliases.switches(0, &at_page(flipped), 100, 4).0 > 100
        };
        assert!((12..32).all(|bit| other(&[bit])) && !(32..48).any(|bit| other(&[bit])));
        assert!(!other(&[12, 27]) && !other(&[19, 24]) && other(&[12, 13]) && other(&[27, 28]));
    }

    #[test]
    fn a_line_is_known_by_one_address_at_a_time() {
        let mut aliases = Aliases::new(0);
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
