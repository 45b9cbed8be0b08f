//! JUnit reports of shards.

use super::{MergeError, Part, Test, Whole};
use crate::commands::test::check::Status;
use crate::commands::test::report::{EMPTY_SUITE, PartOf};
use quick_junit::{Report, TestCaseStatus, TestSuite};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A suite is a test, its cases are the checks.
impl Test for TestSuite {
    fn name(&self) -> &str {
        self.name.as_str()
    }

    fn status(&self) -> Status {
        let any =
            |wanted: fn(&TestCaseStatus) -> bool| self.test_cases.iter().any(|case| wanted(&case.status));
        if any(|status| matches!(status, TestCaseStatus::NonSuccess { .. })) {
            Status::Failed
        } else if any(|status| matches!(status, TestCaseStatus::Success { .. })) || self.test_cases.is_empty()
        {
            Status::Passed
        } else {
            Status::Skipped
        }
    }
}

pub(super) fn parts(texts: Vec<(PathBuf, String)>) -> Result<Vec<Part<TestSuite>>, MergeError> {
    let part = |(path, text): (PathBuf, String)| {
        let report = match Report::deserialize_from_str(&text) {
            Ok(report) => report,
            Err(source) => return Err(MergeError::Junit { path, source }),
        };
        let of = report.test_suites.first().and_then(PartOf::of);
        let Some(of) = of.filter(|of| report.test_suites.iter().all(|suite| PartOf::of(suite) == Some(*of)))
        else {
            return Err(MergeError::NoShard(path));
        };
        let is_test = |suite: &TestSuite| suite.name.as_str() != EMPTY_SUITE || !suite.test_cases.is_empty();
        let tests = report.test_suites.into_iter().filter(is_test).collect();
        Ok(Part { path, of, seconds: report.time.unwrap_or_default().as_secs_f64(), tests })
    };
    texts.into_iter().map(part).collect()
}

/// As a run that was not divided writes it.
pub(super) fn write(whole: Whole<TestSuite>) -> Result<String, io::Error> {
    let mut report = Report::new("vpmu");
    report.set_time(Duration::try_from_secs_f64(whole.seconds).unwrap_or_default());
    for mut suite in whole.tests {
        PartOf::remove_from(&mut suite);
        report.add_test_suite(suite);
    }
    report.to_string().map_err(io::Error::other)
}
