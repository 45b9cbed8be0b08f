//! Branch records.

use super::{Checked, Machine, same};
use crate::model::COUNTERS;
use crate::report::Reached;
use vpmu::pmu::LBR_COMPONENT_WORDS;
use vpmu::profile::LbrKind;
use vpmu::{BranchKind, BranchRecord};

const LBR_TOS: u32 = 0x1C9;
const LBR_SELECT: u32 = 0x1C8;
const ARCH_LBR_CTL: u32 = 0x14CE;
/// INFO of the newest record.
const ARCH_LBR_INFO: u32 = 0x1200;
/// Word of the component that holds IA32_LBR_DEPTH.
const DEPTH: usize = 1;
/// The first record, behind the last-exception record.
const RECORDS: usize = 5;
/// IA32_LER_INFO.
const LER_INFO: usize = 4;
/// FROM, TO and INFO of the last-exception record.
const LAST_EXCEPTION: [u32; 3] = [0x1DD, 0x1DE, 0x1E0];
const DEBUGCTL: u32 = 0x1D9;
const LBR_EN: u64 = 1;

impl Machine<'_> {
    /// FROM and TO of the newest record, and whether it was mispredicted.
    fn newest(&mut self) -> Option<(u64, u64, bool)> {
        let (from, to, info) = match self.subject.profile.lbr {
            LbrKind::Legacy => {
                let tos = self.read_or_0(LBR_TOS) as u32;
                (0x680 + tos, 0x6C0 + tos, 0xDC0 + tos)
            }
            LbrKind::Architectural { .. } => (0x1500, 0x1600, 0x1200),
            LbrKind::None | LbrKind::LastBranch | LbrKind::ExtV2 { .. } => return None,
        };
        Some((self.read_or_0(from), self.read_or_0(to), self.read_or_0(info) >> 63 != 0))
    }

    /// A return removes the newest record in call-stack mode.
    fn is_call_stack(&mut self) -> bool {
        match self.subject.profile.lbr {
            LbrKind::Legacy => self.read_or_0(LBR_SELECT) >> 9 & 1 != 0,
            LbrKind::Architectural { .. } => self.read_or_0(ARCH_LBR_CTL) >> 3 & 1 != 0,
            LbrKind::None | LbrKind::LastBranch | LbrKind::ExtV2 { .. } => false,
        }
    }

    /// The architectural records do not tell where a branch from this level was.
    fn hides(&mut self, cpl: u8) -> bool {
        let bit = if cpl == 0 { 1 } else { 2 };
        matches!(self.subject.profile.lbr, LbrKind::Architectural { .. })
            && self.read_or_0(ARCH_LBR_CTL) >> bit & 1 == 0
    }

    /// The last-exception record becomes the newest one while anything is recorded.
    pub(super) fn interrupt(&mut self) -> Checked {
        let newest = self.newest();
        let before = LAST_EXCEPTION.map(|index| self.read(index));
        self.sync();
        let records = !self.pmu.branch_filter().is_empty();
        self.pmu.interrupted();
        let after = LAST_EXCEPTION.map(|index| self.read(index));
        match newest {
            Some((from, to, mispredicted)) if records => {
                same("last-exception record", [after[0], after[1]], [Some(from), Some(to)])?;
                same("its INFO", after[2].is_none_or(|info| info >> 63 == u64::from(mispredicted)), true)
            }
            Some(_) => same("last-exception record while nothing is recorded", after, before),
            // AMD's is of the last branch, or there is none.
            None => Ok(()),
        }
    }

    /// #DB ends recording and stepping, and touches no record.
    pub(super) fn debug_exception(&mut self) -> Checked {
        self.sync();
        let before = (self.newest(), LAST_EXCEPTION.map(|index| self.read(index)));
        self.pmu.debug_exception();
        if let Some(model) = &mut self.model {
            model.debug_exception();
        }
        same("branch filter after #DB", self.pmu.branch_filter().is_empty(), true)?;
        same("single-stepping on branches after #DB", self.pmu.steps_on_branches(), false)?;
        same("IA32_DEBUGCTL.LBR and BTF", self.read_or_0(DEBUGCTL) & 3, 0)?;
        same("IA32_LBR_CTL.LBREn", self.read_or_0(ARCH_LBR_CTL) & LBR_EN, 0)?;
        let after = (self.newest(), LAST_EXCEPTION.map(|index| self.read(index)));
        same("records after #DB", after, before)
    }

    pub(super) fn branch(&mut self, branch: &BranchRecord) -> Checked {
        let selects = self.selects();
        let logs = self.pmu.logs_events();
        // Events that were not looked at belong to the record as well: the engine tells the branch before.
        if !logs || branch.cycle.is_multiple_of(2) {
            self.sync();
        }
        let admitted = self.pmu.branch_filter().admits(branch.kind, branch.cpl);
        let before = self.newest();
        if logs {
            self.pmu.record_branch_with_events(branch, &mut self.totals);
        } else {
            self.pmu.record_branch(branch);
        }
        if !admitted {
            self.note(Reached::BranchesLeftOut);
            return same("newest record after a branch that is left out", self.newest(), before);
        }
        self.note(Reached::Branches);
        if before.is_some() && !(self.is_call_stack() && branch.kind == BranchKind::Return) {
            let from = if self.hides(branch.from_cpl) { u64::MAX } else { branch.from };
            let found = self.newest();
            same("newest record", found, Some((from, branch.to, branch.mispredicted)))?;
        }
        self.check_logged(branch, selects)?;
        if logs {
            // And once more with nothing in between.
            self.pmu.record_branch_with_events(branch, &mut self.totals);
            self.check_logged(branch, selects)?;
        }
        // DBG_CTL_MSR.LBR
        if matches!(self.subject.profile.lbr, LbrKind::LastBranch | LbrKind::ExtV2 { .. })
            && self.read_or_0(0x1D9) & 1 != 0
        {
            let last = [self.read_or_0(0x1DB), self.read_or_0(0x1DC)];
            same("last branch", last, [branch.from, branch.to])?;
        }
        Ok(())
    }

    /// The branch that has just been recorded has the events since the one before it.
    fn check_logged(&mut self, branch: &BranchRecord, selects: [u64; COUNTERS]) -> Checked {
        let Some(expected) = self.logged.as_mut().map(|logged| logged.branch(selects)) else { return Ok(()) };
        if self.is_call_stack() && branch.kind == BranchKind::Return {
            return Ok(());
        }
        let info = self.read_or_0(ARCH_LBR_INFO);
        for (n, field) in expected.into_iter().enumerate() {
            let found = info >> (32 + 2 * n) & 3;
            let Some(field) = field else { continue };
            same(&format!("events of counter {n} in the newest record"), found, field)?;
            self.note(if field == 0 { Reached::NotLogged } else { Reached::Logged });
        }
        Ok(())
    }

    pub(super) fn xrstors(&mut self, change: Option<(u8, u64)>) -> Checked {
        let len = self.pmu.lbr_component_words();
        let mut saved = [0; LBR_COMPONENT_WORDS];
        self.pmu.save_lbr_component(&mut saved);
        if len == 0 {
            same("XSAVES without the component", saved, [0; LBR_COMPONENT_WORDS])?;
            let outcome = self.pmu.restore_lbr_component(Some(&saved));
            return same("XRSTORS without the component", outcome.is_err(), true);
        }
        let mut words = saved;
        let Some((word, flip)) = change else {
            let outcome = self.pmu.restore_lbr_component(None);
            same("XRSTORS of the initial state", outcome, Ok(()))?;
            self.note(Reached::Xrstors);
            let mut initial = [0; LBR_COMPONENT_WORDS];
            initial[DEPTH] = saved[DEPTH];
            self.pmu.save_lbr_component(&mut words);
            return same("initial state", words, initial);
        };
        // The head three times as likely as a record.
        let word = if word < 64 { usize::from(word) % 5 } else { usize::from(word) % len };
        words[word] ^= flip;
        let outcome = self.pmu.restore_lbr_component(Some(&words));
        let mut expected = if outcome.is_ok() { words } else { saved };
        if outcome.is_ok() && words[DEPTH] != saved[DEPTH] {
            expected.fill(0);
            expected[..RECORDS].copy_from_slice(&words[..RECORDS]);
            expected[DEPTH] = saved[DEPTH];
            expected[LER_INFO] &= 0xEF << 56;
        }
        // Undefined bits of INFO.
        expected[LER_INFO] &= 0xEF << 56;
        let defined = if self.subject.logs_events() { !0xFF_FF00_FFFF_0000 } else { !0xFF_FFFF_FFFF_0000 };
        expected[RECORDS..].iter_mut().skip(2).step_by(3).for_each(|info| *info &= defined);
        // Records beyond the depth are not taken.
        for record in expected[RECORDS..].chunks_mut(3).skip(saved[DEPTH] as usize) {
            record.fill(0);
        }
        self.note(if outcome.is_ok() { Reached::Xrstors } else { Reached::XrstorsFaults });
        self.pmu.save_lbr_component(&mut words);
        same("state after XRSTORS", words, expected)
    }
}
