//! How long the last level keeps lines that this core does not use, where others take their places.

use std::collections::HashMap;
use std::num::NonZeroU64;

/// Lines of a page.
const LINES: usize = 64;

/// When lines of the last level were used last.
#[derive(Debug)]
pub(super) struct Lifetime {
    cycles: u64,
    /// By page.
    used: HashMap<u64, Box<[u64; LINES]>>,
    /// The latest cycle that was told of: lines come from the second level without one.
    now: u64,
}

impl Lifetime {
    pub(super) fn new(cycles: NonZeroU64) -> Self {
        Self { cycles: cycles.get(), used: HashMap::new(), now: 0 }
    }

    /// Time has come so far.
    pub(super) fn pass(&mut self, at: u64) {
        self.now = self.now.max(at);
    }

    /// True if a line that came to the last level is there still.
    pub(super) fn keeps(&self, line: u64) -> bool {
        let used = self.used.get(&(line / LINES as u64)).map_or(0, |page| page[line as usize % LINES]);
        self.now - used <= self.cycles
    }

    /// A line is used, or comes.
    pub(super) fn renew(&mut self, line: u64) {
        let page = self.used.entry(line / LINES as u64).or_insert_with(|| Box::new([0; LINES]));
        page[line as usize % LINES] = self.now;
    }
}
