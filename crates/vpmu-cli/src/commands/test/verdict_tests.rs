//! What ends and consoles of guests come to.

use super::*;
use serde_json::json;

fn report(kind: &str, exit_code: u8, console: &str) -> Value {
    json!({ "outcome": { "kind": kind }, "exit_code": exit_code, "console": console, "console_dropped": 0 })
}

fn judged(expect: Expect, report: &Value) -> (Word, Option<String>) {
    let verdict = judge_report(expect, 5, report);
    (verdict.word, verdict.reason)
}

fn word(kind: &str, exit_code: u8, console: &str) -> Word {
    judged(Expect::Pass, &report(kind, exit_code, console)).0
}

#[test]
fn a_pass_needs_the_exit_status_and_the_checks() {
    assert_eq!(word("exit", 0, "1..1\nok 1 - a\n"), Word::Pass);
    assert_eq!(word("exit", 0, "no results at all\n"), Word::Pass);
    assert_eq!(word("exit", 0, "1..1\nnot ok 1 - a\n"), Word::Fail);
    assert_eq!(word("exit", 0, "1..2\nok 1 - a\n"), Word::Fail);
    assert_eq!(word("exit", 1, "1..1\nok 1 - a\n"), Word::Fail);
    assert_eq!(word("exit", 0, "PASS: a\nFAIL: b\nSUMMARY: 2 tests, 1 unexpected failures\n"), Word::Fail);
}

#[test]
fn a_console_whose_beginning_is_lost_is_not_incomplete() {
    let mut cut = report("exit", 0, "ok 7 - g\nok 8 - h\n1..8\n");
    assert_eq!(judged(Expect::Pass, &cut).0, Word::Fail);
    cut["console_dropped"] = 100.into();
    assert_eq!(judged(Expect::Pass, &cut).0, Word::Pass);
}

#[test]
fn what_tests_nothing_is_skipped_with_the_reasons() {
    let all = report("exit", 0, "1..2\nok 1 - a # SKIP needs lbr\nok 2 - b # SKIP needs lbr\n");
    assert_eq!(judged(Expect::Pass, &all), (Word::Skip, Some("needs lbr".to_owned())));
    assert_eq!(word("exit", 0, "1..2\nok 1 - a # SKIP x\nok 2 - b\n"), Word::Pass);
    assert_eq!(word("exit", exit::SKIP, "SUMMARY: 0 tests\n"), Word::Skip);
}

#[test]
fn other_ends_are_failures_that_say_how() {
    assert_eq!(word("timed-out", 124, ""), Word::Timeout);
    let mut crash = report("triple-fault", 4, "1..2\nok 1 - a\n# in b\n");
    crash["registers"] = json!({ "registers": [["rax", 1], ["rip", 0x10_0000]] });
    let verdict = judge_report(Expect::Pass, 5, &crash);
    assert_eq!(verdict.word, Word::Crash);
    assert_eq!(verdict.reason.as_deref(), Some("the guest ended by triple-fault at rip 0x100000"));
    assert_eq!(verdict.tail, ["1..2", "ok 1 - a", "# in b"]);
    assert_eq!(verdict.count(Status::Passed), 1, "what passed before is kept");
}

#[test]
fn an_end_can_be_what_a_test_is_for() {
    assert_eq!(judged(Expect::TripleFault, &report("triple-fault", 4, "")).0, Word::Pass);
    assert_eq!(judged(Expect::TimedOut, &report("timed-out", 124, "")).0, Word::Pass);
    let wrong = judged(Expect::Halted, &report("triple-fault", 4, ""));
    assert_eq!(wrong, (Word::Fail, Some("ended by triple-fault instead of halted".to_owned())));
    assert_eq!(judged(Expect::Fail, &report("exit", 1, "1..2\nok 1 - a\nnot ok 2 - b\n")).0, Word::Pass);
    assert_eq!(judged(Expect::Fail, &report("exit", 1, "1..3\nnot ok 1 - b\n")).0, Word::Fail);
    assert_eq!(judged(Expect::Fail, &report("exit", 0, "1..1\nok 1 - a\n")).0, Word::Fail);
}

#[test]
fn the_tail_is_the_end() {
    let console: String = (0..100).map(|n| format!("line {n}\n")).collect();
    let verdict = judge_report(Expect::Pass, 5, &report("halted", 4, &console));
    assert_eq!((verdict.tail.len(), verdict.tail.last().unwrap().as_str()), (TAIL, "line 99"));
}
