//! Matching a name.
//!
//! | form | matches |
//! | --- | --- |
//! | `=name` | exactly this |
//! | `~part` | what contains this |
//! | `/regex/` | what the regular expression finds something in |
//! | `#glob` | what the glob covers: `*`, `?`, `[a-c]`, `{a,b}` |
//! | `name` | as `~` for `test()`, as `#` for the others |

use super::Property;
use globset::{GlobBuilder, GlobMatcher};
use regex::Regex;
use std::fmt;

#[derive(Debug, Clone)]
pub(crate) enum Matcher {
    Exact(String),
    Contains(String),
    Regex(Regex),
    Glob(GlobMatcher),
}

impl Matcher {
    /// Reads everything but a regular expression, which has delimiters of its own.
    pub(super) fn parse(property: Property, text: &str) -> Result<Self, String> {
        let (kind, name) = match text.chars().next() {
            Some(kind @ ('=' | '~' | '#')) => (kind, &text[1..]),
            _ if property == Property::Test => ('~', text),
            _ => ('#', text),
        };
        if name.is_empty() {
            return Err("a name is missing".to_owned());
        }
        match kind {
            '=' => Ok(Self::Exact(name.to_owned())),
            '~' => Ok(Self::Contains(name.to_owned())),
            _ => match GlobBuilder::new(name).build() {
                Ok(glob) => Ok(Self::Glob(glob.compile_matcher())),
                Err(error) => Err(format!("`{name}` is no glob: {}", error.kind())),
            },
        }
    }

    pub(super) fn regex(text: &str) -> Result<Self, String> {
        // The library draws the place over several lines; its last line says what is wrong.
        Regex::new(text).map(Self::Regex).map_err(|error| {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("`{text}` is no regular expression: {why}")
        })
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => name == exact,
            Self::Contains(part) => name.contains(part.as_str()),
            Self::Regex(regex) => regex.is_match(name),
            Self::Glob(glob) => glob.is_match(name),
        }
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => write!(f, "={name}"),
            Self::Contains(part) => write!(f, "~{part}"),
            Self::Regex(regex) => write!(f, "/{regex}/"),
            Self::Glob(glob) => write!(f, "{}", glob.glob()),
        }
    }
}
