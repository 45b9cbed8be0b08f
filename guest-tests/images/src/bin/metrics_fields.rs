//! The eight fields of PERF_METRICS, one by one: what may be written, what a read gives back, and which rules hold
//! between them when they count.
#![no_std]
#![no_main]

use guest_images::{
    checks,
    msr::{FIXED_CTR_CTRL, PERF_METRICS, SLOTS, global},
    pmu::{clear_metrics, count_metrics, read, window, write},
    table::Register,
    work::busy,
};
use guest_runtime::{check, check_eq, cpu, rdpmc_ring0, skip};

guest_runtime::image!();

const RDPMC_METRICS: u32 = 0x2000_0000;

/// Fields that this CPU counts: 4 on Ice Lake and its relatives, else 8 (no CPUID bit tells).
fn fields() -> u32 {
    if matches!(cpu::family_model(), (6, 0x6A | 0x6C | 0x7D | 0x7E | 0x8C | 0x8D | 0xA7)) { 4 } else { 8 }
}

/// Field `n` of a value.
fn field(value: u64, n: u32) -> u64 {
    value >> (8 * n) & 0xFF
}

fn metrics(r: &Register) -> &Register {
    if !r.cpu.metrics() || !r.cpu.has_fixed(3) {
        skip!("no PERF_METRICS");
    }
    if r.n >= fields() {
        skip!("level 1 has four fields");
    }
    r
}

/// PERF_METRICS after some work.
fn counted() -> u64 {
    count_metrics();
    window(global::SLOTS_AND_METRICS, busy);
    read(PERF_METRICS)
}

/// With nothing counted since, each value is read back, by RDMSR and RDPMC.
fn keeps_values(r: &Register) {
    metrics(r);
    write(SLOTS, 0x1_0000);
    for value in [0_u64, 1, 0x7F, 0x80, 0xFF] {
        let value = value << (8 * r.n);
        write(PERF_METRICS, value);
        check_eq!(read(PERF_METRICS), value);
        check_eq!(rdpmc_ring0(RDPMC_METRICS), Ok(value));
    }
}

/// A CPU with level 1 alone has nothing in bits 63:32: they are dropped.
fn upper_half(r: &Register) {
    if !r.cpu.metrics() || !r.cpu.has_fixed(3) {
        skip!("no PERF_METRICS");
    }
    clear_metrics();
    let value = 0x1234_5678_9ABC_DEF0;
    write(PERF_METRICS, value);
    check_eq!(read(PERF_METRICS), if fields() == 4 { value & 0xFFFF_FFFF } else { value });
    clear_metrics();
}

fn is_cleared(r: &Register) {
    metrics(r);
    counted();
    clear_metrics();
    check_eq!(field(read(PERF_METRICS), r.n), 0);
    check_eq!(read(SLOTS), 0);
}

/// Nothing moves while GLOBAL_CTRL stops it: neither bit alone lets the field count.
fn needs_both_enables(r: &Register) {
    metrics(r);
    for enables in [0, global::METRICS] {
        count_metrics();
        window(enables, busy);
        check_eq!(field(read(PERF_METRICS), r.n), 0, "GLOBAL_CTRL {enables:#x}");
    }
}

/// A stopped field stays as it is.
fn stands_still(r: &Register) {
    metrics(r);
    let before = field(counted(), r.n);
    busy();
    check_eq!(field(read(PERF_METRICS), r.n), before);
    write(FIXED_CTR_CTRL, 0);
    check_eq!(field(read(PERF_METRICS), r.n), before, "without FIXED_CTR_CTRL");
}

/// A field and the one that it is a part of.
fn is_part_of(r: &Register, parent: u32) {
    metrics(r);
    let value = counted();
    check!(field(value, r.n) <= field(value, parent), "field {} in {value:#x}", r.n);
}

checks! {
    "PERF_METRICS.field_" [0 1 2 3 4 5 6 7] @ 0x329 {
        "keeps_values" => |r| keeps_values(r);
        "is_cleared" => |r| is_cleared(r);
        "needs_both_enables" => |r| needs_both_enables(r);
        "stands_still" => |r| stands_still(r);
    }
    "PERF_METRICS.field_" [4] @ 0x329 {
        "heavy_operations_within_retiring" => |r| is_part_of(r, 0);
    }
    "PERF_METRICS.field_" [5] @ 0x329 {
        "branch_mispredicts_within_bad_speculation" => |r| is_part_of(r, 1);
    }
    "PERF_METRICS.field_" [6] @ 0x329 {
        "fetch_latency_within_frontend_bound" => |r| is_part_of(r, 2);
    }
    "PERF_METRICS.field_" [7] @ 0x329 {
        "memory_bound_within_backend_bound" => |r| is_part_of(r, 3);
    }
    "PERF_METRICS" - @ 0x329 {
        "level_1_adds_up" => |r| {
            metrics(r);
            let value = counted();
            let sum: u64 = (0..4).map(|n| field(value, n)).sum();
            // The bounds of Linux's KVM selftest.
            check!((0xFC..=0x102).contains(&sum), "{sum:#x} of {value:#x}");
        };
        "upper_half_is_0_on_level_1" => |r| {
            metrics(r);
            if fields() == 8 {
                skip!("level 2");
            }
            check_eq!(counted() >> 32, 0);
        };
        "keeps_what_exists" => |r| upper_half(r);
        "retiring_is_seen" => |r| { metrics(r); check!(field(counted(), 0) > 0); };
    }
}
