//! Limits on what can happen at the same time. Requests come in program order, which is not the order of their
//! cycles; so these remember intervals instead of the time at which something becomes free.

/// Intervals that are remembered; more than any limit that is used.
const REMEMBERED: usize = 64;

/// At most so many intervals at a time, such as fill buffers.
#[derive(Debug, Clone)]
pub(crate) struct Overlap {
    limit: usize,
    from: [u64; REMEMBERED],
    to: [u64; REMEMBERED],
    next: usize,
}

impl Overlap {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            limit: (limit.max(1) as usize).min(REMEMBERED - 1),
            from: [0; REMEMBERED],
            to: [0; REMEMBERED],
            next: 0,
        }
    }

    /// The first cycle from `at` in which one more fits.
    pub(crate) fn admit(&self, at: u64) -> u64 {
        let mut at = at;
        loop {
            let mut busy = 0;
            let mut earliest = u64::MAX;
            for (&from, &to) in self.from.iter().zip(&self.to) {
                let overlaps = from <= at && at < to;
                busy += usize::from(overlaps);
                earliest = if overlaps { earliest.min(to) } else { earliest };
            }
            if busy < self.limit {
                return at;
            }
            at = earliest;
        }
    }

    /// Remembers an interval.
    pub(crate) fn add(&mut self, from: u64, to: u64) {
        self.from[self.next] = from;
        self.to[self.next] = to;
        self.next = (self.next + 1) % REMEMBERED;
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
        assert_eq!(overlap.admit(12), 20);
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
