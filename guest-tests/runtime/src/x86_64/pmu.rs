//! Stopping the PMU between tests, so that none inherits another's counters or interrupts, and what
//! it held before that.

use super::{
    calls::{rdmsr, wrmsr},
    cpu,
    have::PerfMon,
};
use crate::power_on;

const MSR_PMC0: u32 = 0xC1;
const MSR_PERFEVTSEL0: u32 = 0x186;
const MSR_DEBUGCTL: u32 = 0x1D9;
const MSR_FIXED_CTR0: u32 = 0x309;
const MSR_PERF_METRICS: u32 = 0x329;
const MSR_FIXED_CTR_CTRL: u32 = 0x38D;
const MSR_GLOBAL_STATUS: u32 = 0x38E;
const MSR_GLOBAL_CTRL: u32 = 0x38F;
const MSR_GLOBAL_STATUS_RESET: u32 = 0x390;
const MSR_ARCH_LBR_CTL: u32 = 0x14CE;
const MSR_AMD_PERF_CTL0: u32 = 0xC001_0200;
const MSR_AMD_GLOBAL_CTRL: u32 = 0xC000_0301;
const MSR_AMD_STATUS_CLR: u32 = 0xC000_0302;
const MSR_AMD_LBR_SELECT: u32 = 0xC000_010E;
const MSR_AMD_DBG_EXTN_CFG: u32 = 0xC000_010F;
/// CPUID.7:EDX, architectural LBR.
const ARCH_LBR: u32 = 1 << 19;
/// CPUID 0x8000_0001:ECX, six core counters.
const AMD_PERFCTR_CORE: u32 = 1 << 23;

/// Registers whose power-on values are kept: first one and number.
const NOTED: [(u32, u32); 7] = [
    (MSR_PMC0, 10),
    (MSR_PERFEVTSEL0, 10),
    (0x1A0, 1),
    (MSR_DEBUGCTL, 1),
    (MSR_FIXED_CTR0, 4),
    (MSR_PERF_METRICS, 1),
    (MSR_FIXED_CTR_CTRL, 6),
];

/// Keeps what the PMU's registers hold before anything has touched them.
pub(crate) fn note_power_on_values() {
    if PerfMon::discover().version != 0 {
        let noted = NOTED.into_iter().flat_map(|(first, count)| first..first + count);
        power_on::note(noted, |msr| rdmsr(msr).ok());
    }
}

/// Stops and clears all counters and last-branch recording. Registers that refuse are left alone:
/// tests that care about them look themselves.
pub(crate) fn reset() {
    let clear = |msr| {
        let _ = wrmsr(msr, 0);
    };
    let pmu = PerfMon::discover();
    if pmu.version >= 2 {
        clear(MSR_GLOBAL_CTRL);
        clear(MSR_FIXED_CTR_CTRL);
        (0..32).filter(|i| pmu.fixed & 1 << i != 0).for_each(|i| clear(MSR_FIXED_CTR0 + i));
    }
    if pmu.version >= 1 {
        (0..pmu.general).for_each(|i| {
            clear(MSR_PERFEVTSEL0 + i);
            clear(MSR_PMC0 + i);
        });
        clear(MSR_DEBUGCTL);
    }
    if pmu.version >= 2 {
        if pmu.capabilities & 1 << 15 != 0 {
            clear(MSR_PERF_METRICS);
        }
        if let Ok(status) = rdmsr(MSR_GLOBAL_STATUS) {
            let _ = wrmsr(MSR_GLOBAL_STATUS_RESET, status);
        }
    }
    if cpu::cpuid(7, 0).edx & ARCH_LBR != 0 {
        clear(MSR_ARCH_LBR_CTL);
    }
    if !cpu::is_intel() && cpu::cpuid(0x8000_0001, 0).ecx & AMD_PERFCTR_CORE != 0 {
        (0..6).for_each(|i| {
            clear(MSR_AMD_PERF_CTL0 + 2 * i);
            clear(MSR_AMD_PERF_CTL0 + 2 * i + 1);
        });
        clear(MSR_DEBUGCTL);
        let features = cpu::cpuid(0x8000_0022, 0).eax;
        if features & 1 != 0 {
            clear(MSR_AMD_GLOBAL_CTRL);
            let _ = wrmsr(MSR_AMD_STATUS_CLR, u64::MAX);
        }
        if features & 2 != 0 {
            clear(MSR_AMD_DBG_EXTN_CFG);
            clear(MSR_AMD_LBR_SELECT);
        }
    }
}
