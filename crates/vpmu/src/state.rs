//! Saving and restoring a vPMU.
//!
//! [`VpmuState`] is plain data: what the guest can see plus the accumulators behind PERF_METRICS.
//! The feature `serde` makes it serialisable; the format is the embedder's choice.

use crate::pmu::Vpmu;
use crate::profile::Profile;
use crate::register::Register;
use crate::source::CountsSource;
use alloc::boxed::Box;
use alloc::string::String;

pub use crate::pmu::{AmdState, IntelState};

/// Version of the layout and meaning of [`VpmuState`].
pub const STATE_VERSION: u32 = 5;

/// The saved state of one vPMU.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct VpmuState {
    /// [`STATE_VERSION`] of the writer.
    pub version: u32,
    /// Name of the profile.
    pub profile: String,
    /// The vendor's registers.
    pub registers: VendorState,
    /// A PMI request that has not been delivered yet.
    pub pmi_pending: bool,
}

/// The saved registers of one vPMU.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum VendorState {
    /// Of an Intel CPU.
    Intel(Box<IntelState>),
    /// Of an AMD CPU.
    Amd(Box<AmdState>),
}

impl VendorState {
    /// The registers of an Intel CPU.
    pub fn intel_mut(&mut self) -> Option<&mut IntelState> {
        match self {
            Self::Intel(state) => Some(state),
            Self::Amd(_) => None,
        }
    }

    /// The registers of an AMD CPU.
    pub fn amd_mut(&mut self) -> Option<&mut AmdState> {
        match self {
            Self::Amd(state) => Some(state),
            Self::Intel(_) => None,
        }
    }
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
    /// Registers of another vendor.
    #[error("saved vPMU state holds another vendor's registers")]
    Vendor,
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
        VpmuState {
            version: STATE_VERSION,
            profile: String::from(self.profile().name),
            registers: self.save_registers(),
            pmi_pending: self.pmi_pending(),
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
        if state.version != STATE_VERSION {
            return Err(RestoreError::Version { found: state.version });
        }
        if state.profile != self.profile().name {
            return Err(RestoreError::Profile {
                found: state.profile.clone(),
                expected: self.profile().name,
            });
        }
        self.restore_registers(&state.registers, state.pmi_pending, source)
    }
}

/// A register may hold what its fields can store; one that does not exist holds 0.
pub(crate) fn check_register(
    register: &Register,
    profile: &Profile,
    n: usize,
    value: u64,
) -> Result<(), RestoreError> {
    let possible = if n < register.instances(profile) as usize { register.stored(profile) } else { 0 };
    match value & !possible {
        0 => Ok(()),
        bits => Err(RestoreError::Register { register: register.instance_name(n as u32), bits }),
    }
}
