//! What comes of parts that are all there, or not.

use super::*;
use crate::commands::test::report::PartOf;

struct Ran(&'static str, Status);

impl Test for Ran {
    fn name(&self) -> &str {
        self.0
    }

    fn status(&self) -> Status {
        self.1
    }
}

fn part(shard: &str, selected: usize, tests: &[&'static str]) -> Part<Ran> {
    let of = PartOf { shard: shard.parse().unwrap(), selected };
    let tests = tests.iter().map(|name| Ran(name, Status::Passed)).collect();
    Part { path: PathBuf::from(shard), of, seconds: 1.0, tests }
}

fn names(whole: &Whole<Ran>) -> Vec<&str> {
    whole.tests.iter().map(Test::name).collect()
}

#[test]
fn counted_parts_come_back_in_the_order_of_one_run() {
    let whole =
        join(vec![part("3/3", 5, &["c"]), part("1/3", 5, &["a", "d"]), part("2/3", 5, &["b", "e"])]).unwrap();
    assert_eq!(names(&whole), ["a", "b", "c", "d", "e"]);
    assert_eq!((whole.exit_code(), whole.not_run), (exit::PASS, 0));
    let hashed = join(vec![part("hash:2/2", 3, &["b"]), part("hash:1/2", 3, &["c", "a"])]).unwrap();
    assert_eq!(names(&hashed), ["c", "a", "b"]);
}

#[test]
fn a_missing_part_fails_the_run_and_is_named() {
    let whole = join(vec![part("2/6", 7, &["b"]), part("6/6", 7, &[])]).unwrap();
    assert_eq!(
        (whole.exit_code(), whole.missing.as_slice(), whole.not_run),
        (exit::FAIL, &[1, 3, 4, 5][..], 6)
    );
    let summary = anstream::adapter::strip_str(&whole.summary()).to_string();
    assert!(summary.contains("2 of 6 shards, 1 test run: 1 passed"), "{summary}");
    assert!(summary.contains("shards 1, 3-5 of 6 are missing\n"), "{summary}");
    // All parts, but one of them stopped after a failure.
    let stopped = join(vec![part("1/2", 3, &["a"]), part("2/2", 3, &["b"])]).unwrap();
    assert_eq!((stopped.exit_code(), stopped.not_run), (exit::FAIL, 1));
}

#[test]
fn parts_of_different_runs_are_refused() {
    let error = |parts| join(parts).map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        error(vec![part("1/2", 4, &["a"]), part("1/2", 4, &["a"])]),
        "shard 1/2 is there twice: 1/2 and 1/2"
    );
    assert_eq!(
        error(vec![part("1/2", 4, &[]), part("2/3", 4, &[])]),
        "1/2 is 1/2 of 4 tests, 2/3 is 2/3 of 4 tests: they are not of one run"
    );
    assert!(error(vec![part("1/2", 4, &[]), part("2/2", 5, &[])]).contains("not of one run"));
    assert!(error(vec![part("1/2", 4, &[]), part("hash:2/2", 4, &[])]).contains("not of one run"));
    assert!(
        error(vec![part("1/2", 4, &["a"]), part("2/2", 4, &["a"])])
            .starts_with("test a is in 1/2 and in 2/2")
    );
    assert!(
        error(vec![part("1/2", 1, &["a"]), part("2/2", 1, &["b"])])
            .starts_with("the reports have 2 tests of 1")
    );
    assert!(error(vec![part("1/4000000000", 1, &["a"])]).contains("more than 100000 shards"));
}

#[test]
fn only_skips_are_a_skip() {
    let mut all = part("1/1", 1, &["a"]);
    all.tests[0].1 = Status::Skipped;
    assert_eq!(join(vec![all]).unwrap().exit_code(), exit::SKIP);
}
