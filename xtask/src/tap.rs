//! Counting the TAP results of an image that another VMM runs.

use guest_protocol::tap::{Directive, Line, parse};

/// What a TAP stream says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tap {
    /// Tests that the plan announces.
    pub(crate) planned: Option<usize>,
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Tap {
    /// Reads a console log; lines that are not TAP are passed over.
    pub(crate) fn parse(log: &str) -> Self {
        let mut tap = Self::default();
        for line in log.lines().filter_map(parse) {
            match line {
                Line::Plan(planned) => tap.planned = Some(planned),
                Line::Result(result) if result.is_failure() => tap.failed += 1,
                Line::Result(result) if matches!(result.directive, Some(Directive::Skip(_))) => {
                    tap.skipped += 1;
                }
                Line::Result(_) => tap.passed += 1,
                Line::BailOut(_) => {}
            }
        }
        tap
    }

    /// Results that the log has.
    pub(crate) fn seen(&self) -> usize {
        self.passed + self.failed + self.skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted() {
        let tap = Tap::parse("hello\n1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP d\n");
        assert_eq!(tap, Tap { planned: Some(3), passed: 1, failed: 1, skipped: 1 });
        assert_eq!(tap.seen(), 3);
    }
}
