//! What the CPU says that it is.

use super::SystemRegister;

/// Values of the identification registers. The crate implements what [`implemented`](Self::implemented) announces; an
/// embedder adds what it implements itself (the PMU in ID_AA64DFR0_EL1, the GIC's registers in ID_AA64PFR0_EL1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Identification {
    /// MIDR_EL1: implementer, part number, revision.
    pub midr: u64,
    /// MPIDR_EL1: the affinity.
    pub mpidr: u64,
    /// REVIDR_EL1.
    pub revidr: u64,
    /// ID_AA64PFR0_EL1.
    pub pfr0: u64,
    /// ID_AA64DFR0_EL1.
    pub dfr0: u64,
    /// ID_AA64ISAR0_EL1.
    pub isar0: u64,
    /// ID_AA64MMFR0_EL1.
    pub mmfr0: u64,
    /// ID_AA64MMFR1_EL1.
    pub mmfr1: u64,
    /// CTR_EL0.
    pub ctr: u64,
    /// DCZID_EL0: log2 of the words that DC ZVA zeroes.
    pub dczid: u64,
    /// CLIDR_EL1.
    pub clidr: u64,
    /// CCSIDR_EL1 by CSSELR_EL1: the data or unified cache, then the instruction cache of each level.
    pub ccsidr: [[u64; 2]; 3],
}

/// Hardware breakpoints, and watchpoints.
pub(crate) const BREAKPOINTS: u32 = 6;
pub(crate) const WATCHPOINTS: u32 = 4;

/// Log2 of the bytes that DC ZVA zeroes: a cache line.
pub(crate) const ZVA_SHIFT: u32 = 6;

impl Identification {
    /// A CPU with this MIDR_EL1 that announces what this crate implements, and nothing else. Physical addresses have 48
    /// bits. Caches are those of Falkor as far as they are known: 32 KiB L1D with 8 ways, 64 KiB L1I, and an L2 of
    /// 512 KiB, with lines of 64 bytes.
    #[must_use]
    pub fn implemented(midr: u64) -> Self {
        Self {
            midr,
            // A uniprocessor without threads: U is 1 and bit 31 is RES1.
            mpidr: 1 << 31 | 1 << 30,
            revidr: 0,
            // EL0 and EL1 in AArch64 only, FP and Advanced SIMD, CSV2 and CSV3: nothing is executed speculatively.
            pfr0: 1 << 60 | 1 << 56 | 0x11,
            // Armv8 debug architecture.
            dfr0: 6 | u64::from(BREAKPOINTS - 1) << 12 | u64::from(WATCHPOINTS - 1) << 20,
            // AES with PMULL of 64 bits, SHA-1, SHA-256, CRC32.
            isar0: 2 << 4 | 1 << 8 | 1 << 12 | 1 << 16,
            // 48-bit physical addresses, 16-bit ASIDs; no 16 KiB (0) and no 64 KiB (0xF) granule, 4 KiB is there (0).
            mmfr0: 5 | 2 << 4 | 0xF << 24,
            mmfr1: 0,
            // Lines of 64 bytes, PIPT instruction cache; bit 31 is RES1. IDC and DIC: no maintenance is needed.
            ctr: 1 << 31 | 1 << 29 | 1 << 28 | 4 << 24 | 4 << 20 | 4 << 16 | 3 << 14 | 4,
            dczid: u64::from(ZVA_SHIFT - 2),
            // Separate L1 caches, a unified L2, coherent from there on (LoC 2).
            clidr: 3 | 4 << 3 | 2 << 24 | 1 << 27 | 1 << 21,
            ccsidr: [[geometry(64, 8), geometry(256, 4)], [geometry(1024, 8), 0], [0, 0]],
        }
    }

    /// The value of an identification register of the space 3, 0, 0, 0 to 7, 0 to 7; reserved ones read as zero.
    pub(crate) fn read(&self, register: SystemRegister) -> u64 {
        match (register.crm(), register.op2()) {
            (0, 0) => self.midr,
            (0, 5) => self.mpidr,
            (0, 6) => self.revidr,
            (4, 0) => self.pfr0,
            (5, 0) => self.dfr0,
            (6, 0) => self.isar0,
            (7, 0) => self.mmfr0,
            (7, 1) => self.mmfr1,
            _ => 0,
        }
    }
}

/// CCSIDR_EL1 of a cache with lines of 64 bytes.
const fn geometry(sets: u64, ways: u64) -> u64 {
    (sets - 1) << 13 | (ways - 1) << 3 | 2
}
