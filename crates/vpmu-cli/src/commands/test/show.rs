//! What the user sees while tests run: lines like those of cargo-nextest on stderr, and a bar on terminals.

use super::check::{Check, Status};
use super::plan::Case;
use super::schedule::Listener;
use super::verdict::{Verdict, Word};
use crate::interrupt;
use crate::output::number::{counted, grouped};
use crate::output::table::{self, left, render, right};
use crate::output::{BAD, DIM, GOOD, HEADING, WARN, paint, remark};
use anstyle::Style;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{IsTerminal as _, stderr};
use std::time::Duration;

const RULE: &str = "────────────";
const TICK: Duration = Duration::from_millis(150);

/// Results, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
}

impl Counts {
    pub(super) fn add(&mut self, status: Status) {
        match status {
            Status::Passed => self.passed += 1,
            Status::Failed => self.failed += 1,
            Status::Skipped => self.skipped += 1,
        }
    }

    pub(super) fn total(self) -> usize {
        self.passed + self.failed + self.skipped
    }

    /// `22 passed, 1 failed, 1 skipped`; what is 0 is left out, but for the first.
    pub(super) fn words(self) -> String {
        let mut text = paint(GOOD, format_args!("{} passed", grouped(self.passed as u64)));
        for (count, style, what) in [(self.failed, BAD, "failed"), (self.skipped, WARN, "skipped")] {
            if count > 0 {
                let part = paint(style, format_args!("{} {what}", grouped(count as u64)));
                let _ = write!(text, ", {part}");
            }
        }
        text
    }
}

/// The checks of one area.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub(super) struct Area {
    pub(super) area: String,
    /// Different checks, however often they ran.
    pub(super) distinct: usize,
    #[serde(flatten)]
    pub(super) runs: Counts,
}

/// Adds up checks by area.
#[derive(Debug, Default)]
pub(super) struct Areas<'a>(BTreeMap<&'a str, (Names<'a>, Counts)>);

/// Test and check.
type Names<'a> = BTreeSet<(&'a str, &'a str)>;

impl<'a> Areas<'a> {
    /// Adds the checks of a test, which is called `test` on every CPU.
    pub(super) fn add(
        &mut self,
        area: &'a str,
        test: &'a str,
        checks: impl IntoIterator<Item = (&'a str, Status)>,
    ) {
        let (distinct, runs) = self.0.entry(area).or_default();
        for (check, status) in checks {
            distinct.insert((test, check));
            runs.add(status);
        }
    }

    /// In alphabetical order.
    pub(super) fn finish(self) -> Vec<Area> {
        let area = |(area, (distinct, runs)): (&str, (Names<'_>, _))| Area {
            area: area.to_owned(),
            distinct: distinct.len(),
            runs,
        };
        self.0.into_iter().map(area).collect()
    }
}

/// The checks of a run by area.
pub(super) fn areas<'a>(results: impl Iterator<Item = (&'a Case, &'a Verdict)>) -> Vec<Area> {
    let mut areas = Areas::default();
    for (case, verdict) in results {
        let checks = verdict.checks.iter().map(|check| (check.name.as_str(), check.status));
        areas.add(&case.entry.area, &case.entry.name, checks);
    }
    areas.finish()
}

pub(super) struct Show {
    bar: ProgressBar,
    running: Vec<String>,
    ended: Counts,
    quiet: bool,
}

impl Show {
    pub(super) fn new(total: usize, quiet: bool) -> Self {
        let shown = !quiet && stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total as u64), target);
        if let Ok(style) = ProgressStyle::with_template(
            "     Running [{elapsed_precise}] [{bar:20}] {pos}/{len}: {wide_msg}",
        ) {
            bar.set_style(style.progress_chars("=> "));
        }
        if shown {
            bar.enable_steady_tick(TICK);
        }
        Self { bar, running: Vec::new(), ended: Counts::default(), quiet }
    }

    fn say(&self, text: &str) {
        self.bar.suspend(|| remark(text));
    }

    pub(super) fn begin(&self, cases: usize, images: usize, found: usize, jobs: usize) {
        if self.quiet {
            return;
        }
        let left_out = found - cases;
        let rest = if left_out > 0 {
            format!(" ({} not selected)", counted(left_out, "test"))
        } else {
            String::new()
        };
        self.say(&format!(
            "{RULE}\n{} {} of {}, {} at a time{rest}\n",
            paint(GOOD.bold(), "    Starting"),
            counted(cases, "test"),
            counted(images, "image"),
            jobs.min(cases)
        ));
    }

    fn message(&self) {
        let mut words = format!("{} running", self.running.len());
        for (count, what) in
            [(self.ended.passed, "passed"), (self.ended.failed, "failed"), (self.ended.skipped, "skipped")]
        {
            if count > 0 {
                let _ = write!(words, ", {count} {what}");
            }
        }
        if let Some(oldest) = self.running.first() {
            let _ = write!(words, " ({oldest})");
        }
        self.bar.set_message(words);
    }

    /// The end: counts, checks by area, and what failed once more.
    pub(super) fn end(&self, cases: &[Case], results: &[Verdict], seconds: f64, interrupted: Option<i32>) {
        self.bar.finish_and_clear();
        remark(&summary(cases, results, seconds, interrupted));
    }
}

impl Listener for Show {
    fn started(&mut self, case: &Case) {
        self.running.push(case.to_string());
        self.message();
    }

    fn ended(&mut self, case: &Case, verdict: &Verdict) {
        let name = case.to_string();
        self.running.retain(|running| *running != name);
        self.ended.add(verdict.status());
        self.bar.inc(1);
        self.message();
    }

    fn result(&mut self, case: &Case, verdict: &Verdict) {
        if verdict.status() == Status::Failed {
            self.say(&(line(case, verdict) + &failure(case, verdict)));
        } else if !self.quiet {
            self.say(&line(case, verdict));
        }
    }
}

fn style(word: Word) -> Style {
    match word.status() {
        Status::Passed => GOOD.bold(),
        Status::Failed => BAD.bold(),
        Status::Skipped => WARN.bold(),
    }
}

/// `        PASS [   0.123s] lbr@icelake-sp/soft (12 checks)`
fn line(case: &Case, verdict: &Verdict) -> String {
    let word = paint(style(verdict.word), format_args!("{:>12}", verdict.word.text()));
    let time = match &case.skip {
        Some(_) => format!("[{:>9}]", ""),
        None => format!("[{:>8.3}s]", verdict.seconds),
    };
    let remark = match (verdict.status(), &verdict.reason) {
        (Status::Skipped, Some(reason)) => format!(" ({reason})"),
        _ => of_checks(verdict),
    };
    format!("{word} {time} {case}{}\n", paint(DIM, remark))
}

fn of_checks(verdict: &Verdict) -> String {
    let total = verdict.checks.len();
    let (failed, skipped) = (verdict.count(Status::Failed), verdict.count(Status::Skipped));
    match (failed, skipped) {
        _ if total == 0 => String::new(),
        (0, 0) => format!(" ({})", counted(total, "check")),
        (0, skipped) => format!(" ({}, {skipped} skipped)", counted(total, "check")),
        (failed, 0) => format!(" ({failed} of {})", counted(total, "check")),
        (failed, skipped) => format!(" ({failed} of {}, {skipped} skipped)", counted(total, "check")),
    }
}

/// What a failed test's checks say, how it ended, and how to see more.
fn failure(case: &Case, verdict: &Verdict) -> String {
    const INDENT: &str = "             ";
    let mut text = String::new();
    for check in verdict.checks.iter().filter(|check| check.status == Status::Failed) {
        let _ = writeln!(text, "{INDENT}{} {}", paint(BAD, "not ok"), check.name);
        for detail in details(check) {
            let _ = writeln!(text, "{INDENT}  {detail}");
        }
    }
    if let Some(reason) = &verdict.reason {
        let _ = writeln!(text, "{INDENT}{}", paint(BAD, reason));
    }
    for line in &verdict.tail {
        let _ = writeln!(text, "{INDENT}{}", paint(DIM, format_args!("| {line}")));
    }
    let _ = writeln!(text, "{INDENT}{} {}", paint(HEADING, "again:"), case.command_line());
    text
}

/// The lines of a failure's YAML block without its marks.
pub(super) fn details(check: &Check) -> impl Iterator<Item = &str> {
    check.details.iter().map(|line| line.trim()).filter(|line| !matches!(*line, "---" | "..."))
}

fn summary(cases: &[Case], results: &[Verdict], seconds: f64, interrupted: Option<i32>) -> String {
    let mut tests = Counts::default();
    results.iter().for_each(|verdict| tests.add(verdict.status()));
    let areas = areas(cases.iter().zip(results));
    let mut text = format!("{RULE}\n");
    let style = if tests.failed > 0 { BAD } else { GOOD };
    let not_run = cases.len() - results.len();
    let number = if not_run > 0 {
        format!("{}/{}", grouped(results.len() as u64), counted(cases.len(), "test"))
    } else {
        counted(results.len(), "test")
    };
    let _ = writeln!(
        text,
        "{} [{seconds:>8.3}s] {number} run: {}",
        paint(style.bold(), "     Summary"),
        tests.words()
    );
    let mut checks = Counts::default();
    for area in &areas {
        checks.passed += area.runs.passed;
        checks.failed += area.runs.failed;
        checks.skipped += area.runs.skipped;
    }
    if checks.total() > 0 {
        let distinct: usize = areas.iter().map(|area| area.distinct).sum();
        let _ = writeln!(
            text,
            "{} {} run ({} different): {}",
            paint(style.bold(), "      Checks"),
            counted(checks.total(), "check"),
            grouped(distinct as u64),
            checks.words()
        );
        text += &render(&mut area_table(&areas));
    }
    for (case, verdict) in cases.iter().zip(results).filter(|(_, v)| v.status() == Status::Failed) {
        text += &line(case, verdict);
    }
    let were = if not_run == 1 {
        "1 test was".to_owned()
    } else {
        format!("{} tests were", grouped(not_run as u64))
    };
    let warning = match interrupted {
        Some(signal) if not_run > 0 => format!("interrupted by {}; {were} not run", interrupt::name(signal)),
        Some(signal) => format!("interrupted by {}", interrupt::name(signal)),
        None if not_run > 0 => format!("{were} not run after a failure; --no-fail-fast runs them"),
        None => return text,
    };
    let _ = writeln!(text, "{} {warning}", paint(WARN.bold(), "     warning:"));
    text
}

fn area_table(areas: &[Area]) -> comfy_table::Table {
    let mut table =
        table::new(vec![left("Area"), right("Checks"), right("Passed"), right("Failed"), right("Skipped")]);
    for area in areas.iter().filter(|area| area.distinct > 0) {
        let number = |count: usize| right(grouped(count as u64));
        let failed = number(area.runs.failed);
        table.add_row(vec![
            left(&area.area),
            number(area.distinct),
            number(area.runs.passed),
            if area.runs.failed > 0 { table::styled(failed, BAD) } else { failed },
            number(area.runs.skipped),
        ]);
    }
    table
}
