//! Saving and restoring.

use super::{Checked, Machine, same};
use crate::report::Reached;
use vpmu::Active;
use vpmu::lbr::LbrState;
use vpmu::state::VpmuState;

impl Machine<'_> {
    /// Nothing is lost, and what runs goes on.
    pub(super) fn migrate(&mut self, fresh: bool) -> Checked {
        let state = self.pmu.save(&mut self.totals);
        let active: Vec<Active> = self.pmu.active().collect();
        let filter = self.pmu.branch_filter();
        if fresh {
            self.pmu = self.subject.pristine.clone();
        }
        same("restore", self.pmu.restore(&state, &mut self.totals), Ok(()))?;
        self.note(Reached::Saved);
        same("state after restore", self.pmu.save(&mut self.totals), state)?;
        same("running counters after restore", self.pmu.active().collect(), active)?;
        same("branch filter after restore", self.pmu.branch_filter(), filter)
    }

    pub(super) fn roll_back(&mut self) -> Checked {
        let Some(state) = self.snapshot.clone() else { return Ok(()) };
        same("restore of an older state", self.pmu.restore(&state, &mut self.totals), Ok(()))?;
        self.note(Reached::RolledBack);
        same("older state after restore", self.pmu.save(&mut self.totals), state)
    }

    /// A changed state is taken as it is or refused, and then nothing changes.
    pub(super) fn tamper(&mut self, word: u8, value: u64, flip: bool) -> Checked {
        let before = self.pmu.save(&mut self.totals);
        let mut state = before.clone();
        {
            let mut words = words(&mut state);
            let at = usize::from(word) % words.len();
            *words[at] = if flip { *words[at] ^ value } else { value };
        }
        let taken = self.pmu.restore(&state, &mut self.totals).is_ok();
        self.note(if taken { Reached::TamperedTaken } else { Reached::TamperedRefused });
        let expected = if taken { state } else { before };
        same("state after restore of a changed one", self.pmu.save(&mut self.totals), expected)
    }
}

/// Every word of a saved state, and a few of its branch records.
fn words(state: &mut VpmuState) -> Vec<&mut u64> {
    let mut words: Vec<&mut u64> = Vec::with_capacity(64);
    match &mut state.registers {
        vpmu::state::VendorState::Intel(state) => {
            words.extend(state.evtsel.iter_mut().chain(&mut state.gp).chain(&mut state.fixed));
            words.extend([&mut state.fixed_ctr_ctrl, &mut state.global_ctrl, &mut state.global_status]);
            words.extend([
                &mut state.debugctl,
                &mut state.misc_enable,
                &mut state.ld_lat,
                &mut state.frontend,
            ]);
            words.extend(&mut state.offcore_rsp);
            words.push(&mut state.metrics.written);
            words.extend(&mut state.metrics.accumulators);
            match &mut state.lbr {
                LbrState::None => {}
                LbrState::Legacy { select, tos, entries, ler, .. } => {
                    words.extend([select, tos, &mut entries[31].info, &mut ler.from, &mut ler.info]);
                }
                LbrState::Architectural { ctl, depth, entries, ler, .. } => {
                    let [first, .., last] = entries;
                    words.extend([ctl, depth, &mut first.info, &mut last.from, &mut ler.to, &mut ler.info]);
                }
            }
        }
        vpmu::state::VendorState::Amd(state) => {
            words.extend(state.ctl.iter_mut().chain(&mut state.ctr));
            words.extend([&mut state.global_ctl, &mut state.global_status, &mut state.debugctl]);
            let lbr = &mut state.lbr;
            words.extend([&mut lbr.last_from, &mut lbr.last_to, &mut lbr.select, &mut lbr.config]);
            words.extend([&mut lbr.last_int_from, &mut lbr.last_int_to]);
            words.extend(lbr.entries.iter_mut().flat_map(|(from, to)| [from, to]));
        }
    }
    words
}
