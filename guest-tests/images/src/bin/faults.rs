//! What a write may not do: every reserved bit of every register, one by one, raises #GP and changes
//! nothing; every other bit is stored.
#![no_std]
#![no_main]

use guest_images::{
    msr::{
        A_PMC0, DEBUGCTL, DS_AREA, FIXED_CTR_CTRL, FIXED_CTR0, FRONTEND, GLOBAL_CTRL, GLOBAL_STATUS, INUSE,
        LD_LAT, MISC_ENABLE, OFFCORE_RSP_0, OFFCORE_RSP_1, PEBS_DATA_CFG, PEBS_ENABLE, PERF_CAPABILITIES,
        PERFEVTSEL0, PMC0, STATUS_RESET, STATUS_SET, fixed_ctrl, global, select,
    },
    pmu::{
        all_fixed, fixed_counters, global_ctrl_bits, gp_counters, has_arch_lbr, has_debug_store,
        has_perfmon_ext, is_absent, keeps, read, refuses, status, write,
    },
};
use guest_runtime::{Exception, PerfMon, check_eq, cpu, cpuid, guest_test, rdmsr, skip, wrmsr};

guest_runtime::image!();

/// The bits of a value, one by one.
fn bits(value: u64) -> impl Iterator<Item = u64> {
    (0..64).map(|n| 1 << n).filter(move |bit| value & bit != 0)
}

/// Fails the test unless `msr` stores each bit of `legal` and refuses each other, alone and added to
/// legal ones.
#[track_caller]
fn check_bits(msr: u32, legal: u64) {
    for bit in bits(legal) {
        keeps(msr, bit);
    }
    keeps(msr, legal);
    for bit in bits(!legal) {
        refuses(msr, bit);
        refuses(msr, bit | legal);
    }
    write(msr, 0);
}

fn version() -> u32 {
    PerfMon::discover().version
}

fn any_thread_is_deprecated() -> bool {
    version() >= 5 && cpuid(0xA, 0).edx & 1 << 15 != 0
}

/// Bits of PERFEVTSEL above 31 that some feature makes legal.
fn optional_select_bits() -> u64 {
    let transactions = cpuid(7, 0).ebx & (1 << 4 | 1 << 11) != 0;
    let pebs_baseline = PerfMon::discover().capabilities & 1 << 14 != 0;
    let mut bits = 0;
    if transactions {
        bits |= 0b11 << 32;
    }
    if pebs_baseline {
        bits |= 1 << 34;
    }
    if has_arch_lbr() {
        bits |= 1 << 35;
    }
    if has_perfmon_ext() {
        bits |= 0xFF << 40 | 0b11 << 36;
    }
    bits
}

/// PERFEVTSELx stores bits 31:0 but AnyThread, one by one.
#[guest_test(needs(pmu))]
fn event_select_stores_its_bits() {
    for n in 0..gp_counters() {
        for bit in bits(0xFFFF_FFFF & !select::ANY) {
            keeps(PERFEVTSEL0 + n, bit);
        }
        write(PERFEVTSEL0 + n, 0);
    }
}

/// PERFEVTSELx refuses each bit of 63:32 that no feature defines.
#[guest_test(needs(pmu))]
fn event_select_refuses_reserved_bits() {
    let reserved = !0xFFFF_FFFF & !optional_select_bits();
    for n in 0..gp_counters() {
        write(PERFEVTSEL0 + n, 0x00C0);
        for bit in bits(reserved) {
            refuses(PERFEVTSEL0 + n, 0x41_003C | bit);
        }
    }
}

/// AnyThread in PERFEVTSELx is accepted and dropped once CPUID calls it deprecated.
#[guest_test(needs(vpmu, pmu))]
fn event_select_drops_any_thread() {
    if !any_thread_is_deprecated() {
        skip!("AnyThread is not deprecated");
    }
    write(PERFEVTSEL0, 0x41_00C0 | select::ANY);
    check_eq!(read(PERFEVTSEL0), 0x41_00C0);
}

/// FIXED_CTR_CTRL stores the OS, USR and PMI bits of the fixed counters that exist.
#[guest_test(needs(pmu))]
fn fixed_ctrl_stores_its_bits() {
    let legal = fixed_counters().map(|n| fixed_ctrl::of(n, 0b1011)).sum();
    for bit in bits(legal) {
        keeps(FIXED_CTR_CTRL, bit);
    }
    keeps(FIXED_CTR_CTRL, legal);
}

/// FIXED_CTR_CTRL refuses each bit of counters that do not exist.
#[guest_test(needs(pmu))]
fn fixed_ctrl_refuses_absent_counters() {
    let existing: u64 = fixed_counters().map(|n| fixed_ctrl::of(n, 0xF)).sum();
    write(FIXED_CTR_CTRL, 0x3);
    // Bits 63:32 belong to PEBS baseline and leaf 23H.
    let pebs_baseline = PerfMon::discover().capabilities & 1 << 14 != 0;
    let upper = if pebs_baseline || has_perfmon_ext() { 0xFFFF_FFFF << 32 } else { 0 };
    for bit in bits(!existing & !upper) {
        refuses(FIXED_CTR_CTRL, 0x3 | bit);
    }
}

/// FIXED_CTR_CTRL refuses AnyThread of each counter once CPUID calls it deprecated.
#[guest_test(needs(vpmu, pmu))]
fn fixed_ctrl_refuses_any_thread() {
    let metrics_clear = PerfMon::discover().capabilities & 1 << 19 != 0;
    if !any_thread_is_deprecated() {
        skip!("AnyThread is not deprecated");
    }
    write(FIXED_CTR_CTRL, 0x3);
    // In the place of fixed counter 3's AnyThread some CPUs have METRICS_CLEAR.
    for n in fixed_counters().filter(|n| *n != 3 || !metrics_clear) {
        refuses(FIXED_CTR_CTRL, 0x3 | fixed_ctrl::of(n, fixed_ctrl::ANY));
    }
}

/// GLOBAL_CTRL stores the bits of counters that exist, and bit 48 with PERF_METRICS; nothing else.
#[guest_test(needs(pmu))]
fn global_ctrl_bits_one_by_one() {
    check_bits(GLOBAL_CTRL, global_ctrl_bits());
}

/// Status bits that software may clear and set.
fn status_bits() -> u64 {
    let mut bits = global_ctrl_bits() | global::COND_CHANGED;
    if version() >= 4 {
        bits |= global::LBR_FROZEN | global::CTR_FROZEN | global::ASCI | global::UNCORE;
    }
    if has_debug_store() {
        bits |= global::BUFFER;
    }
    // 07H:EBX[25]: Processor Trace, with its own status bit.
    if cpuid(7, 0).ebx & 1 << 25 != 0 {
        bits |= 1 << 55;
    }
    bits
}

/// STATUS_RESET accepts each status bit and refuses each reserved one.
#[guest_test(needs(vpmu, pmu))]
fn status_reset_bits_one_by_one() {
    for bit in bits(status_bits()) {
        write(STATUS_RESET, bit);
    }
    for bit in bits(!status_bits()) {
        refuses(STATUS_RESET, bit);
    }
}

/// STATUS_SET sets each status bit, STATUS_RESET clears it; reserved bits are refused.
#[guest_test(needs(vpmu, streamlined_freeze))]
fn status_set_bits_one_by_one() {
    for bit in bits(status_bits()) {
        write(STATUS_SET, bit);
        check_eq!(status(), bit, "after setting {bit:#x}");
        write(STATUS_RESET, bit);
        check_eq!(status(), 0, "after clearing {bit:#x}");
    }
    for bit in bits(!status_bits()) {
        refuses(STATUS_SET, bit);
        check_eq!(status(), 0, "after a refused {bit:#x}");
    }
}

/// A refused STATUS_RESET clears nothing, also not its legal bits.
#[guest_test(needs(streamlined_freeze))]
fn refused_status_reset_clears_nothing() {
    write(STATUS_SET, 0b11);
    check_eq!(wrmsr(STATUS_RESET, 0b11 | 1 << 57), Err(Exception::GP0));
    check_eq!(status(), 0b11);
}

/// GLOBAL_STATUS is read-only: even writing what it holds raises #GP.
#[guest_test(needs(pmu))]
fn status_is_read_only() {
    for value in [0, 1, read(GLOBAL_STATUS)] {
        refuses(GLOBAL_STATUS, value);
    }
}

/// PERF_CAPABILITIES is read-only.
#[guest_test(needs(full_width))]
fn capabilities_are_read_only() {
    for value in [0, u64::MAX, read(PERF_CAPABILITIES)] {
        refuses(PERF_CAPABILITIES, value);
    }
}

/// GLOBAL_INUSE is read-only.
#[guest_test(needs(streamlined_freeze))]
fn inuse_is_read_only() {
    for value in [0, 1, read(INUSE)] {
        refuses(INUSE, value);
    }
}

/// Counters and selects beyond the number in CPUID do not exist.
#[guest_test(needs(pmu))]
fn absent_general_counters() {
    for n in gp_counters()..gp_counters().max(8) + 2 {
        is_absent(PMC0 + n);
        is_absent(PERFEVTSEL0 + n);
        is_absent(A_PMC0 + n);
    }
}

/// Fixed counters that CPUID does not list do not exist.
#[guest_test(needs(pmu))]
fn absent_fixed_counters() {
    let existing = all_fixed();
    for n in (0..7).filter(|n| existing & global::fixed(*n) == 0) {
        is_absent(FIXED_CTR0 + n);
    }
}

/// Without the debug store PEBS_ENABLE, PEBS_DATA_CFG and DS_AREA do not exist.
#[guest_test(needs(pmu))]
fn absent_debug_store() {
    if has_debug_store() {
        skip!("the CPU has a debug store");
    }
    [PEBS_ENABLE, PEBS_DATA_CFG, DS_AREA].into_iter().for_each(is_absent);
}

/// Without branch records their registers do not exist: legacy, with INFO, and architectural.
#[guest_test(needs(vpmu, pmu))]
fn absent_branch_records() {
    if has_arch_lbr() || PerfMon::discover().capabilities & 0x3F != 0 {
        skip!("the CPU has branch records");
    }
    for msr in [
        0x1C8, 0x1C9, 0x680, 0x69F, 0x6C0, 0x6DF, 0xDC0, 0xDDF, 0x14CE, 0x14CF, 0x1200, 0x1500, 0x1600,
        0x161F,
    ] {
        is_absent(msr);
    }
}

/// Without leaf 23H the counters have no version 6 aliases.
#[guest_test(needs(vpmu, pmu))]
fn absent_version_6_aliases() {
    if has_perfmon_ext() {
        skip!("the CPU has leaf 23H");
    }
    for msr in [0x1900, 0x1901, 0x1902, 0x1903, 0x191C, 0x1980, 0x1982, 0x1983] {
        is_absent(msr);
    }
}

/// DEBUGCTL refuses reserved bits and the trace bits of features that are not there.
#[guest_test(needs(vpmu, pmu))]
fn debugctl_refuses_reserved_bits() {
    let freeze_while_smm = PerfMon::discover().capabilities & 1 << 12 != 0;
    // FREEZE_PERFMON_ON_PMI, and what kernels set without asking: LBR, BTF, FREEZE_LBRS_ON_PMI.
    let accepted = 1 | 1 << 1 | 1 << 11 | 1 << 12 | if freeze_while_smm { 1 << 14 } else { 0 };
    write(DEBUGCTL, 1 << 12);
    for bit in bits(!accepted) {
        refuses(DEBUGCTL, 1 << 12 | bit);
    }
}

/// Kernels set LBR and BTF without asking: what is not there is dropped, not refused. LBR is there with the
/// model-specific records only.
#[guest_test(needs(vpmu, pmu))]
fn debugctl_drops_lbr_and_btf() {
    let format = PerfMon::discover().capabilities & 0x3F;
    let kept = if format == 0 || format == 0x3F { 0 } else { 1 };
    write(DEBUGCTL, 1 << 12 | 0b11);
    check_eq!(read(DEBUGCTL), 1 << 12 | kept);
}

/// MISC_ENABLE keeps "BTS unavailable" and "PEBS unavailable": a write that changes them raises #GP.
#[guest_test(needs(pmu))]
fn misc_enable_keeps_bts_and_pebs_bits() {
    let value = read(MISC_ENABLE);
    refuses(MISC_ENABLE, value ^ 1 << 11);
    refuses(MISC_ENABLE, value ^ 1 << 12);
}

/// MISC_ENABLE bit 7, "perfmon available", cannot be written: other values are ignored.
#[guest_test(needs(vpmu, pmu))]
fn misc_enable_ignores_the_perfmon_bit() {
    let value = read(MISC_ENABLE);
    write(MISC_ENABLE, value & !(1 << 7));
    check_eq!(read(MISC_ENABLE), value);
}

/// MISC_ENABLE stores what kvm-unit-tests writes to it.
#[guest_test(needs(vpmu, pmu))]
fn misc_enable_stores_the_other_bits() {
    let original = read(MISC_ENABLE);
    keeps(MISC_ENABLE, 0x4_00C5_0809 | original & (1 << 7 | 1 << 11 | 1 << 12));
    keeps(MISC_ENABLE, original);
}

/// Valid bits of the off-core and front-end registers, from Linux's tables (`intel_icl_extra_regs`,
/// `intel_glc_extra_regs`): (model, OFFCORE_RSP, FRONTEND).
const EXTRA_REGISTERS: [(u32, u64, u64); 2] =
    [(0x6A, 0x3F_FFFF_BFFF, 0x7F_FF17), (0x8F, 0x3F_FFFF_FFFF, 0x7F_FF1F)];

/// The event registers store their valid bits and refuse each other one.
#[guest_test(needs(vpmu, pmu))]
fn event_registers_bits_one_by_one() {
    let (_, model) = cpu::family_model();
    let Some((_, offcore, frontend)) = EXTRA_REGISTERS.into_iter().find(|(known, ..)| *known == model) else {
        skip!("no data about model {model:#x}");
    };
    check_bits(OFFCORE_RSP_0, offcore);
    check_bits(OFFCORE_RSP_1, offcore);
    check_bits(LD_LAT, 0xFFFF);
    check_bits(FRONTEND, frontend);
}

/// What kvm-unit-tests does first: zero into every select, counter and control never faults.
#[guest_test(needs(pmu))]
fn zeros_never_fault() {
    for n in 0..gp_counters() {
        write(PERFEVTSEL0 + n, 0);
        write(PMC0 + n, 0);
    }
    fixed_counters().for_each(|n| write(FIXED_CTR0 + n, 0));
    for msr in [FIXED_CTR_CTRL, GLOBAL_CTRL, STATUS_RESET, DEBUGCTL] {
        write(msr, 0);
    }
}

/// Reading any register of the PMU changes nothing that reading it again shows.
#[guest_test(needs(pmu))]
fn reads_have_no_side_effects() {
    write(PERFEVTSEL0, 0x41_00C0);
    write(PMC0, 0x1234);
    write(FIXED_CTR_CTRL, 0xB);
    write(FIXED_CTR0, 0x5678);
    let registers = [
        PMC0,
        PERFEVTSEL0,
        MISC_ENABLE,
        DEBUGCTL,
        FIXED_CTR0,
        FIXED_CTR_CTRL,
        GLOBAL_STATUS,
        GLOBAL_CTRL,
        STATUS_RESET,
    ];
    let first = registers.map(rdmsr);
    check_eq!(registers.map(rdmsr), first);
    check_eq!(registers.map(rdmsr), first);
}
