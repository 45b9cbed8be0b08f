//! `vpmu diff A.json B.json`: two results of `vpmu stat --json -- PROGRAM`, event by event.

use crate::args::DiffArgs;
use crate::error::CliError;
use crate::exit;
use crate::output::number::{grouped, signed, signed_decimal};
use crate::output::table::{self, left, right, styled};
use crate::output::{BAD, paint, print, print_json, remark};
use serde::Serialize;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Privilege levels in the results, and as perf writes them.
const LEVELS: [(&str, &str); 2] = [("user", ":u"), ("kernel", ":k")];

/// One count in both results.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    /// With `:u` or `:k`; of both levels together without.
    event: String,
    before: Option<u64>,
    after: Option<u64>,
    difference: Option<i128>,
    /// Of what it was before.
    percent: Option<f64>,
    /// The condition that it broke.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<String>,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    command: &'static str,
    before: &'a Path,
    after: &'a Path,
    rows: &'a [Row],
    failed: bool,
}

/// Prints the differences; fails if one breaks a condition.
pub(super) fn diff(args: &DiffArgs, json: bool) -> Result<u8, CliError> {
    let [before, after] = [&args.before, &args.after].map(|path| counts(path));
    let (before, after) = (before?, after?);
    let mut rows = rows(&before, &after);
    for condition in &args.fail_on {
        let row = rows.iter_mut().find(|row| row.event == condition.event);
        match row.map(|row| (row.before, row.after, row)) {
            Some((Some(before), Some(after), row)) => {
                row.broken = condition
                    .is_broken_by(before, after)
                    .then(|| condition.text.clone())
                    .or(row.broken.take());
            }
            _ => return Err(CliError::NotInBoth { event: condition.event.clone() }),
        }
    }
    let failed = rows.iter().any(|row| row.broken.is_some());
    if json {
        let document =
            Document { command: "diff", before: &args.before, after: &args.after, rows: &rows, failed };
        print_json(&document)?;
    } else {
        print(&render(&rows))?;
    }
    for row in rows.iter().filter(|_| !json) {
        if let Some(condition) = &row.broken {
            remark(&format!("{}: {} breaks {condition}\n", paint(BAD, "failed"), row.event));
        }
    }
    Ok(if failed { exit::FAIL } else { exit::PASS })
}

/// Name and count of everything in a result.
fn counts(path: &Path) -> Result<Vec<(String, Option<u64>)>, CliError> {
    let not_ours = || CliError::NoResult { path: path.to_owned() };
    let text =
        fs::read_to_string(path).map_err(|source| CliError::Result { path: path.to_owned(), source })?;
    let document: Value = serde_json::from_str(&text).map_err(|_| not_ours())?;
    if document["command"] != "stat" || document["program"].is_null() {
        return Err(not_ours());
    }
    let events = document["events"].as_array().ok_or_else(not_ours)?;
    let mut counts = Vec::new();
    for event in events {
        let name = event["event"].as_str().ok_or_else(not_ours)?;
        let levels = LEVELS.map(|(key, suffix)| (suffix, event[key].as_u64()));
        let [(_, user), (_, kernel)] = levels;
        if let (Some(user), Some(kernel)) = (user, kernel) {
            counts.push((name.to_owned(), user.checked_add(kernel)));
        }
        counts.extend(levels.map(|(suffix, count)| (format!("{name}{suffix}"), count)));
    }
    Ok(counts)
}

fn rows(before: &[(String, Option<u64>)], after: &[(String, Option<u64>)]) -> Vec<Row> {
    let count = |list: &[(String, Option<u64>)], name: &str| {
        list.iter().find(|(other, _)| other == name).and_then(|(_, count)| *count)
    };
    let only_after = after.iter().filter(|(name, _)| !before.iter().any(|(other, _)| other == name));
    let names = before.iter().chain(only_after).map(|(name, _)| name);
    let rows = names.map(|name| {
        let (before, after) = (count(before, name), count(after, name));
        let difference = before.zip(after).map(|(before, after)| i128::from(after) - i128::from(before));
        let percent = difference
            .zip(before.filter(|before| *before > 0))
            .map(|(difference, before)| difference as f64 * 100.0 / before as f64);
        Row { event: name.clone(), before, after, difference, percent, broken: None }
    });
    rows.filter(|row| row.before.is_some() || row.after.is_some()).collect()
}

fn render(rows: &[Row]) -> String {
    let heads = ["Before", "After", "Difference", "Percent"].map(right);
    let mut table = table::new([left("Event")].into_iter().chain(heads).collect());
    for row in rows {
        let count = |count: Option<u64>| right(count.map_or_else(|| "-".to_owned(), grouped));
        let difference = right(row.difference.map_or_else(|| "-".to_owned(), signed));
        let percent = row.percent.map_or_else(String::new, |percent| signed_decimal(percent, 4));
        let mark = |cell| if row.broken.is_some() { styled(cell, BAD) } else { cell };
        table.add_row(vec![
            left(&row.event),
            count(row.before),
            count(row.after),
            mark(difference),
            mark(right(percent)),
        ]);
    }
    table::Fitting { prose: false, dispensable: &[4] }.render(&mut table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_one_result_has_is_listed_without_a_difference() {
        let list = |names: &[(&str, u64)]| -> Vec<_> {
            names.iter().map(|(name, count)| ((*name).to_owned(), Some(*count))).collect()
        };
        let rows = rows(&list(&[("a", 4), ("b", 1)]), &list(&[("a", 5), ("c", 1)]));
        let told: Vec<_> = rows.iter().map(|row| (row.event.as_str(), row.difference, row.percent)).collect();
        assert_eq!(told, [("a", Some(1), Some(25.0)), ("b", None, None), ("c", None, None)]);
    }
}
