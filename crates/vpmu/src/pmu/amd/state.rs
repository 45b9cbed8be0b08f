//! Saving and restoring.

use super::Amd;
use crate::lbr::Ring;
use crate::source::CountsSource;
use crate::state::{RestoreError, VpmuState};

impl Amd {
    /// Puts the registers into a state; counters must be up to date. Those of a merged pair are saved each for itself.
    pub(in crate::pmu) fn save(&self, state: &mut VpmuState) {
        state.registers =
            self.masks.stateful().map(|known| (known.index, self.value(known.id, known.n))).collect();
        state.branch_cycle = self.ring.updated;
        state.ibs = self.save_ibs();
    }

    pub(in crate::pmu) fn restore(
        &mut self,
        state: &VpmuState,
        source: &mut dyn CountsSource,
    ) -> Result<(), RestoreError> {
        self.masks.check_saved(&state.registers)?;
        self.check_ibs(state)?;
        self.sync(source);
        self.flush_ledger();
        self.merged = 0;
        self.ring = Ring::new(self.profile.lbr.max_depth());
        for known in self.masks.clone().stateful() {
            self.set_value(known.id, known.n, state.registers.get(&known.index).copied().unwrap_or_default());
        }
        self.ring.updated = state.branch_cycle;
        self.pmi = false;
        self.restore_ibs(&state.ibs);
        self.update_pairs();
        self.reprogram_all();
        self.restart(source);
        Ok(())
    }
}
