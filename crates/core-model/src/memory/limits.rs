//! Limits on what can happen at the same time. Requests come in program order, which is not the order of their
//! cycles; so these remember intervals instead of the time at which something becomes free.

/// Intervals that are remembered; more than any limit that is used.
const REMEMBERED: usize = 64;
/// They are looked through by groups, of which most are over.
const GROUP: usize = 8;
const GROUPS: usize = REMEMBERED / GROUP;
/// Intervals that have been over for so long are forgotten, so that 32 bits of a cycle tell those in a group apart.
const LONG_AGO: u64 = 1 << 28;

/// Intervals: the low bits of their first cycles, and their lengths. SSE2 compares signed numbers only, so lengths
/// count from -2^31 on.
#[derive(Debug, Clone, Copy)]
struct Group {
    from: [u32; GROUP],
    length: [i32; GROUP],
}

impl Group {
    const EMPTY: Self = Self { from: [0; GROUP], length: [i32::MIN; GROUP] };

    /// How long it is since the beginning of each, counted as lengths are.
    #[inline(always)]
    fn past(&self, at: u64) -> [i32; GROUP] {
        let at = (at as u32).wrapping_sub(1 << 31);
        self.from.map(|from| at.wrapping_sub(from) as i32)
    }
}

/// At most so many intervals at a time, such as fill buffers.
#[derive(Debug, Clone)]
pub(crate) struct Overlap {
    limit: u32,
    groups: [Group; GROUPS],
    /// When the intervals of each group are over, and all that are older.
    over: [u64; GROUPS],
    /// Where the newest interval is.
    newest: usize,
    /// A range of cycles in each of which the limit is reached.
    full: (u64, u64),
    /// The cycle that [`admit`](Self::admit) came to last, how many intervals that is in, and the end of the first
    /// of them.
    reached: (u64, u32, u64),
    /// A cycle, and how many intervals it is in.
    counted: (u64, u32),
}

/// Nothing is counted.
const UNCOUNTED: (u64, u32) = (u64::MAX, 0);

impl Overlap {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            limit: limit.clamp(1, REMEMBERED as u32 - 1),
            groups: [Group::EMPTY; GROUPS],
            over: [0; GROUPS],
            newest: REMEMBERED - 1,
            full: (0, 0),
            reached: (0, 0, 0),
            counted: UNCOUNTED,
        }
    }

    /// The first cycle from `at` in which one more fits.
    #[inline]
    pub(crate) fn admit(&mut self, at: u64) -> u64 {
        if self.are_few(at) { at } else { self.wait(at) }
    }

    /// True if one more fits.
    #[inline]
    pub(crate) fn fits(&mut self, at: u64) -> bool {
        self.are_few(at) || !(self.full.0 <= at && at < self.full.1) && self.count(at) < self.limit
    }

    /// True if it takes no more than a look at one group to know that there are fewer than the limit.
    #[inline(always)]
    fn are_few(&self, at: u64) -> bool {
        let groups = (self.limit as usize - 1) / GROUP;
        self.over[(self.newest / GROUP + GROUPS - groups) % GROUPS] <= at
    }

    /// Groups with intervals that are not over, the newest first.
    #[inline(always)]
    fn live(&self, at: u64) -> impl Iterator<Item = &Group> {
        let newest = self.newest / GROUP + GROUPS;
        let groups = (0..GROUPS).map(move |back| (newest - back) % GROUPS);
        groups.take_while(move |&group| self.over[group] > at).map(|group| &self.groups[group])
    }

    /// How many a cycle is in. Prefetches often ask more than once in the same cycle.
    #[inline]
    fn count(&mut self, at: u64) -> u32 {
        if self.counted.0 != at {
            self.counted = (at, self.count_all(at));
        }
        self.counted.1
    }

    fn count_all(&self, at: u64) -> u32 {
        let mut counts = [0; GROUP];
        for group in self.live(at) {
            let past = group.past(at);
            for ((count, past), &length) in counts.iter_mut().zip(past).zip(&group.length) {
                *count += u32::from(past < length);
            }
        }
        counts.iter().sum()
    }

    /// How many a cycle is in, and a cycle up to which none of them is over.
    fn look(&self, at: u64) -> (u32, u64) {
        let (mut counts, mut least) = ([0; GROUP], [i16::MAX; GROUP]);
        for group in self.live(at) {
            let past = group.past(at);
            for lane in 0..GROUP {
                let (past, length) = (past[lane], group.length[lane]);
                let left = length.wrapping_sub(past).clamp(i16::MIN.into(), i16::MAX.into()) as i16;
                let left = if past < length { left } else { i16::MAX };
                counts[lane] += i16::from(past < length);
                least[lane] = left.min(least[lane]);
            }
        }
        (counts.iter().sum::<i16>() as u32, at + least.into_iter().fold(i16::MAX, i16::min) as u64)
    }

    fn wait(&mut self, from: u64) -> u64 {
        let mut at = from;
        let reached = loop {
            if self.full.0 <= at && at < self.full.1 {
                at = self.full.1;
            }
            let (count, end) = self.look(at);
            if count < self.limit {
                break (at, count, end);
            }
            at = end;
        };
        self.reached = reached;
        self.counted = (reached.0, reached.1);
        if at > from {
            let joined = from <= self.full.1 && self.full.0 < at;
            self.full = (if joined { self.full.0.min(from) } else { from }, at);
        }
        at
    }

    /// Remembers an interval.
    #[inline]
    pub(crate) fn add(&mut self, from: u64, to: u64) {
        let before = self.over[self.newest / GROUP];
        self.newest = (self.newest + 1) % REMEMBERED;
        let (number, place) = (self.newest / GROUP, self.newest % GROUP);
        let (group, over) = (&mut self.groups[number], &mut self.over[number]);
        let length = (group.length[place] as u32).wrapping_sub(1 << 31);
        // What is known may have been so because of the interval that had this place.
        let forgotten = group.from[place].wrapping_add(length);
        let part = forgotten.wrapping_sub(self.full.0 as u32);
        if part as i32 > 0 {
            self.full.0 += u64::from(part);
        }
        if *over + LONG_AGO < from {
            *group = Group::EMPTY;
            self.counted = UNCOUNTED;
        }
        if ((self.counted.0 as u32).wrapping_sub(forgotten) as i32) < 0 {
            self.counted = UNCOUNTED;
        } else {
            self.counted.1 += u32::from(from <= self.counted.0 && self.counted.0 < to);
        }
        // If this was the last one that fits, none does until one of them is over.
        let (at, count, end) = std::mem::replace(&mut self.reached, (u64::MAX, 0, 0));
        if at == from && count + 1 == self.limit && forgotten.wrapping_sub(at as u32) as i32 <= 0 {
            self.full = (if self.full.1 == at { self.full.0 } else { at }, end.min(to));
        }
        group.from[place] = from as u32;
        group.length[place] = ((to - from) as u32).wrapping_sub(1 << 31) as i32;
        *over = to.max(before);
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
    /// The latest period that has a record.
    latest: u64,
    /// A range of periods that are used up, if none of their records has gone.
    full: (u64, u64),
}

impl Bandwidth {
    pub(crate) fn new(cost: u32) -> Self {
        Self { cost, periods: Box::new([(0, 0); PERIODS as usize]), latest: 0, full: (0, 0) }
    }

    /// Takes a share at `at` or later; the cycle.
    #[inline]
    pub(crate) fn take(&mut self, at: u64) -> u64 {
        self.take_cycles(at, self.cost)
    }

    /// The same for what costs so many cycles.
    #[inline]
    pub(crate) fn take_cycles(&mut self, at: u64, cost: u32) -> u64 {
        let first = at >> PERIOD_SHIFT;
        let mut period = first;
        loop {
            if self.full.0 <= period && period < self.full.1 && self.latest < period + PERIODS {
                period = self.full.1;
            }
            let entry = &mut self.periods[(period % PERIODS) as usize];
            if entry.0 < period {
                *entry = (period, 0);
                self.latest = self.latest.max(period);
            }
            if entry.0 > period || entry.1 + cost <= 1 << PERIOD_SHIFT {
                // A period that is long over has no record any more.
                if entry.0 == period {
                    entry.1 += cost;
                }
                break;
            }
            period += 1;
        }
        if period > first {
            let joined = first <= self.full.1 && self.full.0 < period;
            self.full = (if joined { self.full.0.min(first) } else { first }, period);
        }
        at.max(period << PERIOD_SHIFT)
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

    /// Marsaglia's xorshift64.
    fn random() -> impl FnMut(u64) -> u64 {
        let mut state = 0x1234_5678_9ABC_DEF1_u64;
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 20) % below
        }
    }

    #[test]
    fn requests_that_go_back_in_time_are_counted_one_by_one() {
        let mut random = random();
        for limit in [1, 2, 12, 32, 48] {
            let mut overlap = Overlap::new(limit);
            let mut known = std::collections::VecDeque::new();
            let mut now = 1 << 31;
            for n in 0..5_000 {
                let fits_at = |at: u64| {
                    let inside = known.iter().filter(|&&(from, to)| from <= at && at < to).count();
                    inside < limit as usize
                };
                let at = now + random(400);
                let ends = known.iter().map(|&(_, to)| to).filter(|&to| to > at && fits_at(to));
                let fits = if fits_at(at) { at } else { ends.min().unwrap() };
                assert_eq!(overlap.fits(at), fits == at, "limit {limit}, request {n}");
                assert_eq!(overlap.admit(at), fits, "limit {limit}, request {n}");
                let to = fits + if random(16) == 0 { 40_000 } else { 14 + random(300) };
                overlap.add(fits, to);
                known.push_front((fits, to));
                known.truncate(REMEMBERED);
                let inside = known.iter().filter(|&&(from, to)| from <= at && at < to).count();
                assert_eq!(overlap.fits(at), inside < limit as usize, "limit {limit}, request {n}");
                now += random(60);
            }
        }
    }

    #[test]
    fn periods_that_are_used_up_are_passed_over_as_if_one_by_one() {
        let (mut bandwidth, mut random) = (Bandwidth::new(16), random());
        let mut periods = vec![(0, 0); PERIODS as usize];
        for n in 0..50_000 {
            let at = n * 14 + random(3000);
            let expected = (at >> PERIOD_SHIFT..).find(|&period| {
                let entry: &mut (u64, u32) = &mut periods[(period % PERIODS) as usize];
                if entry.0 < period {
                    *entry = (period, 0);
                }
                let takes = entry.0 == period && entry.1 + 16 <= 1 << PERIOD_SHIFT;
                entry.1 += if takes { 16 } else { 0 };
                takes || entry.0 > period
            });
            assert_eq!(bandwidth.take(at), at.max(expected.unwrap() << PERIOD_SHIFT), "request {n}");
        }
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
