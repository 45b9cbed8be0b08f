//! Writing counters: the sign-extending legacy addresses, the full-width aliases, the fixed counters.
#![no_std]
#![no_main]

use guest_images::{
    msr::{A_PMC0, COUNTER_MAX, FIXED_CTR0, PMC0, WIDTH, event, global},
    pmu::{count, fixed_counters, gp, gp_counters, is_absent, keeps, read, refuses, status, window, write},
    work::busy,
};
use guest_runtime::{PerfMon, check, check_eq, guest_test, rdpmc_ring0, skip};

guest_runtime::image!();

/// What a legacy write of the left value makes of a counter.
const LEGACY_WRITES: [(u64, u64); 10] = [
    (0, 0),
    (1, 1),
    (0x2345_6789, 0x2345_6789),
    (0x7FFF_FFFF, 0x7FFF_FFFF),
    (0x8000_0000, 0xFFFF_8000_0000),
    (0xFFFF_FFFF, 0xFFFF_FFFF_FFFF),
    (0xFF01_2345_6789, 0x2345_6789),
    (0xFFFF_FFFF_0000_0000, 0),
    (0xFFFF_FFFF_2345_6789, 0x2345_6789),
    (0x1_8000_0001, 0xFFFF_8000_0001),
];

/// Values with interesting top bits that a counter can hold.
const COUNTER_VALUES: [u64; 8] =
    [0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x8000_0000_0000, 0xFF01_2345_6789, COUNTER_MAX];

/// A legacy write takes the low 32 bits, copies bit 31 upwards and never faults.
#[guest_test(needs(pmu))]
fn legacy_write_sign_extends() {
    for n in 0..gp_counters() {
        for (written, expected) in LEGACY_WRITES {
            write(PMC0 + n, written);
            check_eq!(gp(n), expected, "PMC{n} after WRMSR of {written:#x}");
        }
    }
}

/// A full-width write stores all 48 bits.
#[guest_test(needs(full_width))]
fn full_width_write_stores_every_bit() {
    for n in 0..gp_counters() {
        COUNTER_VALUES.into_iter().for_each(|value| keeps(A_PMC0 + n, value));
        (0..WIDTH).for_each(|bit| keeps(A_PMC0 + n, 1 << bit));
    }
}

/// A full-width write of bits above the counter raises #GP and leaves the counter alone.
#[guest_test(needs(full_width))]
fn full_width_write_refuses_bits_above() {
    for n in 0..gp_counters() {
        write(A_PMC0 + n, 0x1234_5678_9ABC);
        (WIDTH..64).for_each(|bit| refuses(A_PMC0 + n, 1 << bit));
        refuses(A_PMC0 + n, 0xFFFF_FF01_2345_6789);
        refuses(A_PMC0 + n, u64::MAX);
    }
}

/// Both addresses are the same register: what is written through one is read through the other.
#[guest_test(needs(full_width))]
fn aliases_are_one_register() {
    for n in 0..gp_counters() {
        write(A_PMC0 + n, 0xABCD_1234_5678);
        check_eq!(read(PMC0 + n), 0xABCD_1234_5678, "PMC{n}");
        check_eq!(rdpmc_ring0(n), Ok(0xABCD_1234_5678), "RDPMC {n}");
        write(PMC0 + n, 0x8000_0001);
        check_eq!(read(A_PMC0 + n), 0xFFFF_8000_0001, "A_PMC{n}");
        check_eq!(rdpmc_ring0(n), Ok(0xFFFF_8000_0001), "RDPMC {n}");
    }
}

/// Each counter has its own storage.
#[guest_test(needs(full_width))]
fn counters_do_not_share_storage() {
    let fixed_value = |n: u32| 0xF000_0000_0000 | u64::from(n);
    let value = |n: u32| 0xA000_0000_0000 | u64::from(n);
    (0..gp_counters()).for_each(|n| write(A_PMC0 + n, value(n)));
    fixed_counters().for_each(|n| write(FIXED_CTR0 + n, fixed_value(n)));
    for n in 0..gp_counters() {
        check_eq!(gp(n), value(n), "PMC{n}");
    }
    for n in fixed_counters() {
        check_eq!(read(FIXED_CTR0 + n), fixed_value(n), "FIXED_CTR{n}");
    }
}

/// Without PERF_CAPABILITIES bit 13 there are no aliases.
#[guest_test(needs(pmu))]
fn no_aliases_without_the_capability() {
    if PerfMon::discover().capabilities & 1 << 13 != 0 {
        skip!("the CPU has full-width writes");
    }
    (0..gp_counters()).for_each(|n| is_absent(A_PMC0 + n));
}

/// A fixed counter stores 48 bits without sign extension.
#[guest_test(needs(pmu))]
fn fixed_counter_stores_every_bit() {
    for n in fixed_counters() {
        COUNTER_VALUES.into_iter().for_each(|value| keeps(FIXED_CTR0 + n, value));
    }
}

/// Bits above a fixed counter are dropped.
#[guest_test(needs(vpmu))]
fn fixed_counter_drops_bits_above() {
    for n in fixed_counters() {
        write(FIXED_CTR0 + n, u64::MAX);
        check_eq!(read(FIXED_CTR0 + n), COUNTER_MAX, "FIXED_CTR{n}");
        write(FIXED_CTR0 + n, 0xFFFF_0000_0000_0001);
        check_eq!(read(FIXED_CTR0 + n), 1, "FIXED_CTR{n}");
    }
}

/// A period of up to 2^31 can be written through the legacy address: -256 overflows after 256.
#[guest_test(needs(pmu))]
fn negative_legacy_write_is_a_short_period() {
    count(0, event::INSTRUCTIONS);
    write(PMC0, 0xFFFF_FF00);
    check_eq!(gp(0), 0xFFFF_FFFF_FF00);
    window(1, busy);
    check_eq!(status(), 1);
    check!(gp(0) < 1 << 47, "{:#x} after the overflow", gp(0));
}

/// A positive legacy write is far from an overflow: 2^31 - 1 counts on past 2^31.
#[guest_test(needs(pmu))]
fn positive_legacy_write_is_a_long_period() {
    count(0, event::INSTRUCTIONS);
    write(PMC0, 0x7FFF_FFFF);
    window(1, busy);
    check_eq!(status(), 0);
    check!(gp(0) > 0x7FFF_FFFF && gp(0) < 1 << 47, "{:#x}", gp(0));
}

/// Counting carries from bit 31 into bit 32 and from bit 46 into bit 47 without touching the status.
#[guest_test(needs(full_width))]
fn counting_carries_through_all_bits() {
    for start in [0xFFFF_FFF0, 0x7FFF_FFFF_FFF0] {
        count(0, event::INSTRUCTIONS);
        write(A_PMC0, start);
        window(global::gp(0), busy);
        check!(gp(0) > start + 0x10 && gp(0) < start + (1 << 40), "{:#x} from {start:#x}", gp(0));
        check_eq!(status(), 0, "from {start:#x}");
    }
}
