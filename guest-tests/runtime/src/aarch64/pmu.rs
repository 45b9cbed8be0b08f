//! Stopping the PMU between tests, so that none inherits another's counters or interrupts, and what it held before
//! that.

use super::registers::{packed, read, write};
use crate::power_on;

const MIDR_EL1: u32 = packed(3, 0, 0, 0, 0);
const ID_AA64DFR0_EL1: u32 = packed(3, 0, 0, 5, 0);
const PMINTENCLR_EL1: u32 = packed(3, 0, 9, 14, 2);
const PMCR_EL0: u32 = packed(3, 3, 9, 12, 0);
const PMCNTENCLR_EL0: u32 = packed(3, 3, 9, 12, 2);
const PMOVSCLR_EL0: u32 = packed(3, 3, 9, 12, 3);
const PMSELR_EL0: u32 = packed(3, 3, 9, 12, 5);
const PMUSERENR_EL0: u32 = packed(3, 3, 9, 14, 0);
const PMEVTYPER0_EL0: u32 = packed(3, 3, 14, 12, 0);
const PMCCFILTR_EL0: u32 = packed(3, 3, 14, 15, 7);
const PMRESR: [u32; 3] = [packed(3, 5, 11, 3, 0), packed(3, 5, 11, 3, 2), packed(3, 5, 11, 3, 4)];
const PMXEVCNTCR_EL0: u32 = packed(3, 5, 11, 0, 3);
const PMACTLR_EL0: u32 = packed(3, 5, 11, 0, 2);

/// PMCR_EL0: zero the event counters, zero the cycle counter.
const P_C: u64 = 1 << 1 | 1 << 2;

/// Registers whose power-on values are kept, besides those of Falkor.
const NOTED: [u32; 6] = [PMCR_EL0, PMCNTENCLR_EL0, PMOVSCLR_EL0, PMINTENCLR_EL1, PMSELR_EL0, PMUSERENR_EL0];

/// True with a PMUv3 of any version (ID_AA64DFR0_EL1.PMUVer is neither 0 nor FH).
pub(super) fn is_present() -> bool {
    let version = read(ID_AA64DFR0_EL1).unwrap_or(0) >> 8 & 0xF;
    version != 0 && version != 0xF
}

/// True on Qualcomm's Falkor: implementer 51H, part 800H or C00H (Linux `cputype.h`).
#[must_use]
pub fn is_falkor() -> bool {
    let midr = read(MIDR_EL1).unwrap_or(0);
    midr >> 24 & 0xFF == 0x51 && matches!(midr >> 4 & 0xFFF, 0x800 | 0xC00)
}

/// Number of event counters, PMCR_EL0.N.
#[must_use]
pub fn counters() -> u32 {
    read(PMCR_EL0).map_or(0, |pmcr| (pmcr >> 11 & 0x1F) as u32)
}

/// Keeps what the PMU's registers hold before anything has touched them.
pub(super) fn note_power_on_values() {
    if is_present() {
        let falkor = PMRESR.into_iter().filter(|_| is_falkor());
        power_on::note(NOTED.into_iter().chain(falkor), |register| read(register).ok());
    }
}

/// Stops and clears all counters and everything that selects events. Registers that refuse are left alone: tests that
/// care about them look themselves.
pub(super) fn reset() {
    if !is_present() {
        return;
    }
    let set = |register, value| {
        let _ = write(register, value);
    };
    set(PMCR_EL0, P_C);
    set(PMCNTENCLR_EL0, u32::MAX.into());
    set(PMINTENCLR_EL1, u32::MAX.into());
    set(PMOVSCLR_EL0, u32::MAX.into());
    set(PMUSERENR_EL0, 0);
    (0..counters()).for_each(|n| set(PMEVTYPER0_EL0 + (n << 5), 0));
    set(PMCCFILTR_EL0, 0);
    if is_falkor() {
        PMRESR.into_iter().for_each(|register| set(register, 0));
        for n in 0..counters() {
            set(PMSELR_EL0, n.into());
            set(PMXEVCNTCR_EL0, 0);
        }
        set(PMACTLR_EL0, 0);
    }
    set(PMSELR_EL0, 0);
}
