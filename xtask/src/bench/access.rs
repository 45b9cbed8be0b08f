//! Calls into the register model, without a guest.

use super::{Figure, figure};
use crate::error::TaskError;
use std::hint::black_box;
use std::time::Instant;
use vmm::counts::synthetic::{Rates, SyntheticSource};
use vpmu::pmu::RdpmcContext;
use vpmu::register::intel::{FixedCtr, FixedCtrCtrl, PerfEvtSel, PerfGlobalCtrl, PerfMetrics, Pmc};
use vpmu::{Level, Vpmu, profile};

/// Calls per round: long enough for a clock of microseconds.
const CALLS: u32 = 20_000;
/// INST_RETIRED.ANY_P in both rings, enabled.
pub(super) const INSTRUCTIONS: u64 = 0x43_00C0;

pub(super) fn measure(rounds: usize) -> Result<Vec<Figure>, TaskError> {
    let profile = profile::SAPPHIRE_RAPIDS;
    let rates = Rates::built_in()
        .map_err(|e| TaskError::Measure { what: "register accesses", reason: e.to_string() })?;
    let mut source = SyntheticSource::new(&profile, &rates, profile.tsc_hz);
    let mut idle = Vpmu::new(profile.clone());
    let mut busy = Vpmu::new(profile);
    for n in 0..8 {
        drop(busy.write_register(Level::Kernel, PerfEvtSel::INDEX + n, INSTRUCTIONS, &mut source));
    }
    drop(busy.write_register(Level::Kernel, FixedCtrCtrl::INDEX, 0x3333, &mut source));
    drop(busy.write_register(Level::Kernel, PerfGlobalCtrl::INDEX, 0x0001_000F_0000_00FF, &mut source));

    let mut figures = Vec::new();
    for (name, pmu) in [("idle", &mut idle), ("12 counters and metrics running", &mut busy)] {
        figures.push(nanoseconds(format!("read_msr FIXED_CTR0, {name}"), rounds, || {
            drop(black_box(pmu.read_register(Level::Kernel, FixedCtr::INDEX, &mut source)));
        }));
        figures.push(nanoseconds(format!("read_msr PERF_METRICS, {name}"), rounds, || {
            drop(black_box(pmu.read_register(Level::Kernel, PerfMetrics::INDEX, &mut source)));
        }));
        figures.push(nanoseconds(format!("rdpmc 0, {name}"), rounds, || {
            drop(black_box(pmu.rdpmc(0, RdpmcContext::RING0, &mut source)));
        }));
        figures.push(nanoseconds(format!("write_msr PMC0, {name}"), rounds, || {
            drop(black_box(pmu.write_register(Level::Kernel, Pmc::INDEX, 0, &mut source)));
        }));
        figures.push(nanoseconds(format!("write_msr GLOBAL_CTRL, {name}"), rounds, || {
            drop(black_box(pmu.write_register(
                Level::Kernel,
                PerfGlobalCtrl::INDEX,
                0x0001_000F_0000_00FF,
                &mut source,
            )));
        }));
        figures.push(nanoseconds(format!("write_msr with reserved bits (#GP), {name}"), rounds, || {
            drop(black_box(pmu.write_register(Level::Kernel, PerfGlobalCtrl::INDEX, u64::MAX, &mut source)));
        }));
    }
    Ok(figures)
}

fn nanoseconds(what: String, rounds: usize, mut call: impl FnMut()) -> Figure {
    let samples = (0..rounds)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..CALLS {
                call();
            }
            started.elapsed().as_nanos() as f64 / f64::from(CALLS)
        })
        .collect();
    figure(what, "ns", samples)
}
