//! The lines of the Test Anything Protocol, version 13, as images print them.

/// What a line of a TAP stream says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// `1..N`: so many results follow, or went before.
    Plan(usize),
    /// `ok` or `not ok`.
    Result(Result<'a>),
    /// `Bail out!`, with the reason.
    BailOut(&'a str),
}

/// The result of one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Result<'a> {
    /// `ok`.
    pub ok: bool,
    /// The description without number and dash.
    pub name: &'a str,
    /// What follows the `#`.
    pub directive: Option<Directive<'a>>,
}

/// What qualifies a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directive<'a> {
    /// The test did not run, for this reason.
    Skip(&'a str),
    /// The test is expected to fail, for this reason.
    Todo(&'a str),
}

impl Result<'_> {
    /// True for a failure that counts: `not ok` without a `# TODO`.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        !self.ok && !matches!(self.directive, Some(Directive::Todo(_)))
    }
}

/// Reads a line of a console; `None` for one that is not TAP, or that is part of a YAML block.
#[must_use]
pub fn parse(line: &str) -> Option<Line<'_>> {
    let line = line.trim_end();
    if let Some(plan) = line.strip_prefix("1..") {
        return plan.split_whitespace().next()?.parse().ok().map(Line::Plan);
    }
    if let Some(reason) = line.strip_prefix("Bail out!") {
        return Some(Line::BailOut(reason.trim()));
    }
    let (ok, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start();
    let (name, directive) = match rest.split_once("# ") {
        Some((name, text)) => match directive(text.trim_start()) {
            Some(directive) => (name, Some(directive)),
            None => (rest, None),
        },
        None => (rest, None),
    };
    Some(Line::Result(Result { ok, name: name.trim_end(), directive }))
}

fn directive(text: &str) -> Option<Directive<'_>> {
    let (word, reason) = text.split_at_checked(4)?;
    let reason = reason.trim();
    if word.eq_ignore_ascii_case("skip") {
        Some(Directive::Skip(reason))
    } else if word.eq_ignore_ascii_case("todo") {
        Some(Directive::Todo(reason))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(line: &str) -> Option<(bool, &str, Option<Directive<'_>>)> {
        match parse(line)? {
            Line::Result(Result { ok, name, directive }) => Some((ok, name, directive)),
            _ => None,
        }
    }

    #[test]
    fn results_have_a_name_and_a_directive() {
        assert_eq!(result("ok 1 - counts\r"), Some((true, "counts", None)));
        assert_eq!(result("not ok 12 - counts a # of things"), Some((false, "counts a # of things", None)));
        assert_eq!(
            result("ok 2 - x # SKIP needs pmu"),
            Some((true, "x", Some(Directive::Skip("needs pmu"))))
        );
        assert_eq!(result("not ok 3 x # todo later"), Some((false, "x", Some(Directive::Todo("later")))));
        assert_eq!(result("ok"), Some((true, "", None)));
    }

    #[test]
    fn what_is_expected_to_fail_is_no_failure() {
        let is_failure = |line| matches!(parse(line), Some(Line::Result(result)) if result.is_failure());
        assert!(is_failure("not ok 1 - x"));
        assert!(is_failure("not ok 1 - x # SKIP no"), "TAP has no skipped failure but this");
        assert!(!is_failure("not ok 1 - x # TODO bug"));
        assert!(!is_failure("ok 1 - x"));
    }

    #[test]
    fn plans_and_bailing_out() {
        assert_eq!(parse("1..17"), Some(Line::Plan(17)));
        assert_eq!(parse("1..0 # SKIP nothing here"), Some(Line::Plan(0)));
        assert_eq!(parse("Bail out! no memory"), Some(Line::BailOut("no memory")));
    }

    #[test]
    fn other_lines_are_none() {
        for line in ["TAP version 13", "  message: \"ok 1\"", "okay then", "not okay", "1..x", "# ok", ""] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }
}
