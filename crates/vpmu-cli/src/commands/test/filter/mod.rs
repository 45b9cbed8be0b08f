//! Filter expressions: which tests run. The language of cargo-nextest, with predicates of our own.
//!
//! ```text
//! image(lbr) and profile(sapphire-rapids) and not engine(kvm)
//! ```
//!
//! | form | means |
//! | --- | --- |
//! | `all()`, `none()` | every test, no test |
//! | `test(M)`, `image(M)`, `area(M)`, `group(M)`, `profile(M)`, `engine(M)`, `detail(M)` | what `M` matches |
//! | `a and b`, `a & b` | both |
//! | `a or b`, `a \| b`, `a + b` | either |
//! | `a - b` | `a` but not `b` |
//! | `not a`, `!a` | the others |
//!
//! `not` binds more tightly than `and`, `&` and `-`, and those more tightly than the rest. See [`matcher`] for `M`.

mod matcher;
mod parse;

use matcher::Matcher;
use thiserror::Error;

/// A property of a test that a predicate looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Property {
    Test,
    Image,
    Area,
    Group,
    Profile,
    Engine,
    Detail,
}

impl Property {
    pub(super) const ALL: [(Self, &'static str); 7] = [
        (Self::Test, "test"),
        (Self::Image, "image"),
        (Self::Area, "area"),
        (Self::Group, "group"),
        (Self::Profile, "profile"),
        (Self::Engine, "engine"),
        (Self::Detail, "detail"),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(property, _)| *property == self).map_or("", |(_, name)| name)
    }
}

/// What is asked about a test: the values of its properties. A test may be in several groups or none.
pub(super) trait Subject {
    fn values(&self, property: Property) -> Vec<&str>;
}

#[derive(Debug, Clone)]
enum Expr {
    All,
    None,
    Has(Property, Matcher),
    Not(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
}

/// A filter expression.
#[derive(Debug, Clone)]
pub(super) struct Filter(Expr);

/// Why a filter expression is of no use.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("filter expression `{text}`, column {column}: {what}")]
pub(crate) struct FilterError {
    /// The expression.
    pub(crate) text: String,
    /// What is wrong.
    pub(crate) what: String,
    /// Where, from 1, in characters.
    pub(crate) column: usize,
}

impl Filter {
    pub(super) fn parse(text: &str) -> Result<Self, FilterError> {
        parse::parse(text).map(Self)
    }

    pub(super) fn matches(&self, subject: &impl Subject) -> bool {
        self.0.matches(subject)
    }

    /// Every predicate that is about `property`.
    pub(super) fn matchers(&self, property: Property) -> Vec<&Matcher> {
        let mut found = Vec::new();
        self.0.collect(property, &mut found);
        found
    }
}

impl Expr {
    fn matches(&self, subject: &impl Subject) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Has(property, matcher) => {
                subject.values(*property).into_iter().any(|value| matcher.matches(value))
            }
            Self::Not(inner) => !inner.matches(subject),
            Self::And(a, b) => a.matches(subject) && b.matches(subject),
            Self::Or(a, b) => a.matches(subject) || b.matches(subject),
        }
    }

    fn collect<'a>(&'a self, wanted: Property, found: &mut Vec<&'a Matcher>) {
        match self {
            Self::All | Self::None => {}
            Self::Has(property, matcher) if *property == wanted => found.push(matcher),
            Self::Has(..) => {}
            Self::Not(inner) => inner.collect(wanted, found),
            Self::And(a, b) | Self::Or(a, b) => {
                a.collect(wanted, found);
                b.collect(wanted, found);
            }
        }
    }
}

#[cfg(test)]
mod tests;
