//! What faults do to the state.

use super::Intel;
use crate::pmu::counter::Counter;
use crate::pmu::faulty::Faulty;
use crate::register::intel::PerfGlobalStatus;
use crate::source::{CounterId, CountsSource, Running};

impl Intel {
    /// Counters that only a fault keeps from running.
    pub(in crate::pmu) fn held(&self) -> impl Iterator<Item = Running> + '_ {
        let gp = self.gp.iter().zip(core::iter::repeat(self.profile.gp_width));
        let fixed = self.fixed.iter().zip(core::iter::repeat(self.intel.fixed_width));
        let held = gp.chain(fixed).filter(|(counter, _)| counter.is_held());
        held.filter_map(|(counter, width)| counter.running(width.into()))
    }
}

impl Faulty for Intel {
    fn settle(&mut self, source: &mut dyn CountsSource) {
        self.sync(source);
    }

    fn go_on(&mut self, source: &mut dyn CountsSource) {
        self.restart(source);
    }

    fn counter_mut(&mut self, id: CounterId) -> Option<(&mut Counter, u32)> {
        match id {
            CounterId::Gp(n) => Some((self.gp.get_mut(usize::from(n))?, self.profile.gp_width.into())),
            CounterId::Fixed(n) => Some((self.fixed.get_mut(usize::from(n))?, self.intel.fixed_width.into())),
            CounterId::Metric(_) | CounterId::Ibs(_) => None,
        }
    }

    fn flip_status(&mut self, bit: u8) {
        self.bank.change(|status: PerfGlobalStatus| PerfGlobalStatus(status.0 ^ 1 << bit));
    }

    fn lose_branches(&mut self, count: u8) {
        let cycle = self.ring.updated.unwrap_or_default();
        (0..count).for_each(|_| self.ring.pop(cycle));
    }

    fn truncate_pebs(&mut self, bytes: u16) {
        self.truncate_pebs = Some(bytes);
    }
}
