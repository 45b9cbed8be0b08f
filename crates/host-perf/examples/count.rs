//! Counts instructions and slots of a loop on this host, or says why it cannot.
//!
//! `cargo run -p host-perf --example count`

use std::hint::black_box;

use host_perf::{Counter, Event, EventSpec, HostPerfError, HostPmu, Level, SlotsGroup};

fn main() {
    let host = HostPmu::detect();
    for finding in host.findings() {
        println!("{finding}");
    }
    println!();
    if let Err(refusal) = count_instructions(&host) {
        println!("instructions: {}", refusal.with_advice());
    }
    if let Err(refusal) = count_slots(&host) {
        println!("slots: {}", refusal.with_advice());
    }
}

/// Three instructions per round or more, depending on the compiler.
fn work() {
    (0..10_000_000_u64).for_each(|i| {
        black_box(i);
    });
}

fn count_instructions(host: &HostPmu) -> Result<(), HostPerfError> {
    let mut counter = Counter::open(host, EventSpec::new(Event::Instructions).user_only())?;
    counter.enable()?;
    work();
    counter.disable()?;
    let reading = counter.read()?;
    match reading.scaled() {
        Some(n) if reading.is_multiplexed() => println!("instructions: about {n} (counter was shared)"),
        Some(n) => println!("instructions: {n}"),
        None => println!("instructions: not counted, the PMU was never free"),
    }
    Ok(())
}

fn count_slots(host: &HostPmu) -> Result<(), HostPerfError> {
    let level = host.topdown_level().unwrap_or(Level::One);
    let mut group = SlotsGroup::open(host, level, EventSpec::new(Event::Slots).user_only())?;
    group.enable()?;
    work();
    // Only while the group is on the PMU; a reading by system call zeroes the registers.
    match group.user_metrics(host).and_then(|pages| pages.read()) {
        Ok(raw) => println!("raw PERF_METRICS: {:#018x} of {} slots", raw.metrics, raw.slots),
        Err(refusal) => println!("raw PERF_METRICS: {}", refusal.with_advice()),
    }
    group.disable()?;
    let counts = group.read()?.counts;
    println!("slots: {}", counts.slots);
    for metric in level.metrics() {
        let count = counts.get(*metric).unwrap_or(0);
        let percent = 100.0 * count as f64 / counts.slots.max(1) as f64;
        println!("{:>24}: {percent:5.1} %", metric.sysfs_name());
    }
    Ok(())
}
