//! MSR numbers (Intel SDM volume 4) and their bits (volume 3B, "Performance Monitoring").

/// IA32_PMC0; the others follow.
pub const PMC0: u32 = 0xC1;
/// IA32_PERFEVTSEL0; the others follow.
pub const PERFEVTSEL0: u32 = 0x186;
/// IA32_MISC_ENABLE
pub const MISC_ENABLE: u32 = 0x1A0;
/// MSR_OFFCORE_RSP_0
pub const OFFCORE_RSP_0: u32 = 0x1A6;
/// MSR_OFFCORE_RSP_1
pub const OFFCORE_RSP_1: u32 = 0x1A7;
/// IA32_DEBUGCTL
pub const DEBUGCTL: u32 = 0x1D9;
/// IA32_FIXED_CTR0; the others follow.
pub const FIXED_CTR0: u32 = 0x309;
/// IA32_FIXED_CTR3: slots.
pub const SLOTS: u32 = 0x30C;
/// IA32_PERF_METRICS
pub const PERF_METRICS: u32 = 0x329;
/// IA32_PERF_CAPABILITIES
pub const PERF_CAPABILITIES: u32 = 0x345;
/// IA32_FIXED_CTR_CTRL
pub const FIXED_CTR_CTRL: u32 = 0x38D;
/// IA32_PERF_GLOBAL_STATUS
pub const GLOBAL_STATUS: u32 = 0x38E;
/// IA32_PERF_GLOBAL_CTRL
pub const GLOBAL_CTRL: u32 = 0x38F;
/// IA32_PERF_GLOBAL_OVF_CTRL, since version 4 IA32_PERF_GLOBAL_STATUS_RESET
pub const STATUS_RESET: u32 = 0x390;
/// IA32_PERF_GLOBAL_STATUS_SET
pub const STATUS_SET: u32 = 0x391;
/// IA32_PERF_GLOBAL_INUSE
pub const INUSE: u32 = 0x392;
/// IA32_PEBS_ENABLE
pub const PEBS_ENABLE: u32 = 0x3F1;
/// MSR_PEBS_DATA_CFG
pub const PEBS_DATA_CFG: u32 = 0x3F2;
/// MSR_PEBS_LD_LAT_THRESHOLD
pub const LD_LAT: u32 = 0x3F6;
/// MSR_PEBS_FRONTEND
pub const FRONTEND: u32 = 0x3F7;
/// IA32_A_PMC0, the full-width alias; the others follow.
pub const A_PMC0: u32 = 0x4C1;
/// IA32_DS_AREA
pub const DS_AREA: u32 = 0x600;

/// Bits of IA32_PERFEVTSELx.
pub mod select {
    /// Count while CPL > 0.
    pub const USR: u64 = 1 << 16;
    /// Count while CPL = 0.
    pub const OS: u64 = 1 << 17;
    /// Request a PMI on overflow.
    pub const INT: u64 = 1 << 20;
    /// AnyThread.
    pub const ANY: u64 = 1 << 21;
    /// Enable.
    pub const EN: u64 = 1 << 22;
    /// Invert the comparison with CMASK.
    pub const INV: u64 = 1 << 23;
    /// Enabled in both rings.
    pub const ALWAYS: u64 = USR | OS | EN;

    /// CMASK.
    #[must_use]
    pub const fn cmask(threshold: u8) -> u64 {
        (threshold as u64) << 24
    }
}

/// Event select and unit mask of the architectural events (SDM volume 3B, "Pre-defined
/// Architectural Performance Events") and a few that every core with PERF_METRICS has.
pub mod event {
    /// UnHalted Core Cycles, 3C/00.
    pub const CYCLES: u64 = 0x003C;
    /// Instructions Retired, C0/00.
    pub const INSTRUCTIONS: u64 = 0x00C0;
    /// Branch Instructions Retired, C4/00.
    pub const BRANCHES: u64 = 0x00C4;
    /// Branch Misses Retired, C5/00.
    pub const BRANCH_MISSES: u64 = 0x00C5;
    /// Topdown Slots, A4/01.
    pub const SLOTS: u64 = 0x01A4;
    /// TOPDOWN.BACKEND_BOUND_SLOTS, A4/02.
    pub const BACKEND_BOUND_SLOTS: u64 = 0x02A4;
    /// UOPS_RETIRED.SLOTS, C2/02: the retiring slots.
    pub const RETIRING_SLOTS: u64 = 0x02C2;
}

/// Bits of GLOBAL_CTRL, GLOBAL_STATUS and the registers that set and clear status.
pub mod global {
    /// PERF_METRICS.
    pub const METRICS: u64 = 1 << 48;
    /// LBR_Frz.
    pub const LBR_FROZEN: u64 = 1 << 58;
    /// CTR_Frz.
    pub const CTR_FROZEN: u64 = 1 << 59;
    /// ASCI.
    pub const ASCI: u64 = 1 << 60;
    /// OVF_Uncore.
    pub const UNCORE: u64 = 1 << 61;
    /// OvfBuf.
    pub const BUFFER: u64 = 1 << 62;
    /// CondChgd.
    pub const COND_CHANGED: u64 = 1 << 63;
    /// Fixed counter 3 and PERF_METRICS, which belong together.
    pub const SLOTS_AND_METRICS: u64 = METRICS | fixed(3);

    /// General-purpose counter `n`.
    #[must_use]
    pub const fn gp(n: u32) -> u64 {
        1 << n
    }

    /// Fixed counter `n`.
    #[must_use]
    pub const fn fixed(n: u32) -> u64 {
        1 << (32 + n)
    }
}

/// Bits of one fixed counter's four in FIXED_CTR_CTRL.
pub mod fixed_ctrl {
    /// Count while CPL = 0.
    pub const OS: u64 = 1;
    /// Count while CPL > 0.
    pub const USR: u64 = 2;
    /// AnyThread.
    pub const ANY: u64 = 4;
    /// Request a PMI on overflow.
    pub const PMI: u64 = 8;

    /// `bits` in the place of counter `n`.
    #[must_use]
    pub const fn of(n: u32, bits: u64) -> u64 {
        bits << (4 * n)
    }
}

/// FREEZE_PERFMON_ON_PMI in IA32_DEBUGCTL.
pub const FREEZE_PERFMON_ON_PMI: u64 = 1 << 12;
/// Bits of a counter: 48 on every CPU since Nehalem.
pub const WIDTH: u32 = 48;
/// All ones in a counter.
pub const COUNTER_MAX: u64 = (1 << WIDTH) - 1;
