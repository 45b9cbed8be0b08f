//! AMD's core counters: what CPUID announces, addresses and reserved bits, counting, overflow, the global
//! registers and branch records.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::arch::asm;

use guest_images::{
    amd::{
        COUNTER_MAX, COUNTERS, DBG_EXTN_CFG, GLOBAL_CTL, GLOBAL_STATUS, INSTRUCTIONS, LBR_SELECT,
        LEGACY_COUNTERS, LEGACY_CTL0, LEGACY_CTR0, SAMP_BR_FROM0, STATUS_CLR, STATUS_SET, count, ctl, ctr,
        enable_globally, has_global_registers,
    },
    msr::{
        self, DEBUGCTL,
        select::{ALWAYS, EN, INT, OS, USR},
    },
    pmi,
    pmu::{is_absent, keeps, read, refuses, write},
    work::busy,
};
use guest_runtime::{
    Exception, Frame, apic, check, check_eq, cpu, cpuid, fw_cfg, guest_test, protocol::files, rdpmc_ring0,
    ring0_window, skip, wrmsr,
};

guest_runtime::image!();

/// Bits of PERF_CTL that stay: event, unit mask, USR, OS, EDGE, INT, EN, INV, CNTMASK.
const CTL_BITS: u64 = 0xF_FFD7_FFFF;
/// What a counter sees of `ring0_window` with 100 iterations and with 10: the enabling WRMSR counts, the other not.
const HUNDRED: u64 = 1003;
const TEN: u64 = 103;
/// Freezing on a PMI: DBG_CTL_MSR and PerfCntrGlobalStatus.
const FREEZE_COUNTERS: u64 = 1 << 12;
const COUNTERS_FROZEN: u64 = 1 << 59;
const LBR_FROZEN: u64 = 1 << 58;

/// CPUID 8000_0022H EAX: branch record stack, freezing.
fn features() -> u32 {
    cpuid(0x8000_0022, 0).eax
}

/// CPUID shows the profile's CPU, AMD's counters, and nothing of Intel's.
#[guest_test(needs(amd, vpmu))]
fn cpuid_is_of_one_vendor() {
    let profile = fw_cfg::file_text::<64>(files::PROFILE);
    let (signature, perfmon) = match profile.as_ref().map_or("", |name| name.as_str()) {
        "zen2" => (0x0083_0F10, 0),
        "zen3" => (0x00A0_0F11, 0),
        "zen4" => (0x00A1_0F11, 6),
        "zen5" => (0x00B0_0F21, 6),
        name => skip!("no data about profile {name}"),
    };
    check_eq!(cpuid(1, 0).eax, signature, "leaf 1");
    check_eq!(cpuid(0x8000_0001, 0).eax, signature, "leaf 8000_0001H");
    check_eq!(cpuid(1, 0).ecx >> 15 & 1, 0, "PDCM");
    let intel = cpuid(0xA, 0);
    check_eq!(intel.eax | intel.ebx | intel.ecx | intel.edx, 0, "leaf 0AH");
    let vendor = (cpuid(0x8000_0000, 0).ebx, cpuid(0x8000_0000, 0).edx, cpuid(0x8000_0000, 0).ecx);
    check_eq!(vendor, (0x6874_7541, 0x6974_6E65, 0x444D_4163), "AuthenticAMD");
    check_eq!(cpuid(0x8000_0022, 0).ebx & 0xF, perfmon, "core counters");
    check_eq!(features() & 1 != 0, perfmon != 0, "PerfMonV2");
}

/// The first four counters have two addresses each, which are one register.
#[guest_test(needs(amd))]
fn legacy_addresses_are_aliases() {
    for n in 0..LEGACY_COUNTERS {
        let control = INSTRUCTIONS | USR | u64::from(n) << 24;
        write(LEGACY_CTL0 + n, control);
        check_eq!(read(ctl(n)), control, "PERF_CTL{n}");
        write(ctr(n), 0x1234_5678_9AB0 + u64::from(n));
        check_eq!(read(LEGACY_CTR0 + n), 0x1234_5678_9AB0 + u64::from(n), "PERF_CTR{n}");
        write(LEGACY_CTR0 + n, u64::from(n));
        check_eq!(rdpmc_ring0(n), Ok(u64::from(n)), "RDPMC {n}");
    }
}

/// Reserved bits vanish without a fault, through either address.
#[guest_test(needs(amd))]
fn reserved_bits_are_dropped() {
    for n in 0..COUNTERS {
        for bit in 0..64 {
            // The enable is left out: it would start counting.
            write(ctl(n), 1 << bit & !EN);
            check_eq!(read(ctl(n)), 1 << bit & CTL_BITS & !EN, "bit {bit} of PERF_CTL{n}");
            write(ctr(n), 1 << bit);
            check_eq!(read(ctr(n)), 1 << bit & COUNTER_MAX, "bit {bit} of PERF_CTR{n}");
        }
        write(ctl(n), 0);
    }
    for n in 0..LEGACY_COUNTERS {
        write(LEGACY_CTL0 + n, !EN);
        check_eq!(read(LEGACY_CTL0 + n), CTL_BITS & !EN, "PERF_LEGACY_CTL{n}");
        write(LEGACY_CTR0 + n, u64::MAX);
        check_eq!(read(LEGACY_CTR0 + n), COUNTER_MAX, "PERF_LEGACY_CTR{n}");
    }
}

/// Bit 6 of DBG_CTL_MSR raises #GP; unsupported ones are dropped. Bits 5:2 are pin controls, which can be written,
/// until Zen 5 made bit 2 the bus-lock trap and reserved the others.
#[guest_test(needs(amd))]
fn debugctl_refuses_its_reserved_bits() {
    refuses(DEBUGCTL, 1 << 6);
    let (family, _) = cpu::family_model();
    if family >= 0x1A {
        (3..=5).for_each(|bit| refuses(DEBUGCTL, 1 << bit));
        write(DEBUGCTL, 1 << 2);
    } else {
        (2..=5).for_each(|bit| keeps(DEBUGCTL, 1 << bit));
    }
    write(DEBUGCTL, 0);
    for bit in (7..=10).chain(13..64) {
        write(DEBUGCTL, 1 << bit);
        check_eq!(read(DEBUGCTL), 0, "bit {bit}");
    }
    let freeze = if features() & 4 != 0 { 3 << 11 } else { 0 };
    write(DEBUGCTL, 3 << 11);
    check_eq!(read(DEBUGCTL), freeze, "freezing");
}

/// Intel's perfmon registers do not exist.
#[guest_test(needs(amd))]
fn intels_registers_are_absent() {
    let single = [
        msr::MISC_ENABLE,
        msr::PERF_METRICS,
        msr::PERF_CAPABILITIES,
        msr::FIXED_CTR_CTRL,
        msr::GLOBAL_STATUS,
        msr::GLOBAL_CTRL,
        msr::STATUS_RESET,
        msr::STATUS_SET,
        msr::INUSE,
    ];
    for index in single {
        is_absent(index);
    }
    for n in 0..4 {
        [msr::PMC0, msr::PERFEVTSEL0, msr::FIXED_CTR0, msr::A_PMC0]
            .into_iter()
            .for_each(|first| is_absent(first + n));
    }
}

/// What comes behind the last counter, and the global registers of a CPU without PerfMonV2, raise #GP.
#[guest_test(needs(amd))]
fn absent_registers_fault() {
    (ctl(COUNTERS)..ctl(COUNTERS) + 4).for_each(is_absent);
    if !has_global_registers() {
        [GLOBAL_STATUS, GLOBAL_CTL, STATUS_CLR, STATUS_SET].into_iter().for_each(is_absent);
    }
    if features() & 2 == 0 {
        [LBR_SELECT, DBG_EXTN_CFG, SAMP_BR_FROM0, SAMP_BR_FROM0 + 1].into_iter().for_each(is_absent);
    }
}

/// RDPMC knows the core counters and nothing else; no bit of ECX is ignored.
#[guest_test(needs(amd))]
fn rdpmc_takes_core_counters_only() {
    for n in 0..COUNTERS {
        write(ctr(n), 0xFF01_2345_6700 + u64::from(n));
        check_eq!(rdpmc_ring0(n), Ok(0xFF01_2345_6700 + u64::from(n)), "RDPMC {n}");
    }
    for index in [6, 9, 10, 15, 16, 64, 1 << 16, 1 << 30, 1 << 31, 1 << 31 | 1, u32::MAX] {
        check_eq!(rdpmc_ring0(index), Err(Exception::GP0), "RDPMC {index:#x}");
    }
}

/// Every counter counts instructions, to the last one, through either address.
#[guest_test(needs(amd, exact))]
fn each_counter_counts_instructions_exactly() {
    enable_globally();
    for n in 0..COUNTERS {
        write(ctr(n), 0);
        check_eq!(ring0_window(ctl(n), INSTRUCTIONS | ALWAYS, 100, 0), Ok(()));
        check_eq!(count(n), HUNDRED, "PERF_CTR{n}");
    }
    for n in 0..LEGACY_COUNTERS {
        write(ctr(n), 0);
        check_eq!(ring0_window(LEGACY_CTL0 + n, INSTRUCTIONS | OS | EN, 100, 0), Ok(()));
        check_eq!(count(n), HUNDRED, "PERF_LEGACY_CTR{n}");
    }
}

/// Conditional branches, near returns and taken branches of a loop in ring 0.
#[guest_test(needs(amd, exact))]
fn branches_are_counted_by_kind() {
    enable_globally();
    for (event, expected) in [(0xC2, 100), (0xD1, 100), (0xC4, 99), (0xC8, 0), (0xFE, 0)] {
        write(ctr(0), 0);
        check_eq!(ring0_window(ctl(0), event | OS | EN, 100, 0), Ok(()));
        check_eq!(count(0), expected, "event {event:#x}");
    }
}

/// Cycles: what an instruction takes depends on the core, but none retires more than eight a cycle.
#[guest_test(needs(amd, exact))]
fn cycles_are_counted() {
    enable_globally();
    write(ctr(0), 0);
    check_eq!(ring0_window(ctl(0), 0x76 | OS | EN, 100, 0), Ok(()));
    check!((HUNDRED / 8..=HUNDRED * 4).contains(&count(0)), "{} cycles", count(0));
}

/// USR and OS say in which ring a counter counts; with neither it stands still.
#[guest_test(needs(amd, exact))]
fn rings_are_told_apart() {
    enable_globally();
    for (bits, expected) in [(OS, HUNDRED), (USR, 0), (0, 0)] {
        write(ctr(1), 0);
        check_eq!(ring0_window(ctl(1), INSTRUCTIONS | bits | EN, 100, 0), Ok(()));
        check_eq!(count(1), expected, "{bits:#x}");
    }
}

/// A counter mask asks for cycles with at least so many instructions: fewer than there are instructions.
#[guest_test(needs(amd, exact))]
fn a_counter_mask_of_two_counts_less() {
    enable_globally();
    write(ctr(2), 0);
    check_eq!(ring0_window(ctl(2), INSTRUCTIONS | ALWAYS | 2 << 24, 100, 0), Ok(()));
    check!(count(2) < HUNDRED, "{} cycles", count(2));
}

/// The counter wraps at 48 bits; INT asks for a PMI, and LVTPC stays open: the next overflow comes through.
#[guest_test(needs(amd))]
fn overflows_interrupt_and_leave_lvtpc_open() {
    enable_globally();
    pmi::as_nmi_to(|frame: &mut Frame| pmi::arrived(frame));
    for round in 1..=3 {
        write(ctr(3), COUNTER_MAX - 99);
        write(ctl(3), INSTRUCTIONS | ALWAYS | INT);
        pmi::wait_for(round);
        write(ctl(3), 0);
        check!(count(3) < 1 << 47, "{:#x} after the overflow", count(3));
        check_eq!(apic::lvtpc() >> 16 & 1, 0, "LVTPC is not masked");
    }
}

/// Without INT an overflow is silent.
#[guest_test(needs(amd))]
fn an_overflow_without_int_is_silent() {
    enable_globally();
    pmi::as_nmi_to(|frame: &mut Frame| pmi::arrived(frame));
    write(ctr(3), COUNTER_MAX - 9);
    write(ctl(3), INSTRUCTIONS | ALWAYS);
    pmi::expect_no_more_than(0);
    write(ctl(3), 0);
    check!(count(3) < 1 << 47, "{:#x} after the overflow", count(3));
}

/// The global registers keep the counters' bits only; the status is read-only without a fault.
#[guest_test(needs(perfmon_v2))]
fn global_registers_have_a_bit_for_each_counter() {
    let counters = (1 << COUNTERS) - 1;
    let frozen = if features() & 4 != 0 { COUNTERS_FROZEN | LBR_FROZEN } else { 0 };
    write(GLOBAL_CTL, u64::MAX);
    check_eq!(read(GLOBAL_CTL), counters);
    write(STATUS_SET, u64::MAX);
    check_eq!(read(GLOBAL_STATUS), counters | frozen);
    check_eq!(wrmsr(GLOBAL_STATUS, 0), Ok(()));
    check_eq!(read(GLOBAL_STATUS), counters | frozen, "after a write of the status");
    check_eq!((read(STATUS_SET), read(STATUS_CLR)), (0, 0));
    write(STATUS_CLR, 0b101);
    check_eq!(read(GLOBAL_STATUS), (counters | frozen) & !0b101);
    write(STATUS_CLR, u64::MAX);
    check_eq!(read(GLOBAL_STATUS), 0);
}

/// Status bits are set with and without INT, and setting them by hand raises no interrupt.
#[guest_test(needs(perfmon_v2))]
fn every_overflow_sets_its_status_bit() {
    enable_globally();
    pmi::as_nmi_to(|frame: &mut Frame| pmi::arrived(frame));
    for (n, int) in [(0, 0), (5, INT)] {
        write(ctr(n), COUNTER_MAX - 9);
        write(ctl(n), INSTRUCTIONS | ALWAYS | int);
    }
    busy();
    check_eq!(read(GLOBAL_STATUS), 0b10_0001);
    write(GLOBAL_CTL, 0);
    write(STATUS_CLR, u64::MAX);
    let before = pmi::arrivals();
    write(STATUS_SET, 0b11);
    pmi::expect_no_more_than(before);
}

/// A clear bit in PerfCntrGlobalCtl stops its counter, whichever address programmed it.
#[guest_test(needs(perfmon_v2, exact))]
fn the_global_control_stops_counters() {
    for n in 0..LEGACY_COUNTERS {
        write(LEGACY_CTL0 + n, INSTRUCTIONS | ALWAYS);
        write(ctr(n), 0);
    }
    check_eq!(ring0_window(GLOBAL_CTL, 0b0101, 10, 0), Ok(()));
    for (n, expected) in [(0, TEN), (1, 0), (2, TEN), (3, 0)] {
        check_eq!(count(n), expected, "PERF_CTR{n}");
    }
}

/// FPMCI stops all counters on a PMI until software clears PMCF; an overflow without INT freezes nothing.
#[guest_test(needs(perfmon_v2, exact))]
fn counters_freeze_on_a_pmi() {
    if features() & 4 == 0 {
        skip!("the CPU does not freeze");
    }
    pmi::as_nmi_to(|frame: &mut Frame| pmi::arrived(frame));
    write(DEBUGCTL, FREEZE_COUNTERS);
    write(ctl(0), INSTRUCTIONS | ALWAYS | INT);
    write(ctl(1), INSTRUCTIONS | ALWAYS);
    write(ctr(0), COUNTER_MAX - 49);
    write(ctr(1), COUNTER_MAX - 9);
    check_eq!(ring0_window(GLOBAL_CTL, 0b11, 100, 0), Ok(()));
    check_eq!(read(GLOBAL_STATUS), COUNTERS_FROZEN | 0b11);
    check_eq!((count(0), count(1)), (0, 40), "as of the overflow");
    check_eq!(ring0_window(GLOBAL_CTL, 0b11, 10, 0), Ok(()));
    check_eq!((count(0), count(1)), (0, 40), "still frozen");
    write(STATUS_CLR, COUNTERS_FROZEN);
    check_eq!(ring0_window(GLOBAL_CTL, 0b11, 10, 0), Ok(()));
    check_eq!((count(0), count(1)), (TEN, 40 + TEN), "thawed");
    check_eq!(pmi::arrivals(), 1);
}

/// The stack's registers: LBR_SELECT drops, DBG_EXTN_CFG refuses, records keep what is written.
#[guest_test(needs(perfmon_v2))]
fn branch_record_registers_keep_what_they_can() {
    if features() & 2 == 0 {
        skip!("the CPU has no branch record stack");
    }
    write(LBR_SELECT, u64::MAX);
    check_eq!(read(LBR_SELECT), 0x1FF);
    (0..64).filter(|bit| *bit != 6).for_each(|bit| refuses(DBG_EXTN_CFG, 1 << bit));
    keeps(DBG_EXTN_CFG, 0);
    let depth = cpuid(0x8000_0022, 0).ebx >> 4 & 0x3F;
    check_eq!(depth, 16, "depth");
    for n in 0..depth {
        keeps(SAMP_BR_FROM0 + 2 * n, 0x1000 + u64::from(n));
        keeps(SAMP_BR_FROM0 + 2 * n + 1, 1 << 63 | (0x2000 + u64::from(n)));
    }
    for n in 0..depth {
        check_eq!(read(SAMP_BR_FROM0 + 2 * n), 0x1000 + u64::from(n), "record {n}");
    }
    is_absent(SAMP_BR_FROM0 + 2 * depth);
}

/// Taken branches in ring 3 are recorded, the newest first; LBR_SELECT leaves kinds out.
#[guest_test(needs(perfmon_v2, exact))]
fn branches_are_recorded() {
    if features() & 2 == 0 {
        skip!("the CPU has no branch record stack");
    }
    // Conditional branches that end in ring 3, and nothing else.
    write(LBR_SELECT, 0x1FF & !(1 << 1 | 1 << 2));
    write(DBG_EXTN_CFG, 1 << 6);
    let (from, to): (u64, u64);
    // SAFETY: touches the named registers only.
    unsafe {
        asm!(
            "mov {n:e}, 3",
            "2: dec {n:e}",
            "3: jnz 2b",
            "lea {from}, [rip + 3b]",
            "lea {to}, [rip + 2b]",
            n = out(reg) _, from = out(reg) from, to = out(reg) to,
        );
    }
    write(DBG_EXTN_CFG, 0);
    let records = (0..16).map(|n| (read(SAMP_BR_FROM0 + 2 * n), read(SAMP_BR_FROM0 + 2 * n + 1)));
    // Bit 63 of FROM says that the branch was mispredicted.
    let bare = |(at, target): &(u64, u64)| (*at & !(1 << 63), *target & !(3 << 61 | 1 << 63));
    let loops = records.filter(|record| bare(record) == (from, to)).count();
    check_eq!(loops, 2, "the loop jumps back twice");
}
