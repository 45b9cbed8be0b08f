//! `vpmu test merge`: the reports of all shards as one, and what is missing of it.

mod error;
mod json;
mod junit;

pub(crate) use error::MergeError;

use super::check::Status;
use super::report::PartOf;
use super::shard::By;
use super::show::Counts;
use crate::args::test::MergeArgs;
use crate::error::CliError;
use crate::exit;
use crate::output::file;
use crate::output::number::{counted, grouped};
use crate::output::{BAD, GOOD, WARN, paint, remark};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Most parts of a run: as many as an indexed Job of Kubernetes has at most.
const MOST_PARTS: u64 = 100_000;

/// The results of one part, in their order.
struct Part<T> {
    path: PathBuf,
    of: PartOf,
    seconds: f64,
    tests: Vec<T>,
}

/// A test in a report.
trait Test {
    fn name(&self) -> &str;
    fn status(&self) -> Status;
}

/// What the parts are together.
struct Whole<T> {
    tests: Vec<T>,
    counts: Counts,
    /// Of all parts, number of those that have a report, and of those that have none, from 1.
    total: u64,
    missing: Vec<u64>,
    /// Tests without a result.
    not_run: usize,
    /// Of the part that took longest.
    seconds: f64,
}

pub(super) fn merge(args: &MergeArgs, as_json: bool) -> Result<u8, CliError> {
    file::check(false, &[("--output", Some(&args.output))])?;
    let texts = read(&args.files)?;
    let is_xml = |text: &str| text.trim_start().starts_with('<');
    let (xml, other): (Vec<_>, Vec<_>) = texts.into_iter().partition(|(_, text)| is_xml(text));
    let (text, exit_code, summary) = match (xml.first(), other.first()) {
        (Some((xml, _)), Some((other, _))) => {
            return Err(MergeError::Mixed { xml: xml.clone(), other: other.clone() }.into());
        }
        (Some((path, _)), None) if as_json => return Err(MergeError::NotJson(path.clone()).into()),
        (Some(_), None) => {
            let whole = join(junit::parts(xml)?)?;
            let (code, summary) = (whole.exit_code(), whole.summary());
            (junit::write(whole).map_err(MergeError::Serialize)?, code, summary)
        }
        _ => {
            let whole = join(json::parts(other)?)?;
            let (code, summary) = (whole.exit_code(), whole.summary());
            (json::write(whole)?, code, summary)
        }
    };
    file::write(&args.output, text.as_bytes())?;
    if !args.quiet {
        remark(&summary);
    }
    Ok(exit_code)
}

fn read(paths: &[PathBuf]) -> Result<Vec<(PathBuf, String)>, MergeError> {
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|source| MergeError::Read { path: path.to_owned(), source })
    };
    paths.iter().map(|path| Ok((path.clone(), read(path)?))).collect()
}

/// Puts the parts together in the order of one run.
fn join<T: Test>(mut parts: Vec<Part<T>>) -> Result<Whole<T>, MergeError> {
    parts.sort_by_key(|part| part.of.shard.index);
    check(&parts)?;
    // clap has made sure that there is a file.
    let first = parts.first().map(|part| part.of);
    let total = first.map_or(0, |of| of.shard.count);
    let selected = first.map_or(0, |of| of.selected);
    let is_there = |index: &u64| parts.binary_search_by_key(index, |part| part.of.shard.index).is_ok();
    let missing: Vec<u64> = (1..=total).filter(|index| !is_there(index)).collect();
    let seconds = parts.iter().map(|part| part.seconds).fold(0.0, f64::max);
    let mut tests = Vec::new();
    for part in parts {
        for (position, test) in part.tests.into_iter().enumerate() {
            let order = match part.of.shard.by {
                // Part i has the tests i - 1, i - 1 + n, i - 1 + 2n and so on.
                By::Count => (position as u64, part.of.shard.index),
                By::Hash => (part.of.shard.index, position as u64),
            };
            tests.push((order, test));
        }
    }
    tests.sort_by_key(|(order, _)| *order);
    let tests: Vec<T> = tests.into_iter().map(|(_, test)| test).collect();
    let not_run =
        selected.checked_sub(tests.len()).ok_or(MergeError::TooMany { tests: tests.len(), selected })?;
    let mut counts = Counts::default();
    tests.iter().for_each(|test| counts.add(test.status()));
    Ok(Whole { tests, counts, total, missing, not_run, seconds })
}

/// The parts, in their order, are of one run, and none is there twice.
fn check<T: Test>(parts: &[Part<T>]) -> Result<(), MergeError> {
    let files = |first: &Part<T>, second: &Part<T>| (first.path.clone(), second.path.clone());
    for pair in parts.windows(2) {
        let [first, second] = pair else { continue };
        let (one, other) = (first.of.shard, second.of.shard);
        let ((a, b), what) =
            (files(first, second), |of: PartOf| format!("{} of {}", of.shard, counted(of.selected, "test")));
        if (one.by, one.count, first.of.selected) != (other.by, other.count, second.of.selected) {
            return Err(MergeError::OtherRun {
                first: a,
                one: what(first.of),
                second: b,
                other: what(second.of),
            });
        }
        if one.index == other.index {
            return Err(MergeError::Doubled { shard: one.to_string(), first: a, second: b });
        }
    }
    if let Some(part) = parts.iter().find(|part| part.of.shard.count > MOST_PARTS) {
        return Err(MergeError::TooManyParts { path: part.path.clone(), most: MOST_PARTS });
    }
    let mut seen: BTreeMap<&str, &Part<T>> = BTreeMap::new();
    for part in parts {
        for test in &part.tests {
            if let Some(earlier) = seen.insert(test.name(), part) {
                let (first, second) = files(earlier, part);
                return Err(MergeError::TestTwice { name: test.name().to_owned(), first, second });
            }
        }
    }
    Ok(())
}

impl<T> Whole<T> {
    fn exit_code(&self) -> u8 {
        if self.counts.failed > 0 || !self.missing.is_empty() || self.not_run > 0 {
            exit::FAIL
        } else if self.counts.passed > 0 {
            exit::PASS
        } else {
            exit::SKIP
        }
    }

    fn summary(&self) -> String {
        let is_whole = self.exit_code() != exit::FAIL;
        let style = if is_whole { GOOD } else { BAD };
        let mut text = format!(
            "{} {} of {}, {} run: {}\n",
            paint(style.bold(), "     Summary"),
            grouped(self.total - self.missing.len() as u64),
            counted(usize::try_from(self.total).unwrap_or(usize::MAX), "shard"),
            counted(self.tests.len(), "test"),
            self.counts.words()
        );
        let warning = paint(WARN.bold(), "     warning:");
        if let [one] = self.missing.as_slice() {
            text += &format!("{warning} shard {one} of {} is missing\n", self.total);
        } else if !self.missing.is_empty() {
            text += &format!("{warning} shards {} of {} are missing\n", ranges(&self.missing), self.total);
        }
        if self.not_run > 0 {
            text += &format!("{warning} {} without a result\n", counted(self.not_run, "test"));
        }
        text
    }
}

/// Ascending numbers as `1, 3-5`.
fn ranges(numbers: &[u64]) -> String {
    let chunks = numbers.chunk_by(|a, b| a + 1 == *b);
    let range = |chunk: &[u64]| match chunk {
        [first, .., last] => format!("{first}-{last}"),
        other => other.iter().map(ToString::to_string).collect(),
    };
    chunks.map(range).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
