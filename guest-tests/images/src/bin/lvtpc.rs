//! The way of a PMI: from the overflow of each counter through LVTPC to the handler, or to nowhere.
#![no_std]
#![no_main]

use guest_images::{
    checks,
    msr::{FIXED_CTR_CTRL, GLOBAL_CTRL, event, fixed_ctrl, global, select},
    pmi,
    pmu::{preset, preset_fixed, program, refuses, status, write},
    table::Register,
};
use guest_runtime::{apic, check, check_eq, skip, spin_until, with_interrupts};

guest_runtime::image!();

/// MSR of LVTPC in x2APIC mode, and its offset in the xAPIC page.
const X2APIC_LVTPC: u32 = 0x834;
const LVTPC: u32 = 0x340;
const SPURIOUS: u32 = 0xF0;
const SOFTWARE_ENABLED: u32 = 1 << 8;
/// Vector, delivery mode, delivery status, mask.
const DEFINED: u32 = 0xFF | 0x700 | 1 << 12 | apic::MASKED;
/// Occurrences until the overflow.
const SOON: u32 = 1_000;

/// General-purpose counter `n` begins to count instructions towards an overflow.
fn start_general(r: &Register, interrupt: u64) -> u64 {
    r.present(r.n < r.cpu.general);
    program(r.n, event::INSTRUCTIONS, select::ALWAYS | interrupt);
    preset(r.n, SOON);
    write(GLOBAL_CTRL, global::gp(r.n));
    global::gp(r.n)
}

/// Fixed counter `n` begins to count towards an overflow.
fn start_fixed(r: &Register, interrupt: u64) -> u64 {
    r.present(r.cpu.has_fixed(r.n));
    write(FIXED_CTR_CTRL, fixed_ctrl::of(r.n, fixed_ctrl::OS | fixed_ctrl::USR | interrupt));
    preset_fixed(r.n, u64::from(SOON));
    write(GLOBAL_CTRL, global::fixed(r.n));
    global::fixed(r.n)
}

/// The handler runs once, finds the counter's status bit, and LVTPC masked.
fn arrives(overflowed: u64, entry: u32) {
    let seen = pmi::wait_for_one();
    check_eq!(seen.status, overflowed, "GLOBAL_STATUS in the handler");
    check_eq!(seen.lvtpc, entry | apic::MASKED, "LVTPC in the handler");
}

/// The status bit is set, and no handler runs.
fn only_sets_status(overflowed: u64) {
    let came = with_interrupts(|| spin_until(pmi::PATIENCE, || status() & overflowed != 0));
    check!(came, "the counter overflows");
    pmi::expect_no_more_than(0);
}

/// What met a masked entry is lost: neither unmasking nor the status bit brings it back.
fn is_lost_when_masked(start: impl Fn() -> u64) {
    pmi::as_nmi();
    apic::set_lvtpc(apic::Pmi::Masked);
    let overflowed = start();
    only_sets_status(overflowed);
    write(GLOBAL_CTRL, 0);
    apic::set_lvtpc(apic::Pmi::Nmi);
    pmi::expect_no_more_than(0);
    check_eq!(status(), overflowed);
}

// SDM volume 3B, "Performance Monitoring", and volume 3A, "Local Vector Table".
checks! {
    "PMI.counter_" [0 1 2 3 4 5 6 7 8 9] @ 0xC1 {
        "arrives_as_NMI" => |r| {
            pmi::as_nmi();
            arrives(start_general(r, select::INT), 0x400);
        };
        "arrives_as_vector" => |r| {
            pmi::as_vector();
            arrives(start_general(r, select::INT), u32::from(pmi::VECTOR));
        };
        "needs_INT" => |r| {
            pmi::as_nmi();
            only_sets_status(start_general(r, 0));
        };
        "is_lost_when_masked" => |r| is_lost_when_masked(|| start_general(r, select::INT));
    }
    "PMI.fixed_" [0 1 2 3] @ 0x309 {
        "arrives_as_NMI" => |r| {
            pmi::as_nmi();
            arrives(start_fixed(r, fixed_ctrl::PMI), 0x400);
        };
        "arrives_as_vector" => |r| {
            pmi::as_vector();
            arrives(start_fixed(r, fixed_ctrl::PMI), u32::from(pmi::VECTOR));
        };
        "needs_the_PMI_bit" => |r| {
            pmi::as_nmi();
            only_sets_status(start_fixed(r, 0));
        };
        "is_lost_when_masked" => |r| is_lost_when_masked(|| start_fixed(r, fixed_ctrl::PMI));
    }
}

/// Writes LVTPC and reads it back.
fn becomes(value: u32, expected: u32) {
    apic::write(LVTPC, value);
    check_eq!(apic::read(LVTPC), expected, "LVTPC after {value:#x}");
}

/// Switches to x2APIC mode; the runtime switches back after the test.
fn x2apic() {
    if !apic::has_x2apic() {
        skip!("the CPU has no x2APIC");
    }
    check_eq!(apic::enable(apic::Mode::X2Apic), Ok(()));
}

checks! {
    "LVTPC" - @ 0x834 {
        "keeps_every_vector" => |_| (16..=255).for_each(|vector| becomes(apic::MASKED | vector, apic::MASKED | vector));
        "keeps_delivery_modes" => |_| [0, 2, 4, 7].into_iter().for_each(|mode| {
            becomes(apic::MASKED | mode << 8 | 0x40, apic::MASKED | mode << 8 | 0x40);
        });
        "delivery_status_is_read_only" => |_| becomes(apic::MASKED | 1 << 12 | 0x40, apic::MASKED | 0x40);
        "reserved_bits_read_as_0" => |_| becomes(apic::MASKED | 0x40 | !DEFINED, apic::MASKED | 0x40);
        "mask_can_be_cleared" => |_| becomes(0x40, 0x40);
        "is_the_same_register_as_MSR" => |r| {
            x2apic();
            write(r.msr, 0x1_0440);
            check_eq!(apic::read(LVTPC), 0x1_0440);
        };
        "refuses_reserved_bits_in_x2APIC_mode" => |_| {
            x2apic();
            write(X2APIC_LVTPC, 0x1_0000);
            let reserved = (0..64).filter(|bit| *bit >= 32 || DEFINED >> bit & 1 == 0);
            reserved.for_each(|bit| refuses(X2APIC_LVTPC, 0x1_0000 | 1 << bit));
        };
        "is_masked_by_disabling_the_APIC" => |_| {
            becomes(0x40, 0x40);
            let enabled = apic::read(SPURIOUS);
            apic::write(SPURIOUS, enabled & !SOFTWARE_ENABLED);
            check_eq!(apic::read(LVTPC), apic::MASKED | 0x40);
            becomes(0x40, apic::MASKED | 0x40);
            apic::write(SPURIOUS, enabled);
            check_eq!(apic::read(LVTPC), apic::MASKED | 0x40, "and stays so");
        };
    }
}
