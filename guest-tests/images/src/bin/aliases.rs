//! One counter, several ways to it: the legacy, the full-width and the version 6 address, RDMSR and RDPMC.
#![no_std]
#![no_main]

use guest_images::{
    checks,
    msr::{COUNTER_MAX, FIXED_CTR0, PERFEVTSEL0, WIDTH},
    pmu::{read, refuses, write},
    table::Register,
};
use guest_runtime::{check_eq, rdpmc_ring0};

guest_runtime::image!();

const PMC: u32 = 0xC1;
const A_PMC: u32 = 0x4C1;

fn counter(r: &Register) -> &Register {
    r.present(r.n < r.cpu.general)
}

fn full_width(r: &Register) -> &Register {
    counter(r).present(r.cpu.full_width())
}

/// A register at an address of version 6.
fn version_6(r: &Register) -> Register {
    let r = r.apart(4);
    r.present(r.cpu.version >= 6);
    r
}

fn fixed(r: &Register) -> &Register {
    r.present(r.cpu.has_fixed(r.n))
}

/// The other counters keep what they hold when one is written.
fn others_are_left_alone(r: &Register) {
    (0..r.cpu.general).for_each(|n| write(PMC + n, 0x1000 + u64::from(n)));
    write(r.msr, 7);
    for n in 0..r.cpu.general {
        let expected = if n == r.n { 7 } else { 0x1000 + u64::from(n) };
        check_eq!(read(PMC + n), expected, "counter {n}");
    }
}

// SDM volume 3B, "Full-Width Writes to Performance Counter Registers".
checks! {
    "IA32_PMC" [0 1 2 3 4 5 6 7 8 9] @ 0xC1 {
        "positive_write_is_kept" => |r| counter(r).becomes(0x7FFF_FFFF, 0x7FFF_FFFF);
        "negative_write_is_sign_extended" => |r| counter(r).becomes(0x8000_0000, COUNTER_MAX - 0x7FFF_FFFF);
        "upper_half_of_a_write_is_ignored" => |r| counter(r).becomes(0xFFFF_FF01_2345_6789, 0x2345_6789);
        "all_ones" => |r| counter(r).becomes(u64::MAX, COUNTER_MAX);
        "write_shows_at_the_full_width_address" => |r| {
            full_width(r);
            write(PMC + r.n, 0x8765_4321);
            check_eq!(read(A_PMC + r.n), 0xFFFF_8765_4321);
        };
        "others_are_left_alone" => |r| others_are_left_alone(counter(r));
    }
    "IA32_A_PMC" [0 1 2 3 4 5 6 7 8 9] @ 0x4C1 {
        "full_width_write_is_kept" => |r| full_width(r).becomes(0x8765_4321_0FED, 0x8765_4321_0FED);
        "write_shows_at_the_legacy_address" => |r| {
            full_width(r);
            write(A_PMC + r.n, 0x1234_8765_4321);
            check_eq!(read(PMC + r.n), 0x1234_8765_4321);
        };
        "every_bit" => |r| full_width(r).keeps(0, 0..=WIDTH - 1);
        "refused_write_shows_at_neither_address" => |r| {
            full_width(r);
            write(A_PMC + r.n, 0x5555);
            refuses(A_PMC + r.n, 1 << WIDTH | 1);
            check_eq!([read(PMC + r.n), read(A_PMC + r.n)], [0x5555; 2]);
        };
    }
    "IA32_PMC_GP_CTR" [0 1 2 3 4 5 6 7 8 9] @ 0x1900 {
        "write_shows_at_the_older_addresses" => |r| {
            let r = version_6(r);
            counter(&r);
            write(r.msr, 0x1234_8765_4321);
            check_eq!([read(PMC + r.n), read(A_PMC + r.n), read(r.msr)], [0x1234_8765_4321; 3]);
        };
        "legacy_write_shows_here" => |r| {
            let r = version_6(r);
            counter(&r);
            write(PMC + r.n, 0x8765_4321);
            check_eq!(read(r.msr), 0xFFFF_8765_4321);
        };
        "every_bit" => |r| counter(&version_6(r)).keeps(0, 0..=WIDTH - 1);
        "refused_write_shows_nowhere" => |r| {
            let r = version_6(r);
            counter(&r);
            write(r.msr, 0x5555);
            refuses(r.msr, 1 << WIDTH | 1);
            check_eq!([read(PMC + r.n), read(A_PMC + r.n), read(r.msr)], [0x5555; 3]);
        };
        "others_are_left_alone" => |r| others_are_left_alone(counter(&version_6(r)));
    }
    "IA32_PMC_GP_CFG_A" [0 1 2 3 4 5 6 7 8 9] @ 0x1901 {
        "is_the_event_select" => |r| {
            let r = version_6(r);
            counter(&r);
            for value in [0x53_00C0, 0x1_003C, 0] {
                write(r.msr, value);
                check_eq!([read(PERFEVTSEL0 + r.n), read(r.msr)], [value; 2]);
                write(PERFEVTSEL0 + r.n, value ^ 0xFF00);
                check_eq!(read(r.msr), value ^ 0xFF00);
            }
            write(r.msr, 0);
        };
    }
    "IA32_PMC_FX_CTR" [0 1 2 3] @ 0x1980 {
        "is_the_fixed_counter" => |r| {
            let r = version_6(r);
            fixed(&r);
            for value in [0x1234_5678_9ABC, 0, COUNTER_MAX] {
                write(r.msr, value);
                check_eq!([read(FIXED_CTR0 + r.n), read(r.msr)], [value; 2]);
                write(FIXED_CTR0 + r.n, value ^ 1);
                check_eq!(read(r.msr), value ^ 1);
            }
        };
    }
    "IA32_FIXED_CTR" [0 1 2 3] @ 0x309 {
        "every_bit" => |r| fixed(r).keeps(0, 0..=WIDTH - 1);
        "excess_bits_are_dropped" => |r| fixed(r).in_vpmu().becomes(u64::MAX, COUNTER_MAX);
    }
    "RDPMC." [0 1 2 3 4 5 6 7 8 9] @ 0xC1 {
        "reads_what_RDMSR_reads" => |r| {
            counter(r);
            for value in [0, 0x7FFF_FFFF, 0x8000_0001, 0xFFFF_FFFF] {
                write(r.msr, value);
                check_eq!(rdpmc_ring0(r.n), Ok(read(r.msr)), "after WRMSR of {value:#x}");
            }
        };
    }
    "RDPMC.fixed_" [0 1 2 3] @ 0x309 {
        "reads_what_RDMSR_reads" => |r| {
            fixed(r);
            for value in [0, 1, 0x1234_5678_9ABC, COUNTER_MAX] {
                write(r.msr, value);
                check_eq!(rdpmc_ring0(0x4000_0000 + r.n), Ok(value));
            }
        };
    }
}
