//! What a test's run comes to: passed, failed or skipped, and which checks in it.

use super::check::{Check, Status};
use super::child::Ended;
use super::console::{Console, read};
use super::manifest::Expect;
use super::plan::Case;
use crate::exit;
use crate::output::printable;
use serde::Serialize;
use serde_json::Value;

/// Lines of the console that are shown for a run that broke off.
const TAIL: usize = 12;
const INTERRUPTED: &str = "interrupted before its end";

/// The word that a test's line begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Word {
    Pass,
    Fail,
    Skip,
    /// The guest did not end.
    Timeout,
    /// The guest died.
    Crash,
    /// The VMM died.
    Abort,
    /// The VMM refused.
    Error,
    /// Ctrl-C or another signal ended it.
    Interrupt,
}

impl Word {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Skip => "SKIP",
            Self::Timeout => "TIMEOUT",
            Self::Crash => "CRASH",
            Self::Abort => "ABORT",
            Self::Error => "ERROR",
            Self::Interrupt => "INTERRUPT",
        }
    }

    pub(super) fn status(self) -> Status {
        match self {
            Self::Pass => Status::Passed,
            Self::Skip => Status::Skipped,
            _ => Status::Failed,
        }
    }
}

/// A test's result.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Verdict {
    pub(super) word: Word,
    /// Why it did not pass, as far as the checks do not say it.
    pub(super) reason: Option<String>,
    pub(super) checks: Vec<Check>,
    /// End of the console of a run that broke off.
    pub(super) tail: Vec<String>,
    /// Wall-clock time of the process.
    pub(super) seconds: f64,
    /// The end of what the guest printed.
    #[serde(skip)]
    pub(super) console: String,
}

impl Verdict {
    fn new(word: Word, reason: impl Into<Option<String>>) -> Self {
        Self {
            word,
            reason: reason.into(),
            checks: Vec::new(),
            tail: Vec::new(),
            seconds: 0.0,
            console: String::new(),
        }
    }

    pub(super) fn skipped(reason: &str) -> Self {
        Self::new(Word::Skip, reason.to_owned())
    }

    pub(super) fn status(&self) -> Status {
        self.word.status()
    }

    pub(super) fn count(&self, status: Status) -> usize {
        self.checks.iter().filter(|check| check.status == status).count()
    }
}

/// Judges how a test's process ended.
pub(super) fn judge(case: &Case, ended: Ended) -> Verdict {
    match ended {
        Ended::Report(report) => {
            let verdict = judge_report(case.entry.expect, case.entry.timeout, &report);
            let console = report["console"].as_str().unwrap_or_default();
            Verdict { console: end_of(console).to_owned(), ..verdict }
        }
        Ended::Refused(why) => Verdict::new(Word::Error, why),
        Ended::Died(how) => Verdict::new(Word::Abort, how),
        Ended::Interrupted => Verdict::new(Word::Interrupt, INTERRUPTED.to_owned()),
        Ended::Hung => Verdict::new(Word::Timeout, "vpmu did not end its guest, and was killed".to_owned()),
    }
}

fn judge_report(expect: Expect, timeout: u64, report: &Value) -> Verdict {
    let text = report["console"].as_str().unwrap_or_default();
    let mut console = read(text);
    let kind = report["outcome"]["kind"].as_str().unwrap_or("no outcome");
    let exit_code = report["exit_code"].as_u64().and_then(|code| u8::try_from(code).ok());
    let cut = report["console_dropped"].as_u64().is_some_and(|dropped| dropped > 0);
    // Lines whose beginning is gone cannot be counted.
    if let (Some(ends), false) = (report["console_line_ns"].as_array(), cut) {
        console.set_times(&ends.iter().filter_map(Value::as_u64).collect::<Vec<_>>());
    }
    if kind == "interrupted" {
        return broke_off(Word::Interrupt, INTERRUPTED.to_owned(), console.checks, text);
    }
    if let Some(wanted) = expect.outcome() {
        return if kind == wanted {
            as_expected(format!("ends as it has to: {wanted}"))
        } else {
            broke_off(Word::Fail, format!("ended by {kind} instead of {wanted}"), Vec::new(), text)
        };
    }
    let (word, how) = match kind {
        "exit" => return judge_exit(expect, exit_code, console, cut, text),
        "timed-out" => (Word::Timeout, format!("the guest did not end within {timeout} s")),
        "cannot-execute" => {
            let what = report["outcome"]["what"].as_str().unwrap_or("an instruction");
            (Word::Crash, format!("the engine cannot execute {}", printable(what)))
        }
        other => (Word::Crash, format!("the guest ended by {other}{}", place(report))),
    };
    broke_off(word, how, console.checks, text)
}

/// As much of a console as a report takes.
fn end_of(console: &str) -> &str {
    const MOST: usize = 1 << 16;
    let start = console.len().saturating_sub(MOST);
    let start = (start..=console.len()).find(|&at| console.is_char_boundary(at));
    start.map_or(console, |start| &console[start..])
}

/// Where the guest stood.
fn place(report: &Value) -> String {
    let registers = report["registers"]["registers"].as_array();
    let rip = registers.and_then(|all| all.iter().find(|pair| pair[0] == "rip")?[1].as_u64());
    rip.map_or_else(String::new, |rip| format!(" at rip {rip:#x}"))
}

fn judge_exit(expect: Expect, exit_code: Option<u8>, console: Console, cut: bool, text: &str) -> Verdict {
    let incomplete = if cut { None } else { console.incomplete() };
    let failed = console.checks.iter().any(|check| check.status == Status::Failed);
    let skipped = console.checks.iter().any(|check| check.status == Status::Skipped);
    let passed = console.checks.iter().any(|check| check.status == Status::Passed);
    if expect == Expect::Fail {
        return match incomplete {
            None if exit_code == Some(exit::FAIL) => {
                as_expected("fails as it has to, and comes to its end".to_owned())
            }
            None => broke_off(Word::Fail, "did not fail, which it has to".to_owned(), Vec::new(), text),
            Some(what) => broke_off(Word::Fail, what, Vec::new(), text),
        };
    }
    let (word, reason) = match (incomplete, exit_code) {
        (Some(what), _) => (Word::Fail, Some(what)),
        // What failed says so itself.
        (None, _) if failed => (Word::Fail, None),
        (None, Some(exit::PASS)) if skipped && !passed => (Word::Skip, Some(console.why_skipped())),
        (None, Some(exit::SKIP)) => (Word::Skip, Some(console.why_skipped())),
        (None, Some(exit::PASS)) => (Word::Pass, None),
        (None, _) => (Word::Fail, Some("the guest's exit status says that it failed".to_owned())),
    };
    let mut verdict = Verdict::new(word, reason);
    if word == Word::Fail && verdict.reason.is_some() {
        verdict.tail = tail(text);
    }
    verdict.checks = console.checks;
    verdict
}

/// A run whose end is what it is for is one check.
fn as_expected(name: String) -> Verdict {
    let check = Check { name, status: Status::Passed, reason: None, details: Vec::new(), seconds: None };
    Verdict { checks: vec![check], ..Verdict::new(Word::Pass, None) }
}

fn broke_off(word: Word, reason: String, checks: Vec<Check>, text: &str) -> Verdict {
    Verdict { checks, tail: tail(text), ..Verdict::new(word, reason) }
}

fn tail(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL)..].iter().map(|line| printable(line.trim_end())).collect()
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
