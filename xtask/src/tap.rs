//! Reading the TAP that images print.

/// What a TAP stream says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tap {
    /// Tests that the plan announces.
    pub(crate) planned: Option<usize>,
    /// Tests that passed.
    pub(crate) passed: usize,
    /// Names of tests that failed.
    pub(crate) failed: Vec<String>,
    /// Names of skipped tests, with the reason.
    pub(crate) skipped: Vec<String>,
}

impl Tap {
    /// Reads a console log; lines that are not TAP are passed over.
    pub(crate) fn parse(log: &str) -> Self {
        let mut tap = Self::default();
        for line in log.lines().map(str::trim_end) {
            if let Some(plan) = line.strip_prefix("1..") {
                tap.planned = plan.split_whitespace().next().and_then(|n| n.parse().ok());
            } else if let Some(rest) = line.strip_prefix("not ok ") {
                tap.failed.push(name(rest));
            } else if let Some(rest) = line.strip_prefix("ok ") {
                match rest.split_once("# SKIP") {
                    Some((test, reason)) => tap.skipped.push(format!("{} ({})", name(test), reason.trim())),
                    None => tap.passed += 1,
                }
            }
        }
        tap
    }

    /// Results that the log has.
    pub(crate) fn seen(&self) -> usize {
        self.passed + self.failed.len() + self.skipped.len()
    }

    /// True when every planned test has a result and none failed.
    pub(crate) fn is_success(&self) -> bool {
        self.failed.is_empty() && self.planned == Some(self.seen()) && self.seen() > 0
    }
}

/// `3 - counts_instructions` without the number and the dash.
fn name(rest: &str) -> String {
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim();
    rest.strip_prefix('-').unwrap_or(rest).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_results_and_reasons() {
        let log = "TAP version 13\r\n1..4\r\nok 1 - a\nnoise\nnot ok 2 - b\n  ---\nok 3 - c # SKIP needs exact\nok 4 - d\n";
        let tap = Tap::parse(log);
        assert_eq!(tap.passed, 2);
        assert_eq!(tap.failed, ["b"]);
        assert_eq!(tap.skipped, ["c (needs exact)"]);
        assert!(!tap.is_success());
    }

    #[test]
    fn a_log_that_breaks_off_is_no_success() {
        assert!(!Tap::parse("1..2\nok 1 - a\n").is_success());
        assert!(!Tap::parse("").is_success());
        assert!(Tap::parse("1..1\nok 1 - a\n").is_success());
    }
}
