//! `vpmu run --isolate`: every test on a machine of its own, results as one TAP stream.

use crate::args::MachineArgs;
use crate::error::CliError;
use crate::exit;
use crate::interrupt;
use crate::machine::{Plan, exit_code};
use crate::output::console::Target;
use crate::output::number::{counted, duration};
use crate::output::progress::Progress;
use crate::output::{BAD, GOOD, WARN, paint, print, print_json, printable, remark, report};
use guest_protocol::tap::{self, Directive, Line};
use platform::loader::TestInfo;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use vmm::engine::EngineError;
use vmm::machine::Outcome;
use vmm::run::{RunError, RunReport};

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Passed,
    Failed,
    Skipped,
}

/// One test's result.
#[derive(Debug, Clone, Serialize)]
struct TestResult {
    name: String,
    file: String,
    line: u32,
    status: Status,
    /// Why it was skipped, or how it failed when the guest did not say so itself.
    reason: Option<String>,
    /// The guest's own description of a failure: the lines of its YAML block.
    details: Vec<String>,
    /// `None` when the VMM could not run it to an end.
    outcome: Option<Outcome>,
    run_ns: u64,
    console: String,
}

/// The JSON document.
#[derive(Serialize)]
struct Document<'a> {
    command: &'static str,
    image: &'a Path,
    exit_code: u8,
    passed: usize,
    failed: usize,
    skipped: usize,
    tests: &'a [TestResult],
}

pub(super) fn isolate(args: &MachineArgs, json: bool) -> Result<u8, CliError> {
    let plan = Plan::new(args)?;
    let tests = plan.tests()?;
    let progress = Progress::start(plan.activity(), args.quiet);
    if !json {
        print(&format!("TAP version 13\n1..{}\n", tests.len()))?;
    }
    let mut results = Vec::with_capacity(tests.len());
    let mut interrupted = None;
    for (number, test) in (1..).zip(&tests) {
        progress.set_message(format!("test {number} of {}: {}", tests.len(), test.name));
        let result = match run_test(&plan, test, &progress) {
            Ok(result) => result,
            Err(error) => {
                if !json {
                    print(&format!("Bail out! {}\n", printable(&error.line())))?;
                }
                return Err(error);
            }
        };
        if let Some(Outcome::Interrupted { signal }) = result.outcome {
            interrupted = Some(signal);
            if !json {
                print(&format!("Bail out! interrupted by {}\n", interrupt::name(signal)))?;
            }
            break;
        }
        if !json {
            let text = tap_result(number, &result);
            progress.output(text.as_bytes());
            print(&text)?;
        }
        results.push(result);
    }
    progress.end();
    let count = |status| results.iter().filter(|result| result.status == status).count();
    let (passed, failed, skipped) = (count(Status::Passed), count(Status::Failed), count(Status::Skipped));
    let exit_code = match interrupted {
        Some(signal) => interrupt::exit_code(signal),
        None if failed == 0 => exit::PASS,
        None => exit::FAIL,
    };
    if json {
        let image = plan.image_path();
        let tests = &results;
        print_json(&Document { command: "run", image, exit_code, passed, failed, skipped, tests })?;
    } else if !args.quiet {
        let time: u64 = results.iter().map(|result| result.run_ns).sum();
        remark(&summary(passed, failed, skipped, time));
    }
    Ok(exit_code)
}

fn run_test(plan: &Plan<'_>, test: &TestInfo, progress: &Arc<Progress>) -> Result<TestResult, CliError> {
    match plan.run_tests(&test.name, Target::Nowhere, progress) {
        Ok(report) => Ok(TestResult::from_report(test, report)),
        // The engine broke on this guest; the next test has a fresh one.
        Err(error @ CliError::Run(RunError::Engine(EngineError::Kvm(_)))) if !is_unavailable(&error) => {
            Ok(TestResult::new(test, Status::Failed, Some(error.line())))
        }
        Err(error) => Err(error),
    }
}

fn is_unavailable(error: &CliError) -> bool {
    matches!(error, CliError::Run(RunError::Engine(EngineError::Kvm(kvm))) if kvm.is_unavailable())
}

impl TestResult {
    fn new(test: &TestInfo, status: Status, reason: Option<String>) -> Self {
        Self {
            name: test.name.clone(),
            file: test.file.clone(),
            line: test.line,
            status,
            reason,
            details: Vec::new(),
            outcome: None,
            run_ns: 0,
            console: String::new(),
        }
    }

    /// The guest's TAP counts as long as its machine ended in agreement with it.
    fn from_report(test: &TestInfo, report: RunReport) -> Self {
        let said = parse(&report.console, &test.name);
        let ended = exit_code(&report.outcome, false);
        let (status, reason, details) = match said {
            Some(Said { ok: false, details, .. }) => (Status::Failed, None, details),
            Some(Said { skip: Some(reason), .. }) if ended == exit::PASS => {
                (Status::Skipped, Some(reason), Vec::new())
            }
            Some(_) if ended == exit::PASS => (Status::Passed, None, Vec::new()),
            Some(_) => {
                (Status::Failed, Some(format!("the test passed, then: {}", words(&report))), Vec::new())
            }
            None => (Status::Failed, Some(words(&report)), Vec::new()),
        };
        let mut result = Self::new(test, status, reason);
        result.details = details;
        result.run_ns = report.run_ns;
        result.outcome = Some(report.outcome);
        result.console = report.console;
        result
    }
}

/// How the machine ended, for a test that gave no result.
fn words(report: &RunReport) -> String {
    let (_, mut text) = report::outcome(&report.outcome);
    if let Outcome::Exit { status } = report.outcome {
        text = format!("the image ended with exit status {status} and no result for this test");
    }
    let rip = report.registers.as_ref().and_then(|dump| {
        dump.registers.iter().find(|(name, _)| name.eq_ignore_ascii_case("rip")).map(|(_, rip)| *rip)
    });
    if let Some(rip) = rip {
        let _ = write!(text, " at rip {rip:#x}");
    }
    text
}

/// What the guest's own TAP says about a test.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    ok: bool,
    skip: Option<String>,
    details: Vec<String>,
}

/// Finds the result of test `name` in a console log.
fn parse(console: &str, name: &str) -> Option<Said> {
    let mut lines = console.lines().map(str::trim_end);
    let (ok, skip) = lines.by_ref().find_map(|line| result_line(line, name))?;
    let details = lines.take_while(|line| line.starts_with("  ")).map(printable).collect();
    Some(Said { ok, skip, details })
}

/// Whether this is the test's result, and why it was skipped.
fn result_line(line: &str, name: &str) -> Option<(bool, Option<String>)> {
    let Some(Line::Result(result)) = tap::parse(line) else { return None };
    let skip = match result.directive {
        Some(Directive::Skip(reason)) => Some(printable(reason)),
        _ => None,
    };
    (result.name == name).then_some((result.ok, skip))
}

/// The test's lines in our stream.
fn tap_result(number: usize, result: &TestResult) -> String {
    let name = &result.name;
    match (result.status, &result.reason) {
        (Status::Passed, _) => format!("ok {number} - {name}\n"),
        (Status::Skipped, reason) => {
            format!("ok {number} - {name} # SKIP {}\n", reason.as_deref().unwrap_or_default())
        }
        (Status::Failed, None) => {
            let details: String = result.details.iter().map(|line| format!("{line}\n")).collect();
            format!("not ok {number} - {name}\n{details}")
        }
        (Status::Failed, Some(reason)) => {
            let at = format!("{}:{}", result.file, result.line);
            format!("not ok {number} - {name}\n  ---\n  message: {reason:?}\n  at: {at}\n  ...\n")
        }
    }
}

fn summary(passed: usize, failed: usize, skipped: usize, run_ns: u64) -> String {
    let mut parts = Vec::new();
    for (count, style, what) in
        [(passed, GOOD, "passed"), (failed, BAD, "failed"), (skipped, WARN, "skipped")]
    {
        if count > 0 {
            parts.push(paint(style, format_args!("{count} {what}")));
        }
    }
    format!(
        "{}: {}, {} of run time\n",
        counted(passed + failed + skipped, "test"),
        parts.join(", "),
        duration(run_ns)
    )
}

#[cfg(test)]
#[path = "isolate_tests.rs"]
mod tests;
