//! Saving and restoring.

use super::{Checked, Machine, Snapshot, same};
use crate::model::Books;
use crate::report::Reached;
use vpmu::Active;
use vpmu::state::VpmuState;

impl Machine<'_> {
    /// Nothing is lost, and what runs goes on.
    pub(super) fn migrate(&mut self, fresh: bool) -> Checked {
        let state = self.pmu.save(&mut self.totals);
        let active: Vec<Active> = self.pmu.active().collect();
        let filter = self.pmu.branch_filter();
        self.behind = false;
        if fresh {
            self.books = Books::default();
            self.pmu = self.subject.pristine.clone();
        }
        same("restore", self.pmu.restore(&state, &mut self.totals), Ok(()))?;
        self.note(Reached::Saved);
        same("state after restore", self.pmu.save(&mut self.totals), state)?;
        same("running counters after restore", self.pmu.active().collect(), active)?;
        same("branch filter after restore", self.pmu.branch_filter(), filter)
    }

    pub(super) fn roll_back(&mut self) -> Checked {
        let Some(Snapshot { saved, model, ibs, logged }) = &self.snapshot else { return Ok(()) };
        let state = saved.clone();
        self.ibs = ibs.clone();
        self.logged = logged.clone();
        self.model = model.as_ref().map(|model| model.boxed());
        self.behind = false;
        same("restore of an older state", self.pmu.restore(&state, &mut self.totals), Ok(()))?;
        self.note(Reached::RolledBack);
        same("older state after restore", self.pmu.save(&mut self.totals), state)
    }

    /// A changed state is taken as it is or refused, and then nothing changes.
    pub(super) fn tamper(&mut self, word: u8, value: u64, flip: bool) -> Checked {
        let before = self.pmu.save(&mut self.totals);
        let mut state = before.clone();
        {
            let mut words = words(&mut state.state);
            let at = usize::from(word) % words.len();
            *words[at] = if flip { *words[at] ^ value } else { value };
        }
        let taken = self.pmu.restore(&state, &mut self.totals).is_ok();
        self.note(if taken { Reached::TamperedTaken } else { Reached::TamperedRefused });
        let expected = if taken { state } else { before.clone() };
        same("state after restore of a changed one", self.pmu.save(&mut self.totals), expected)?;
        self.behind = false;
        // The models cannot follow.
        let modelled = self.model.is_some() || self.ibs.is_some() || self.logged.is_some();
        let back = (taken && modelled).then_some(before);
        back.map_or(Ok(()), |state| same("restore", self.pmu.restore(&state, &mut self.totals), Ok(())))
    }
}

/// Every word of a saved state.
fn words(state: &mut VpmuState) -> Vec<&mut u64> {
    let metrics = &mut state.metrics;
    let own = [&mut metrics.written, &mut state.pebs_armed, &mut state.ibs.random];
    state.registers.values_mut().chain(own).chain(&mut metrics.accumulators).collect()
}
