//! What this machine has, in terms of the tests' needs.

use guest_protocol::Needs;

use super::{calls::rdmsr, cpu};

const MSR_PERF_CAPABILITIES: u32 = 0x345;
const FULL_WIDTH_WRITES: u64 = 1 << 13;
const METRICS_AVAILABLE: u64 = 1 << 15;
/// CPUID.8000_0001:ECX, six AMD core counters.
const PERF_CTR_EXT_CORE: u32 = 1 << 23;
/// AMD's extended performance monitoring; reads as 0 beyond the highest leaf.
const PERF_MON_LEAF: u32 = 0x8000_0022;
/// CPUID.1:ECX, PDCM: IA32_PERF_CAPABILITIES exists.
const PDCM: u32 = 1 << 15;
/// Models of family 6 whose PERF_METRICS has level 1 only (Ice Lake, Tiger Lake, Rocket Lake). No
/// CPUID bit tells, so Linux keeps a list too.
const LEVEL_1_MODELS: [u32; 7] = [0x6A, 0x6C, 0x7D, 0x7E, 0x8C, 0x8D, 0xA7];

/// Architectural performance monitoring as CPUID leaf 0xA describes it. All zero without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerfMon {
    /// Version.
    pub version: u32,
    /// Number of general-purpose counters.
    pub general: u32,
    /// Width of the general-purpose counters, in bits.
    pub general_width: u32,
    /// Fixed counters that exist, one bit each.
    pub fixed: u32,
    /// Width of the fixed counters, in bits.
    pub fixed_width: u32,
    /// IA32_PERF_CAPABILITIES; 0 if it does not exist.
    pub capabilities: u64,
}

impl PerfMon {
    /// Asks CPUID and IA32_PERF_CAPABILITIES.
    #[must_use]
    pub fn discover() -> Self {
        let leaf = cpu::cpuid(0xA, 0);
        let version = leaf.eax & 0xFF;
        let contiguous = leaf.edx & 0x1F;
        let bitmap = if version >= 5 { leaf.ecx } else { 0 };
        let capabilities = if version > 0 && cpu::cpuid(1, 0).ecx & PDCM != 0 {
            rdmsr(MSR_PERF_CAPABILITIES).unwrap_or(0)
        } else {
            0
        };
        Self {
            version,
            general: leaf.eax >> 8 & 0xFF,
            general_width: leaf.eax >> 16 & 0xFF,
            fixed: if version >= 2 { bitmap | ((1 << contiguous) - 1) } else { 0 },
            fixed_width: leaf.edx >> 5 & 0xFF,
            capabilities,
        }
    }
}

/// Needs that only this kind of machine has an answer to, and whether it meets them.
pub(crate) fn discover() -> [(Needs, bool); 8] {
    let pmu = PerfMon::discover();
    let intel = cpu::is_intel();
    let amd = cpu::is_amd() && cpu::cpuid(0x8000_0001, 0).ecx & PERF_CTR_EXT_CORE != 0;
    let metrics = pmu.version >= 2 && pmu.capabilities & METRICS_AVAILABLE != 0 && pmu.fixed & 1 << 3 != 0;
    let level_1_only = matches!(cpu::family_model(), (6, model) if LEVEL_1_MODELS.contains(&model));
    [
        (Needs::PMU, pmu.version >= 2),
        (Needs::FULL_WIDTH, pmu.capabilities & FULL_WIDTH_WRITES != 0),
        (Needs::METRICS, metrics),
        (Needs::METRICS_L2, metrics && !level_1_only),
        (Needs::STREAMLINED_FREEZE, pmu.version >= 4),
        (Needs::INTEL, intel),
        (Needs::AMD, amd),
        (Needs::PERFMON_V2, amd && cpu::cpuid(PERF_MON_LEAF, 0).eax & 1 != 0),
    ]
}
