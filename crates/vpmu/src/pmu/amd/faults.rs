//! What faults do to the state.

use super::Amd;
use crate::inject::Effect;
use crate::pmu::counter::Counter;
use crate::register::amd::PerfCntrGlobalStatus;
use crate::source::{CounterId, CountsSource, Running};

impl Amd {
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
                let change = |status: PerfCntrGlobalStatus| PerfCntrGlobalStatus(status.0 ^ 1 << (bit & 63));
                self.bank.change(change);
            }
            Effect::LoseBranches(count) => {
                let cycle = self.ring.updated.unwrap_or_default();
                (0..count).for_each(|_| self.ring.pop(cycle));
            }
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
        let held = (0..).zip(&self.gp).filter(|(_, counter)| counter.is_held());
        held.filter_map(|(n, counter)| counter.running(self.width(n)))
    }

    /// The even counter of a merged pair stands for both.
    fn counter_mut(&mut self, id: CounterId) -> Option<(&mut Counter, u32)> {
        let CounterId::Gp(n) = id else { return None };
        let n = u32::from(n);
        let n = if self.is_merged_odd(n) { n - 1 } else { n };
        let width = self.width(n);
        Some((self.gp.get_mut(n as usize)?, width))
    }
}
