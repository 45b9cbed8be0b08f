//! Saving and restoring a vPMU.
//!
//! [`VpmuState`] is plain data: what the guest can see, by MSR index or encoding, plus the accumulators behind
//! PERF_METRICS. The feature `serde` makes it serialisable; the format is the embedder's choice.

use crate::metrics::{ACCUMULATOR_BITS, Metrics, fields_of};
use crate::profile::Profile;
use crate::register::When;
use crate::register::intel::{PebsEnable, REGISTERS, RegisterId};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

/// Version of the layout and meaning of [`VpmuState`].
pub const STATE_VERSION: u32 = 7;

/// The saved state of one vPMU.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct VpmuState {
    /// [`STATE_VERSION`] of the writer.
    pub version: u32,
    /// Name of the profile.
    pub profile: String,
    /// MSR index (of an Arm CPU the [encoding](crate::register::arm::encoding)) and value of every register instance
    /// with a value of its own; one with several addresses is there once. Records beyond IA32_LBR_DEPTH are 0, and
    /// counters of a merged pair hold what their own bits are.
    pub registers: BTreeMap<u32, u64>,
    /// The accumulators behind IA32_PERF_METRICS; all 0 without that register.
    pub metrics: Metrics,
    /// [`BranchRecord::cycle`](crate::BranchRecord::cycle) of the last change of the stack of branch records since
    /// recording began.
    pub branch_cycle: Option<u64>,
    /// Counters that have overflowed and whose next event becomes a PEBS record, as bits of IA32_PEBS_ENABLE.
    #[cfg_attr(feature = "serde", serde(default))]
    pub pebs_armed: u64,
    /// Occurrences of the events of counters 0 to 3 since the newest branch record, as such a record has them; all 0
    /// where no events are logged.
    #[cfg_attr(feature = "serde", serde(default))]
    pub branch_events: u8,
    /// What IBS keeps beside its registers; all 0 without it.
    #[cfg_attr(feature = "serde", serde(default))]
    pub ibs: IbsState,
}

/// What instruction-based sampling keeps beside its registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct IbsState {
    /// State of the pseudorandom generator behind the low bits of its counts.
    pub random: u64,
    /// Fetches in bits 3:0 of their count, which no register shows.
    pub fetches: u8,
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
        expected: String,
    },
    /// A register of this profile is not among the saved ones.
    #[error("saved vPMU state lacks register {index:#x}")]
    Missing {
        /// Its MSR index or encoding.
        index: u32,
    },
    /// A saved register is none of this profile's, or only another address of one.
    #[error("saved vPMU state has register {index:#x}, which this profile does not save")]
    Stray {
        /// Its MSR index or encoding.
        index: u32,
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
    /// A time of the last branch record, of a CPU that has none.
    #[error("saved vPMU state has a time of branch records, which this profile does not have")]
    NoBranchRecords,
    /// Counters between an overflow and their PEBS record, of which some write none.
    #[error("saved vPMU state has PEBS records due on counters {bits:#x}, which write none")]
    Pebs {
        /// Bits of IA32_PEBS_ENABLE that are not set, or that are no counters.
        bits: u64,
    },
    /// Events since the newest branch record, of counters that log none.
    #[error("saved vPMU state has events {events:#x} of branch records, which this profile does not log")]
    BranchEvents {
        /// What was saved.
        events: u8,
    },
    /// State of instruction-based sampling, of a CPU that has none, or a count beyond its maximum.
    #[error("saved vPMU state has IBS state that this profile could not have")]
    Ibs,
    /// An IA32_LBR_DEPTH that the profile does not support, or records beyond it.
    #[error("saved IA32_LBR_DEPTH is {depth}, which does not go with this profile or with the saved records")]
    LbrDepth {
        /// The saved depth.
        depth: u64,
    },
}

impl VpmuState {
    /// A state without registers.
    pub(crate) fn of(profile: &Profile) -> Self {
        Self {
            version: STATE_VERSION,
            profile: profile.name.to_string(),
            registers: BTreeMap::new(),
            metrics: Metrics::default(),
            branch_cycle: None,
            pebs_armed: 0,
            branch_events: 0,
            ibs: IbsState::default(),
        }
    }

    /// What does not depend on the vendor.
    pub(crate) fn check(&self, profile: &Profile) -> Result<(), RestoreError> {
        if self.version != STATE_VERSION {
            return Err(RestoreError::Version { found: self.version });
        }
        if self.profile != profile.name {
            return Err(RestoreError::Profile {
                found: self.profile.clone(),
                expected: profile.name.to_string(),
            });
        }
        let register = &REGISTERS[RegisterId::PerfMetrics as usize];
        let (present, possible) = match profile.metrics_level() {
            0 => (0, 0),
            level => (fields_of(level), register.stored(profile)),
        };
        if present == 0 && self.metrics.counted {
            return Err(RestoreError::Stray { index: register.index_of(0) });
        }
        if self.branch_events != 0 && !When::LbrEventLogging.holds(profile) {
            return Err(RestoreError::BranchEvents { events: self.branch_events });
        }
        let enable = self.registers.get(&PebsEnable::INDEX).copied().unwrap_or(0);
        let enabled = enable & profile.pebs_counters();
        let bits = self.pebs_armed & !enabled;
        if bits != 0 {
            return Err(RestoreError::Pebs { bits });
        }
        if self.ibs.fetches > 0xF || !profile.has_ibs() && self.ibs != IbsState::default() {
            return Err(RestoreError::Ibs);
        }
        let bits = self.metrics.written & !possible;
        if bits != 0 {
            return Err(RestoreError::Register { register: register.name.into(), bits });
        }
        for (index, &value) in self.metrics.accumulators.iter().enumerate() {
            let limit = if index < present { 1_u64 << ACCUMULATOR_BITS } else { 1 };
            if value >= limit {
                return Err(RestoreError::Accumulator { index, value });
            }
        }
        Ok(())
    }
}
