//! The last level of the caches, which others share: it may have lost what this core has not used for some time.

use crate::core::Geometry;
use crate::sets::Lines;
use std::collections::HashMap;
use std::num::NonZeroU64;

/// Lines of a page.
const LINES: usize = 64;

#[derive(Debug)]
pub(super) struct LastLevel {
    lines: Lines,
    lifetime: Option<Lifetime>,
}

impl LastLevel {
    pub(super) fn new(geometry: Geometry) -> Self {
        Self { lines: Lines::new(geometry), lifetime: None }
    }

    /// Another size, with nothing in it.
    pub(super) fn resize(&mut self, geometry: Geometry) {
        self.lines = Lines::new(geometry);
    }

    /// From now on lines are lost that were not used for so many cycles.
    pub(super) fn lose_after(&mut self, cycles: NonZeroU64) {
        self.lifetime = Some(Lifetime { cycles: cycles.get(), used: HashMap::new(), now: 0 });
    }

    /// True if the line is there when it is used, at `at`.
    #[inline]
    pub(super) fn touch(&mut self, line: u64, at: u64) -> bool {
        if !self.lines.touch(line) {
            return false;
        }
        let Some(lifetime) = &mut self.lifetime else { return true };
        lifetime.now = lifetime.now.max(at);
        let kept = lifetime.keeps(line);
        lifetime.renew(line);
        kept
    }

    /// A line comes, or is there already.
    #[inline]
    pub(super) fn bring(&mut self, line: u64) {
        self.lines.bring(line);
        if let Some(lifetime) = &mut self.lifetime {
            lifetime.renew(line);
        }
    }

    /// True if the line is there.
    pub(super) fn contains(&self, line: u64) -> bool {
        self.lines.contains(line) && self.lifetime.as_ref().is_none_or(|lifetime| lifetime.keeps(line))
    }

    pub(super) fn remove(&mut self, line: u64) {
        self.lines.remove(line);
    }

    pub(super) fn clear(&mut self) {
        self.lines.clear();
    }
}

/// When lines were used last.
#[derive(Debug)]
struct Lifetime {
    cycles: u64,
    /// By page.
    used: HashMap<u64, Box<[u64; LINES]>>,
    /// The latest cycle in which one was used: from the second level they come without one.
    now: u64,
}

impl Lifetime {
    /// True if a line that came is there still.
    fn keeps(&self, line: u64) -> bool {
        let used = self.used.get(&(line / LINES as u64)).map_or(0, |page| page[line as usize % LINES]);
        self.now - used <= self.cycles
    }

    /// A line is used, or comes.
    fn renew(&mut self, line: u64) {
        let page = self.used.entry(line / LINES as u64).or_insert_with(|| Box::new([0; LINES]));
        page[line as usize % LINES] = self.now;
    }
}
