//! LBR event logging: events of counters since the record before, in architectural branch records.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::arch::global_asm;

use guest_images::{
    msr::{PERFEVTSEL0, event, select},
    pmu::{gp_counters, has_arch_lbr, keeps, program, read, refuses, window, write},
};
use guest_runtime::{check_eq, cpuid, guest_test, skip};

guest_runtime::image!();

/// IA32_LBR_CTL, IA32_LBR_DEPTH and the first IA32_LBR_x_INFO.
const CTL: u32 = 0x14CE;
const DEPTH: u32 = 0x14CF;
const INFO: u32 = 0x1200;
/// IA32_LBR_CTL: ring 3, relative jumps.
const RELATIVE_JUMPS: u64 = 1 | 1 << 2 | 1 << 17;
/// IA32_PERFEVTSELx.EN_LBR_LOG.
const LOG: u64 = 1 << 35;
/// Counters that have it at most.
const COUNTERS: u32 = 4;

// Five jumps, with 1, 2, 3 and 4 instructions from one to the next, that included; not all of the last fit a record.
global_asm!(
    ".pushsection .text.branch_events, \"ax\"",
    ".global branch_events",
    "branch_events:",
    "    jmp 2f",
    "    ud2",
    "2:  jmp 3f",
    "    ud2",
    "3:  nop",
    "    jmp 4f",
    "    ud2",
    "4:  nop",
    "    nop",
    "    jmp 5f",
    "    ud2",
    "5:  nop",
    "    jz 6f",
    "6:  nop",
    "    jmp 7f",
    "    ud2",
    "7:  ret",
    ".popsection",
);

unsafe extern "C" {
    fn branch_events();
}

/// Counters whose events are logged, a bit each: CPUID.1CH:ECX bits 19:16.
fn logging() -> u32 {
    if has_arch_lbr() { cpuid(0x1C, 0).ecx >> 16 & 0xF } else { 0 }
}

/// The events that the newest records have of a counter, oldest first.
fn logged<const N: usize>(counter: u32) -> [u64; N] {
    core::array::from_fn(|n| read(INFO + (N - 1 - n) as u32) >> (32 + 2 * counter) & 3)
}

/// Event selects have the bit, and records the field, where CPUID says so and nowhere else.
#[guest_test(needs(vpmu, pmu))]
fn the_bit_is_there_where_it_is_announced() {
    if logging() == 0 {
        (0..gp_counters()).for_each(|n| refuses(PERFEVTSEL0 + n, event::INSTRUCTIONS | LOG));
        if has_arch_lbr() {
            write(INFO, 0xFF << 32);
            check_eq!(read(INFO), 0, "undefined bits are dropped");
        }
        return;
    }
    for n in 0..COUNTERS {
        keeps(PERFEVTSEL0 + n, event::INSTRUCTIONS | LOG);
        write(PERFEVTSEL0 + n, 0);
    }
    keeps(INFO, 0xE4 << 32);
    write(DEPTH, 32);
}

/// Counters 0 and 3 count instructions and branches in ring 3, of which each record has those since the one before.
#[guest_test(needs(vpmu, pmu))]
fn records_hold_the_events_since_the_one_before() {
    if logging() != 0xF {
        skip!("CPUID leaf 1CH announces no logging of events");
    }
    let ring_3 = select::ALWAYS & !(1 << 17);
    program(0, event::INSTRUCTIONS, ring_3 | LOG);
    program(1, event::INSTRUCTIONS, ring_3);
    program(3, event::BRANCHES, ring_3 | LOG);
    window(0b1011, || {
        write(DEPTH, 32);
        write(CTL, RELATIVE_JUMPS);
        // SAFETY: it jumps, and changes nothing.
        unsafe { branch_events() };
        write(CTL, 0);
    });
    check_eq!(logged(0), [1_u64, 2, 3, 3], "instructions");
    check_eq!(logged(1), [0_u64; 4], "of a counter that is not logged");
    // The last one has a conditional branch before it.
    check_eq!(logged(3), [1_u64, 1, 1, 2], "branches");
    for n in [0, 1, 3] {
        write(PERFEVTSEL0 + n, 0);
    }
}
