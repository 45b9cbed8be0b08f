//! The branch records as XSAVES and XRSTORS keep them: state component 15 (Intel SDM, "Last Branch Records").

use super::Intel;
use crate::lbr::{LbrEntry, LbrState, MAX_DEPTH};
use crate::pmu::Fault;
use crate::profile::LbrKind;
use crate::register::intel::RegisterId;

/// Words before the records: IA32_LBR_CTL, IA32_LBR_DEPTH, IA32_LER_FROM_IP, _TO_IP and _INFO.
const HEAD: usize = 5;
/// Words of a record: FROM, TO and INFO.
const ENTRY: usize = 3;
/// 64-bit words of the component on a CPU with the deepest stack.
pub const LBR_COMPONENT_WORDS: usize = HEAD + ENTRY * MAX_DEPTH;

impl Intel {
    /// 64-bit words of the component; 0 if the profile does not have the architectural records.
    pub(in crate::pmu) fn lbr_component_words(&self) -> usize {
        match self.profile.lbr {
            LbrKind::Architectural { .. } => HEAD + ENTRY * self.profile.lbr.max_depth() as usize,
            _ => 0,
        }
    }

    /// Fills the component. Records beyond the depth are 0.
    pub(in crate::pmu) fn save_lbr_component(&self, words: &mut [u64; LBR_COMPONENT_WORDS]) {
        words.fill(0);
        let LbrState::Architectural { ctl, depth, entries, ler, .. } = self.lbr.save() else { return };
        words[..HEAD].copy_from_slice(&[ctl, depth, ler.from, ler.to, ler.info]);
        for (to, entry) in words[HEAD..].chunks_exact_mut(ENTRY).zip(entries) {
            to.copy_from_slice(&[entry.from, entry.to, entry.info]);
        }
    }

    /// Takes over a component, or with `None` its initial configuration: nothing is recorded, no records. Records
    /// saved with another depth than the current one are dropped, as are the undefined bits of INFO. Addresses are taken
    /// as they are: XSAVES has stored them.
    ///
    /// # Errors
    /// Reserved bits of IA32_LBR_CTL; nothing changes.
    pub(in crate::pmu) fn restore_lbr_component(
        &mut self,
        words: Option<&[u64; LBR_COMPONENT_WORDS]>,
    ) -> Result<(), Fault> {
        let LbrState::Architectural { depth, .. } = self.lbr.save() else { return Err(Fault::Absent) };
        let info_bits = self.masks[RegisterId::ArchLbrInfo as usize].stored;
        let mut entries = [LbrEntry::default(); MAX_DEPTH];
        let mut ctl = 0;
        let mut ler = LbrEntry::default();
        if let Some(words) = words {
            ctl = words[0];
            let ler_info = words[4] & self.masks[RegisterId::LerInfo as usize].stored;
            ler = LbrEntry { from: words[2], to: words[3], info: ler_info };
            let same = words[1] == depth;
            for (entry, from) in
                entries.iter_mut().zip(words[HEAD..].chunks_exact(ENTRY)).take(depth as usize)
            {
                if let (true, &[from, to, info]) = (same, from) {
                    *entry = LbrEntry { from, to, info: info & info_bits };
                }
            }
        }
        let state = LbrState::Architectural { ctl, depth, entries, ler, updated: None };
        self.check_lbr(&state).map_err(|_| Fault::ReservedBits(ctl))?;
        self.lbr = self.lbr.restored(&state).ok_or(Fault::Absent)?;
        self.update_branch_filter();
        Ok(())
    }
}
