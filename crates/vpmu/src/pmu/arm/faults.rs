//! What faults do to the state.

use super::{Arm, CYCLE_WIDTH};
use crate::pmu::counter::Counter;
use crate::pmu::faulty::Faulty;
use crate::register::arm::PmovsSet;
use crate::source::{CounterId, CountsSource};

impl Faulty for Arm {
    fn settle(&mut self, source: &mut dyn CountsSource) {
        self.sync(source);
    }

    fn go_on(&mut self, source: &mut dyn CountsSource) {
        self.restart(source);
    }

    fn counter_mut(&mut self, id: CounterId) -> Option<(&mut Counter, u32)> {
        match id {
            CounterId::Gp(n) => Some((self.events.get_mut(usize::from(n))?, self.profile.gp_width.into())),
            CounterId::Fixed(_) => Some((&mut self.cycles, CYCLE_WIDTH)),
            CounterId::Metric(_) | CounterId::Ibs(_) => None,
        }
    }

    fn flip_status(&mut self, bit: u8) {
        self.bank.change(|status: PmovsSet| PmovsSet(status.0 ^ 1 << bit));
    }
}
