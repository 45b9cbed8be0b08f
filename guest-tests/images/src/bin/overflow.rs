//! Overflow: status bits, what stays in the counter, and the PMI.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use guest_images::{
    counts::{are_simultaneous, check_same},
    msr::{
        COUNTER_MAX, FIXED_CTR_CTRL, FIXED_CTR0, GLOBAL_CTRL, GLOBAL_STATUS, INUSE, PERFEVTSEL0, PMC0,
        STATUS_RESET, STATUS_SET, event, fixed_ctrl, global,
        select::{ALWAYS, EN, INT, OS},
    },
    pmi,
    pmu::{
        all_gp, count, count_fixed, fixed, fixed_counters, gp, gp_counters, preset, preset_fixed, program,
        read, status, window, write,
    },
    work::busy,
};
use guest_runtime::{
    Frame, apic, check, check_eq, guest_test, ring0_loop, skip, spin_until, with_interrupts, wrmsr,
};

guest_runtime::image!();

/// Occurrences until an overflow in these tests: far less than a brief run has.
const SOON: u32 = 1_000;
/// GLOBAL_CTRL bit of PMC0.
const PMC0_ON: u64 = 1;

/// PMC0 counts instructions and overflows soon, with a PMI.
fn arm() {
    program(0, event::INSTRUCTIONS, ALWAYS | INT);
    preset(0, SOON);
}

/// A general-purpose counter that wraps sets its own status bit and no other.
#[guest_test(needs(pmu))]
fn general_counter_sets_its_status_bit() {
    for n in 0..gp_counters() {
        count(n, event::INSTRUCTIONS);
        preset(n, SOON);
        window(global::gp(n), busy);
        check_eq!(status(), global::gp(n), "PMC{n}");
        write(STATUS_RESET, global::gp(n));
    }
}

/// A fixed counter that wraps sets its own status bit and no other.
#[guest_test(needs(pmu))]
fn fixed_counter_sets_its_status_bit() {
    for n in fixed_counters() {
        count_fixed(1 << n);
        preset_fixed(n, SOON.into());
        window(global::fixed(n), busy);
        check_eq!(status(), global::fixed(n), "FIXED_CTR{n}");
        write(STATUS_RESET, global::fixed(n));
    }
}

/// A counter that does not wrap sets nothing.
#[guest_test(needs(pmu))]
fn no_overflow_no_status() {
    count(0, event::INSTRUCTIONS);
    count_fixed(0b111);
    window(PMC0_ON | global::fixed(0) | global::fixed(1) | global::fixed(2), busy);
    check_eq!(status(), 0);
}

/// Writing all ones overflows at the next occurrence, also into a running counter.
#[guest_test(needs(pmu))]
fn all_ones_overflows_next() {
    count(0, event::INSTRUCTIONS);
    window(PMC0_ON, || {
        write(PMC0, 0xFFFF_FFFF);
        busy();
        check_eq!(status(), 1);
    });
}

/// Counters are 48 bits wide: they pass 2^32 without an overflow.
#[guest_test(needs(pmu))]
fn passing_32_bits_is_no_overflow() {
    count_fixed(0b1);
    write(FIXED_CTR0, 0xFFFF_FF00);
    window(global::fixed(0), busy);
    check!(fixed(0) > 1 << 32, "{:#x}", fixed(0));
    check_eq!(status(), 0);
}

/// What exceeds the overflow stays in the counter.
#[guest_test(needs(pmu))]
fn remainder_stays_in_the_counter() {
    count(0, event::INSTRUCTIONS);
    count(1, event::INSTRUCTIONS);
    preset(0, SOON);
    window(0b11, busy);
    check_eq!(status(), 1);
    check_same("PMC0 after its overflow, and PMC1 less the preset", gp(0), gp(1) - u64::from(SOON));
}

/// Several counters that wrap in one window are all in the status.
#[guest_test(needs(pmu))]
fn several_overflows_are_all_reported() {
    for n in 0..gp_counters() {
        count(n, event::CYCLES);
        preset(n, SOON + n);
    }
    count_fixed(0b11);
    preset_fixed(1, SOON.into());
    window(all_gp() | global::fixed(0) | global::fixed(1), busy);
    check_eq!(status(), all_gp() | global::fixed(1));
}

/// Status bits stay until they are written as ones to STATUS_RESET; zeros do nothing.
#[guest_test(needs(pmu))]
fn status_reset_clears_ones_only() {
    for n in 0..2 {
        count(n, event::INSTRUCTIONS);
        preset(n, SOON);
    }
    window(0b11, busy);
    check_eq!(status(), 0b11);
    write(STATUS_RESET, 0);
    check_eq!(status(), 0b11, "after writing 0");
    write(STATUS_RESET, 0b01);
    check_eq!(status(), 0b10, "after writing 1");
    write(GLOBAL_CTRL, 0);
    check_eq!(status(), 0b10, "after writing GLOBAL_CTRL");
    write(STATUS_RESET, 0b10);
    check_eq!(status(), 0);
}

/// STATUS_SET sets the bits that are written as ones, adds to what is there and raises no PMI.
#[guest_test(needs(streamlined_freeze))]
fn status_set_sets_without_a_pmi() {
    pmi::as_nmi();
    program(0, event::INSTRUCTIONS, ALWAYS | INT);
    write(STATUS_SET, global::fixed(1) | 1);
    write(STATUS_SET, 0b100);
    check_eq!(status(), global::fixed(1) | 0b101);
    write(STATUS_SET, 0);
    check_eq!(status(), global::fixed(1) | 0b101);
    pmi::expect_no_more_than(0);
}

/// STATUS_RESET reads as 0, so that Linux's register dump can read it.
#[guest_test(needs(pmu))]
fn status_reset_reads_zero() {
    count(0, event::INSTRUCTIONS);
    preset(0, SOON);
    window(PMC0_ON, busy);
    check_eq!((status(), read(STATUS_RESET)), (1, 0));
}

/// STATUS_SET reads as 0.
#[guest_test(needs(streamlined_freeze))]
fn status_set_reads_zero() {
    write(STATUS_SET, 1);
    check_eq!((status(), read(STATUS_SET)), (1, 0));
}

/// GLOBAL_INUSE shows selected events, fixed counters with a ring bit, and requested PMIs.
#[guest_test(needs(streamlined_freeze))]
fn inuse_shows_what_is_programmed() {
    const PMI_IN_USE: u64 = 1 << 63;
    check_eq!(read(INUSE), 0, "nothing programmed");
    for (select, fixed_ctrl, expected) in [
        (0x00C0, 0x000, 1),           // an event, though not enabled
        (0x0100, 0x000, 0),           // only a unit mask
        (ALWAYS, 0x000, 0),           // enabled without an event
        (INT, 0x000, PMI_IN_USE),     // a PMI without an event
        (0, 0x001, global::fixed(0)), // ring 0
        (0, 0x200, global::fixed(2)), // ring 3
        (0, 0x080, PMI_IN_USE),       // a PMI without a ring
        (0x3C | INT, 0xB0, 1 | global::fixed(1) | PMI_IN_USE),
    ] {
        write(PERFEVTSEL0, select);
        write(FIXED_CTR_CTRL, fixed_ctrl);
        check_eq!(read(INUSE), expected, "PERFEVTSEL0 {select:#x}, FIXED_CTR_CTRL {fixed_ctrl:#x}");
    }
    write(PERFEVTSEL0, 0);
    write(FIXED_CTR_CTRL, 0);
    write(PERFEVTSEL0 + gp_counters() - 1, 0xC0);
    check_eq!(read(INUSE), global::gp(gp_counters() - 1), "last counter");
}

/// An overflow with INT arrives as an NMI, with the status bit set.
#[guest_test(needs(pmu))]
fn pmi_arrives_as_nmi() {
    pmi::as_nmi();
    arm();
    write(GLOBAL_CTRL, PMC0_ON);
    check_eq!(pmi::wait_for_one().status & 1, 1);
}

/// An overflow with INT arrives as the vector in LVTPC.
#[guest_test(needs(pmu))]
fn pmi_arrives_as_vector() {
    pmi::as_vector();
    arm();
    write(GLOBAL_CTRL, PMC0_ON);
    check_eq!(pmi::wait_for_one().status & 1, 1);
}

/// In x2APIC mode LVTPC is MSR 834H, and PMIs arrive just the same.
#[guest_test(needs(pmu))]
fn pmi_arrives_in_x2apic_mode() {
    const X2APIC_LVTPC: u32 = 0x834;
    if !apic::has_x2apic() {
        skip!("the CPU has no x2APIC");
    }
    check_eq!(apic::enable(apic::Mode::X2Apic), Ok(()));
    pmi::as_nmi();
    check_eq!(read(X2APIC_LVTPC), 0x400);
    arm();
    write(GLOBAL_CTRL, PMC0_ON);
    pmi::wait_for_one();
    check_eq!(read(X2APIC_LVTPC), 0x1_0400);
}

/// A fixed counter's PMI bit works as INT does.
#[guest_test(needs(pmu))]
fn fixed_counters_raise_pmis() {
    for n in fixed_counters() {
        pmi::as_nmi();
        write(FIXED_CTR_CTRL, fixed_ctrl::of(n, fixed_ctrl::OS | fixed_ctrl::USR | fixed_ctrl::PMI));
        preset_fixed(n, SOON.into());
        write(GLOBAL_CTRL, global::fixed(n));
        check_eq!(pmi::wait_for_one().status, global::fixed(n), "FIXED_CTR{n}");
        write(GLOBAL_CTRL, 0);
        write(STATUS_RESET, global::fixed(n));
    }
}

/// Without INT or the PMI bit an overflow sets the status and raises no interrupt.
#[guest_test(needs(pmu))]
fn no_pmi_without_int() {
    pmi::as_nmi();
    count(0, event::INSTRUCTIONS);
    preset(0, SOON);
    count_fixed(0b1);
    preset_fixed(0, SOON.into());
    write(GLOBAL_CTRL, PMC0_ON | global::fixed(0));
    pmi::expect_no_more_than(0);
    check_eq!(status(), PMC0_ON | global::fixed(0));
    // Looking at the status is when a VMM without a deadline notices the overflow.
    pmi::expect_no_more_than(0);
}

/// Delivering a PMI sets the mask bit of LVTPC, before the handler runs.
#[guest_test(needs(pmu))]
fn delivery_masks_lvtpc() {
    pmi::as_nmi();
    arm();
    check_eq!(apic::lvtpc() & apic::MASKED, 0);
    write(GLOBAL_CTRL, PMC0_ON);
    check_eq!(pmi::wait_for_one().lvtpc, 0x400 | apic::MASKED, "as the handler saw it");
    check_eq!(apic::lvtpc(), 0x400 | apic::MASKED);
}

/// Vector mode masks LVTPC as well.
#[guest_test(needs(pmu))]
fn delivery_as_vector_masks_lvtpc() {
    pmi::as_vector();
    arm();
    write(GLOBAL_CTRL, PMC0_ON);
    check_eq!(pmi::wait_for_one().lvtpc, u32::from(pmi::VECTOR) | apic::MASKED);
}

/// While LVTPC is masked a further overflow is only noted in the status.
#[guest_test(needs(pmu))]
fn second_pmi_waits_for_the_handler() {
    pmi::as_nmi();
    arm();
    program(1, event::INSTRUCTIONS, ALWAYS | INT);
    preset(1, SOON);
    write(GLOBAL_CTRL, PMC0_ON);
    pmi::wait_for_one();
    write(GLOBAL_CTRL, 0b11);
    pmi::expect_no_more_than(1);
    check_eq!(status(), 0b11);
}

/// A PMI that met a masked LVTPC is lost: unmasking does not bring it back, nor does the status bit.
#[guest_test(needs(pmu))]
fn masked_pmi_is_dropped() {
    pmi::as_nmi();
    apic::set_lvtpc(apic::Pmi::Masked);
    arm();
    window(PMC0_ON, busy);
    check_eq!(status(), 1);
    apic::set_lvtpc(apic::Pmi::Nmi);
    pmi::expect_no_more_than(0);
    check_eq!(status(), 1);
    // The counter is as good as before.
    preset(0, SOON);
    write(GLOBAL_CTRL, PMC0_ON);
    pmi::wait_for(1);
}

/// A status bit that is still set does not keep the next overflow from raising its PMI.
#[guest_test(needs(pmu))]
fn pmi_comes_from_the_overflow_not_the_status() {
    pmi::as_nmi();
    arm();
    write(GLOBAL_CTRL, PMC0_ON);
    pmi::wait_for_one();
    apic::set_lvtpc(apic::Pmi::Nmi);
    pmi::expect_no_more_than(1);
    check_eq!(status(), 1);
    preset(0, SOON);
    pmi::wait_for(2);
}

/// A PMI in vector mode waits while interrupts are off.
#[guest_test(needs(pmu))]
fn vector_waits_for_the_interrupt_flag() {
    pmi::as_vector();
    arm();
    window(PMC0_ON, busy);
    check_eq!((status(), pmi::arrivals()), (1, 0));
    check!(with_interrupts(|| spin_until(pmi::PATIENCE, || pmi::arrivals() == 1)), "no PMI after STI");
}

/// An NMI does not wait while interrupts are off.
#[guest_test(needs(pmu))]
fn nmi_ignores_the_interrupt_flag() {
    pmi::as_nmi();
    arm();
    write(GLOBAL_CTRL, PMC0_ON);
    check!(spin_until(pmi::PATIENCE, || pmi::arrivals() == 1), "no PMI with interrupts off");
}

/// An overflow in ring 0 is delivered too.
#[guest_test(needs(pmu))]
fn pmi_from_ring0() {
    pmi::as_nmi();
    arm();
    write(GLOBAL_CTRL, PMC0_ON);
    for _ in 0..1_000_000 {
        ring0_loop(100);
        if pmi::arrivals() == 1 {
            break;
        }
    }
    check_eq!(pmi::arrivals(), 1, "PMIs");
}

/// A counter that is about to overflow in ring 0 does not keep ring 3 from running.
#[guest_test(needs(pmu))]
fn armed_counter_of_the_other_ring() {
    pmi::as_nmi();
    for left in [100, 1_000, 10_000, 100_000] {
        program(0, event::INSTRUCTIONS, OS | EN | INT);
        preset(0, left);
        window(PMC0_ON, || (0..10).for_each(|_| busy()));
        check!(gp(0) < 1 << 40 || gp(0) >= COUNTER_MAX - u64::from(left), "{:#x}", gp(0));
    }
}

/// Two counters that overflow at once raise one PMI, whose status names both.
#[guest_test(needs(pmu))]
fn simultaneous_overflows_share_a_pmi() {
    if !are_simultaneous() {
        skip!("these counters do not start at the same instant");
    }
    pmi::as_nmi();
    for n in 0..2 {
        program(n, event::INSTRUCTIONS, ALWAYS | INT);
        preset(n, SOON);
    }
    write(GLOBAL_CTRL, 0b11);
    check_eq!(pmi::wait_for_one().status, 0b11);
}

/// Overflows so far in [`sampling`], and how many of them had another status than PMC0's bit.
static SAMPLES: AtomicU64 = AtomicU64::new(0);
static STRANGE: AtomicU64 = AtomicU64::new(0);
const WANTED: u64 = 25;
const PERIOD: u32 = 100_000;

/// What perf does: stop, read and acknowledge the status, rearm, unmask, start. (Linux unmasks after
/// it has started, and so loses a PMI that comes in between.)
fn sample(frame: &mut Frame) {
    let _ = wrmsr(GLOBAL_CTRL, 0);
    let status = guest_runtime::rdmsr(GLOBAL_STATUS).unwrap_or(0);
    let _ = wrmsr(STATUS_RESET, status);
    if status != 1 || guest_runtime::rdmsr(GLOBAL_STATUS) != Ok(0) {
        STRANGE.fetch_add(1, Relaxed);
    }
    let taken = SAMPLES.fetch_add(1, Relaxed) + 1;
    let _ = wrmsr(PMC0, u64::from(PERIOD.wrapping_neg()));
    pmi::arrived(frame);
    if taken < WANTED {
        apic::set_lvtpc(apic::Pmi::Nmi);
        let _ = wrmsr(GLOBAL_CTRL, PMC0_ON | global::fixed(0));
    }
}

/// Sampling as perf does it: each handler rearms the counter for the next period.
#[guest_test(needs(pmu))]
fn sampling() {
    SAMPLES.store(0, Relaxed);
    STRANGE.store(0, Relaxed);
    pmi::as_nmi_to(sample);
    program(0, event::INSTRUCTIONS, ALWAYS | INT);
    preset(0, PERIOD);
    count_fixed(0b1);
    write(GLOBAL_CTRL, PMC0_ON | global::fixed(0));
    pmi::wait_for(WANTED);
    pmi::expect_no_more_than(WANTED);
    check_eq!(STRANGE.load(Relaxed), 0, "PMIs without the status bit of PMC0 alone");
    // On hardware the two counters start and stop one after the other.
    let wanted = WANTED * u64::from(PERIOD) / if are_simultaneous() { 1 } else { 2 };
    check!(fixed(0) >= wanted, "{WANTED} periods of {PERIOD} in {} instructions", fixed(0));
}

/// Period sampling with a preset at the width's end: 2^48 - 1 is a period of one.
#[guest_test(needs(full_width))]
fn preset_to_the_last_value() {
    pmi::as_nmi();
    program(0, event::INSTRUCTIONS, ALWAYS | INT);
    write(0x4C1, COUNTER_MAX);
    write(GLOBAL_CTRL, PMC0_ON);
    check_eq!(pmi::wait_for_one().status, 1);
}
