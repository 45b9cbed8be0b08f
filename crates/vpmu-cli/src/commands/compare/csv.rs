//! `--csv`: one line per counter and per PERF_METRICS field, for spreadsheets and scripts.

use crate::measured::Measured;
use serde::Serialize;
use std::io::Write;

/// A line; what does not apply is empty.
#[derive(Debug, Default, Serialize)]
struct Line<'a> {
    window: &'a str,
    kind: &'static str,
    name: &'a str,
    event: String,
    provenance: String,
    guest: Option<u64>,
    vmm: Option<u64>,
    difference: Option<i128>,
    native_percent: Option<f64>,
    guest_percent: Option<f64>,
    vmm_percent: Option<f64>,
    difference_points: Option<f64>,
    rounding_points: Option<f64>,
    other_steps: Option<i64>,
    rebuilt_field: Option<u64>,
    rebuilt_points: Option<f64>,
    rebuilt_steps: Option<i64>,
}

/// Writes the table with a line of column names first.
///
/// # Errors
/// What `to` returns.
pub(super) fn write(windows: &[Measured], to: impl Write) -> Result<(), csv::Error> {
    // Also where there is no line to take them from.
    const COLUMNS: [&str; 17] = [
        "window",
        "kind",
        "name",
        "event",
        "provenance",
        "guest",
        "vmm",
        "difference",
        "native_percent",
        "guest_percent",
        "vmm_percent",
        "difference_points",
        "rounding_points",
        "other_steps",
        "rebuilt_field",
        "rebuilt_points",
        "rebuilt_steps",
    ];
    let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(to);
    csv.write_record(COLUMNS)?;
    for (number, window) in (1..).zip(windows) {
        let name = window.name(number);
        for reading in &window.counters {
            csv.serialize(Line {
                window: &name,
                kind: "counter",
                name: &reading.counter,
                event: format!("{}{}", reading.event, reading.filter),
                provenance: reading.provenance.to_string(),
                guest: reading.guest,
                vmm: reading.vmm,
                difference: reading.difference,
                ..Line::default()
            })?;
        }
        for reading in &window.metrics {
            csv.serialize(Line {
                window: &name,
                kind: "metric",
                name: reading.metric,
                provenance: reading.provenance.to_string(),
                guest: reading.guest_field,
                native_percent: reading.native_percent,
                guest_percent: reading.guest_percent,
                vmm_percent: Some(reading.vmm_percent),
                difference_points: reading.difference_points,
                rounding_points: Some(reading.rounding_points),
                other_steps: reading.unexplained_steps,
                rebuilt_field: Some(reading.rebuilt_field),
                rebuilt_points: Some(reading.rebuilt_points),
                rebuilt_steps: Some(reading.rebuilt_steps),
                ..Line::default()
            })?;
        }
    }
    csv.flush()?;
    Ok(())
}
