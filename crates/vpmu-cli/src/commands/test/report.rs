//! Results for other programs: TAP 13, JUnit XML, JSON.

use super::check::{Check, Status};
use super::plan::Case;
use super::shard::Shard;
use super::show::{Area, Counts, areas, details};
use super::verdict::{Verdict, Word};
use crate::interrupt;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Which part of a run a report is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartOf {
    #[serde(flatten)]
    pub(super) shard: Shard,
    /// Number of tests of all parts.
    pub(super) selected: usize,
}

impl PartOf {
    /// As a property of a JUnit suite.
    pub(super) const PROPERTY: &'static str = "shard";
    const SELECTED: &'static str = "shard.selected";

    fn add_to(self, suite: &mut TestSuite) {
        suite.add_property((Self::PROPERTY, self.shard.to_string().as_str()));
        suite.add_property((Self::SELECTED, self.selected.to_string().as_str()));
    }

    /// What [`add_to`](Self::add_to) has left in a suite.
    pub(super) fn of(suite: &TestSuite) -> Option<Self> {
        let value = |name| {
            Some(suite.properties.iter().find(|property| property.name.as_str() == name)?.value.as_str())
        };
        Some(Self {
            shard: value(Self::PROPERTY)?.parse().ok()?,
            selected: value(Self::SELECTED)?.parse().ok()?,
        })
    }

    /// Takes from a suite what [`add_to`](Self::add_to) has left in it.
    pub(super) fn remove_from(suite: &mut TestSuite) {
        suite
            .properties
            .retain(|property| ![Self::PROPERTY, Self::SELECTED].contains(&property.name.as_str()));
    }
}

/// Name of the only suite in the report of a part without a test.
pub(super) const EMPTY_SUITE: &str = "vpmu";

/// One result per test, its checks as an indented subtest, which TAP 13 readers pass over.
pub(super) fn tap(cases: &[Case], results: &[Verdict], interrupted: Option<i32>) -> String {
    let mut text = format!("TAP version 13\n1..{}\n", cases.len());
    for (number, (case, verdict)) in (1..).zip(cases.iter().zip(results)) {
        if !verdict.checks.is_empty() {
            let _ = writeln!(text, "# Subtest: {case}");
            let _ = writeln!(text, "    1..{}", verdict.checks.len());
            for (number, check) in (1..).zip(&verdict.checks) {
                tap_check(&mut text, number, check);
            }
        }
        match (verdict.status(), &verdict.reason) {
            (Status::Passed, _) => {
                let _ = writeln!(text, "ok {number} - {case}");
            }
            (Status::Skipped, reason) => {
                let _ =
                    writeln!(text, "ok {number} - {case} # SKIP {}", reason.as_deref().unwrap_or_default());
            }
            (Status::Failed, reason) => {
                let reason = reason.clone().unwrap_or_else(|| failed_checks(verdict));
                let _ = writeln!(text, "not ok {number} - {case}\n  ---\n  message: {reason:?}");
                let _ = writeln!(text, "  command: {:?}\n  ...", case.command_line());
            }
        }
    }
    if let Some(signal) = interrupted {
        let _ = writeln!(text, "Bail out! interrupted by {}", interrupt::name(signal));
    } else if results.len() < cases.len() {
        let _ = writeln!(text, "Bail out! stopped after a failure");
    }
    text
}

fn tap_check(text: &mut String, number: usize, check: &Check) {
    let (ok, skip) = match (check.status, &check.reason) {
        (Status::Failed, _) => ("not ok", String::new()),
        (Status::Skipped, reason) => ("ok", format!(" # SKIP {}", reason.as_deref().unwrap_or_default())),
        (Status::Passed, _) => ("ok", String::new()),
    };
    // A `#` would begin a directive.
    let _ = writeln!(text, "    {ok} {number} - {}{skip}", check.name.replace('#', "\\#"));
    for line in &check.details {
        let _ = writeln!(text, "    {line}");
    }
}

fn failed_checks(verdict: &Verdict) -> String {
    let failed = verdict.count(Status::Failed);
    format!("{failed} of {} checks failed", verdict.checks.len())
}

/// A suite per test, a case per check; a test without checks, or that broke off, is a case of its own.
pub(super) fn junit(
    cases: &[Case],
    results: &[Verdict],
    seconds: f64,
    part: Option<PartOf>,
) -> Result<String, io::Error> {
    let mut report = Report::new("vpmu");
    report.set_time(Duration::from_secs_f64(seconds));
    if let (Some(part), []) = (part, results) {
        let mut suite = TestSuite::new(EMPTY_SUITE);
        part.add_to(&mut suite);
        report.add_test_suite(suite);
    }
    for (case, verdict) in cases.iter().zip(results) {
        let id = case.to_string();
        let mut suite = TestSuite::new(&id);
        suite.set_time(Duration::from_secs_f64(verdict.seconds));
        for (name, value) in
            [("image", case.entry.path.to_string_lossy().as_ref()), ("profile", case.profile())]
        {
            suite.add_property((name, value));
        }
        suite.add_property(("engine", case.engine.name()));
        if let Some(part) = part {
            part.add_to(&mut suite);
        }
        for check in &verdict.checks {
            let mut test = TestCase::new(&check.name, junit_status(check));
            test.set_classname(&id);
            let alone = (verdict.checks.len() == 1).then_some(verdict.seconds);
            if let Some(seconds) = check.seconds.or(alone) {
                test.set_time(Duration::from_secs_f64(seconds));
            }
            suite.add_test_case(test);
        }
        // Without space at its ends, which readers of JUnit leave out: what is merged is what was written.
        let console = verdict.console.trim();
        if !console.is_empty() {
            suite.set_system_out(console);
        }
        let is_said = verdict.word == Word::Fail && verdict.reason.is_none();
        if verdict.checks.is_empty() || (verdict.status() == Status::Failed && !is_said) {
            let mut test = TestCase::new(&case.entry.name, run_status(case, verdict));
            test.set_classname(&id);
            test.set_time(Duration::from_secs_f64(verdict.seconds));
            suite.add_test_case(test);
        }
        report.add_test_suite(suite);
    }
    report.to_string().map_err(io::Error::other)
}

fn junit_status(check: &Check) -> TestCaseStatus {
    match check.status {
        Status::Passed => TestCaseStatus::success(),
        Status::Skipped => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(check.reason.clone().unwrap_or_default());
            status
        }
        Status::Failed => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let lines: Vec<&str> = details(check).collect();
            let first = lines.first().copied().unwrap_or("failed");
            status.set_message(first.strip_prefix("message: ").unwrap_or(first));
            status.set_description(lines.join("\n"));
            status
        }
    }
}

fn run_status(case: &Case, verdict: &Verdict) -> TestCaseStatus {
    let reason = verdict.reason.clone().unwrap_or_default();
    match verdict.status() {
        Status::Passed => TestCaseStatus::success(),
        Status::Skipped => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(reason);
            status
        }
        Status::Failed => {
            let kind = match verdict.word {
                Word::Abort | Word::Error | Word::Interrupt => NonSuccessKind::Error,
                _ => NonSuccessKind::Failure,
            };
            let mut status = TestCaseStatus::non_success(kind);
            status.set_message(reason);
            status.set_type(verdict.word.text());
            status.set_description(format!("{}\n{}", verdict.tail.join("\n"), case.command_line()));
            status
        }
    }
}

/// The JSON document, of a run or of all shards of one.
#[derive(Debug, Serialize)]
pub(super) struct Document<T> {
    pub(super) command: &'static str,
    pub(super) exit_code: u8,
    #[serde(flatten)]
    pub(super) tests_run: Counts,
    /// After a failure without `--no-fail-fast`, or after a signal.
    pub(super) not_run: usize,
    /// Of shards, of the one that took longest.
    pub(super) seconds: f64,
    /// With `--shard`.
    pub(super) shard: Option<PartOf>,
    /// Of all shards: those without a report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) missing_shards: Option<Vec<u64>>,
    pub(super) areas: Vec<Area>,
    pub(super) tests: Vec<T>,
}

/// A test in a JSON document.
#[derive(Debug, Serialize)]
pub(super) struct Test<'a> {
    name: String,
    image: &'a Path,
    area: &'a str,
    groups: &'a [String],
    profile: &'a str,
    engine: &'a str,
    detail: Option<String>,
    timeout: u64,
    /// What shows this test alone.
    again: String,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    result: Option<Outcome<'a>>,
}

#[derive(Debug, Serialize)]
struct Outcome<'a> {
    status: Status,
    /// The word of its line.
    word: Word,
    reason: Option<&'a str>,
    seconds: f64,
    checks: &'a [Check],
}

impl<'a> Document<Test<'a>> {
    pub(super) fn new(
        cases: &'a [Case],
        results: &'a [Verdict],
        seconds: f64,
        exit_code: u8,
        shard: Option<PartOf>,
    ) -> Self {
        let mut tests_run = Counts::default();
        results.iter().for_each(|verdict| tests_run.add(verdict.status()));
        Self {
            command: "test",
            exit_code,
            tests_run,
            not_run: cases.len() - results.len(),
            seconds,
            shard,
            missing_shards: None,
            areas: areas(cases.iter().zip(results)),
            tests: cases.iter().zip(results).map(|(case, verdict)| Test::new(case, Some(verdict))).collect(),
        }
    }
}

impl<'a> Test<'a> {
    pub(super) fn new(case: &'a Case, verdict: Option<&'a Verdict>) -> Self {
        let entry = &case.entry;
        Self {
            name: case.to_string(),
            image: &entry.path,
            area: &entry.area,
            groups: &entry.groups,
            profile: case.profile(),
            engine: case.engine.name(),
            detail: case.detail_name(),
            timeout: entry.timeout,
            again: case.command_line(),
            result: verdict.map(|verdict| Outcome {
                status: verdict.status(),
                word: verdict.word,
                reason: verdict.reason.as_deref(),
                seconds: verdict.seconds,
                checks: &verdict.checks,
            }),
        }
    }
}
