//! Saving and restoring.

use super::{Amd, Registers};
use crate::lbr::{AmdLbr, AmdLbrState};
use crate::profile::MAX_GP;
use crate::register::amd::{REGISTERS, RegisterId};
use crate::register::low_bits;
use crate::source::CountsSource;
use crate::state::{RestoreError, check_register};

/// The saved registers of an AMD CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct AmdState {
    /// PERF_CTLn.
    pub ctl: [u64; MAX_GP],
    /// PERF_CTRn, each for itself also in a merged pair.
    pub ctr: [u64; MAX_GP],
    /// PerfCntrGlobalCtl.
    pub global_ctl: u64,
    /// PerfCntrGlobalStatus.
    pub global_status: u64,
    /// DBG_CTL_MSR.
    pub debugctl: u64,
    /// The branch records and the registers that control them.
    pub lbr: AmdLbrState,
}

impl Amd {
    /// The registers; counters must be up to date.
    pub(in crate::pmu) fn save(&self) -> AmdState {
        let width = low_bits(u32::from(self.profile.gp_width));
        let ctr = core::array::from_fn(|n| {
            if self.is_merged_odd(n) { self.odd_value(n) } else { self.gp[n].value & width }
        });
        let Registers { ctl, global_ctl, global_status, debugctl } = self.regs.clone();
        AmdState { ctl, ctr, global_ctl, global_status, debugctl, lbr: self.lbr.save() }
    }

    pub(in crate::pmu) fn restore<S: CountsSource + ?Sized>(
        &mut self,
        state: &AmdState,
        pmi_pending: bool,
        source: &mut S,
    ) -> Result<(), RestoreError> {
        self.check(state)?;
        self.sync(source);
        self.flush_ledger();
        self.regs = Registers {
            ctl: state.ctl,
            global_ctl: state.global_ctl,
            global_status: state.global_status,
            debugctl: state.debugctl,
        };
        self.merged = 0;
        for (counter, value) in self.gp.iter_mut().zip(state.ctr) {
            counter.value = value;
        }
        self.update_pairs();
        self.reprogram_all();
        self.lbr = AmdLbr::restored(self.profile.lbr, &state.lbr);
        self.pmi = pmi_pending;
        self.restart(source);
        Ok(())
    }

    fn check(&self, state: &AmdState) -> Result<(), RestoreError> {
        let check =
            |id: RegisterId, n, value| check_register(&REGISTERS[id as usize], &self.profile, n, value);
        // The legacy addresses exist on every CPU, the others may lack.
        let (ctl, ctr) = if self.amd.ext_core {
            (RegisterId::PerfCtl, RegisterId::PerfCtr)
        } else {
            (RegisterId::LegacyPerfCtl, RegisterId::LegacyPerfCtr)
        };
        for n in 0..MAX_GP {
            check(ctl, n, state.ctl[n])?;
            check(ctr, n, state.ctr[n])?;
        }
        check(RegisterId::PerfCntrGlobalCtl, 0, state.global_ctl)?;
        check(RegisterId::PerfCntrGlobalStatus, 0, state.global_status)?;
        check(RegisterId::DebugCtl, 0, state.debugctl)?;
        check(RegisterId::LbrSelect, 0, state.lbr.select)?;
        check(RegisterId::DbgExtnCfg, 0, state.lbr.config)?;
        let last = if self.profile.lbr == crate::profile::LbrKind::None { 0 } else { u64::MAX };
        for (name, value) in [
            ("LastBranchFromIP", state.lbr.last_from),
            ("LastBranchToIP", state.lbr.last_to),
            ("LastIntFromIP", state.lbr.last_int_from),
            ("LastIntToIP", state.lbr.last_int_to),
        ] {
            if value & !last != 0 {
                return Err(RestoreError::Register { register: name.into(), bits: value });
            }
        }
        for (n, &(from, to)) in state.lbr.entries.iter().enumerate() {
            check(RegisterId::SampBrFrom, n, from)?;
            check(RegisterId::SampBrTo, n, to)?;
        }
        Ok(())
    }
}
