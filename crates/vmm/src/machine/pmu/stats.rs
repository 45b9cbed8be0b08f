//! Counts of accesses.

/// How often the guest touched its PMU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct AccessStats {
    /// RDMSR of PMU registers.
    pub rdmsr: u64,
    /// WRMSR of PMU registers.
    pub wrmsr: u64,
    /// RDPMC.
    pub rdpmc: u64,
    /// Of these: ended in #GP.
    pub faults: u64,
    /// Values of PERF_METRICS, by RDMSR or RDPMC.
    pub metrics: u64,
    /// PMI requests.
    pub pmis: u64,
    /// PEBS records written.
    pub pebs_records: u64,
    /// PEBS records that found no room, or a debug store that is not mapped.
    pub pebs_lost: u64,
    /// IBS samples: fetches and ops.
    #[serde(default)]
    pub ibs_samples: u64,
}
