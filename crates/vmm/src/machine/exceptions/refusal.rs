//! Accesses that raised #GP, and why: the guest sees no difference, people do.

use serde::{Deserialize, Serialize};
use std::fmt;
use vpmu::Profile;
use vpmu::decode::msr_name;
use vpmu::pmu::Fault;
use vpmu::register::rdpmc_msr;

/// An access to a model-specific register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum MsrAccess {
    /// RDMSR.
    Rdmsr {
        /// MSR index.
        index: u32,
    },
    /// WRMSR.
    Wrmsr {
        /// MSR index.
        index: u32,
        /// EDX:EAX.
        value: u64,
    },
    /// RDPMC.
    Rdpmc {
        /// ECX.
        index: u32,
    },
    /// MRS of an AArch64 CPU.
    Mrs {
        /// [Encoding](vpmu::register::arm::encoding) of the system register.
        index: u32,
    },
    /// MSR of an AArch64 CPU.
    Msr {
        /// Encoding of the system register.
        index: u32,
        /// The value written.
        value: u64,
    },
}

impl MsrAccess {
    /// MSR index, or ECX of RDPMC.
    #[must_use]
    pub fn index(self) -> u32 {
        match self {
            Self::Rdmsr { index }
            | Self::Wrmsr { index, .. }
            | Self::Rdpmc { index }
            | Self::Mrs { index }
            | Self::Msr { index, .. } => index,
        }
    }

    /// The instruction in lower case.
    #[must_use]
    pub fn mnemonic(self) -> &'static str {
        match self {
            Self::Rdmsr { .. } => "rdmsr",
            Self::Wrmsr { .. } => "wrmsr",
            Self::Rdpmc { .. } => "rdpmc",
            Self::Mrs { .. } => "mrs",
            Self::Msr { .. } => "msr",
        }
    }

    /// What was written.
    #[must_use]
    pub fn value(self) -> Option<u64> {
        match self {
            Self::Wrmsr { value, .. } | Self::Msr { value, .. } => Some(value),
            Self::Rdmsr { .. } | Self::Rdpmc { .. } | Self::Mrs { .. } => None,
        }
    }
}

/// Why an access raises #GP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefusalReason {
    /// A rule of the PMU.
    #[error(transparent)]
    Pmu(Fault),
    /// A rule of the local APIC.
    #[error("the local APIC does not take it")]
    Apic,
    /// A rule of the generic timer or of the GIC.
    #[error("{0}")]
    System(&'static str),
    /// The register is not implemented.
    #[error("this MSR is not implemented")]
    Unknown,
}

/// An access that raised #GP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// What.
    pub access: MsrAccess,
    /// Address of the instruction, where the engine knows it.
    pub rip: Option<u64>,
    /// Why.
    pub reason: RefusalReason,
}

impl Refusal {
    /// `WRMSR IA32_PERF_GLOBAL_CTRL (0x38f) = 0x100: reserved bits 0x100 are set`.
    pub(super) fn describe(&self, profile: &Profile) -> String {
        Described { refusal: self, profile }.to_string()
    }
}

struct Described<'a> {
    refusal: &'a Refusal,
    profile: &'a Profile,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { access, reason, .. } = self.refusal;
        let index = access.index();
        let msr = match access {
            MsrAccess::Rdpmc { .. } => rdpmc_msr(self.profile.vendor(), index),
            _ => Some(index),
        };
        write!(f, "{} ", access.mnemonic().to_uppercase())?;
        match msr.and_then(|msr| msr_name(self.profile, msr)) {
            Some(name) => write!(f, "{name} ({index:#x})")?,
            None => write!(f, "{index:#x}")?,
        }
        if let Some(value) = access.value() {
            write!(f, " = {value:#x}")?;
        }
        write!(f, ": {reason}")
    }
}
