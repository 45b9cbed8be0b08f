//! What faults do to the state.

use super::Amd;
use crate::pmu::counter::Counter;
use crate::pmu::faulty::Faulty;
use crate::register::amd::PerfCntrGlobalStatus;
use crate::source::{CounterId, CountsSource, Running};

impl Amd {
    /// Counters that only a fault keeps from running.
    pub(in crate::pmu) fn held(&self) -> impl Iterator<Item = Running> + '_ {
        let held = (0..).zip(&self.gp).filter(|(_, counter)| counter.is_held());
        held.filter_map(|(n, counter)| counter.running(self.width(n)))
    }
}

impl Faulty for Amd {
    fn settle(&mut self, source: &mut dyn CountsSource) {
        self.sync(source);
    }

    fn go_on(&mut self, source: &mut dyn CountsSource) {
        self.restart(source);
    }

    /// The even counter of a merged pair stands for both.
    fn counter_mut(&mut self, id: CounterId) -> Option<(&mut Counter, u32)> {
        let CounterId::Gp(n) = id else { return None };
        let n = u32::from(n);
        let n = if self.is_merged_odd(n) { n - 1 } else { n };
        let width = self.width(n);
        Some((self.gp.get_mut(n as usize)?, width))
    }

    fn flip_status(&mut self, bit: u8) {
        self.bank.change(|status: PerfCntrGlobalStatus| PerfCntrGlobalStatus(status.0 ^ 1 << bit));
    }

    fn lose_branches(&mut self, count: u8) {
        let cycle = self.ring.updated.unwrap_or_default();
        (0..count).for_each(|_| self.ring.pop(cycle));
    }
}
