//! RDMSR and WRMSR.

use super::{Intel, SLOTS_COUNTER};
use crate::pmu::{Fault, ReadOutcome, WriteOutcome};
use crate::register::intel::{FixedCtrCtrl, PerfEvtSel, PerfGlobalInuse, PerfGlobalStatus, RegisterId};
use crate::register::set::RegisterSet;
use crate::register::{Holder, Located, low_bits};
use crate::source::CountsSource;

/// Bits of a linear address: CPUID.80000008H:EAX bits 15:8 without 5-level paging.
const LINEAR_BITS: u32 = 48;

/// All bits from the highest of the address on are the same.
const fn is_canonical(address: u64) -> bool {
    let upper = address >> (LINEAR_BITS - 1);
    upper == 0 || upper == u64::MAX >> (LINEAR_BITS - 1)
}

/// What a write to a counter's legacy address stores: 32 bits, of which the highest is copied upwards.
const fn sign_extended(value: u64) -> u64 {
    let low = value & low_bits(32);
    if low > low_bits(31) { low | !low_bits(32) } else { low }
}

impl Intel {
    /// Executes RDMSR.
    pub(in crate::pmu) fn read_msr(
        &mut self,
        id: RegisterId,
        located: Located,
        source: &mut dyn CountsSource,
    ) -> ReadOutcome {
        let n = located.instance;
        let present = self.masks.of(id).check_present(&located).and_then(|()| self.check_depth(id, n));
        if let Err(fault) = present {
            return ReadOutcome::Fault(fault);
        }
        ReadOutcome::Value(match id.owner() {
            RegisterId::Pmc => self.read_gp(n, source),
            RegisterId::FixedCtr => self.read_fixed(n, source),
            RegisterId::PerfMetrics => self.read_metrics(source),
            RegisterId::PerfCapabilities => self.intel.perf_capabilities.0,
            RegisterId::PerfGlobalOvfCtrl | RegisterId::PerfGlobalStatusSet => 0,
            RegisterId::PerfGlobalInuse => self.in_use().0,
            // An overflow may be due, and legacy freezing with it, which clears GLOBAL_CTRL and DEBUGCTL.LBR.
            id @ (RegisterId::PerfGlobalStatus | RegisterId::PerfGlobalCtrl | RegisterId::DebugCtl) => {
                self.sync(source);
                self.value(id, n)
            }
            id => self.value(id, n),
        })
    }

    /// Executes WRMSR. On a fault nothing has changed.
    pub(in crate::pmu) fn write_msr(
        &mut self,
        id: RegisterId,
        located: Located,
        value: u64,
        source: &mut dyn CountsSource,
    ) -> WriteOutcome {
        let n = located.instance;
        let masks = *self.masks.of(id);
        if let Err(outcome) = masks.check_write(&located, value) {
            return outcome;
        }
        if let Err(fault) = self.check_value(id, n, value) {
            return WriteOutcome::Fault(fault);
        }
        // Overflows that happened before this access come first.
        self.sync(source);
        let stored = value & masks.stored;
        let owner = id.owner();
        match id {
            RegisterId::Pmc => self.gp[n as usize].value = sign_extended(value) & self.gp_mask(),
            RegisterId::PerfMetrics => self.metrics.write(stored, self.slots(), self.intel.metrics_level),
            RegisterId::PerfGlobalOvfCtrl => {
                self.bank.change(|status: PerfGlobalStatus| PerfGlobalStatus(status.0 & !stored));
            }
            RegisterId::PerfGlobalStatusSet => {
                self.bank.change(|status: PerfGlobalStatus| PerfGlobalStatus(status.0 | stored));
            }
            _ => {
                if owner == RegisterId::FixedCtr && n as usize == SLOTS_COUNTER {
                    self.metrics.hold(self.slots(), self.intel.metrics_level);
                }
                self.set_value(owner, n, stored | self.value(owner, n) & !masks.stored);
            }
        }
        if owner == RegisterId::PerfEvtSel {
            self.reprogram(located.instance);
        } else if masks.refines_events {
            self.reprogram_all();
        }
        self.pebs_written(id, n);
        match located.register.holder {
            _ if owner == RegisterId::PerfMetrics => self.rearm(source),
            // A new value starts and stops nothing; it only moves a deadline.
            Holder::Counter => {
                self.foresee_overflows();
                self.rearm(source);
            }
            Holder::BranchStack => self.update_branch_filter(),
            Holder::Bank | Holder::None => self.restart(source),
        }
        WriteOutcome::Done
    }

    /// What the fields alone cannot say about a write.
    fn check_value(&self, id: RegisterId, n: u32, value: u64) -> Result<(), Fault> {
        let masks = self.masks.of(id);
        if id == RegisterId::ArchLbrDepth && !self.profile.lbr.supports_depth(value) {
            return Err(Fault::Depth(value));
        }
        self.check_depth(id, n)?;
        if masks.canonical && !is_canonical(value) {
            return Err(Fault::NonCanonical(value));
        }
        match masks.impossible(value) & masks.fixed {
            0 => Ok(()),
            changed => Err(Fault::FixedBits(changed)),
        }
    }

    /// The value of a register that has one, as of the last synchronisation.
    pub(super) fn value(&self, id: RegisterId, n: u32) -> u64 {
        match id.register().holder {
            Holder::Counter if id == RegisterId::Pmc => self.gp[n as usize].value,
            Holder::Counter => self.fixed[n as usize].value,
            Holder::BranchStack => self.ring_word(id, n).map_or(0, |word| self.ring.word(word)),
            Holder::Bank => self.bank.word(id, n),
            Holder::None => 0,
        }
    }

    /// Replaces the value of a register that has one.
    pub(super) fn set_value(&mut self, id: RegisterId, n: u32, value: u64) {
        match id.register().holder {
            Holder::Counter if id == RegisterId::Pmc => self.gp[n as usize].value = value,
            Holder::Counter => self.fixed[n as usize].value = value,
            Holder::BranchStack => {
                if let Some(word) = self.ring_word(id, n) {
                    self.ring.set_word(word, value);
                }
            }
            Holder::Bank => *self.bank.word_mut(id, n) = value,
            Holder::None => {}
        }
    }

    /// Reads one counter without touching the others, unless it has just wrapped.
    pub(super) fn read_gp(&mut self, n: u32, source: &mut dyn CountsSource) -> u64 {
        if let Some(value) = self.gp[n as usize].peek(u32::from(self.profile.gp_width), source) {
            return value;
        }
        self.sync(source);
        self.gp[n as usize].value
    }

    /// As [`Self::read_gp`] for a fixed counter.
    pub(super) fn read_fixed(&mut self, n: u32, source: &mut dyn CountsSource) -> u64 {
        if let Some(value) = self.fixed[n as usize].peek(u32::from(self.intel.fixed_width), source) {
            return value;
        }
        self.sync(source);
        self.fixed[n as usize].value
    }

    pub(super) fn read_metrics(&mut self, source: &mut dyn CountsSource) -> u64 {
        self.sync(source);
        self.metrics.read(self.slots(), self.intel.metrics_level)
    }

    /// IA32_PERF_GLOBAL_INUSE, from the control registers.
    fn in_use(&self) -> PerfGlobalInuse {
        let mut value = PerfGlobalInuse::default();
        let mut interrupts = false;
        for n in 0..u32::from(self.profile.gp_counters) {
            let select = self.bank.nth::<PerfEvtSel>(n);
            value.set_pmc_in_use(n, select.event_select() != 0);
            interrupts |= select.interrupt();
        }
        let ctrl = self.bank.get::<FixedCtrCtrl>();
        for n in 0..u32::from(self.intel.fixed_counters) {
            value.set_fixed_in_use(n, ctrl.os(n) || ctrl.usr(n));
            interrupts |= ctrl.pmi(n);
        }
        value.with_pmi_in_use(interrupts || self.pebs_counters() != 0)
    }
}
