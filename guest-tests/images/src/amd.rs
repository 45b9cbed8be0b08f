//! AMD's core counters (APM volume 2, chapter 13): MSR numbers, bits, and ways to program them.

use guest_runtime::cpu;

use crate::pmu::{read, write};

/// PERF_CTL0; counters lie between the controls.
pub const CTL0: u32 = 0xC001_0200;
/// PERF_CTR0.
pub const CTR0: u32 = 0xC001_0201;
/// PERF_LEGACY_CTL0; the others follow.
pub const LEGACY_CTL0: u32 = 0xC001_0000;
/// PERF_LEGACY_CTR0; the others follow.
pub const LEGACY_CTR0: u32 = 0xC001_0004;
/// PerfCntrGlobalStatus
pub const GLOBAL_STATUS: u32 = 0xC000_0300;
/// PerfCntrGlobalCtl
pub const GLOBAL_CTL: u32 = 0xC000_0301;
/// PerfCntrGlobalStatusClr
pub const STATUS_CLR: u32 = 0xC000_0302;
/// PerfCntrGlobalStatusSet
pub const STATUS_SET: u32 = 0xC000_0303;
/// LBR_SELECT
pub const LBR_SELECT: u32 = 0xC000_010E;
/// DBG_EXTN_CFG
pub const DBG_EXTN_CFG: u32 = 0xC000_010F;
/// SAMP_BR_FROM0; each is followed by its SAMP_BR_TO.
pub const SAMP_BR_FROM0: u32 = 0xC001_0300;
/// Core counters.
pub const COUNTERS: u32 = 6;
/// Counters with a legacy address.
pub const LEGACY_COUNTERS: u32 = 4;
/// Largest value of a counter that is not merged.
pub const COUNTER_MAX: u64 = (1 << 48) - 1;
/// Retired instructions.
pub const INSTRUCTIONS: u64 = 0xC0;
/// The event that merges an odd counter with the even one below, enabled; no other bit may be set.
pub const MERGE: u64 = 0xF_0040_00FF;

/// Retired SSE and AVX floating-point operations of every kind, as this generation encodes them.
#[must_use]
pub fn flops() -> u64 {
    match cpu::family_model() {
        (0x1A, _) => 0x0F03,
        (0x19, 0x10..=0x1F | 0x60..) => 0x1F03,
        _ => 0xFF03,
    }
}

/// PERF_CTLn.
#[must_use]
pub const fn ctl(n: u32) -> u32 {
    CTL0 + 2 * n
}

/// PERF_CTRn.
#[must_use]
pub const fn ctr(n: u32) -> u32 {
    CTR0 + 2 * n
}

/// Enables every counter in PerfCntrGlobalCtl, where there is one.
#[track_caller]
pub fn enable_globally() {
    if has_global_registers() {
        write(GLOBAL_CTL, (1 << COUNTERS) - 1);
    }
}

/// True with PerfMonV2.
#[must_use]
pub fn has_global_registers() -> bool {
    cpu::cpuid(0x8000_0022, 0).eax & 1 != 0
}

/// PERF_CTRn.
#[track_caller]
#[must_use]
pub fn count(n: u32) -> u64 {
    read(ctr(n))
}
