//! When a unit of arithmetic has begun operations of three cycles lately.
//!
//! Measured on an EPYC 9004 (docs/silicon.md): a unit has one result in a cycle, so an operation of one cycle cannot
//! begin two cycles behind a multiplication. Younger multiplications go ahead of it meanwhile, and each keeps it
//! waiting for another cycle. After six of them nothing begins for two cycles, and then it does.

/// If a multiplication goes ahead of another operation, fewer than so many have begun in these cycles before it.
const MOST: usize = 6;
const WINDOW: u64 = 10;

/// The cycles in which they began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Late {
    newest: u64,
    /// Those in the 64 cycles up to the newest one, which is the lowest bit.
    begun: u64,
}

impl Late {
    /// One begins.
    #[inline]
    pub(super) fn begin(&mut self, cycle: u64) {
        if cycle > self.newest {
            self.begun = self.begun.checked_shl((cycle - self.newest).min(64) as u32).unwrap_or(0);
            self.newest = cycle;
        }
        self.begun |= self.bit(cycle);
    }

    /// True if one that begins in a cycle may keep another operation waiting.
    #[inline]
    pub(super) fn may_go_ahead(&self, cycle: u64) -> bool {
        let before = cycle.saturating_sub(WINDOW)..cycle;
        before.filter(|&cycle| self.begun & self.bit(cycle) != 0).count() < MOST
    }

    /// The bit of a cycle; 0 if there is none.
    #[inline]
    fn bit(&self, cycle: u64) -> u64 {
        match self.newest.checked_sub(cycle) {
            Some(ago @ 0..64) => 1 << ago,
            _ => 0,
        }
    }

    /// As words, the same for whatever goes on alike.
    pub(super) fn words(&self, now: u64) -> [u64; 2] {
        match (self.newest + 1).saturating_sub(first_that_matters(now)) {
            0 => [0; 2],
            cycles => [cycles, self.begun & u64::MAX >> 64_u64.saturating_sub(cycles)],
        }
    }

    /// What [`words`](Self::words) has made.
    pub(super) fn from_words(now: u64, [cycles, begun]: [u64; 2]) -> Self {
        Self { newest: (first_that_matters(now) + cycles).saturating_sub(1), begun }
    }
}

/// The first cycle of a window before a cycle after now.
fn first_that_matters(now: u64) -> u64 {
    (now + 1).saturating_sub(WINDOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_six_the_next_ones_wait() {
        let mut late = Late::default();
        for cycle in 100..106 {
            assert!(late.may_go_ahead(cycle), "{cycle}");
            late.begin(cycle);
        }
        let ahead = [106, 110, 111, 300].map(|cycle| late.may_go_ahead(cycle));
        assert_eq!(ahead, [false, false, true, true]);
        // Those that begin before the newest one.
        late.begin(180);
        assert_eq!(
            [105, 106, 107].map(|cycle| late.may_go_ahead(cycle)),
            [true; 3],
            "too long ago to be known"
        );
        (170..175).for_each(|cycle| late.begin(cycle));
        assert_eq!([175, 181].map(|cycle| late.may_go_ahead(cycle)), [true; 2]);
        late.begin(175);
        assert_eq!([176, 181, 182].map(|cycle| late.may_go_ahead(cycle)), [false, false, true]);
    }

    #[test]
    fn it_goes_on_as_its_words_do() {
        let mut late = Late::default();
        [90, 91, 95, 97, 99, 100, 103, 104].into_iter().for_each(|cycle| late.begin(cycle));
        for now in 90..120 {
            let again = Late::from_words(1000 + now, late.words(now));
            for cycle in now + 1..130 {
                assert_eq!(again.may_go_ahead(1000 + cycle), late.may_go_ahead(cycle), "{now}, {cycle}");
            }
            assert_eq!(again.words(1000 + now), late.words(now));
        }
        assert_eq!((late.words(113), late.words(114)), ([1, 1], [0; 2]));
    }
}
