//! What faults on command do to the state of a PMU.

use super::counter::Counter;
use crate::inject::Effect;
use crate::source::{CounterId, CountsSource};

/// A PMU in which things go wrong.
pub(super) trait Faulty {
    /// Counters as of now.
    fn settle(&mut self, source: &mut dyn CountsSource);

    /// Counting goes on, with what has changed.
    fn go_on(&mut self, source: &mut dyn CountsSource);

    /// A counter with its width in bits; `None` if there is none of this name.
    fn counter_mut(&mut self, id: CounterId) -> Option<(&mut Counter, u32)>;

    /// This bit of the overflow status is wrong.
    fn flip_status(&mut self, bit: u8);

    /// The newest branch records go missing. Nothing where there are none.
    fn lose_branches(&mut self, _count: u8) {}

    /// The next PEBS record is cut off after so many bytes. Nothing where there are none.
    fn truncate_pebs(&mut self, _bytes: u16) {}

    /// Something goes wrong with the registers.
    fn afflict(&mut self, effect: Effect, source: &mut dyn CountsSource) {
        self.settle(source);
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
            Effect::StatusBit(bit) => self.flip_status(bit & 63),
            Effect::LoseBranches(count) => self.lose_branches(count),
            Effect::TruncatePebs(bytes) => self.truncate_pebs(bytes),
            _ => {}
        }
        self.go_on(source);
    }

    /// A counter stands still, or no longer does.
    fn set_stuck(&mut self, id: CounterId, stuck: bool, source: &mut dyn CountsSource) {
        self.settle(source);
        if let Some((counter, _)) = self.counter_mut(id) {
            counter.set_stuck(stuck);
        }
        self.go_on(source);
    }
}
