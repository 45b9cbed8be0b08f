//! Saving and restoring.

use super::Intel;
use super::branches::{LOGGED_COUNTERS, MOST_LOGGED};
use super::pebs::Pebs;
use crate::bits::low_u8;
use crate::lbr::Ring;
use crate::register::intel::ArchLbrDepth;
use crate::register::set::RegisterSet;
use crate::register::{Repeat, When};
use crate::source::CountsSource;
use crate::state::{RestoreError, VpmuState};

impl Intel {
    /// Puts the registers into a state; counters must be up to date.
    pub(in crate::pmu) fn save(&self, state: &mut VpmuState) {
        state.registers =
            self.masks.stateful().map(|known| (known.index, self.value(known.id, known.n))).collect();
        state.metrics = self.metrics.clone();
        state.branch_cycle = self.ring.updated;
        state.pebs_armed = self.pebs.armed | self.pebs.due;
        if When::LbrEventLogging.holds(&self.profile) {
            let logged = (0..LOGGED_COUNTERS).zip(&self.gp);
            let logged = logged.map(|(n, counter)| counter.logged.min(MOST_LOGGED) << (2 * n));
            state.branch_events = low_u8(logged.fold(0, |all, bits| all | bits));
        }
    }

    pub(in crate::pmu) fn restore(
        &mut self,
        state: &VpmuState,
        source: &mut dyn CountsSource,
    ) -> Result<(), RestoreError> {
        self.masks.check_saved(&state.registers)?;
        self.check_depth_of(state)?;
        self.sync(source);
        self.flush_ledger();
        self.ring = Ring::new(self.profile.lbr.max_depth());
        for known in self.masks.clone().stateful() {
            self.set_value(known.id, known.n, state.registers.get(&known.index).copied().unwrap_or_default());
        }
        self.ring.updated = state.branch_cycle;
        self.metrics = state.metrics.clone();
        self.pmi = false;
        self.pebs = Pebs { armed: state.pebs_armed, due: 0 };
        // Recording that was on when the state was saved does not begin anew.
        self.branch_filter = self.wanted_branches();
        self.reprogram_all();
        for (n, counter) in (0..LOGGED_COUNTERS).zip(&mut self.gp) {
            counter.logged = u64::from(state.branch_events) >> (2 * n) & MOST_LOGGED;
        }
        self.restart(source);
        Ok(())
    }

    /// The architectural stack has a depth of CPUID's list, and no records beyond it.
    fn check_depth_of(&self, state: &VpmuState) -> Result<(), RestoreError> {
        let Some(&depth) = state.registers.get(&ArchLbrDepth::INDEX) else { return Ok(()) };
        let empty = self.masks.stateful().all(|known| {
            let beyond = known.id.register().repeat == Repeat::PerLbr && u64::from(known.n) >= depth;
            !beyond || state.registers.get(&known.index) == Some(&0)
        });
        if empty && self.profile.lbr.supports_depth(depth) {
            Ok(())
        } else {
            Err(RestoreError::LbrDepth { depth })
        }
    }
}
