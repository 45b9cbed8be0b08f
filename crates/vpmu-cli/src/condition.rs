//! Conditions on how much a count may change, as `vpmu diff --fail-on` takes them.

/// `instructions:u>+0.1%`: how much more or less of an event is too much.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    /// As it was typed.
    pub(crate) text: String,
    /// The event that it is about.
    pub(crate) event: String,
    above: bool,
    limit: Limit,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    Percent(f64),
    Count(i128),
}

impl Condition {
    /// What is typed.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "write it as EVENT>+0.1%, EVENT>1000 or EVENT<-5%".to_owned();
        let at = text.find(['<', '>']).ok_or_else(wrong)?;
        let (event, limit) = (text[..at].trim(), text[at + 1..].trim());
        let parsed = match limit.strip_suffix('%') {
            Some(percent) => {
                percent.trim().parse().ok().filter(|value: &f64| value.is_finite()).map(Limit::Percent)
            }
            None => limit.parse().ok().map(Limit::Count),
        };
        match parsed {
            Some(limit) if !event.is_empty() => Ok(Self {
                text: text.to_owned(),
                event: event.to_owned(),
                above: text[at..].starts_with('>'),
                limit,
            }),
            _ => Err(wrong()),
        }
    }

    /// Whether this change is too much. One from nothing is more than any percentage.
    pub(crate) fn is_broken_by(&self, before: u64, after: u64) -> bool {
        let difference = i128::from(after) - i128::from(before);
        let order = match self.limit {
            Limit::Count(limit) => difference.cmp(&limit),
            Limit::Percent(limit) => {
                let allowed = before as f64 * limit / 100.0;
                (difference as f64).total_cmp(&allowed)
            }
        };
        if self.above { order.is_gt() } else { order.is_lt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_exact() {
        let broken = |text, before, after| Condition::parse(text).unwrap().is_broken_by(before, after);
        assert!(!broken("instructions:u>+0.1%", 1000, 1001));
        assert!(broken("instructions:u>+0.1%", 1000, 1002));
        assert!(broken("instructions>0", u64::MAX - 1, u64::MAX), "one of many is one");
        assert!(!broken("instructions>0", u64::MAX, u64::MAX));
        assert!(broken("cycles<-5%", 100, 94) && !broken("cycles<-5%", 100, 95));
        assert!(broken("branch-misses>50%", 0, 1), "from nothing");
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for wrong in ["", "instructions", ">1%", "a>", "a>x%", "a>inf%", "a=1"] {
            assert!(Condition::parse(wrong).is_err(), "{wrong}");
        }
    }
}
