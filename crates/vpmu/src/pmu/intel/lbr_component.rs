//! The branch records as XSAVES and XRSTORS keep them: state component 15 (Intel SDM, "Last Branch Records").

use super::Intel;
use crate::lbr::{MAX_DEPTH, Ring};
use crate::pmu::Fault;
use crate::register::intel::RegisterId;

/// Words before the records: IA32_LBR_CTL, IA32_LBR_DEPTH, IA32_LER_FROM_IP, _TO_IP and _INFO.
const HEAD: [RegisterId; 5] = [
    RegisterId::ArchLbrCtl,
    RegisterId::ArchLbrDepth,
    RegisterId::LerFrom,
    RegisterId::LerTo,
    RegisterId::LerInfo,
];
/// Words of a record.
const ENTRY: [RegisterId; 3] = [RegisterId::ArchLbrFrom, RegisterId::ArchLbrTo, RegisterId::ArchLbrInfo];
/// 64-bit words of the component on a CPU with the deepest stack.
pub const LBR_COMPONENT_WORDS: usize = HEAD.len() + ENTRY.len() * MAX_DEPTH;

impl Intel {
    /// 64-bit words of the component; 0 if the profile does not have the architectural records.
    pub(in crate::pmu) fn lbr_component_words(&self) -> usize {
        let depth = self.masks.of(RegisterId::ArchLbrFrom).instances as usize;
        if self.has_arch_lbr() { HEAD.len() + ENTRY.len() * depth } else { 0 }
    }

    /// The words of the component, in order.
    fn lbr_component(depth: u64) -> impl Iterator<Item = (RegisterId, u32)> {
        let entries = (0..).take_while(move |&n| u64::from(n) < depth);
        HEAD.map(|id| (id, 0)).into_iter().chain(entries.flat_map(|n| ENTRY.map(|id| (id, n))))
    }

    /// Fills the component. Records beyond the depth are 0.
    pub(in crate::pmu) fn save_lbr_component(&self, words: &mut [u64; LBR_COMPONENT_WORDS]) {
        words.fill(0);
        if self.has_arch_lbr() {
            for (word, (id, n)) in words.iter_mut().zip(Self::lbr_component(self.ring.depth())) {
                *word = self.value(id, n);
            }
        }
    }

    /// Takes over a component, or with `None` its initial configuration: nothing is recorded, no records. Records
    /// saved with another depth than the current one are dropped, as are the undefined bits of INFO. Addresses are
    /// taken as they are: XSAVES has stored them.
    ///
    /// # Errors
    /// Reserved bits of IA32_LBR_CTL; nothing changes.
    pub(in crate::pmu) fn restore_lbr_component(
        &mut self,
        words: Option<&[u64; LBR_COMPONENT_WORDS]>,
    ) -> Result<(), Fault> {
        if !self.has_arch_lbr() {
            return Err(Fault::Absent);
        }
        let depth = self.ring.depth();
        let initial = [0; LBR_COMPONENT_WORDS];
        let words = words.unwrap_or(&initial);
        let [ctl, saved_depth, ..] = *words;
        if ctl & !self.masks.of(RegisterId::ArchLbrCtl).stored != 0 {
            return Err(Fault::ReservedBits(ctl));
        }
        self.ring = Ring::new(depth);
        for ((id, n), word) in Self::lbr_component(depth).zip(words) {
            let kept = saved_depth == depth || !ENTRY.contains(&id);
            if kept && id != RegisterId::ArchLbrDepth {
                self.set_value(id, n, word & self.masks.of(id).stored);
            }
        }
        self.update_branch_filter();
        Ok(())
    }
}
