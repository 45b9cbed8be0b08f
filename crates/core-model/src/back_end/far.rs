//! What happens beyond the window of cycles that are told apart.

use std::collections::VecDeque;

/// Things and the cycles in which they begin, in the order of these.
#[derive(Debug, Clone)]
pub(super) struct Far<T>(VecDeque<(u64, T)>);

impl<T> Far<T> {
    pub(super) fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Adds a thing behind those that begin no later. Most come in order.
    pub(super) fn add(&mut self, cycle: u64, thing: T) {
        if self.0.back().is_none_or(|&(last, _)| last <= cycle) {
            self.0.push_back((cycle, thing));
        } else {
            let place = self.0.partition_point(|&(earlier, _)| earlier <= cycle);
            self.0.insert(place, (cycle, thing));
        }
    }

    /// The cycle in which the first one begins.
    pub(super) fn first(&self) -> Option<u64> {
        self.0.front().map(|&(cycle, _)| cycle)
    }

    /// Takes the first one out if it begins before a cycle.
    #[inline]
    pub(super) fn take_before(&mut self, cycle: u64) -> Option<(u64, T)> {
        if self.first()? < cycle { self.0.pop_front() } else { None }
    }

    /// Takes one out that begins at a cycle.
    pub(super) fn take_at(&mut self, cycle: u64) -> Option<T> {
        let place = self.0.partition_point(|&(earlier, _)| earlier < cycle);
        self.0.get(place).filter(|&&(at, _)| at == cycle)?;
        self.0.remove(place).map(|(_, thing)| thing)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
