//! Last branch records: what reaches the stack, and its registers.

use super::Intel;
use crate::lbr::{BranchFilter, BranchRecord, BranchStack};
use crate::pmu::Fault;
use crate::register::intel::{DebugCtl, RegisterId};

/// GLOBAL_STATUS bit LBR_Frz.
const STATUS_LBR_FROZEN: u64 = 1 << 58;
/// IA32_DEBUGCTL bit LBR.
const DEBUGCTL_LBR: u64 = 1;
/// IA32_DEBUGCTL bit BTF.
const DEBUGCTL_BTF: u64 = 1 << 1;
/// IA32_LBR_CTL bit LBREn.
const LBR_EN: u64 = 1;
/// Bits of a linear address: CPUID.80000008H:EAX bits 15:8 without 5-level paging.
const LINEAR_BITS: u32 = 48;

/// True for the registers of the stacks; IA32_DEBUGCTL is not one of them.
pub(super) const fn is_lbr(id: RegisterId) -> bool {
    is_entry(id)
        || matches!(
            id,
            RegisterId::LbrSelect
                | RegisterId::LbrTos
                | RegisterId::ArchLbrCtl
                | RegisterId::ArchLbrDepth
                | RegisterId::LerFrom
                | RegisterId::LerTo
                | RegisterId::LerInfo
        )
}

/// True for registers that hold a linear address.
const fn is_address(id: RegisterId) -> bool {
    matches!(
        id,
        RegisterId::LastBranchFrom
            | RegisterId::LastBranchTo
            | RegisterId::ArchLbrFrom
            | RegisterId::ArchLbrTo
            | RegisterId::LerFrom
            | RegisterId::LerTo
    )
}

/// All bits from the highest of the address on are the same.
const fn is_canonical(address: u64) -> bool {
    let unused = u64::BITS - LINEAR_BITS;
    ((address << unused) as i64 >> unused) as u64 == address
}

const fn is_entry(id: RegisterId) -> bool {
    matches!(
        id,
        RegisterId::LastBranchFrom
            | RegisterId::LastBranchTo
            | RegisterId::LbrInfo
            | RegisterId::ArchLbrFrom
            | RegisterId::ArchLbrTo
            | RegisterId::ArchLbrInfo
    )
}

impl Intel {
    #[inline]
    pub(in crate::pmu) fn branch_filter(&self) -> BranchFilter {
        self.branch_filter
    }

    #[inline]
    pub(in crate::pmu) fn record_branch(&mut self, branch: &BranchRecord) {
        if self.branch_filter.admits(branch.kind, branch.cpl) {
            self.lbr.record(branch);
        }
    }

    pub(in crate::pmu) fn interrupted(&mut self) {
        // The last-exception record depends on the same enables as the others. The event's own kind and level do not
        // matter: what counts is the branch before it.
        if !self.branch_filter.is_empty()
            && let Some(stack) = self.lbr.stack_mut()
        {
            stack.interrupted();
        }
    }

    /// SDM vol. 3B: #DB clears IA32_DEBUGCTL.LBR and BTF, and IA32_LBR_CTL.LBREn, and leaves the records alone.
    pub(in crate::pmu) fn debug_exception(&mut self) {
        self.regs.debugctl &= !(DEBUGCTL_LBR | DEBUGCTL_BTF);
        if let Some(ctl) = self.lbr.stack_mut().and_then(|stack| stack.word_mut(RegisterId::ArchLbrCtl, 0)) {
            *ctl &= !LBR_EN;
        }
        self.update_branch_filter();
    }

    pub(in crate::pmu) fn steps_on_branches(&self) -> bool {
        DebugCtl(self.regs.debugctl).btf()
    }

    pub(in crate::pmu) fn needs_every_branch(&self) -> bool {
        self.lbr.stack().is_some_and(BranchStack::is_call_stack)
    }

    pub(in crate::pmu) fn skip_branches(&mut self, count: u64) {
        if let Some(stack) = self.lbr.stack_mut() {
            stack.skip(count);
        }
    }

    /// The filter that the registers ask for.
    pub(super) fn wanted_branches(&self) -> BranchFilter {
        if self.regs.global_status & STATUS_LBR_FROZEN != 0 {
            return BranchFilter::EMPTY;
        }
        self.lbr.filter(DebugCtl(self.regs.debugctl).lbr())
    }

    pub(super) fn update_branch_filter(&mut self) {
        let wanted = self.wanted_branches();
        if self.branch_filter.is_empty()
            && !wanted.is_empty()
            && let Some(stack) = self.lbr.stack_mut()
        {
            stack.begin();
        }
        self.branch_filter = wanted;
    }

    /// A PMI freezes the records: streamlined from version 4, by clearing DEBUGCTL.LBR before.
    pub(super) fn freeze_branches(&mut self) {
        if !DebugCtl(self.regs.debugctl).freeze_lbrs_on_pmi() {
            return;
        }
        if self.intel.version >= 4 {
            self.regs.global_status |= STATUS_LBR_FROZEN;
        } else {
            self.regs.debugctl &= !DEBUGCTL_LBR;
        }
    }

    pub(super) fn lbr_register(&mut self, id: RegisterId, n: usize) -> Result<&mut u64, Fault> {
        let depth = self.lbr.depth();
        if is_entry(id) && n as u64 >= depth {
            return Err(Fault::BeyondDepth { depth });
        }
        self.lbr.stack_mut().and_then(|stack| stack.word_mut(id, n)).ok_or(Fault::Absent)
    }

    /// What the declarations cannot say about a write.
    pub(super) fn check_lbr_write(&mut self, id: RegisterId, n: usize, value: u64) -> Result<(), Fault> {
        if id == RegisterId::ArchLbrDepth && !self.profile.lbr.supports_depth(value) {
            return Err(Fault::Depth(value));
        }
        self.lbr_register(id, n)?;
        if is_address(id) && !is_canonical(value) {
            return Err(Fault::NonCanonical(value));
        }
        Ok(())
    }
}
