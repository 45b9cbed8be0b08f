//! What a guest's TAP and the end of its machine make of a test.

use super::*;
use crate::output::test_report;

fn info() -> TestInfo {
    TestInfo {
        name: "counts".to_owned(),
        file: "src/bin/x.rs".to_owned(),
        line: 12,
        summary: String::new(),
        needs: Default::default(),
    }
}

fn result(console: &str, outcome: Outcome) -> TestResult {
    let mut report = test_report();
    report.console = console.to_owned();
    report.outcome = outcome;
    TestResult::from_report(&info(), report)
}

const PASS: Outcome = Outcome::Exit { status: 1 };
const FAIL: Outcome = Outcome::Exit { status: 3 };

#[test]
fn a_pass_is_a_pass() {
    let result = result("TAP version 13\r\n1..1\r\nok 1 - counts\r\n", PASS);
    assert_eq!(tap_result(4, &result), "ok 4 - counts\n");
}

#[test]
fn a_skip_keeps_its_reason() {
    let result = result("ok 1 - counts # SKIP needs exact\n", PASS);
    assert_eq!(result.status, Status::Skipped);
    assert_eq!(tap_result(4, &result), "ok 4 - counts # SKIP needs exact\n");
}

#[test]
fn a_failure_keeps_the_guests_words() {
    let console = "not ok 1 - counts\n  ---\n  message: \"left is 1\"\n  at: y.rs:3\n  ...\n# noise\n";
    insta::assert_snapshot!(tap_result(4, &result(console, FAIL)));
}

#[test]
fn a_hang_names_the_test_and_where_it_is() {
    insta::assert_snapshot!(tap_result(4, &result("TAP version 13\n1..1\n", Outcome::TimedOut)));
}

#[test]
fn a_crash_after_the_pass_is_a_failure() {
    let result = result("ok 1 - counts\n", Outcome::TripleFault);
    assert_eq!(result.status, Status::Failed);
    assert_eq!(result.reason.as_deref(), Some("the test passed, then: crashed: triple fault"));
}

#[test]
fn an_exit_without_a_result_is_a_failure() {
    let result = result("ok 1 - another\n", PASS);
    assert_eq!(result.status, Status::Failed);
}

#[test]
fn names_that_begin_alike_are_not_mixed_up() {
    assert_eq!(parse("ok 1 - counts_more\n", "counts"), None);
    assert!(parse("ok 1 counts\n", "counts").is_some_and(|said| said.ok));
}

#[test]
fn guest_output_cannot_drive_the_terminal() {
    let result = result("not ok 1 - counts\n  \x1b[2Jgone\n", FAIL);
    assert!(!tap_result(1, &result).contains('\x1b'));
}

#[test]
fn the_summary_leaves_out_what_did_not_happen() {
    let text = anstream::adapter::strip_str(&summary(3, 0, 1, 1_500_000)).to_string();
    assert_eq!(text, "4 tests: 3 passed, 1 skipped, 1.5 ms of run time\n");
}
