//! Saving and restoring.

use super::{Intel, Registers};
use crate::lbr::{LbrEntry, LbrState};
use crate::metrics::{ACCUMULATOR_BITS, Metrics, fields_of};
use crate::profile::{MAX_FIXED, MAX_GP};
use crate::register::OnWrite;
use crate::register::intel::{REGISTERS, RegisterId};
use crate::source::CountsSource;
use crate::state::{RestoreError, check_register};
use alloc::string::String;

/// The saved registers of an Intel CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct IntelState {
    /// IA32_PERFEVTSELx.
    pub evtsel: [u64; MAX_GP],
    /// IA32_PMCx.
    pub gp: [u64; MAX_GP],
    /// IA32_FIXED_CTRx.
    pub fixed: [u64; MAX_FIXED],
    /// IA32_FIXED_CTR_CTRL.
    pub fixed_ctr_ctrl: u64,
    /// IA32_PERF_GLOBAL_CTRL.
    pub global_ctrl: u64,
    /// IA32_PERF_GLOBAL_STATUS.
    pub global_status: u64,
    /// IA32_DEBUGCTL.
    pub debugctl: u64,
    /// IA32_MISC_ENABLE.
    pub misc_enable: u64,
    /// MSR_OFFCORE_RSP_0 and 1.
    pub offcore_rsp: [u64; 2],
    /// MSR_PEBS_LD_LAT_THRESHOLD.
    pub ld_lat: u64,
    /// MSR_PEBS_FRONTEND.
    pub frontend: u64,
    /// The accumulators behind IA32_PERF_METRICS.
    pub metrics: Metrics,
    /// The last branch records and the registers that control them.
    pub lbr: LbrState,
}

impl Intel {
    /// The registers; counters must be up to date.
    pub(in crate::pmu) fn save(&self) -> IntelState {
        let (gp, fixed) = self.counter_values();
        let regs = self.regs.clone();
        IntelState {
            evtsel: regs.evtsel,
            gp,
            fixed,
            fixed_ctr_ctrl: regs.fixed_ctr_ctrl,
            global_ctrl: regs.global_ctrl,
            global_status: regs.global_status,
            debugctl: regs.debugctl,
            misc_enable: regs.misc_enable,
            offcore_rsp: regs.offcore_rsp,
            ld_lat: regs.ld_lat,
            frontend: regs.frontend,
            metrics: self.metrics.clone(),
            lbr: self.lbr.save(),
        }
    }

    pub(in crate::pmu) fn restore<S: CountsSource + ?Sized>(
        &mut self,
        state: &IntelState,
        pmi_pending: bool,
        source: &mut S,
    ) -> Result<(), RestoreError> {
        self.check(state)?;
        let regs = Registers {
            evtsel: state.evtsel,
            fixed_ctr_ctrl: state.fixed_ctr_ctrl,
            global_ctrl: state.global_ctrl,
            global_status: state.global_status,
            debugctl: state.debugctl,
            misc_enable: state.misc_enable,
            offcore_rsp: state.offcore_rsp,
            ld_lat: state.ld_lat,
            frontend: state.frontend,
        };
        let lbr = self.lbr.restored(&state.lbr).ok_or(RestoreError::Lbr)?;
        self.replace(regs, (state.gp, state.fixed), state.metrics.clone(), lbr, pmi_pending, source);
        Ok(())
    }

    fn check(&self, state: &IntelState) -> Result<(), RestoreError> {
        for n in 0..MAX_GP {
            self.check_register(RegisterId::PerfEvtSel, n, state.evtsel[n])?;
            self.check_register(RegisterId::Pmc, n, state.gp[n])?;
        }
        for n in 0..MAX_FIXED {
            self.check_register(RegisterId::FixedCtr, n, state.fixed[n])?;
        }
        self.check_register(RegisterId::FixedCtrCtrl, 0, state.fixed_ctr_ctrl)?;
        self.check_register(RegisterId::PerfGlobalCtrl, 0, state.global_ctrl)?;
        self.check_register(RegisterId::PerfGlobalStatus, 0, state.global_status)?;
        self.check_register(RegisterId::DebugCtl, 0, state.debugctl)?;
        self.check_register(RegisterId::OffcoreRsp, 0, state.offcore_rsp[0])?;
        self.check_register(RegisterId::OffcoreRsp1, 0, state.offcore_rsp[1])?;
        self.check_register(RegisterId::PebsLdLat, 0, state.ld_lat)?;
        self.check_register(RegisterId::PebsFrontend, 0, state.frontend)?;
        self.check_misc_enable(state.misc_enable)?;
        self.check_lbr(&state.lbr)?;
        self.check_register(RegisterId::PerfMetrics, 0, state.metrics.written)?;
        let level = self.intel.metrics_level;
        let present = if level > 0 { fields_of(level) } else { 0 };
        for (index, &value) in state.metrics.accumulators.iter().enumerate() {
            let limit = if index < present { 1_u64 << ACCUMULATOR_BITS } else { 1 };
            if value >= limit {
                return Err(RestoreError::Accumulator { index, value });
            }
        }
        Ok(())
    }

    pub(super) fn check_lbr(&self, state: &LbrState) -> Result<(), RestoreError> {
        let (info, entries) = match state {
            LbrState::None => return Ok(()),
            &LbrState::Legacy { select, tos, ref entries, ler, .. } => {
                self.check_register(RegisterId::LerInfo, 0, ler.info)?;
                self.check_register(RegisterId::LbrSelect, 0, select)?;
                self.check_register(RegisterId::LbrTos, 0, tos)?;
                (RegisterId::LbrInfo, entries)
            }
            &LbrState::Architectural { ctl, depth, ref entries, ler, .. } => {
                self.check_register(RegisterId::LerInfo, 0, ler.info)?;
                self.check_register(RegisterId::ArchLbrCtl, 0, ctl)?;
                if !self.profile.lbr.supports_depth(depth) {
                    return Err(RestoreError::LbrDepth { depth });
                }
                if entries.iter().skip(depth as usize).any(|&entry| entry != LbrEntry::default()) {
                    return Err(RestoreError::LbrDepth { depth });
                }
                (RegisterId::ArchLbrInfo, entries)
            }
        };
        entries.iter().enumerate().try_for_each(|(n, entry)| self.check_register(info, n, entry.info))
    }

    fn check_register(&self, id: RegisterId, n: usize, value: u64) -> Result<(), RestoreError> {
        check_register(&REGISTERS[id as usize], &self.profile, n, value)
    }

    /// The read-only announcements keep their value in every state.
    fn check_misc_enable(&self, value: u64) -> Result<(), RestoreError> {
        let profile = &self.profile;
        let register = &REGISTERS[RegisterId::MiscEnable as usize];
        let constant =
            register.bits(OnWrite::Ignore, profile) | register.bits(OnWrite::FaultOnChange, profile);
        let wrong = (value ^ self.regs.misc_enable) & constant | value & !register.accepted(profile);
        match wrong {
            0 => Ok(()),
            bits => Err(RestoreError::Register { register: String::from(register.name), bits }),
        }
    }
}
