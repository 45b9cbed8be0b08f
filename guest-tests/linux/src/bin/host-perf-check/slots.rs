//! The slots group: raw registers by RDPMC against what the kernel makes of them.

use crate::{Checked, ROUNDS};
use host_perf::{Event, EventSpec, HostPmu, Level, Metric, RawMetrics, SlotCounts, SlotsGroup};
use linux_guest::checks::{Checks, ensure, spin, text};

pub(crate) fn check(host: &HostPmu, checks: &mut Checks) {
    let Some(level) = host.topdown_level() else {
        println!("# no slots event here");
        return;
    };
    let result = one_read(host, level).map_err(text).and_then(|result| result);
    checks.check("metrics converted by the kernel against the raw register", result);
    let result = many_reads(host, level).map_err(text).and_then(|result| result);
    checks.check("what many small reads lose", result);
}

fn open(host: &HostPmu, level: Level) -> Result<SlotsGroup, host_perf::HostPerfError> {
    SlotsGroup::open(host, level, EventSpec::new(Event::Slots).user_only())
}

/// Both strategies over the same interval: the raw pair first, because the system call zeroes it.
fn one_read(host: &HostPmu, level: Level) -> Checked {
    let mut group = open(host, level)?;
    group.enable()?;
    spin(ROUNDS);
    let raw = group.user_metrics(host)?.read()?;
    let converted = group.read()?.counts;
    group.disable()?;
    let errors = steps(&converted, raw, level);
    print(&converted, raw, level);
    let worst = errors.iter().map(|error| error.abs()).max().unwrap_or(0);
    let sum: u64 = Metric::ALL[..4].iter().map(|m| u64::from(m.of(raw.metrics))).sum();
    let right = worst <= 1 && sum == 255 && raw.slots > 2 * ROUNDS && converted.slots >= raw.slots;
    Ok(ensure(right, format!("worst field {worst} steps of 1/255 off; level 1 adds up to {sum}")))
}

/// The kernel rounds each metric down at each read, so the sum of many short intervals lags behind.
fn many_reads(host: &HostPmu, level: Level) -> Checked {
    const READS: u64 = 500;
    let mut group = open(host, level)?;
    group.enable()?;
    let mut counts = SlotCounts::default();
    for _ in 0..READS {
        spin(ROUNDS / READS);
        counts = group.read()?.counts;
    }
    group.disable()?;
    let mut whole = open(host, level)?;
    whole.enable()?;
    spin(ROUNDS);
    let raw = whole.user_metrics(host)?.read()?;
    let errors = steps(&counts, raw, level);
    print(&counts, raw, level);
    let lost = counts.slots - Metric::ALL[..4].iter().filter_map(|m| counts.get(*m)).sum::<u64>();
    let worst = errors.iter().map(|error| error.abs()).max().unwrap_or(0);
    // A read loses less than one slot in each of four fields.
    let right = worst <= 2 && lost <= READS * 4;
    Ok(ensure(
        right,
        format!("{READS} reads lost {lost} of {} slots; worst field {worst} steps off", counts.slots),
    ))
}

/// Converted against raw, field by field, in 1/255.
fn steps(counts: &SlotCounts, raw: RawMetrics, level: Level) -> Vec<i32> {
    let converted = counts.to_metrics();
    level.metrics().iter().map(|m| i32::from(m.of(converted)) - i32::from(m.of(raw.metrics))).collect()
}

fn print(counts: &SlotCounts, raw: RawMetrics, level: Level) {
    let converted = counts.to_metrics();
    println!(
        "# slots: raw {}, converted {}; PERF_METRICS {:#018x}, {converted:#018x}",
        raw.slots, counts.slots, raw.metrics
    );
    for metric in level.metrics() {
        let (a, b) = (metric.of(raw.metrics), metric.of(converted));
        println!(
            "#   {:<22} raw {a:>3}  converted {b:>3}  error {:+}",
            metric.sysfs_name(),
            i32::from(b) - i32::from(a)
        );
    }
}
