//! `vpmu stat --csv`: one line per counter and per category of a breakdown, for spreadsheets and scripts.

use super::Stat;
use super::tma::Tma;
use serde::Serialize;

/// A line; what does not apply is empty.
#[derive(Debug, Default, Serialize)]
struct Line<'a> {
    /// Of a breakdown: the measuring window, empty for the whole run.
    window: &'a str,
    /// `counter`, `tma`, or `formula` for what a published formula makes of the guest's readings.
    kind: &'static str,
    /// The counter, or the category.
    name: &'a str,
    event: String,
    /// Occurrences, or slots.
    count: Option<u64>,
    /// What `count` is in relation to another counter, or to all slots.
    value: Option<f64>,
    unit: &'a str,
    provenance: String,
}

/// The table with a line of column names first.
///
/// # Errors
/// None of its own: memory takes all of it.
pub(super) fn lines(stat: &Stat) -> Result<Vec<u8>, csv::Error> {
    // Also where there is no line to take them from.
    const COLUMNS: [&str; 8] = ["window", "kind", "name", "event", "count", "value", "unit", "provenance"];
    let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    csv.write_record(COLUMNS)?;
    for row in &stat.stat {
        csv.serialize(Line {
            kind: "counter",
            name: &row.counter,
            event: format!("{}{}", row.event, row.filter),
            count: row.count,
            value: row.comment.as_ref().map(|comment| comment.value),
            unit: row.comment.as_ref().map_or("", |comment| comment.unit),
            provenance: row.provenance.to_string(),
            ..Line::default()
        })?;
    }
    let mut breakdown = |window: &str, kind, tma: &Tma| -> Result<(), csv::Error> {
        tma.categories.iter().try_for_each(|category| {
            csv.serialize(Line {
                window,
                kind,
                name: category.name,
                count: Some(category.slots),
                value: Some(category.percent),
                unit: "% of slots",
                provenance: tma.provenance.to_string(),
                ..Line::default()
            })
        })
    };
    if let Some(tma) = &stat.tma {
        breakdown("", "tma", tma)?;
    }
    for window in &stat.windows_tma {
        breakdown(&window.name, "tma", &window.tma)?;
    }
    for window in &stat.windows_formula {
        breakdown(&window.name, "formula", &window.tma)?;
    }
    csv.into_inner().map_err(|error| error.into_error().into())
}
