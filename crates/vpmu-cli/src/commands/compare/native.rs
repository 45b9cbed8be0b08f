//! The native column: the same workload on the host's own PMU.
//!
//! A window whose label is the name of a workload is run again here, compiled for the host, under a slots group
//! with its metric siblings. Only shares are compared: the host's cycles are not the guest's.

use crate::measured::Measured;
use host_perf::{Event, EventSpec, HostPerfError, HostPmu, Level, Metric, SlotCounts, SlotsGroup};
use std::hint::black_box;
use std::time::{Duration, Instant};
use workloads::Workload;

/// How long each workload is measured: long enough for the kernel's 1/255 steps not to matter.
const MEASURE: Duration = Duration::from_millis(100);

/// Measures the workloads that windows are named after.
///
/// # Errors
/// What the host's PMU lacks, or what the kernel refuses.
pub(super) fn fill(windows: &mut [Measured]) -> Result<(), HostPerfError> {
    let host = HostPmu::detect();
    host.can_count_user()?;
    let level = host.topdown_level().ok_or(HostPerfError::NoTopdown { wanted: Level::One, has: None })?;
    for window in windows {
        let Some(workload) = workloads::find(&window.label) else { continue };
        let counts = measure(&host, level, workload)?;
        apply(window, &counts);
    }
    Ok(())
}

/// Runs a workload while its slots are counted.
fn measure(host: &HostPmu, level: Level, workload: &Workload) -> Result<SlotCounts, HostPerfError> {
    let mut memory = vec![0; workload.memory_words];
    let mut group = SlotsGroup::open(host, level, EventSpec::new(Event::Slots).user_only())?;
    if let Some(mut prepared) = workload.prepare(&mut memory) {
        black_box(prepared.run(workload.batch));
        group.enable()?;
        let start = Instant::now();
        while start.elapsed() < MEASURE {
            black_box(prepared.run(workload.batch));
        }
        group.disable()?;
    }
    Ok(group.read()?.counts)
}

/// Puts the shares into the window's rows.
fn apply(window: &mut Measured, counts: &SlotCounts) {
    for reading in &mut window.metrics {
        reading.native_percent = Metric::ALL
            .into_iter()
            .find(|metric| metric.sysfs_name() == reading.metric)
            .and_then(|metric| counts.get(metric))
            .filter(|_| counts.slots != 0)
            .map(|count| count as f64 * 100.0 / counts.slots as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::metric_readings;
    use vpmu::{Provenance, TopdownSlots};

    #[test]
    fn each_metric_gets_the_share_of_its_own_name() {
        let slots = TopdownSlots { slots: 1_000, fields: [300, 100, 200, 400, 50, 90, 120, 250] };
        let mut window = Measured {
            label: "alu".to_owned(),
            counters: Vec::new(),
            metrics: metric_readings(&slots, None, 2, Provenance::Exact),
            topdown: Some(slots),
        };
        let raw = 0x40_1F_17_0D_66_33_19_4D;
        apply(&mut window, &SlotCounts::from_metrics(255_000, raw, Level::Two));
        let shares: Vec<f64> = window.metrics.iter().filter_map(|reading| reading.native_percent).collect();
        let fields = [0x4D, 0x19, 0x33, 0x66, 0x0D, 0x17, 0x1F, 0x40];
        assert_eq!(shares.len(), fields.len());
        for (share, field) in shares.iter().zip(fields) {
            assert!((share - f64::from(field) * 100.0 / 255.0).abs() < 0.001, "{shares:?}");
        }
    }
}
