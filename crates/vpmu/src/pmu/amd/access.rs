//! RDMSR, WRMSR and RDPMC.

use super::Amd;
use crate::pmu::{Fault, ReadOutcome, WriteOutcome};
use crate::register::amd::{PerfCntrGlobalStatus, RegisterId};
use crate::register::set::RegisterSet;
use crate::register::{Holder, Located, low_bits};
use crate::source::CountsSource;

impl Amd {
    /// Executes RDMSR.
    pub(in crate::pmu) fn read_msr(
        &mut self,
        id: RegisterId,
        located: Located,
        source: &mut dyn CountsSource,
    ) -> ReadOutcome {
        let n = located.instance;
        if let Err(fault) = self.masks.of(id).check_present(&located) {
            return ReadOutcome::Fault(fault);
        }
        ReadOutcome::Value(match id.owner() {
            RegisterId::PerfCtr => self.read_counter(n, source),
            id @ (RegisterId::PerfCntrGlobalStatus | RegisterId::IbsFetchCtl | RegisterId::IbsOpCtl) => {
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
        let masks = self.masks.of(id);
        if let Err(outcome) = masks.check_write(&located, value) {
            return outcome;
        }
        let stored = value & masks.stored;
        // Overflows that happened before this access come first.
        self.sync(source);
        match id.owner() {
            RegisterId::PerfCtr => self.write_counter(n, stored),
            RegisterId::PerfCntrGlobalStatusClr => {
                self.bank.change(|status: PerfCntrGlobalStatus| PerfCntrGlobalStatus(status.0 & !stored));
            }
            RegisterId::PerfCntrGlobalStatusSet => {
                self.bank.change(|status: PerfCntrGlobalStatus| PerfCntrGlobalStatus(status.0 | stored));
            }
            RegisterId::PerfCtl => {
                self.set_value(RegisterId::PerfCtl, n, stored);
                self.update_pairs();
                self.reprogram(n);
            }
            id @ (RegisterId::IbsFetchCtl | RegisterId::IbsOpCtl) => self.write_ibs(id, stored),
            id => self.set_value(id, n, stored),
        }
        match located.register.holder {
            // A new value starts and stops nothing; it only moves a deadline.
            Holder::Counter => self.rearm(source),
            Holder::BranchStack => self.update_branch_filter(),
            Holder::Bank | Holder::None => self.restart(source),
        }
        WriteOutcome::Done
    }

    /// The value of a register that has one, as of the last synchronisation; of a merged counter its own bits.
    pub(super) fn value(&self, id: RegisterId, n: u32) -> u64 {
        match id.register().holder {
            Holder::Counter if self.is_merged_odd(n) => self.odd_value(n),
            Holder::Counter => self.gp[n as usize].value & low_bits(u32::from(self.profile.gp_width)),
            Holder::BranchStack => self.ring.word(self.ring_word(id, n)),
            Holder::Bank => self.bank.word(id, n),
            Holder::None => 0,
        }
    }

    /// Replaces the value of a register that has one; of a counter that is not merged.
    pub(super) fn set_value(&mut self, id: RegisterId, n: u32, value: u64) {
        match id.register().holder {
            Holder::Counter => self.gp[n as usize].value = value,
            Holder::BranchStack => self.ring.set_word(self.ring_word(id, n), value),
            Holder::Bank => *self.bank.word_mut(id, n) = value,
            Holder::None => {}
        }
    }

    /// Executes RDPMC at a privilege level that may. Only core counters exist: those of the data fabric
    /// (6 to 9) and the L3 cache (10 to 15) are not offered.
    pub(in crate::pmu) fn rdpmc(&mut self, ecx: u32, source: &mut dyn CountsSource) -> ReadOutcome {
        if ecx < u32::from(self.profile.gp_counters) {
            ReadOutcome::Value(self.read_counter(ecx, source))
        } else {
            ReadOutcome::Fault(Fault::RdpmcIndex(ecx))
        }
    }

    /// Reads one counter without touching the others, unless it has just wrapped.
    fn read_counter(&mut self, n: u32, source: &mut dyn CountsSource) -> u64 {
        if self.is_merged_odd(n) {
            self.sync(source);
            return self.odd_value(n);
        }
        if let Some(value) = self.gp[n as usize].peek(self.width(n), source) {
            return value;
        }
        self.sync(source);
        self.gp[n as usize].value
    }
}
