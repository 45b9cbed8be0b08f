//! RDMSR and WRMSR.

use super::branches::is_lbr;
use super::{FIXED_BASE, Intel, SLOTS_COUNTER};
use crate::pmu::{Fault, ReadOutcome, WriteOutcome};
use crate::register::Located;
use crate::register::intel::{FixedCtrCtrl, PerfEvtSel, RegisterId};
use crate::source::CountsSource;

impl Intel {
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
            RegisterId::Pmc | RegisterId::APmc | RegisterId::GpCtr => self.read_gp(n, source),
            RegisterId::FixedCtr | RegisterId::FxCtr => self.read_fixed(n, source),
            RegisterId::PerfMetrics => self.read_metrics(source),
            RegisterId::PerfEvtSel | RegisterId::GpCfgA => self.regs.evtsel[n],
            RegisterId::PerfCapabilities => self.intel.perf_capabilities.0,
            RegisterId::FixedCtrCtrl => self.regs.fixed_ctr_ctrl,
            RegisterId::PerfGlobalStatus => {
                self.sync(source);
                self.regs.global_status
            }
            RegisterId::PerfGlobalCtrl => {
                // Legacy freezing may be due, which clears it.
                self.sync(source);
                self.regs.global_ctrl
            }
            RegisterId::PerfGlobalOvfCtrl | RegisterId::PerfGlobalStatusSet => 0,
            RegisterId::PerfGlobalInuse => self.in_use(),
            RegisterId::DebugCtl => {
                // It clears the LBR bit too.
                self.sync(source);
                self.regs.debugctl
            }
            RegisterId::MiscEnable => self.regs.misc_enable,
            RegisterId::OffcoreRsp => self.regs.offcore_rsp[0],
            RegisterId::OffcoreRsp1 => self.regs.offcore_rsp[1],
            RegisterId::PebsLdLat => self.regs.ld_lat,
            RegisterId::PebsFrontend => self.regs.frontend,
            RegisterId::PebsEnable | RegisterId::PebsDataCfg | RegisterId::DsArea => {
                return ReadOutcome::Fault(Fault::Absent);
            }
            RegisterId::LbrSelect
            | RegisterId::LbrTos
            | RegisterId::LastBranchFrom
            | RegisterId::LastBranchTo
            | RegisterId::LbrInfo
            | RegisterId::ArchLbrCtl
            | RegisterId::ArchLbrDepth
            | RegisterId::ArchLbrFrom
            | RegisterId::ArchLbrTo
            | RegisterId::ArchLbrInfo
            | RegisterId::LerFrom
            | RegisterId::LerTo
            | RegisterId::LerInfo => {
                return match self.lbr_register(id, n) {
                    Ok(register) => ReadOutcome::Value(*register),
                    Err(fault) => ReadOutcome::Fault(fault),
                };
            }
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
        if is_lbr(id)
            && let Err(fault) = self.check_lbr_write(id, n, value)
        {
            return WriteOutcome::Fault(fault);
        }
        if let Some(old) = self.stored_mut(id, n) {
            let changed = (*old ^ value) & masks.fixed;
            if changed != 0 {
                return WriteOutcome::Fault(Fault::FixedBits(changed));
            }
        }
        // Overflows that happened before this access come first.
        self.sync(source);
        let stored = value & masks.stored;
        match id {
            RegisterId::Pmc => self.gp[n].value = value as i32 as i64 as u64 & self.gp_mask(),
            RegisterId::APmc | RegisterId::GpCtr => self.gp[n].value = stored,
            RegisterId::FixedCtr | RegisterId::FxCtr => {
                if n == SLOTS_COUNTER {
                    self.metrics.hold(self.slots(), self.intel.metrics_level);
                }
                self.fixed[n].value = value & self.fixed_mask();
            }
            RegisterId::PerfMetrics => {
                self.metrics.write(stored, self.slots(), self.intel.metrics_level);
            }
            RegisterId::PerfGlobalOvfCtrl => self.regs.global_status &= !stored,
            RegisterId::PerfGlobalStatusSet => self.regs.global_status |= stored,
            _ => {
                if let Some(register) = self.stored_mut(id, n) {
                    *register = stored | *register & !masks.stored;
                }
                match id {
                    RegisterId::PerfEvtSel | RegisterId::GpCfgA => self.reprogram(n),
                    RegisterId::OffcoreRsp
                    | RegisterId::OffcoreRsp1
                    | RegisterId::PebsLdLat
                    | RegisterId::PebsFrontend => self.reprogram_all(),
                    RegisterId::ArchLbrDepth => self.lbr.set_depth(stored),
                    _ => {}
                }
            }
        }
        match id {
            _ if is_lbr(id) => self.update_branch_filter(),
            // A new value starts and stops nothing; it only moves a deadline.
            RegisterId::Pmc
            | RegisterId::APmc
            | RegisterId::GpCtr
            | RegisterId::FixedCtr
            | RegisterId::FxCtr
            | RegisterId::PerfMetrics => {
                self.rearm(source);
            }
            _ => self.restart(source),
        }
        WriteOutcome::Done
    }

    /// The word behind a register that holds what software wrote.
    fn stored_mut(&mut self, id: RegisterId, n: usize) -> Option<&mut u64> {
        let regs = &mut self.regs;
        Some(match id {
            RegisterId::PerfEvtSel | RegisterId::GpCfgA => &mut regs.evtsel[n],
            RegisterId::FixedCtrCtrl => &mut regs.fixed_ctr_ctrl,
            RegisterId::PerfGlobalCtrl => &mut regs.global_ctrl,
            RegisterId::DebugCtl => &mut regs.debugctl,
            RegisterId::MiscEnable => &mut regs.misc_enable,
            RegisterId::OffcoreRsp => &mut regs.offcore_rsp[0],
            RegisterId::OffcoreRsp1 => &mut regs.offcore_rsp[1],
            RegisterId::PebsLdLat => &mut regs.ld_lat,
            RegisterId::PebsFrontend => &mut regs.frontend,
            _ => return self.lbr.stack_mut()?.word_mut(id, n),
        })
    }

    /// Reads one counter without touching the others, unless it has just wrapped.
    pub(super) fn read_gp<S: CountsSource + ?Sized>(&mut self, n: usize, source: &mut S) -> u64 {
        if let Some(value) = self.gp[n].peek(u32::from(self.profile.gp_width), source) {
            return value;
        }
        self.sync(source);
        self.gp[n].value
    }

    /// As [`Self::read_gp`] for a fixed counter.
    pub(super) fn read_fixed<S: CountsSource + ?Sized>(&mut self, n: usize, source: &mut S) -> u64 {
        if let Some(value) = self.fixed[n].peek(u32::from(self.intel.fixed_width), source) {
            return value;
        }
        self.sync(source);
        self.fixed[n].value
    }

    pub(super) fn read_metrics<S: CountsSource + ?Sized>(&mut self, source: &mut S) -> u64 {
        self.sync(source);
        self.metrics.read(self.slots(), self.intel.metrics_level)
    }

    /// IA32_PERF_GLOBAL_INUSE, from the control registers.
    fn in_use(&self) -> u64 {
        let ctrl = FixedCtrCtrl(self.regs.fixed_ctr_ctrl);
        let mut value = 0;
        let mut interrupts = false;
        for (index, &select) in self.regs.evtsel.iter().enumerate() {
            let select = PerfEvtSel(select);
            value |= u64::from(select.event_select() != 0) << index;
            interrupts |= select.interrupt();
        }
        for n in 0..u32::from(self.intel.fixed_counters) {
            value |= u64::from(ctrl.os(n) || ctrl.usr(n)) << (FIXED_BASE + n);
            interrupts |= ctrl.pmi(n);
        }
        value | u64::from(interrupts) << 63
    }
}
