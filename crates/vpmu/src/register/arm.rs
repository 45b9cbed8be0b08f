//! Arm's PMUv3 system registers, and those of Falkor's matrix of events.
//!
//! Facts: Arm ARM (DDI 0487), chapter D13 (Performance Monitors Extension) and the register descriptions of D19;
//! cross-checked with Linux `arch/arm64/include/asm/sysreg.h`, `include/linux/perf/arm_pmuv3.h` and, for EL0
//! accesses,
//! `arch/arm64/kvm/sys_regs.c`. Falkor: the published patch "perf: qcom: Add Falkor CPU PMU IMPLEMENTATION
//! DEFINED event
//! support" and its review. What is not public there is in `docs/falkor.md`.
//!
//! Reserved bits are RES0: they read as zero, and writes to them are dropped.

use super::macros::{field, field_accessor, field_decl, registers};
use super::set::{RegisterSet, Typed, words_before};
use super::{Access, Field, Holder, OnWrite, Register, Repeat, Reserved, When, Width};
use crate::bits::low_u16;
use crate::event::MatrixEvent;
use crate::profile::{ArmPmu, Profile};

/// PMSELR_EL0.SEL of the cycle counter, and its bit in the registers that have one for each counter.
pub const CYCLE_COUNTER: u32 = 31;

/// The number of a system register: op0, op1, CRn, CRm and op2 where they are in an MRS or MSR instruction, as Linux
/// packs them (`sys_reg` in `asm/sysreg.h`). Values beyond the width of their fields are cut off.
#[must_use]
pub const fn encoding(op0: u32, op1: u32, crn: u32, crm: u32, op2: u32) -> u32 {
    (op0 & 3) << 19 | (op1 & 7) << 16 | (crn & 15) << 12 | (crm & 15) << 8 | (op2 & 7) << 5
}

/// The assembler's name for any system register: `S3_3_C9_C12_0`.
#[must_use]
pub fn generic_name(encoding: u32) -> alloc::string::String {
    let field = |lsb: u32, bits: u32| encoding >> lsb & ((1 << bits) - 1);
    let (op0, op1, crn, crm, op2) = (field(19, 2), field(16, 3), field(12, 4), field(8, 4), field(5, 3));
    alloc::format!("S{op0}_{op1}_C{crn}_C{crm}_{op2}")
}

impl MatrixEvent {
    /// PMRESRn_EL0 of its region if nothing else is selected there.
    #[must_use]
    pub const fn register(self) -> Pmresr {
        Pmresr((self.code as u64) << (8 * self.group)).with_enable(true)
    }
}

impl Pmresr {
    /// The code of a group.
    #[must_use]
    pub const fn code(self, group: u8) -> u8 {
        let [group_0, group_1, group_2, group_3, group_4, group_5, group_6, group_7] = self.0.to_le_bytes();
        match group {
            0 => group_0,
            1 => group_1,
            2 => group_2,
            3 => group_3,
            4 => group_4,
            5 => group_5,
            6 => group_6,
            _ => group_7 & 0x7F,
        }
    }
}

impl Pmevtyper {
    /// All bits of evtCount; those that the CPU does not have are 0.
    #[must_use]
    pub const fn event_number(self) -> u16 {
        low_u16(self.event() | self.event_high() << 10)
    }
}

/// Distance of two counters' registers: op2, with its carry into CRm.
const NEXT: u32 = 1 << 5;
/// Set in the addresses of registers that have no encoding of their own.
const INDIRECT: u32 = 1 << 24;

const fn control_after_reset(pmu: &ArmPmu, counters: u8) -> Pmcr {
    Pmcr(0)
        .with_implementer(pmu.implementer as u64)
        .with_id_code(pmu.id_code as u64)
        .with_counters(counters as u64)
        .with_long_cycle(!pmu.aarch32)
}

fn pmcr(profile: &Profile) -> u64 {
    profile.arm().map_or(0, |pmu| control_after_reset(pmu, profile.gp_counters).0)
}

registers! { Arm:
    /// Control of all counters.
    Pmcr = "PMCR_EL0" @ encoding(3, 3, 9, 12, 0), once x 1, if Always,
            ReadWrite, user Enabled, reserved Ignore, reset pmcr,
        source "Arm ARM D19, PMCR_EL0" {
        flag enable(0) = "E", "Enable all counters";
        flag event_reset(1), ignore = "P", "Write 1: set the event counters to 0; reads as 0";
        flag cycle_reset(2), ignore = "C", "Write 1: set the cycle counter to 0; reads as 0";
        flag divider(3) = "D", "The cycle counter counts every 64th cycle, while LC is 0";
        flag export(4) = "X", "Export events; stored, no effect";
        flag disable_prohibited(5) = "DP",
            "No cycles where counting is prohibited, which is nowhere; stored, no effect";
        flag long_cycle(6) if Aarch32 = "LC", "The cycle counter overflows from bit 63 instead of bit 31";
        flag long_cycle_res1(6) if NoAarch32, ignore = "LC", "RES1: the cycle counter overflows from bit 63";
        bits counters(11, 5), ignore = "N", "Number of event counters";
        bits id_code(16, 8), ignore = "IDCODE", "Identification code";
        bits implementer(24, 8), ignore = "IMP", "Implementer code";
    }
    /// Which counters are enabled: writes enable.
    PmcntenSet = "PMCNTENSET_EL0" @ encoding(3, 3, 9, 12, 1), once x 1, if Always,
            SetBits, user Enabled, reserved Ignore,
        source "Arm ARM D19, PMCNTENSET_EL0" {
        gp event(0, 1) = "P{n}", "PMEVCNTR{n}_EL0 is enabled";
        flag cycle(31) = "C", "PMCCNTR_EL0 is enabled";
    }
    /// Which counters are enabled: writes disable.
    PmcntenClr = "PMCNTENCLR_EL0" @ encoding(3, 3, 9, 12, 2), once x 1, if Always,
            ClearBits, user Enabled, reserved Ignore,
        source "Arm ARM D19, PMCNTENCLR_EL0" as PmcntenSet;
    /// Which counters have overflowed: writes set.
    PmovsSet = "PMOVSSET_EL0" @ encoding(3, 3, 9, 14, 3), once x 1, if Always, SetBits, user Enabled, reserved Ignore,
        source "Arm ARM D19, PMOVSSET_EL0" {
        gp event(0, 1) = "P{n}", "PMEVCNTR{n}_EL0 has overflowed";
        flag cycle(31) = "C", "PMCCNTR_EL0 has overflowed";
    }
    /// Which counters have overflowed: writes clear.
    PmovsClr = "PMOVSCLR_EL0" @ encoding(3, 3, 9, 12, 3), once x 1, if Always,
            ClearBits, user Enabled, reserved Ignore,
        source "Arm ARM D19, PMOVSCLR_EL0" as PmovsSet;
    /// Which overflows interrupt: writes enable.
    PmintenSet = "PMINTENSET_EL1" @ encoding(3, 0, 9, 14, 1), once x 1, if Always, SetBits, reserved Ignore,
        source "Arm ARM D19, PMINTENSET_EL1" {
        gp event(0, 1) = "P{n}", "An overflow of PMEVCNTR{n}_EL0 interrupts";
        flag cycle(31) = "C", "An overflow of PMCCNTR_EL0 interrupts";
    }
    /// Which overflows interrupt: writes disable.
    PmintenClr = "PMINTENCLR_EL1" @ encoding(3, 0, 9, 14, 2), once x 1, if Always, ClearBits, reserved Ignore,
        source "Arm ARM D19, PMINTENCLR_EL1" as PmintenSet;
    /// Counts by software.
    PmswInc = "PMSWINC_EL0" @ encoding(3, 3, 9, 12, 4), once x 1, if Always,
            WriteOnly, user SoftwareIncrement, reserved Ignore, held by none,
        source "Arm ARM D19, PMSWINC_EL0" {
        gp event(0, 1) = "P{n}", "PMEVCNTR{n}_EL0 counts one if its event is SW_INCR";
    }
    /// Which counter PMXEVTYPER_EL0, PMXEVCNTR_EL0 and PMXEVCNTCR_EL0 mean.
    Pmselr = "PMSELR_EL0" @ encoding(3, 3, 9, 12, 5), once x 1, if Always, ReadWrite, user Select, reserved Ignore,
        source "Arm ARM D19, PMSELR_EL0" {
        bits select(0, 5) = "SEL", "Event counter; 31 for the cycle counter";
    }
    /// Which of the common events 00H to 1FH can be counted.
    Pmceid0 = "PMCEID0_EL0" @ encoding(3, 3, 9, 12, 6), once x 1, if Always,
            ReadOnly, user Enabled, reserved Ignore, held by none,
        source "Arm ARM D19, PMCEID0_EL0" {
        bits events(0, 32) = "ID", "Bit n: event n is implemented";
    }
    /// Which of the common events 20H to 3FH can be counted.
    Pmceid1 = "PMCEID1_EL0" @ encoding(3, 3, 9, 12, 7), once x 1, if Always,
            ReadOnly, user Enabled, reserved Ignore, held by none,
        source "Arm ARM D19, PMCEID1_EL0" {
        bits events(0, 32) = "ID", "Bit n: event 20H + n is implemented";
    }
    /// Cycle counter.
    Pmccntr = "PMCCNTR_EL0" @ encoding(3, 3, 9, 13, 0), once x 1, if Always,
            ReadWrite, user CycleCounter, reserved Ignore, held by counter,
        source "Arm ARM D19, PMCCNTR_EL0" {
        bits count(0, 64) = "CCNT", "Cycles";
    }
    /// Event counter.
    Pmevcntr = "PMEVCNTR{n}_EL0" @ encoding(3, 3, 14, 8, 0), gp x 31 step NEXT, if Always,
            ReadWrite, user EventCounter, reserved Ignore, held by counter,
        source "Arm ARM D19, PMEVCNTR<n>_EL0" {
        value count(GpCounter) = "Count", "Event count";
    }
    /// What an event counter counts, and where. EL0 counts if U = NSU, EL1 if P = NSK.
    Pmevtyper = "PMEVTYPER{n}_EL0" @ encoding(3, 3, 14, 12, 0), gp x 31 step NEXT, if Always,
            ReadWrite, user Enabled, reserved Ignore,
        source "Arm ARM D19, PMEVTYPER<n>_EL0" {
        bits event(0, 10) = "evtCount", "Event number";
        bits event_high(10, 6) if EventNumbers16 = "evtCount", "Event number, bits 15:10";
        flag secure_el3(26) = "M", "Secure EL3 filter; stored, no effect";
        flag el2(27) = "NSH", "Count at EL2; stored, no effect";
        flag nonsecure_el0(28) = "NSU", "Count at Non-secure EL0 if equal to U";
        flag nonsecure_el1(29) = "NSK", "Count at Non-secure EL1 if equal to P";
        flag el0(30) = "U", "Do not count at EL0, while NSU is 0";
        flag el1(31) = "P", "Do not count at EL1, while NSK is 0";
    }
    /// Where the cycle counter counts. EL0 if U = NSU, EL1 if P = NSK.
    Pmccfiltr = "PMCCFILTR_EL0" @ encoding(3, 3, 14, 15, 7), once x 1, if Always,
            ReadWrite, user Enabled, reserved Ignore,
        source "Arm ARM D19, PMCCFILTR_EL0" {
        flag secure_el3(26) = "M", "Secure EL3 filter; stored, no effect";
        flag el2(27) = "NSH", "Count at EL2; stored, no effect";
        flag nonsecure_el0(28) = "NSU", "Count at Non-secure EL0 if equal to U";
        flag nonsecure_el1(29) = "NSK", "Count at Non-secure EL1 if equal to P";
        flag el0(30) = "U", "Do not count at EL0, while NSU is 0";
        flag el1(31) = "P", "Do not count at EL1, while NSK is 0";
    }
    /// The type register of the counter that PMSELR_EL0 selects; PMCCFILTR_EL0 of the cycle counter.
    Pmxevtyper = "PMXEVTYPER_EL0" @ encoding(3, 3, 9, 13, 1), once x 1, if Always,
            ReadWrite, user Enabled, reserved Ignore, held by none,
        source "Arm ARM D19, PMXEVTYPER_EL0" like Pmevtyper;
    /// The event counter that PMSELR_EL0 selects.
    Pmxevcntr = "PMXEVCNTR_EL0" @ encoding(3, 3, 9, 13, 2), once x 1, if Always,
            ReadWrite, user EventCounter, reserved Ignore, held by none,
        source "Arm ARM D19, PMXEVCNTR_EL0" like Pmevcntr;
    /// What EL0 may access.
    Pmuserenr = "PMUSERENR_EL0" @ encoding(3, 3, 9, 14, 0), once x 1, if Always,
            ReadWrite, user Read, reserved Ignore,
        source "Arm ARM D19, PMUSERENR_EL0" {
        flag enable(0) = "EN", "EL0 may access all that an EL0 name has, and not write this register";
        flag software_increment(1) = "SW", "EL0 may write PMSWINC_EL0";
        flag cycle_counter(2) = "CR", "EL0 may read PMCCNTR_EL0";
        flag event_counters(3) = "ER", "EL0 may read the event counters, and access PMSELR_EL0";
    }
    /// Which code each group of a region of Falkor's matrix selects. A counter with event D8H + 8R + G counts
    /// the code in group G of region R.
    Pmresr = "PMRESR{n}_EL0" @ encoding(3, 5, 11, 3, 0), region x 3 step (2 * NEXT), if Matrix,
            ReadWrite, user Matrix, reserved Ignore,
        source "Linux patch \"perf: qcom: Add Falkor CPU PMU IMPLEMENTATION DEFINED event support\", RFC V2, and \
             its review" {
        bits group_0(0, 8) = "Group0", "Code of group 0";
        bits group_1(8, 8) = "Group1", "Code of group 1";
        bits group_2(16, 8) = "Group2", "Code of group 2";
        bits group_3(24, 8) = "Group3", "Code of group 3";
        bits group_4(32, 8) = "Group4", "Code of group 4";
        bits group_5(40, 8) = "Group5", "Code of group 5";
        bits group_6(48, 8) = "Group6", "Code of group 6";
        bits group_7(56, 7) = "Group7", "Code of group 7, 7 bits";
        flag enable(63) = "EN", "The region is active; otherwise nothing is counted of it";
    }
    /// Whether EL0 may access the registers of the matrix. That Falkor has this register is inferred from Kryo.
    Pmactlr = "PMACTLR_EL0" @ encoding(3, 5, 11, 0, 2), once x 1, if Matrix, ReadWrite, reserved Ignore,
        source "Qualcomm's kernels for Kryo (msm trees)" {
        flag user_enable(0) = "UEN", "EL0 may access PMRESRn_EL0 and PMXEVCNTCR_EL0";
    }
    /// A control of the counter that PMSELR_EL0 selects. Its bits are not published; stored, no effect.
    Pmxevcntcr = "PMXEVCNTCR_EL0" @ encoding(3, 5, 11, 0, 3), once x 1, if Matrix,
            ReadWrite, user Matrix, reserved Ignore, held by none,
        source "Linux patch \"perf: qcom: Add Falkor CPU PMU IMPLEMENTATION DEFINED event support\", RFC V2" {
        bits control(0, 64) = "Control", "Unknown; 0 is what software writes";
    }
    /// PMXEVCNTCR_EL0 of an event counter.
    EventControl = "PMXEVCNTCR_EL0[{n}]" @ INDIRECT | Pmxevcntcr::INDEX, gp x 31, if Matrix,
            Indirect, reserved Ignore,
        source "the element that PMSELR_EL0 selects" {
        bits control(0, 64) = "Control", "Unknown; 0 is what software writes";
    }
    /// PMXEVCNTCR_EL0 of the cycle counter.
    CycleControl = "PMXEVCNTCR_EL0[31]" @ INDIRECT | Pmxevcntcr::INDEX | CYCLE_COUNTER, once x 1, if Matrix,
            Indirect, reserved Ignore,
        source "the element that PMSELR_EL0 selects" {
        bits control(0, 64) = "Control", "Unknown; 0 is what software writes";
    }
}
