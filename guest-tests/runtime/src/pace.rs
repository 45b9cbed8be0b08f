//! Two counters of the same event, of which one is suspected: what two looks at both say of it.

/// A counter's increments between two looks, as differences within its width.
#[derive(Debug, Clone, Copy)]
pub struct Increments {
    /// Of the suspected counter.
    suspected: u64,
    /// Of the one that counts the same and is never touched.
    other: u64,
    /// Highest bit of a counter: set in a difference of a counter that has gone back.
    top: u64,
    /// By how many events the two looks at one moment may be apart.
    tolerance: u64,
}

impl Increments {
    /// What two looks at both counters say, each of the suspected one and the other, if the greatest value of a counter
    /// is `max` and the counters may be so many events apart in one look.
    #[must_use]
    pub fn between(before: (u64, u64), now: (u64, u64), max: u64, tolerance: u64) -> Self {
        Self {
            suspected: now.0.wrapping_sub(before.0) & max,
            other: now.1.wrapping_sub(before.1) & max,
            top: max - max / 2,
            tolerance,
        }
    }
}

/// What is wrong with the suspected counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oddity {
    /// It stood still.
    Frozen,
    /// It is ahead, or the other one has gone back.
    Jumped,
    /// It has lost some.
    Lost,
}

/// How it counted lately, with nothing else in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// As the other one.
    #[default]
    Same,
    /// Behind it.
    Behind,
    /// Not at all.
    Stands,
}

impl Pace {
    /// The next pace; `find` gets what is wrong.
    #[must_use]
    pub fn follow(self, increments: Increments, mut find: impl FnMut(Oddity)) -> Self {
        let Increments { suspected, other, top, tolerance } = increments;
        let next = match suspected {
            0 => Self::Stands,
            _ if suspected & top != 0 || suspected + tolerance < other => Self::Behind,
            _ => {
                if suspected > other + tolerance || other & top != 0 {
                    find(Oddity::Jumped);
                }
                Self::Same
            }
        };
        // Where it stops and goes on it is behind once.
        match (self, next) {
            (_, Self::Stands) => find(Oddity::Frozen),
            (Self::Behind, Self::Same | Self::Behind) => find(Oddity::Lost),
            _ => {}
        }
        if (self, next) == (Self::Stands, Self::Behind) { Self::Same } else { next }
    }
}
