//! Counts of a program in the formats of others.

use super::Row;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use vpmu::Provenance;

/// Name with `:u` or `:k`, and count, of everything that was counted.
fn counts(rows: &[Row]) -> impl Iterator<Item = (String, u64)> {
    rows.iter().flat_map(|row| {
        let levels = [(":u", row.user), (":k", row.kernel)];
        levels.into_iter().filter_map(|(suffix, count)| Some((format!("{}{suffix}", row.event), count?)))
    })
}

/// Bencher Metric Format (bencher.dev, "Bencher Metric Format"): a benchmark with a value for each measure.
pub(super) fn bencher(name: &str, rows: &[Row]) -> Value {
    let measures: Map<String, Value> =
        counts(rows).map(|(event, count)| (event, json!({ "value": count }))).collect();
    json!({ name: measures })
}

/// What benchmark-action/github-action-benchmark takes as `customSmallerIsBetter`: an array of name, unit and value.
pub(super) fn github(name: &str, rows: &[Row]) -> Value {
    let unit = |event: &str| match event.rsplit_once(':') {
        Some((event, _)) => event.to_owned(),
        None => event.to_owned(),
    };
    counts(rows)
        .map(|(event, count)| json!({ "name": format!("{name} {event}"), "unit": unit(&event), "value": count }))
        .collect()
}

/// `perf stat -x`: count, unit, event, nanoseconds for which it was counted, and the share of time; nothing else.
pub(super) fn separated(separator: &str, rows: &[Row], guest_ns: u64) -> String {
    let mut text = String::new();
    let mut line = |count: Option<u64>, event: String, counted: bool| {
        let value =
            count.filter(|_| counted).map_or_else(|| "<not counted>".to_owned(), |count| count.to_string());
        let (time, share) = if counted { (guest_ns, "100.00") } else { (0, "0.00") };
        let fields =
            [value, String::new(), event, time.to_string(), share.to_owned(), String::new(), String::new()];
        let _ = writeln!(text, "{}", fields.join(separator));
    };
    for row in rows {
        if row.provenance == Provenance::Unknown {
            line(None, row.event.clone(), false);
        }
        for (suffix, count) in [(":u", row.user), (":k", row.kernel)] {
            if count.is_some() {
                line(count, format!("{}{suffix}", row.event), true);
            }
        }
    }
    text
}

/// The table as comma-separated values, with a line of names first.
pub(super) fn csv(rows: &[Row]) -> Result<Vec<u8>, csv::Error> {
    let mut lines = csv::Writer::from_writer(Vec::new());
    lines.write_record(["event", "user", "kernel", "rest", "provenance"])?;
    for row in rows {
        let count = |count: Option<u64>| count.map_or_else(String::new, |count| count.to_string());
        let provenance = row.provenance.to_string();
        lines.write_record([
            row.event.clone(),
            count(row.user),
            count(row.kernel),
            count(row.rest),
            provenance,
        ])?;
    }
    lines.into_inner().map_err(|error| csv::Error::from(error.into_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let row = |event: &str, user, kernel| Row::plain(event, user, kernel, Provenance::Exact);
        vec![
            row("instructions", Some(7), Some(3)),
            row("branches", Some(2), None),
            Row::plain("cycles", None, None, Provenance::Unknown),
        ]
    }

    #[test]
    fn every_count_is_a_measure_with_its_level() {
        let expected = json!({ "a b": {
            "instructions:u": { "value": 7 }, "instructions:k": { "value": 3 }, "branches:u": { "value": 2 },
        } });
        assert_eq!(bencher("a b", &rows()), expected);
        let github = github("a b", &rows());
        assert_eq!(github.as_array().unwrap().len(), 3);
        assert_eq!(github[0], json!({ "name": "a b instructions:u", "unit": "instructions", "value": 7 }));
    }

    #[test]
    fn lines_are_those_of_perf() {
        let text = separated(";", &rows(), 50);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "7;;instructions:u;50;100.00;;");
        assert_eq!(lines[3], "<not counted>;;cycles;0;0.00;;");
    }

    #[test]
    fn a_table_has_a_line_for_each_event() {
        let text = String::from_utf8(csv(&rows()).unwrap()).unwrap();
        let expected = ["event,user,kernel,rest,provenance", "instructions,7,3,,exact", "branches,2,,,exact"];
        assert_eq!(text.lines().take(3).collect::<Vec<_>>(), expected);
    }
}
