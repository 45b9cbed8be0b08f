//! RDMSR, WRMSR and RDPMC.

use super::Amd;
use crate::pmu::{Fault, ReadOutcome, WriteOutcome};
use crate::register::Located;
use crate::register::amd::RegisterId;
use crate::source::CountsSource;

impl Amd {
    /// Executes RDMSR.
    pub(in crate::pmu) fn read_msr<S: CountsSource + ?Sized>(
        &mut self,
        id: RegisterId,
        located: Located,
        source: &mut S,
    ) -> ReadOutcome {
        let n = located.instance as usize;
        if let Err(fault) = self.masks[id as usize].check_present(&located) {
            return ReadOutcome::Fault(fault);
        }
        ReadOutcome::Value(match id {
            RegisterId::PerfCtl | RegisterId::LegacyPerfCtl => self.regs.ctl[n],
            RegisterId::PerfCtr | RegisterId::LegacyPerfCtr => self.read_counter(n, source),
            RegisterId::PerfCntrGlobalStatus => {
                self.sync(source);
                self.regs.global_status
            }
            RegisterId::PerfCntrGlobalCtl => self.regs.global_ctl,
            RegisterId::PerfCntrGlobalStatusClr | RegisterId::PerfCntrGlobalStatusSet => 0,
            RegisterId::DebugCtl => self.regs.debugctl,
            RegisterId::LastBranchFromIp => self.lbr.last().0,
            RegisterId::LastBranchToIp => self.lbr.last().1,
            RegisterId::LastIntFromIp => self.lbr.last_interrupt().0,
            RegisterId::LastIntToIp => self.lbr.last_interrupt().1,
            RegisterId::LbrSelect
            | RegisterId::DbgExtnCfg
            | RegisterId::SampBrFrom
            | RegisterId::SampBrTo => match self.lbr.word_mut(id, n) {
                Some(word) => *word,
                None => return ReadOutcome::Fault(Fault::Absent),
            },
        })
    }

    /// Executes WRMSR. On a fault nothing has changed.
    pub(in crate::pmu) fn write_msr<S: CountsSource + ?Sized>(
        &mut self,
        id: RegisterId,
        located: Located,
        value: u64,
        source: &mut S,
    ) -> WriteOutcome {
        let n = located.instance as usize;
        let masks = self.masks[id as usize];
        if let Err(outcome) = masks.check_write(&located, value) {
            return outcome;
        }
        // Overflows that happened before this access come first.
        self.sync(source);
        let stored = value & masks.stored;
        match id {
            RegisterId::PerfCtl | RegisterId::LegacyPerfCtl => {
                self.regs.ctl[n] = stored;
                self.update_pairs();
                self.reprogram(n);
            }
            RegisterId::PerfCtr | RegisterId::LegacyPerfCtr => {
                self.write_counter(n, stored);
                // A new value starts and stops nothing; it only moves a deadline.
                self.rearm(source);
                return WriteOutcome::Done;
            }
            RegisterId::PerfCntrGlobalCtl => self.regs.global_ctl = stored,
            RegisterId::PerfCntrGlobalStatusClr => self.regs.global_status &= !stored,
            RegisterId::PerfCntrGlobalStatusSet => self.regs.global_status |= stored,
            RegisterId::DebugCtl => self.regs.debugctl = stored,
            RegisterId::LbrSelect
            | RegisterId::DbgExtnCfg
            | RegisterId::SampBrFrom
            | RegisterId::SampBrTo => {
                if let Some(word) = self.lbr.word_mut(id, n) {
                    *word = stored;
                }
                self.update_branch_filter();
                return WriteOutcome::Done;
            }
            RegisterId::PerfCntrGlobalStatus
            | RegisterId::LastBranchFromIp
            | RegisterId::LastBranchToIp
            | RegisterId::LastIntFromIp
            | RegisterId::LastIntToIp => {}
        }
        self.restart(source);
        WriteOutcome::Done
    }

    /// Executes RDPMC at a privilege level that may. Only core counters exist: those of the data fabric
    /// (6 to 9) and the L3 cache (10 to 15) are not offered.
    pub(in crate::pmu) fn rdpmc<S: CountsSource + ?Sized>(
        &mut self,
        ecx: u32,
        source: &mut S,
    ) -> ReadOutcome {
        if ecx < u32::from(self.profile.gp_counters) {
            ReadOutcome::Value(self.read_counter(ecx as usize, source))
        } else {
            ReadOutcome::Fault(Fault::RdpmcIndex(ecx))
        }
    }

    /// Reads one counter without touching the others, unless it has just wrapped.
    fn read_counter<S: CountsSource + ?Sized>(&mut self, n: usize, source: &mut S) -> u64 {
        if self.is_merged_odd(n) {
            self.sync(source);
            return self.odd_value(n);
        }
        if let Some(value) = self.gp[n].peek(self.width(n), source) {
            return value;
        }
        self.sync(source);
        self.gp[n].value
    }
}
