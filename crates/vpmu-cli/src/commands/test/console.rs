//! What a guest's console says about its checks: TAP, or the lines of kvm-unit-tests.

use super::check::{Check, Status};
use crate::output::printable;
use guest_protocol::tap::{self, Directive, Line};

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Console {
    pub(super) checks: Vec<Check>,
    /// Number of checks that the guest announced, or says that it made.
    planned: Option<usize>,
    bailed_out: Option<String>,
    /// The line, from 0, of each check's result.
    lines: Vec<usize>,
}

impl Console {
    /// Tells each check how long after the one before it its result came. `ends`: when each line of the console was
    /// complete, in nanoseconds.
    pub(super) fn set_times(&mut self, ends: &[u64]) {
        let mut before = 0;
        for (check, line) in self.checks.iter_mut().zip(&self.lines) {
            let Some(&end) = ends.get(*line) else { return };
            check.seconds = Some(end.saturating_sub(before) as f64 / 1e9);
            before = end;
        }
    }

    /// Why the results are not all there, if so.
    pub(super) fn incomplete(&self) -> Option<String> {
        if let Some(reason) = &self.bailed_out {
            return Some(format!("bailed out: {reason}"));
        }
        let seen = self.checks.len();
        match self.planned {
            Some(planned) if planned != seen => Some(format!("{seen} results of {planned} planned")),
            _ => None,
        }
    }

    /// The reasons of the checks that were skipped, each once.
    pub(super) fn why_skipped(&self) -> String {
        let mut reasons: Vec<&str> = Vec::new();
        for reason in self.checks.iter().filter_map(|check| check.reason.as_deref()) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        if reasons.is_empty() { "the guest says that it ran no test".to_owned() } else { reasons.join("; ") }
    }
}

/// Reads a console.
pub(super) fn read(text: &str) -> Console {
    let is_tap = text.lines().any(|line| matches!(tap::parse(line), Some(Line::Plan(_) | Line::BailOut(_))));
    if is_tap { read_tap(text) } else { read_unit_tests(text) }
}

fn check(name: &str, status: Status, reason: Option<&str>) -> Check {
    let reason = reason.map(printable);
    Check { name: printable(name), status, reason, details: Vec::new(), seconds: None }
}

fn read_tap(text: &str) -> Console {
    let mut console = Console::default();
    let mut in_details = false;
    for (number, line) in text.lines().map(str::trim_end).enumerate() {
        match tap::parse(line) {
            Some(Line::Plan(planned)) => console.planned = Some(planned),
            Some(Line::BailOut(reason)) => console.bailed_out = Some(printable(reason)),
            Some(Line::Result(result)) => {
                let (status, reason) = match result.directive {
                    _ if result.is_failure() => (Status::Failed, None),
                    Some(Directive::Skip(reason)) => (Status::Skipped, Some(reason)),
                    Some(Directive::Todo(_)) | None => (Status::Passed, None),
                };
                in_details = status == Status::Failed;
                console.checks.push(check(result.name, status, reason));
                console.lines.push(number);
            }
            None if in_details && line.starts_with("  ") => {
                if let Some(last) = console.checks.last_mut() {
                    last.details.push(printable(line));
                }
            }
            None => in_details = false,
        }
    }
    console
}

/// `PASS: name`, `FAIL: name`, `SKIP: name`, `XFAIL:`, `XPASS:`, `SUMMARY: N tests, ...`.
fn read_unit_tests(text: &str) -> Console {
    let mut console = Console::default();
    for (number, line) in text.lines().map(str::trim_end).enumerate() {
        let Some((word, rest)) = line.split_once(": ") else { continue };
        let status = match word {
            // An expected failure is what was expected; an unexpected pass is not.
            "PASS" | "XFAIL" => Status::Passed,
            "FAIL" | "XPASS" => Status::Failed,
            "SKIP" => Status::Skipped,
            "ABORT" => {
                console.bailed_out = Some(printable(rest));
                continue;
            }
            "SUMMARY" => {
                console.planned = rest.split_whitespace().next().and_then(|number| number.parse().ok());
                continue;
            }
            _ => continue,
        };
        let reason = (status == Status::Skipped).then_some(rest);
        console.checks.push(check(rest, status, reason));
        console.lines.push(number);
    }
    console
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, Status, Option<String>)> {
        read(text).checks.into_iter().map(|check| (check.name, check.status, check.reason)).collect()
    }

    fn row(name: &str, status: Status, reason: Option<&str>) -> (String, Status, Option<String>) {
        (name.to_owned(), status, reason.map(str::to_owned))
    }

    #[test]
    fn tap_is_read_with_its_details() {
        let text = "TAP version 13\r\n1..4\r\nok 1 - a\r\n# PASS: no\r\n\
                    not ok 2 - b\r\n  ---\r\n  message: \"x\"\r\n  ...\r\n\
                    ok 3 - c # SKIP needs pmu\r\nnot ok 4 - d # TODO later\r\n";
        let expected = [
            row("a", Status::Passed, None),
            row("b", Status::Failed, None),
            row("c", Status::Skipped, Some("needs pmu")),
            row("d", Status::Passed, None),
        ];
        assert_eq!(found(text), expected);
        let console = read(text);
        assert_eq!(console.incomplete(), None);
        assert_eq!(console.checks[1].details, ["  ---", "  message: \"x\"", "  ..."]);
    }

    #[test]
    fn a_plan_that_is_not_kept_is_incomplete() {
        assert_eq!(read("1..2\nok 1 - a\n").incomplete().as_deref(), Some("1 results of 2 planned"));
        assert_eq!(read("1..1\nok 1\nok 2\n").incomplete().as_deref(), Some("2 results of 1 planned"));
        assert_eq!(read("1..1\nBail out! no RAM\n").incomplete().as_deref(), Some("bailed out: no RAM"));
        assert_eq!(
            read("SUMMARY: 3 tests\nPASS: a\n").incomplete().as_deref(),
            Some("1 results of 3 planned")
        );
        assert_eq!(read("hello\n").incomplete(), None);
    }

    #[test]
    fn the_lines_of_kvm_unit_tests_are_read() {
        let text = "enabling apic\nPASS: core cycles-0\nFAIL: Intel: emulated instruction\nSKIP: llc misses\n\
                    XFAIL: known\nXPASS: not so\nINFO: x\nSUMMARY: 5 tests, 2 unexpected failures, 1 skipped\n";
        let expected = [
            row("core cycles-0", Status::Passed, None),
            row("Intel: emulated instruction", Status::Failed, None),
            row("llc misses", Status::Skipped, Some("llc misses")),
            row("known", Status::Passed, None),
            row("not so", Status::Failed, None),
        ];
        assert_eq!(found(text), expected);
        assert_eq!(read(text).incomplete(), None);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(read("PASS: a\x1b[31m\n").checks[0].name, "a\u{FFFD}[31m");
    }

    #[test]
    fn a_check_takes_as_long_as_its_result_comes_after_the_one_before() {
        let mut console = read("1..3\n# hello\nok 1 - a\nok 2 - b\nok 3 - c\n");
        console.set_times(&[1, 2, 3_000_000_000, 3_500_000_000]);
        let seconds: Vec<_> = console.checks.iter().map(|check| check.seconds).collect();
        assert_eq!(seconds, [Some(3.0), Some(0.5), None]);
    }

    #[test]
    fn each_reason_to_skip_is_said_once() {
        let console = read("1..3\nok 1 - a # SKIP x\nok 2 - b # SKIP y\nok 3 - c # SKIP x\n");
        assert_eq!(console.why_skipped(), "x; y");
    }
}
