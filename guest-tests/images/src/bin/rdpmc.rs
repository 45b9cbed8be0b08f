//! RDPMC: indices, privilege, results.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::{
    arch::asm,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use guest_images::{
    msr::{
        A_PMC0, FIXED_CTR0, GLOBAL_CTRL, PERF_METRICS, SLOTS, event, global,
        select::{ALWAYS, INT},
    },
    pmi,
    pmu::{
        clear_metrics, count, count_fixed, count_metrics, fixed, fixed_counters, gp, gp_counters, preset,
        program, read, window, write,
    },
    work::busy,
};
use guest_runtime::{
    Exception, Frame, PerfMon, check, check_eq, guest_test, rdpmc, rdpmc_ring0, set_pce, skip,
};

guest_runtime::image!();

/// ECX of fixed counter 0.
const FIXED: u32 = 0x4000_0000;
/// ECX of PERF_METRICS.
const METRICS: u32 = 0x2000_0000;
/// ECX bit 31: fast read, only before the architectural PMU.
const FAST: u32 = 0x8000_0000;
const REFUSED: Result<u64, Exception> = Err(Exception::GP0);

/// RDPMC in ring 3 with RAX, RDX and RCX as given; RAX, RDX and RFLAGS afterwards. Fails the test if
/// it faults.
fn raw_rdpmc(rcx: u64, rax: u64, rdx: u64) -> (u64, u64, u64) {
    let (low, high, flags);
    // SAFETY: RDPMC changes RAX and RDX only; the flags go through the stack and back.
    unsafe {
        asm!("rdpmc", "pushfq", "pop {flags}", flags = lateout(reg) flags, in("rcx") rcx,
            inout("rax") rax => low, inout("rdx") rdx => high);
    }
    (low, high, flags)
}

/// RDPMC n reads general-purpose counter n.
#[guest_test(needs(full_width))]
fn reads_general_counters() {
    for n in 0..gp_counters() {
        let value = 0x1234_5678_0000 + u64::from(n);
        write(A_PMC0 + n, value);
        check_eq!(rdpmc_ring0(n), Ok(value), "counter {n}");
    }
}

/// RDPMC 40000000H + n reads fixed counter n.
#[guest_test(needs(pmu))]
fn reads_fixed_counters() {
    for n in fixed_counters() {
        let value = 0x8765_4321_0000 + u64::from(n);
        write(FIXED_CTR0 + n, value);
        check_eq!(rdpmc_ring0(FIXED + n), Ok(value), "fixed counter {n}");
    }
}

/// RDPMC 20000000H reads PERF_METRICS.
#[guest_test(needs(metrics))]
fn reads_metrics() {
    clear_metrics();
    write(PERF_METRICS, 0xDEAD_DEAD);
    check_eq!(rdpmc_ring0(METRICS), Ok(0xDEAD_DEAD));
}

/// Without PERF_METRICS there is no such index.
#[guest_test(needs(pmu))]
fn metrics_index_needs_the_capability() {
    if PerfMon::discover().capabilities & 1 << 15 != 0 {
        skip!("the CPU has PERF_METRICS");
    }
    check_eq!(rdpmc_ring0(METRICS), REFUSED);
}

/// RDPMC and RDMSR agree on what was counted.
#[guest_test(needs(pmu))]
fn agrees_with_rdmsr() {
    count(0, event::INSTRUCTIONS);
    count(1, event::BRANCHES);
    count_fixed(0b111);
    window(0b11 | global::fixed(0) | global::fixed(1) | global::fixed(2), busy);
    check!(gp(0) > 0 && fixed(0) > 0);
    for n in 0..2 {
        check_eq!(rdpmc_ring0(n), Ok(gp(n)), "counter {n}");
    }
    for n in 0..3 {
        check_eq!(rdpmc_ring0(FIXED + n), Ok(fixed(n)), "fixed counter {n}");
    }
}

/// RDPMC and RDMSR agree on slots and metrics.
#[guest_test(needs(metrics))]
fn agrees_with_rdmsr_on_metrics() {
    count_metrics();
    window(global::SLOTS_AND_METRICS, busy);
    check!(read(SLOTS) > 0);
    check_eq!(rdpmc_ring0(FIXED + 3), Ok(read(SLOTS)));
    check_eq!(rdpmc_ring0(METRICS), Ok(read(PERF_METRICS)));
}

/// Reading a running counter by turns with RDPMC and RDMSR never goes backwards.
#[guest_test(needs(pmu))]
fn running_counter_is_monotone() {
    check_eq!(set_pce(true), Ok(()));
    count(0, event::INSTRUCTIONS);
    window(1, || {
        let mut last = 0;
        for turn in 0..60 {
            let now = match turn % 3 {
                0 => Ok(gp(0)),
                1 => rdpmc_ring0(0),
                _ => rdpmc(0),
            };
            check!(now.is_ok_and(|now| now >= last), "{now:?} after {last}, turn {turn}");
            last = now.unwrap_or(0);
        }
        check!(last > 0);
    });
}

/// Ring 3 may not use RDPMC while CR4.PCE is clear, not even with an index that exists.
#[guest_test(needs(pmu))]
fn ring3_needs_pce() {
    check_eq!(set_pce(false), Ok(()));
    for ecx in [0, FIXED, METRICS, 0xFFFF] {
        check_eq!(rdpmc(ecx), REFUSED, "index {ecx:#x}");
    }
}

/// Ring 3 reads what ring 0 reads while CR4.PCE is set.
#[guest_test(needs(pmu))]
fn ring3_with_pce() {
    check_eq!(set_pce(true), Ok(()));
    for n in 0..gp_counters() {
        write(0xC1 + n, 1000 + u64::from(n));
        check_eq!(rdpmc(n), Ok(1000 + u64::from(n)), "counter {n}");
    }
    for n in fixed_counters() {
        write(FIXED_CTR0 + n, 2000 + u64::from(n));
        check_eq!(rdpmc(FIXED + n), Ok(2000 + u64::from(n)), "fixed counter {n}");
    }
}

/// CR4.PCE takes effect at once, in both directions.
#[guest_test(needs(pmu))]
fn pce_can_be_switched() {
    write(0xC1, 42);
    for _ in 0..3 {
        check_eq!(set_pce(true), Ok(()));
        check_eq!(rdpmc(0), Ok(42));
        check_eq!(set_pce(false), Ok(()));
        check_eq!(rdpmc(0), REFUSED);
    }
}

/// Ring 0 may always use RDPMC, whatever CR4.PCE says.
#[guest_test(needs(pmu))]
fn ring0_ignores_pce() {
    write(0xC1, 43);
    for pce in [false, true] {
        check_eq!(set_pce(pce), Ok(()));
        check_eq!(rdpmc_ring0(0), Ok(43), "CR4.PCE = {pce}");
    }
}

/// Counters that do not exist and types that do not exist raise #GP.
#[guest_test(needs(pmu))]
fn bad_indices_fault() {
    check_eq!(set_pce(true), Ok(()));
    let beyond_fixed = fixed_counters().count() as u32;
    for ecx in [
        gp_counters(),
        gp_counters() + 1,
        64,
        0xFF,
        0x100,
        0xFFFF,
        0x1_0000,
        FIXED + beyond_fixed,
        FIXED + 0x100,
        FIXED + 0xFFFF,
        METRICS + 1,
        METRICS + 0x100,
        METRICS + 0xFFFF,
        0x1000_0000,
        0x3000_0000,
        0x4001_0000,
        0x6000_0000,
    ] {
        check_eq!(rdpmc_ring0(ecx), REFUSED, "index {ecx:#x} in ring 0");
        check_eq!(rdpmc(ecx), REFUSED, "index {ecx:#x} in ring 3");
    }
}

/// Bit 31, the fast read of CPUs before the architectural PMU, raises #GP.
#[guest_test(needs(pmu))]
fn fast_read_faults() {
    for ecx in [FAST, FAST | 1, FAST | FIXED, FAST | METRICS, u32::MAX] {
        check_eq!(rdpmc_ring0(ecx), REFUSED, "index {ecx:#x}");
    }
}

/// The upper halves of RAX and RDX become 0, and the flags stay.
#[guest_test(needs(full_width))]
fn result_clears_the_upper_halves() {
    check_eq!(set_pce(true), Ok(()));
    write(A_PMC0, 0xFEDC_BA98_7654);
    let (rax, rdx, _) = raw_rdpmc(0, u64::MAX, u64::MAX);
    check_eq!((rax, rdx), (0xBA98_7654, 0xFEDC));
    let flags = [0x55, 0xAA].map(|_| raw_rdpmc(0, 0, 0).2);
    check_eq!(flags[0], flags[1], "RFLAGS");
}

/// Bits 63:32 of RCX are ignored.
#[guest_test(needs(pmu))]
fn upper_half_of_rcx_is_ignored() {
    check_eq!(set_pce(true), Ok(()));
    write(0xC2, 0x1111_2222);
    let (rax, rdx, _) = raw_rdpmc(0xFFFF_FFFF_0000_0001, 0, 0);
    check_eq!((rax, rdx), (0x1111_2222, 0));
}

/// A refused RDPMC leaves the counters as they are.
#[guest_test(needs(pmu))]
fn refused_read_has_no_effect() {
    write(0xC1, 5);
    check_eq!(rdpmc(0), REFUSED);
    check_eq!(rdpmc_ring0(64), REFUSED);
    check_eq!((gp(0), read(0x38E)), (5, 0));
}

static IN_HANDLER: AtomicU64 = AtomicU64::new(0);

/// An NMI handler may use RDPMC, as Linux's does, and NMIs keep coming afterwards.
#[guest_test(needs(pmu))]
fn works_in_an_nmi_handler() {
    fn handler(frame: &mut Frame) {
        IN_HANDLER.store(rdpmc_ring0(0).unwrap_or(u64::MAX), Relaxed);
        pmi::arrived(frame);
    }
    for _ in 0..3 {
        pmi::as_nmi_to(handler);
        program(0, event::INSTRUCTIONS, ALWAYS | INT);
        preset(0, 1_000);
        write(GLOBAL_CTRL, 1);
        pmi::wait_for(1);
        write(GLOBAL_CTRL, 0);
        let (inside, after) = (IN_HANDLER.load(Relaxed), gp(0));
        check!(inside <= after, "{inside} in the handler of the overflow, {after} after it");
        write(0x390, 1);
    }
}
