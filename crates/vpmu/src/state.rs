//! Saving and restoring a vPMU.
//!
//! [`VpmuState`] is plain data: what the guest can see plus the accumulators behind PERF_METRICS.
//! The feature `serde` makes it serialisable; the format is the embedder's choice.

use crate::lbr::{LbrEntry, LbrState};
use crate::metrics::{ACCUMULATOR_BITS, Metrics, fields_of};
use crate::pmu::{Registers, Vpmu};
use crate::profile::{MAX_FIXED, MAX_GP};
use crate::register::intel::REGISTERS;
use crate::register::{OnWrite, RegisterId};
use crate::source::CountsSource;
use alloc::string::String;

/// Version of the layout and meaning of [`VpmuState`].
pub const STATE_VERSION: u32 = 2;

/// The saved state of one vPMU.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct VpmuState {
    /// [`STATE_VERSION`] of the writer.
    pub version: u32,
    /// Name of the profile.
    pub profile: String,
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
    /// A PMI request that has not been delivered yet.
    pub pmi_pending: bool,
}

/// Why a saved state was refused. The vPMU is unchanged then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// Another layout.
    #[error("saved vPMU state has version {found}, this build reads version {STATE_VERSION}")]
    Version {
        /// The version found.
        found: u32,
    },
    /// Saved from another CPU.
    #[error("saved vPMU state is of profile {found:?}, this vPMU is {expected:?}")]
    Profile {
        /// The saved profile.
        found: String,
        /// The profile of this vPMU.
        expected: &'static str,
    },
    /// A register value that this profile could never hold.
    #[error("saved {register} has impossible bits {bits:#x}")]
    Register {
        /// Name of the register.
        register: String,
        /// The bits that cannot be set, or that must be.
        bits: u64,
    },
    /// A PERF_METRICS accumulator that is too wide.
    #[error("saved PERF_METRICS accumulator {index} holds {value:#x}, more than it can")]
    Accumulator {
        /// Field index.
        index: usize,
        /// Its value.
        value: u64,
    },
    /// Branch records of another kind than the profile's.
    #[error("saved branch records are of a kind that this profile does not have")]
    Lbr,
    /// An IA32_LBR_DEPTH that the profile does not support.
    #[error("saved IA32_LBR_DEPTH is {depth}, which this profile does not support")]
    LbrDepth {
        /// The saved depth.
        depth: u64,
    },
}

impl Vpmu {
    /// Brings the counters up to date and returns the state.
    pub fn save<S: CountsSource + ?Sized>(&mut self, source: &mut S) -> VpmuState {
        self.sync(source);
        let (gp, fixed) = self.counter_values();
        let regs = self.regs.clone();
        VpmuState {
            version: STATE_VERSION,
            profile: String::from(self.profile().name),
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
            pmi_pending: self.pmi,
        }
    }

    /// Replaces the state. Counting continues from the saved values.
    ///
    /// # Errors
    /// Any value that this vPMU could not have saved is refused, and nothing changes.
    pub fn restore<S: CountsSource + ?Sized>(
        &mut self,
        state: &VpmuState,
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
        self.replace(regs, (state.gp, state.fixed), state.metrics.clone(), lbr, state.pmi_pending, source);
        Ok(())
    }

    fn check(&self, state: &VpmuState) -> Result<(), RestoreError> {
        if state.version != STATE_VERSION {
            return Err(RestoreError::Version { found: state.version });
        }
        if state.profile != self.profile().name {
            return Err(RestoreError::Profile {
                found: state.profile.clone(),
                expected: self.profile().name,
            });
        }
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
        let level = self.profile().metrics_level();
        let present = if level > 0 { fields_of(level) } else { 0 };
        for (index, &value) in state.metrics.accumulators.iter().enumerate() {
            let limit = if index < present { 1_u64 << ACCUMULATOR_BITS } else { 1 };
            if value >= limit {
                return Err(RestoreError::Accumulator { index, value });
            }
        }
        Ok(())
    }

    fn check_lbr(&self, state: &LbrState) -> Result<(), RestoreError> {
        let (info, entries) = match state {
            LbrState::None => return Ok(()),
            &LbrState::Legacy { select, tos, ref entries, .. } => {
                self.check_register(RegisterId::LbrSelect, 0, select)?;
                self.check_register(RegisterId::LbrTos, 0, tos)?;
                (RegisterId::LbrInfo, entries)
            }
            &LbrState::Architectural { ctl, depth, ref entries, .. } => {
                self.check_register(RegisterId::ArchLbrCtl, 0, ctl)?;
                if !self.profile().lbr.supports_depth(depth) {
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

    /// A register may hold what its fields can store; one that does not exist holds 0.
    fn check_register(&self, id: RegisterId, n: usize, value: u64) -> Result<(), RestoreError> {
        let profile = self.profile();
        let register = &REGISTERS[id as usize];
        let possible = if n < register.instances(profile) as usize { register.stored(profile) } else { 0 };
        match value & !possible {
            0 => Ok(()),
            bits => Err(RestoreError::Register { register: register.instance_name(n as u32), bits }),
        }
    }

    /// The read-only announcements keep their value in every state.
    fn check_misc_enable(&self, value: u64) -> Result<(), RestoreError> {
        let profile = self.profile();
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
