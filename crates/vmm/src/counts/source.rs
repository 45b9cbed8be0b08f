//! What the machine and a counts source say to each other beyond [`CountsSource`].

use core::fmt;
use platform::convert::scale;
use vpmu::{CountsSource, Provenance};

/// A stretch of guest execution, in nanoseconds by privilege level. Time that the VMM spends on
/// exits is not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slice {
    /// Nanoseconds at CPL 0.
    pub os: u64,
    /// Nanoseconds at CPL > 0.
    pub usr: u64,
}

impl Slice {
    /// All nanoseconds of the slice.
    #[must_use]
    pub fn total(self) -> u64 {
        self.os.saturating_add(self.usr)
    }

    /// The first `ns` nanoseconds, with the slice's mix of privilege levels.
    #[must_use]
    pub fn first(self, ns: u64) -> Self {
        let total = self.total();
        if ns >= total {
            return self;
        }
        let usr = scale(self.usr, ns, total);
        Self { os: ns - usr, usr }
    }

    /// What is left of the slice after `part`.
    #[must_use]
    pub fn after(self, part: Self) -> Self {
        Self { os: self.os.saturating_sub(part.os), usr: self.usr.saturating_sub(part.usr) }
    }
}

/// A [`CountsSource`] as the machine drives it.
pub trait Source: CountsSource + fmt::Debug {
    /// What this source's counts are.
    fn label(&self) -> Provenance;

    /// The guest has run for `slice`. Only a source that counts by time has to know.
    fn advance(&mut self, _slice: Slice) {}

    /// If a counter that requests a PMI overflows within `slice`: the part of it up to and
    /// including the overflow. Counts from the last `rearm`.
    ///
    /// Sources that learn of overflows in another way (host: by a signal) answer `None`.
    fn overflow_within(&self, _slice: Slice) -> Option<Slice> {
        None
    }

    /// Run time, in nanoseconds, before which no counter that requests a PMI overflows; `None`
    /// when none will, or when the source cannot tell. The engine returns to the VMM then.
    fn earliest_overflow(&self) -> Option<u64> {
        None
    }

    /// For an engine that counts instructions: how many certainly retire before a counter that
    /// requests a PMI overflows, plus one. `None` when none will, or when the source cannot tell.
    fn instructions_to_overflow(&self) -> Option<u64> {
        None
    }

    /// The same in core cycles: what an instruction may cause any number of in a time of its own, as REP does.
    fn cycles_to_overflow(&self) -> Option<u64> {
        None
    }

    /// How often the engine should look at the privilege level, in nanoseconds, so that
    /// [`advance`](Self::advance) gets a meaningful mix; `None` when it does not matter now.
    fn sample_interval(&self) -> Option<u64> {
        None
    }

    /// What a reader of the counts has to know, one sentence each.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}
