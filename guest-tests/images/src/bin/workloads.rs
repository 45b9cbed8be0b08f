//! Runs each workload in a measuring window and prints what the counters say. The VMM compares them
//! with what it counted itself.
//!
//! Command line: see [`guest_runtime::workload`].
#![no_std]
#![no_main]

use core::hint::black_box;

use guest_images::{
    amd,
    counts::{Kind, kind},
    msr::{GLOBAL_CTRL, PERF_METRICS, event, global, select},
    pmu::{clear_metrics, count, count_fixed, fixed, gp, read, write},
};
use guest_runtime::{
    PerfMon, check_eq, cpu, print, println, rdpmc_ring0,
    workload::{measure_each, run},
};
use workloads::{Prepared, Workload};

guest_runtime::image!(program);

/// General-purpose counters and what they count.
const GENERAL: [(&str, u64); 2] = [("branches", event::BRANCHES), ("branch-misses", event::BRANCH_MISSES)];
/// The same on a CPU without PERF_METRICS: what Intel's formula for level 1 is made of there, besides cycles. There are
/// no more than four counters.
const WITHOUT_METRICS: [(&str, u64); 4] = [
    ("uops-issued", 0x010E),
    ("retire-slots", event::RETIRING_SLOTS),
    ("uops-not-delivered", 0x019C),
    ("recovery-cycles", 0x010D),
];
/// The same on AMD from Zen 4 on: what the published pipeline utilisation is made of.
const DISPATCH: [(&str, u64); 6] = [
    ("instructions", amd::INSTRUCTIONS),
    ("cycles", 0x76),
    ("ops-retired", 0xC1),
    ("ops-dispatched", 0x07AA),
    ("no-ops-from-frontend", 1 << 32 | 0x01A0),
    ("backend-stalls", 1 << 32 | 0x1EA0),
];
/// What the fixed counters count.
const FIXED: [&str; 4] = ["instructions", "cycles", "ref-cycles", "slots"];

/// Ticks that a workload runs: 50 to 100 milliseconds, or less where each instruction is counted.
fn duration() -> u64 {
    match kind() {
        Kind::Exact | Kind::Modelled => 8_000_000,
        Kind::Synthetic | Kind::Hardware => 200_000_000,
    }
}

/// Reads a counter both ways, which must agree.
#[track_caller]
fn both_ways(index: u32, by_rdmsr: u64) -> u64 {
    check_eq!(rdpmc_ring0(index), Ok(by_rdmsr), "RDPMC {index:#x}");
    by_rdmsr
}

fn measure(workload: &Workload, prepared: &mut Prepared<'_>) {
    let pmu = PerfMon::discover();
    let metrics = pmu.capabilities & 1 << 15 != 0;
    let fixed_counters = pmu.fixed & 0xF;
    let general = if metrics { &GENERAL[..] } else { &WITHOUT_METRICS[..] };
    // Caches and branch predictors see the workload before the counters do.
    black_box(prepared.run(workload.batch));
    // After RESET GLOBAL_CTRL enables the general-purpose counters.
    write(GLOBAL_CTRL, 0);
    for (n, (_, code)) in (0..).zip(general) {
        count(n, *code);
    }
    count_fixed(fixed_counters);
    if metrics {
        clear_metrics();
    }
    let general_enables = (1 << general.len()) - 1;
    let enables =
        general_enables | u64::from(fixed_counters) << 32 | if metrics { global::METRICS } else { 0 };
    write(GLOBAL_CTRL, enables);
    let iterations = run(prepared, workload.batch, duration());
    write(GLOBAL_CTRL, 0);

    print!("workload {} iterations={iterations}", workload.name);
    for (n, name) in (0..).zip(FIXED).filter(|(n, _)| fixed_counters & 1 << n != 0) {
        print!(" {name}={}", both_ways(0x4000_0000 + n, fixed(n)));
    }
    for (n, (name, _)) in (0..).zip(general) {
        print!(" {name}={}", both_ways(n, gp(n)));
    }
    if metrics {
        print!(" metrics={:#x}", both_ways(0x2000_0000, read(PERF_METRICS)));
    }
    println!();
}

/// With the core counters of AMD and their global registers.
fn measure_amd(workload: &Workload, prepared: &mut Prepared<'_>) {
    black_box(prepared.run(workload.batch));
    write(amd::GLOBAL_CTL, 0);
    for (n, (_, code)) in (0..).zip(DISPATCH) {
        write(amd::ctl(n), code | select::ALWAYS);
        write(amd::ctr(n), 0);
    }
    amd::enable_globally();
    let iterations = run(prepared, workload.batch, duration());
    write(amd::GLOBAL_CTL, 0);

    print!("workload {} iterations={iterations}", workload.name);
    for (n, (name, _)) in (0..).zip(DISPATCH) {
        print!(" {name}={}", both_ways(n, amd::count(n)));
    }
    println!();
}

fn program() {
    let measure = match (PerfMon::discover().version, amd::has_global_registers()) {
        (2.., _) => measure,
        (_, true) if cpu::is_amd() => measure_amd,
        _ => {
            println!("# no PMU with global registers");
            return;
        }
    };
    measure_each(measure);
}
