//! What faults do to the state.

use super::{Arm, CYCLE_WIDTH};
use crate::inject::Effect;
use crate::pmu::counter::Counter;
use crate::register::arm::PmovsSet;
use crate::source::{CounterId, CountsSource};

impl Arm {
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
                self.bank.change(|flags: PmovsSet| PmovsSet(flags.0 ^ 1 << (bit & 63)));
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

    fn counter_mut(&mut self, id: CounterId) -> Option<(&mut Counter, u32)> {
        match id {
            CounterId::Gp(n) => Some((self.events.get_mut(usize::from(n))?, self.profile.gp_width.into())),
            CounterId::Fixed(_) => Some((&mut self.cycles, CYCLE_WIDTH)),
            CounterId::Metric(_) | CounterId::Ibs(_) => None,
        }
    }
}
