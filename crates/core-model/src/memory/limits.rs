//! Limits on what can happen at the same time. Requests come in program order, which is not the order of their
//! cycles; so these remember intervals instead of the time at which something becomes free.

/// Intervals that are remembered; more than any limit that is used.
const REMEMBERED: usize = 64;
/// They are looked through by groups, of which most are over.
const GROUP: usize = 8;
const GROUPS: usize = REMEMBERED / GROUP;
/// Intervals that have been over for so long are forgotten, so that 32 bits of a cycle tell those in a group apart.
const LONG_AGO: u64 = 1 << 28;

/// Intervals: the low bits of their first cycles, and their lengths.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    from: [u32; GROUP],
    length: [u32; GROUP],
}

impl Group {
    /// How many of them a cycle is in.
    #[inline]
    fn count(&self, at: u32) -> u32 {
        let each = self.from.iter().zip(&self.length);
        each.map(|(from, &length)| u32::from(at.wrapping_sub(*from) < length)).sum()
    }

    /// How long it takes from a cycle until the first of those that it is in is over.
    fn left(&self, at: u32) -> u32 {
        let each = self.from.iter().zip(&self.length).map(|(from, length)| (at.wrapping_sub(*from), length));
        each.map(|(past, &length)| if past < length { length - past } else { u32::MAX })
            .min()
            .unwrap_or(u32::MAX)
    }
}

/// At most so many intervals at a time, such as fill buffers.
#[derive(Debug, Clone)]
pub(crate) struct Overlap {
    limit: u32,
    groups: [Group; GROUPS],
    /// When the last interval of each group is over, or earlier ones in their places were.
    over: [u64; GROUPS],
    next: usize,
    /// A range of cycles in each of which the limit is reached.
    full: (u64, u64),
}

impl Overlap {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            limit: limit.clamp(1, REMEMBERED as u32 - 1),
            groups: [Group::default(); GROUPS],
            over: [0; GROUPS],
            next: 0,
            full: (0, 0),
        }
    }

    /// The first cycle from `at` in which one more fits.
    #[inline]
    pub(crate) fn admit(&mut self, at: u64) -> u64 {
        if self.are_few(at) { at } else { self.wait(at) }
    }

    /// True if one more fits.
    #[inline]
    pub(crate) fn fits(&self, at: u64) -> bool {
        self.are_few(at) || !(self.full.0 <= at && at < self.full.1) && self.count(at) < self.limit
    }

    /// True if it takes no more than a look at the groups to know that there are fewer than the limit.
    #[inline(always)]
    fn are_few(&self, at: u64) -> bool {
        let live = self.over.iter().filter(|&&over| over > at).count();
        live * GROUP < self.limit as usize
    }

    fn count(&self, at: u64) -> u32 {
        let live = self.groups.iter().zip(&self.over).filter(|(_, over)| **over > at);
        live.map(|(group, _)| group.count(at as u32)).sum()
    }

    fn wait(&mut self, from: u64) -> u64 {
        let mut at = from;
        loop {
            if self.full.0 <= at && at < self.full.1 {
                at = self.full.1;
            }
            if self.count(at) < self.limit {
                break;
            }
            let live = self.groups.iter().zip(&self.over).filter(|(_, over)| **over > at);
            at += live.map(|(group, _)| u64::from(group.left(at as u32))).min().unwrap_or(1);
        }
        if at > from {
            let joined = from <= self.full.1 && self.full.0 < at;
            self.full = (if joined { self.full.0.min(from) } else { from }, at);
        }
        at
    }

    /// Remembers an interval.
    #[inline]
    pub(crate) fn add(&mut self, from: u64, to: u64) {
        let (number, place) = (self.next / GROUP, self.next % GROUP);
        self.next = (self.next + 1) % REMEMBERED;
        let (group, over) = (&mut self.groups[number], &mut self.over[number]);
        // What is known may have been so because of the interval that had this place.
        let forgotten = group.from[place].wrapping_add(group.length[place]).wrapping_sub(self.full.0 as u32);
        if forgotten as i32 > 0 {
            self.full.0 += u64::from(forgotten);
        }
        if *over + LONG_AGO < from {
            (*group, *over) = (Group::default(), 0);
        }
        (group.from[place], group.length[place]) = (from as u32, (to - from) as u32);
        *over = to.max(*over);
    }
}

/// Log2 of the cycles of a period over which bandwidth is shared out.
const PERIOD_SHIFT: u32 = 7;
const PERIODS: u64 = 256;

/// At most so much in a period of 128 cycles, such as lines from memory.
#[derive(Debug, Clone)]
pub(crate) struct Bandwidth {
    /// Cycles that each costs.
    cost: u32,
    /// Number of a period and cycles that are used of it.
    periods: Box<[(u64, u32); PERIODS as usize]>,
}

impl Bandwidth {
    pub(crate) fn new(cost: u32) -> Self {
        Self { cost, periods: Box::new([(0, 0); PERIODS as usize]) }
    }

    /// Takes a share at `at` or later; the cycle.
    pub(crate) fn take(&mut self, at: u64) -> u64 {
        let mut period = at >> PERIOD_SHIFT;
        loop {
            let entry = &mut self.periods[(period % PERIODS) as usize];
            if entry.0 < period {
                *entry = (period, 0);
            }
            if entry.0 > period || entry.1 + self.cost <= 1 << PERIOD_SHIFT {
                // A period that is long over has no record any more.
                if entry.0 == period {
                    entry.1 += self.cost;
                }
                return at.max(period << PERIOD_SHIFT);
            }
            period += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_waits_for_the_first_that_ends() {
        let mut overlap = Overlap::new(2);
        overlap.add(10, 30);
        overlap.add(10, 20);
        assert_eq!(overlap.admit(5), 5);
        assert!(overlap.fits(5) && !overlap.fits(12));
        assert_eq!(overlap.admit(12), 20);
        assert!(overlap.fits(20) && !overlap.fits(19));
        overlap.add(1000, 2000);
        assert_eq!(overlap.admit(25), 25);
    }

    #[test]
    fn bandwidth_spreads_over_later_periods() {
        let mut bandwidth = Bandwidth::new(64);
        assert_eq!(bandwidth.take(0), 0);
        assert_eq!(bandwidth.take(10), 10);
        assert_eq!(bandwidth.take(10), 128);
        assert_eq!(bandwidth.take(1000), 1000);
        assert_eq!(bandwidth.take(20), 128);
        assert_eq!(bandwidth.take(20), 256);
    }
}
