//! What faults do to the state.

use super::Intel;
use crate::inject::Effect;
use crate::pmu::counter::Counter;
use crate::register::intel::PerfGlobalStatus;
use crate::source::{CounterId, CountsSource, Running};

impl Intel {
    /// Something goes wrong with the registers.
    pub(in crate::pmu) fn afflict(&mut self, effect: Effect, source: &mut dyn CountsSource) {
        self.sync(source);
        match effect {
            Effect::LoseCounts { counter, by } => {
                if let Some((counter, _)) = self.counter_mut(counter) {
                    counter.value = counter.value.saturating_sub(by);
                }
            }
            Effect::Jump { counter, by } => {
                if let Some((counter, width)) = self.counter_mut(counter) {
                    counter.jump(by, width);
                }
            }
            Effect::StatusBit(bit) => {
                self.bank.change(|status: PerfGlobalStatus| PerfGlobalStatus(status.0 ^ 1 << (bit & 63)));
            }
            Effect::LoseBranches(count) => {
                let cycle = self.ring.updated.unwrap_or_default();
                (0..count).for_each(|_| self.ring.pop(cycle));
            }
            Effect::TruncatePebs(bytes) => self.truncate_pebs = Some(bytes),
            _ => {}
        }
        self.restart(source);
    }

    /// A counter stands still, or no longer does.
    pub(in crate::pmu) fn set_stuck(&mut self, id: CounterId, stuck: bool, source: &mut dyn CountsSource) {
        self.sync(source);
        if let Some((counter, _)) = self.counter_mut(id) {
            counter.set_stuck(stuck);
        }
        self.restart(source);
    }

    /// Counters that only a fault keeps from running.
    pub(in crate::pmu) fn held(&self) -> impl Iterator<Item = Running> + '_ {
        let gp = self.gp.iter().zip(core::iter::repeat(self.profile.gp_width));
        let fixed = self.fixed.iter().zip(core::iter::repeat(self.intel.fixed_width));
        let held = gp.chain(fixed).filter(|(counter, _)| counter.is_held());
        held.filter_map(|(counter, width)| counter.running(width.into()))
    }

    fn counter_mut(&mut self, id: CounterId) -> Option<(&mut Counter, u32)> {
        match id {
            CounterId::Gp(n) => Some((self.gp.get_mut(usize::from(n))?, self.profile.gp_width.into())),
            CounterId::Fixed(n) => Some((self.fixed.get_mut(usize::from(n))?, self.intel.fixed_width.into())),
            CounterId::Metric(_) | CounterId::Ibs(_) => None,
        }
    }
}
