//! Runs each workload in a measuring window and prints what the counters say. The VMM compares them with what it
//! counted itself.
//!
//! Command line: see [`guest_runtime::workload`].
#![no_std]
#![no_main]

use core::hint::black_box;

use guest_images_aarch64::{
    counting::{count, program, program_cycles, run as counted},
    pmu::{PMCCNTR, announces, event, read},
};
use guest_runtime::{
    counters, print, println, timer,
    workload::{measure_each, run},
};
use workloads::{Prepared, Workload};

guest_runtime::image!(program_main);

/// What the event counters count, where PMCEID announces it.
const EVENTS: [(&str, u64); 5] = [
    ("instructions", event::INST_RETIRED),
    ("branches", event::BR_RETIRED),
    ("branch-misses", event::BR_MIS_PRED_RETIRED),
    ("loads", event::LD_RETIRED),
    ("stores", event::ST_RETIRED),
];
/// A workload runs for this part of a second.
const PART: u64 = 100;

fn measure(workload: &Workload, prepared: &mut Prepared<'_>) {
    // Caches and branch predictors see the workload before the counters do.
    black_box(prepared.run(workload.batch));
    let events = || (0..counters()).zip(EVENTS).filter(|(_, (_, code))| announces(*code));
    events().for_each(|(n, (_, code))| program(n, code));
    program_cycles(0);
    let iterations = counted(|| run(prepared, workload.batch, timer::frequency() / PART));
    print!("workload {} iterations={iterations} cycles={}", workload.name, read(PMCCNTR));
    events().for_each(|(n, (name, _))| print!(" {name}={}", count(n)));
    println!();
}

fn program_main() {
    if counters() == 0 {
        println!("# no PMU");
        return;
    }
    measure_each(measure);
}
