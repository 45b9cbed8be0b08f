//! Registers of PMUv3 (Arm ARM, D19 and chapter D24.5) and their bits, and checked access to them.

use guest_runtime::{
    counters, fail,
    registers::{self, packed},
    skip,
};

/// PMCR_EL0
pub const PMCR: u32 = packed(3, 3, 9, 12, 0);
/// PMCNTENSET_EL0
pub const PMCNTENSET: u32 = packed(3, 3, 9, 12, 1);
/// PMCNTENCLR_EL0
pub const PMCNTENCLR: u32 = packed(3, 3, 9, 12, 2);
/// PMOVSCLR_EL0
pub const PMOVSCLR: u32 = packed(3, 3, 9, 12, 3);
/// PMSWINC_EL0
pub const PMSWINC: u32 = packed(3, 3, 9, 12, 4);
/// PMSELR_EL0
pub const PMSELR: u32 = packed(3, 3, 9, 12, 5);
/// PMCEID0_EL0
pub const PMCEID0: u32 = packed(3, 3, 9, 12, 6);
/// PMCEID1_EL0
pub const PMCEID1: u32 = packed(3, 3, 9, 12, 7);
/// PMCCNTR_EL0
pub const PMCCNTR: u32 = packed(3, 3, 9, 13, 0);
/// PMXEVTYPER_EL0
pub const PMXEVTYPER: u32 = packed(3, 3, 9, 13, 1);
/// PMXEVCNTR_EL0
pub const PMXEVCNTR: u32 = packed(3, 3, 9, 13, 2);
/// PMUSERENR_EL0
pub const PMUSERENR: u32 = packed(3, 3, 9, 14, 0);
/// PMOVSSET_EL0
pub const PMOVSSET: u32 = packed(3, 3, 9, 14, 3);
/// PMINTENSET_EL1
pub const PMINTENSET: u32 = packed(3, 0, 9, 14, 1);
/// PMINTENCLR_EL1
pub const PMINTENCLR: u32 = packed(3, 0, 9, 14, 2);
/// PMMIR_EL1, from Armv8.4 on.
pub const PMMIR: u32 = packed(3, 0, 9, 14, 6);
/// PMEVCNTR0_EL0; the others follow, `1 << 5` apart.
pub const PMEVCNTR0: u32 = packed(3, 3, 14, 8, 0);
/// PMEVTYPER0_EL0; the others follow, `1 << 5` apart.
pub const PMEVTYPER0: u32 = packed(3, 3, 14, 12, 0);
/// PMCCFILTR_EL0
pub const PMCCFILTR: u32 = packed(3, 3, 14, 15, 7);
/// ID_AA64DFR0_EL1
pub const ID_AA64DFR0: u32 = packed(3, 0, 0, 5, 0);
/// ID_AA64PFR0_EL1
pub const ID_AA64PFR0: u32 = packed(3, 0, 0, 4, 0);

/// Bits of PMCR_EL0.
pub mod pmcr {
    /// Counters are enabled.
    pub const E: u64 = 1 << 0;
    /// Write: zero the event counters.
    pub const P: u64 = 1 << 1;
    /// Write: zero the cycle counter.
    pub const C: u64 = 1 << 2;
    /// The cycle counter counts every 64th cycle.
    pub const D: u64 = 1 << 3;
    /// The cycle counter overflows at 64 bits instead of 32.
    pub const LC: u64 = 1 << 6;
}

/// Filter bits of PMEVTYPERn_EL0 and PMCCFILTR_EL0.
pub mod filter {
    /// Not at EL1, unless NSK says otherwise.
    pub const P: u64 = 1 << 31;
    /// Not at EL0, unless NSU says otherwise.
    pub const U: u64 = 1 << 30;
    /// Non-secure EL1 is counted if this equals P.
    pub const NSK: u64 = 1 << 29;
    /// Non-secure EL0 is counted if this equals U.
    pub const NSU: u64 = 1 << 28;
}

/// Common events (Arm ARM, D19.12).
pub mod event {
    /// SW_INCR
    pub const SW_INCR: u64 = 0x00;
    /// LD_RETIRED
    pub const LD_RETIRED: u64 = 0x06;
    /// ST_RETIRED
    pub const ST_RETIRED: u64 = 0x07;
    /// INST_RETIRED
    pub const INST_RETIRED: u64 = 0x08;
    /// EXC_TAKEN
    pub const EXC_TAKEN: u64 = 0x09;
    /// EXC_RETURN
    pub const EXC_RETURN: u64 = 0x0A;
    /// CID_WRITE_RETIRED
    pub const CID_WRITE_RETIRED: u64 = 0x0B;
    /// PC_WRITE_RETIRED
    pub const PC_WRITE_RETIRED: u64 = 0x0C;
    /// BR_IMMED_RETIRED
    pub const BR_IMMED_RETIRED: u64 = 0x0D;
    /// BR_RETURN_RETIRED
    pub const BR_RETURN_RETIRED: u64 = 0x0E;
    /// UNALIGNED_LDST_RETIRED
    pub const UNALIGNED_LDST_RETIRED: u64 = 0x0F;
    /// CPU_CYCLES
    pub const CPU_CYCLES: u64 = 0x11;
    /// MEM_ACCESS
    pub const MEM_ACCESS: u64 = 0x13;
    /// TTBR_WRITE_RETIRED
    pub const TTBR_WRITE_RETIRED: u64 = 0x1C;
    /// CHAIN
    pub const CHAIN: u64 = 0x1E;
    /// BR_RETIRED
    pub const BR_RETIRED: u64 = 0x21;
    /// BR_MIS_PRED_RETIRED
    pub const BR_MIS_PRED_RETIRED: u64 = 0x22;
}

/// The cycle counter's number in enables, flags and PMSELR.
pub const CYCLES: u32 = 31;
/// Largest value of an event counter (PMUv3 before version 5).
pub const COUNTER_MAX: u64 = u32::MAX as u64;

/// PMEVCNTRn_EL0.
#[must_use]
pub const fn counter(n: u32) -> u32 {
    PMEVCNTR0 + (n << 5)
}

/// PMEVTYPERn_EL0.
#[must_use]
pub const fn event_type(n: u32) -> u32 {
    PMEVTYPER0 + (n << 5)
}

/// Bits of the counters that there are, the cycle counter's included.
#[must_use]
pub fn implemented() -> u64 {
    let events: u64 = (1 << counters()) - 1;
    events | 1 << CYCLES
}

/// Reads a register that must exist.
#[track_caller]
#[must_use]
pub fn read(register: u32) -> u64 {
    match registers::read(register) {
        Ok(value) => value,
        Err(exception) => fail(format_args!("MRS of {register:#x}: {exception}")),
    }
}

/// Writes a register that must accept it.
#[track_caller]
pub fn write(register: u32, value: u64) {
    if let Err(exception) = registers::write(register, value) {
        fail(format_args!("MSR of {value:#x} to {register:#x}: {exception}"));
    }
}

/// PMCEID0_EL0 and PMCEID1_EL0 announce a common event (0 to 3FH).
#[must_use]
pub fn announces(event: u64) -> bool {
    let word = if event < 0x20 { read(PMCEID0) } else { read(PMCEID1) };
    word >> (event % 0x20) & 1 != 0
}

/// EL0 can be in AArch32 (ID_AA64PFR0_EL1.EL0 is 2). Where it cannot, PMCR_EL0.LC is RES1.
#[must_use]
pub fn has_aarch32() -> bool {
    read(ID_AA64PFR0) & 0xF == 2
}

/// Skips unless the cycle counter can be one of 32 bits.
pub fn need_short_cycles() {
    if !has_aarch32() {
        skip!("PMCR.LC is always 1 without AArch32");
    }
}

/// Skips unless PMCEID announces the event.
pub fn need_event(event: u64) {
    if !announces(event) {
        skip!("PMCEID does not announce event {event:#x}");
    }
}

/// Skips unless there is event counter `n`.
pub fn need_counter(n: u32) {
    if n >= counters() {
        skip!("there are {} event counters", counters());
    }
}
