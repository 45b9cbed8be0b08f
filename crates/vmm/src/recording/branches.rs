//! How often each branch was taken, with where the branch before it went.

use super::data::{Jump, Place};
use rustc_hash::FxHashMap;

/// Branches, with where the one before went.
#[derive(Debug, Default)]
pub(super) struct Branches {
    jumps: Vec<Jump>,
    by_places: FxHashMap<(Place, Place, Place), u32>,
}

/// A thread's way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    /// Where the last branch went; `None` before the first one.
    start: Option<Place>,
    /// A branch whose target has not been reached, and whether it was mispredicted.
    branch: Option<(Place, bool)>,
    /// The last instruction.
    pub(super) last: Place,
    /// Linear address at which it goes on.
    pub(super) next: u64,
}

impl Default for Way {
    fn default() -> Self {
        Self { start: None, branch: None, last: Place::NONE, next: 0 }
    }
}

impl Branches {
    fn count(&mut self, start: Place, from: Place, to: Place, mispredicted: bool) {
        let jumps = &mut self.jumps;
        let number = *self.by_places.entry((start, from, to)).or_insert_with(|| {
            jumps.push(Jump { start, from, to, count: 0, mispredicted: 0 });
            u32::try_from(jumps.len() - 1).unwrap_or(u32::MAX)
        });
        let jump = &mut self.jumps[number as usize];
        jump.count += 1;
        jump.mispredicted += u64::from(mispredicted);
    }

    pub(super) fn into_jumps(self) -> Vec<Jump> {
        self.jumps
    }
}

impl Way {
    /// Code at a place begins to retire.
    #[inline]
    pub(super) fn reach(&mut self, branches: &mut Branches, place: Place) {
        if let Some((from, mispredicted)) = self.branch.take() {
            if let Some(start) = self.start {
                branches.count(start, from, place, mispredicted);
            }
            self.start = Some(place);
        } else if self.start.is_none() {
            self.start = Some(place);
        }
    }

    /// The last instruction is a branch, and it is taken.
    pub(super) fn branch(&mut self) {
        self.branch = Some((self.last, false));
    }

    /// It was mispredicted.
    pub(super) fn mispredicted(&mut self) {
        if let Some((_, mispredicted)) = &mut self.branch {
            *mispredicted = true;
        }
    }

    /// It goes on somewhere else without a branch.
    pub(super) fn interrupt(&mut self, branches: &mut Branches) {
        if let Some(start) = self.start.take() {
            branches.count(start, self.last, Place::NONE, false);
        }
        self.branch = None;
    }
}
