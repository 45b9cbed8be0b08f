//! Which register state the system of a case has enabled.

use serde::{Deserialize, Serialize};

/// 512 bits, the lowest 128 first.
pub type Zmm = [u128; 4];

/// What CR4.OSXSAVE and XCR0 enable (SDM volume 1, section 13.3). Para-virtual KVM keeps the host's XCR0 in ring 3, so
/// cases are about what is enabled only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Machine {
    /// CR4.OSXSAVE is 0: x87, MMX and SSE only.
    #[default]
    Sse,
    /// XSAVE and its like, for x87 and SSE.
    Xsave,
    /// Those, and the YMM registers.
    Avx,
    /// Those, the mask registers and all of the ZMM registers.
    Avx512,
}

/// PAE, OSFXSR, OSXMMEXCPT.
const CR4: u64 = 0x620;
/// FSGSBASE and OSXSAVE.
const CR4_XSAVE: u64 = 1 << 16 | 1 << 18;

impl Machine {
    /// CR4.
    #[must_use]
    pub fn cr4(self) -> u64 {
        if self == Self::Sse { CR4 } else { CR4 | CR4_XSAVE }
    }

    /// XCR0: x87 and SSE, AVX, then opmask, ZMM_Hi256 and Hi16_ZMM.
    #[must_use]
    pub fn xcr0(self) -> u64 {
        match self {
            Self::Sse => 1,
            Self::Xsave => 0b11,
            Self::Avx => 0b111,
            Self::Avx512 => 0b1110_0111,
        }
    }

    /// Quarters of 128 bits of registers 0 to 15 that a case can use.
    #[must_use]
    pub fn quarters(self) -> usize {
        match self {
            Self::Sse | Self::Xsave => 1,
            Self::Avx => 2,
            Self::Avx512 => 4,
        }
    }

    /// The most that the host's CPU and its kernel allow.
    #[must_use]
    pub fn host() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if std::is_x86_feature_detected!("avx512f") {
                return Self::Avx512;
            }
            if std::is_x86_feature_detected!("avx") {
                return Self::Avx;
            }
            if std::is_x86_feature_detected!("xsave") {
                return Self::Xsave;
            }
        }
        Self::Sse
    }
}
