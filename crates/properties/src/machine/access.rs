//! RDMSR, WRMSR and RDPMC.

use super::{Checked, Machine, same};
use crate::report::Reached;
use crate::subject::Slot;
use vpmu::pmu::RdpmcContext;
use vpmu::profile::Vendor;
use vpmu::register::{Access, RegisterId, amd, intel, low_bits};
use vpmu::{Fault, Level, ReadOutcome, WriteOutcome};

/// Operations between two that compare the whole state around a fault.
const WHOLE_STATE_EVERY: u64 = 16;

/// RDPMC index of PERF_METRICS.
const METRICS: u32 = 0x2000_0000;
/// FIXED_CTR_CTRL: RDPMC of the metrics clears them.
const METRICS_CLEAR_EN: u64 = 1 << 14;
const LBR_DEPTH: u32 = 0x14CF;
const LBR_DEPTHS_ENTRY: u32 = 0x1500;

impl Machine<'_> {
    pub(super) fn wrmsr(&mut self, index: u32, value: u64) -> Checked {
        let subject = self.subject;
        let slot = subject.slot(index).copied();
        let old = self.read(index);
        let expected = match &slot {
            Some(slot) => self.write_outcome(slot, old, value),
            None if subject.is_claimed(index) => WriteOutcome::Fault(Fault::Absent),
            None => WriteOutcome::NotHandled,
        };
        let status = self.read_status();
        self.sync();
        let pmi = self.pmu.pmi_pending();
        let before = self.selects();
        let whole = (expected != WriteOutcome::Done
            && self.report.operations.is_multiple_of(WHOLE_STATE_EVERY))
        .then(|| self.pmu.save(&mut self.totals));
        let outcome = self.pmu.write_register(Level::Kernel, index, value, &mut self.totals);
        same("WRMSR", outcome, expected)?;
        self.check_write(index, value, outcome)?;
        let after = self.selects();
        if let Some(logged) = self.logged.as_mut().filter(|_| outcome == WriteOutcome::Done) {
            logged.written(index, before, after);
        }
        if let Some(state) = whole {
            same("state after a refused WRMSR", self.pmu.save(&mut self.totals), state)?;
        }
        same("PMI pending after WRMSR, which overflows nothing", self.pmu.pmi_pending(), pmi)?;
        match (outcome, slot) {
            (WriteOutcome::Done, Some(slot)) => {
                self.note(Reached::WritesDone);
                self.note_ibs_write(index, value);
                self.check_written(&slot, old.unwrap_or(0), value, status)
            }
            (WriteOutcome::NotHandled, _) => {
                self.note(Reached::NotOurs);
                Ok(())
            }
            (outcome, _) => {
                self.note(Reached::WriteFaults);
                match outcome {
                    WriteOutcome::Fault(Fault::ReservedBits(_)) => self.note(Reached::ReservedBits),
                    WriteOutcome::Fault(Fault::FixedBits(_)) => self.note(Reached::FixedBits),
                    WriteOutcome::Fault(Fault::ReadOnly) => self.note(Reached::ReadOnly),
                    _ => {}
                }
                same("register after a refused WRMSR", self.read(index), old)
            }
        }
    }

    fn write_outcome(&mut self, slot: &Slot, old: Option<u64>, value: u64) -> WriteOutcome {
        use intel::RegisterId as I;
        let profile = &self.subject.profile;
        WriteOutcome::Fault(match slot.access {
            Access::ReadOnly => Fault::ReadOnly,
            Access::WritesDropped => return WriteOutcome::Done,
            _ if value & !slot.accepted != 0 => Fault::ReservedBits(value & !slot.accepted),
            _ => match slot.id {
                RegisterId::Intel(I::ArchLbrDepth) if !profile.lbr.supports_depth(value) => {
                    Fault::Depth(value)
                }
                RegisterId::Intel(I::ArchLbrFrom | I::ArchLbrTo | I::ArchLbrInfo) if old.is_none() => {
                    Fault::BeyondDepth { depth: self.read_or_0(LBR_DEPTH) }
                }
                RegisterId::Intel(
                    I::LastBranchFrom
                    | I::LastBranchTo
                    | I::ArchLbrFrom
                    | I::ArchLbrTo
                    | I::LerFrom
                    | I::LerTo
                    | I::DsArea,
                ) if !matches!(value >> 47, 0 | 0x1_FFFF) => Fault::NonCanonical(value),
                _ => match (old.unwrap_or(0) ^ value) & slot.unchangeable {
                    0 => return WriteOutcome::Done,
                    changed => Fault::FixedBits(changed),
                },
            },
        })
    }

    /// What a register and those that belong to it show after a WRMSR.
    fn check_written(&mut self, slot: &Slot, old: u64, value: u64, status: Option<u64>) -> Checked {
        use amd::RegisterId as A;
        use intel::RegisterId as I;
        let width = u32::from(self.subject.profile.gp_width);
        let expected = match slot.id {
            _ if slot.access == Access::WritesDropped => old,
            _ if matches!(slot.access, Access::WriteOneToClear | Access::WriteOneToSet) => {
                let change = value & slot.stored;
                let clears = slot.access == Access::WriteOneToClear;
                let expected = status.map(|old| if clears { old & !change } else { old | change });
                same("status", self.read_status(), expected)?;
                0
            }
            // Bits 31:0, and bit 31 upwards.
            RegisterId::Intel(I::Pmc) => value as u32 as i32 as i64 as u64 & low_bits(width),
            RegisterId::Intel(I::PerfMetrics) => value & slot.stored,
            // The low 48 of the 64 bits of a merged pair.
            RegisterId::Amd(A::PerfCtr | A::LegacyPerfCtr) if self.is_merged(slot.instance) => {
                let low = low_bits(width);
                if slot.instance.is_multiple_of(2) { old & !low | value & low } else { value & low }
            }
            _ => value & slot.stored | old & !slot.stored,
        };
        // The periodic counts are the model's business.
        let counted = match slot.id {
            RegisterId::Amd(A::IbsFetchCtl) => 0xFFFF << 16,
            RegisterId::Amd(A::IbsOpCtl) => 0x7FF_FFFF << 32,
            _ => 0,
        };
        let found = self.read(slot.index).map(|found| found & !counted | expected & counted);
        same("register after WRMSR", found, Some(expected))?;
        self.check_aliases(slot, expected)?;
        match slot.id {
            RegisterId::Amd(A::PerfCtr | A::LegacyPerfCtr) if self.is_merged(slot.instance) => {
                self.check_pair(slot.instance & !1)
            }
            RegisterId::Intel(I::ArchLbrDepth) => {
                let entries = (0..value as u32).map(|n| self.read_or_0(LBR_DEPTHS_ENTRY + n)).sum::<u64>();
                same("records after a write of IA32_LBR_DEPTH", entries, 0)
            }
            _ => Ok(()),
        }
    }

    /// Every other address of the same register shows the same.
    fn check_aliases(&mut self, slot: &Slot, value: u64) -> Checked {
        let subject = self.subject;
        for group in subject.aliases.iter().filter(|group| group.contains(&slot.index)) {
            for &index in group {
                same(&format!("alias {index:#x}"), self.read(index), Some(value))?;
            }
        }
        Ok(())
    }

    pub(super) fn rdmsr(&mut self, index: u32) -> Checked {
        let subject = self.subject;
        let outcome = self.pmu.read_register(Level::Kernel, index, &mut self.totals);
        self.check_read(index, outcome)?;
        let Some(slot) = subject.slot(index) else {
            let expected = if subject.is_claimed(index) {
                self.note(Reached::ReadFaults);
                ReadOutcome::Fault(Fault::Absent)
            } else {
                self.note(Reached::NotOurs);
                ReadOutcome::NotHandled
            };
            return same("RDMSR", outcome, expected);
        };
        match outcome {
            ReadOutcome::Value(value) => {
                self.note(Reached::Reads);
                self.check_value(slot, value)?;
                self.check_aliases(slot, value)?;
                same("second RDMSR", self.read(index), Some(value))
            }
            ReadOutcome::Fault(Fault::BeyondDepth { depth }) => {
                self.note(Reached::ReadFaults);
                same("IA32_LBR_DEPTH", depth, self.read_or_0(LBR_DEPTH))?;
                same("record beyond the depth", u64::from(slot.instance) >= depth, true)
            }
            ReadOutcome::Fault(_) | ReadOutcome::NotHandled => {
                Err(format!("RDMSR of a register that exists: {outcome:x?}"))
            }
        }
    }

    /// Reserved bits are 0; write-only ones too.
    pub(super) fn check_value(&self, slot: &Slot, value: u64) -> Checked {
        use amd::RegisterId as A;
        let mut readable = slot.readable;
        if matches!(slot.access, Access::WriteOneToClear | Access::WriteOneToSet) {
            readable = 0;
        }
        if let RegisterId::Amd(A::PerfCtr | A::LegacyPerfCtr) = slot.id
            && slot.instance.is_multiple_of(2)
            && self.subject.profile.amd().is_some_and(|amd| amd.merge)
        {
            readable = u64::MAX;
        }
        same("bits that do not exist", value & !readable, 0)
    }

    pub(super) fn rdpmc(&mut self, ecx: u32, context: RdpmcContext) -> Checked {
        let profile = &self.subject.profile;
        let counter = match (profile.vendor(), ecx >> 30) {
            (_, 0) if ecx < u32::from(profile.gp_counters) => Some(self.subject.counter_of(ecx)),
            (Vendor::Intel, 1) => {
                let n = ecx & 0x3FFF_FFFF;
                (self.read_status().is_some() && n < u32::from(profile.fixed_counters())).then(|| 0x309 + n)
            }
            (Vendor::Intel, 0) if ecx == METRICS && profile.metrics_level() > 0 => Some(0x329),
            _ => None,
        };
        let may = context.cpl == 0 || context.pce || !context.protected_mode;
        let expected = match counter {
            _ if !may => ReadOutcome::Fault(Fault::RdpmcPrivilege),
            None => ReadOutcome::Fault(Fault::RdpmcIndex(ecx)),
            Some(index) => ReadOutcome::Value(self.read_or_0(index)),
        };
        let outcome = self.pmu.rdpmc(ecx, context, &mut self.totals);
        let done = matches!(outcome, ReadOutcome::Value(_));
        self.note(if done { Reached::Rdpmc } else { Reached::RdpmcFaults });
        same("RDPMC", outcome, expected)?;
        self.check_rdpmc(ecx, context, outcome)?;
        let can_clear = profile.intel().is_some_and(|pmu| pmu.perf_capabilities.rdpmc_metrics_clear());
        let clears = can_clear && ecx == METRICS && done && self.read_or_0(0x38D) & METRICS_CLEAR_EN != 0;
        if clears {
            self.note(Reached::MetricsCleared);
            same(
                "slots and metrics after RDPMC has cleared them",
                [0x30C, 0x329].map(|n| self.read_or_0(n)),
                [0; 2],
            )?;
        }
        Ok(())
    }
}
