//! Splitting a run over several machines.

mod environment;

pub(crate) use environment::AutoError;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// What `--shard` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShardArg {
    /// A part.
    Part(Shard),
    /// The part that a scheduler assigns by environment variables.
    Auto {
        by: By,
        /// Number of parts, where the user gives it.
        count: Option<u64>,
    },
}

/// One part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shard {
    pub(super) by: By,
    /// From 1.
    pub(super) index: u64,
    /// Number of parts.
    #[serde(rename = "total")]
    pub(super) count: u64,
}

/// How the tests are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum By {
    Count,
    Hash,
}

/// A shard that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum ShardError {
    #[error("write it as 2/4, count:2/4, hash:2/4, auto or auto/4")]
    Form,
    #[error("the first number is from 1 to the second")]
    Range,
}

impl FromStr for ShardArg {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let (by, rest) = match text.split_once(':') {
            Some(("hash", rest)) => (By::Hash, rest),
            Some(("count", rest)) => (By::Count, rest),
            _ => (By::Count, text),
        };
        let count = match rest.strip_prefix("auto") {
            None => return text.parse().map(Self::Part),
            Some("") => None,
            Some(rest) => {
                let digits = rest.strip_prefix('/').ok_or(ShardError::Form)?;
                let count = digits.parse::<u32>().map_err(|_| ShardError::Form)?;
                Some(u64::from(count))
            }
        };
        if count == Some(0) { Err(ShardError::Range) } else { Ok(Self::Auto { by, count }) }
    }
}

impl ShardArg {
    /// The part to run; `None` for all of it.
    pub(super) fn resolve(
        self,
        variable: &impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Shard>, AutoError> {
        match self {
            Self::Part(shard) => Ok(Some(shard)),
            Self::Auto { by, count } => {
                let part = environment::part(variable, count)?;
                Ok(part.map(|(index, count)| Shard { by, index: index + 1, count }))
            }
        }
    }
}

/// As it is written on the command line.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = match self.by {
            By::Count => "",
            By::Hash => "hash:",
        };
        write!(f, "{by}{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let (by, numbers) = match text.split_once(':') {
            Some(("count", numbers)) => (By::Count, numbers),
            Some(("hash", numbers)) => (By::Hash, numbers),
            Some(_) => return Err(ShardError::Form),
            None => (By::Count, text),
        };
        let (index, count) = numbers.split_once('/').ok_or(ShardError::Form)?;
        let number = |digits: &str| digits.parse::<u32>().map_err(|_| ShardError::Form);
        let (index, count) = (u64::from(number(index)?), u64::from(number(count)?));
        if index == 0 || index > count {
            return Err(ShardError::Range);
        }
        Ok(Self { by, index, count })
    }
}

impl Shard {
    /// True if the test at `position` of all that were selected, with this name, belongs to the part.
    pub(super) fn takes(self, position: usize, name: &str) -> bool {
        let number = match self.by {
            By::Count => position as u64,
            By::Hash => fnv1a(name),
        };
        number % self.count == self.index - 1
    }
}

/// FNV-1a with 64 bits: the standard library's hash may change with its version.
fn fnv1a(text: &str) -> u64 {
    text.bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 7] =
        ["a@x/soft", "b@x/soft", "c@x/soft", "a@y/soft", "b@y/soft", "c@y/soft", "d@y/kvm"];

    fn part(shard: &str) -> Vec<&'static str> {
        let shard: Shard = shard.parse().unwrap();
        NAMES.iter().enumerate().filter(|(n, name)| shard.takes(*n, name)).map(|(_, name)| *name).collect()
    }

    #[test]
    fn the_parts_are_everything_once() {
        for by in ["", "count:", "hash:"] {
            let mut all: Vec<_> = (1..=3).flat_map(|i| part(&format!("{by}{i}/3"))).collect();
            all.sort_unstable();
            let mut names = NAMES;
            names.sort_unstable();
            assert_eq!(all, names, "{by}");
        }
    }

    #[test]
    fn counted_parts_differ_by_one_at_most() {
        assert_eq!([1, 2, 3].map(|i| part(&format!("{i}/3")).len()), [3, 2, 2]);
    }

    #[test]
    fn hashed_parts_do_not_depend_on_the_other_tests() {
        let shard: Shard = "hash:2/3".parse().unwrap();
        for name in NAMES {
            assert_eq!(shard.takes(0, name), shard.takes(99, name));
        }
        // The hash is part of the interface: a fleet may mix versions.
        assert_eq!(fnv1a("a@x/soft"), 0xBA95_342A_CDD8_6C69);
    }

    #[test]
    fn a_part_may_be_left_to_the_scheduler() {
        assert_eq!("auto".parse(), Ok(ShardArg::Auto { by: By::Count, count: None }));
        assert_eq!("hash:auto/8".parse(), Ok(ShardArg::Auto { by: By::Hash, count: Some(8) }));
        for (wrong, error) in [
            ("auto/", ShardError::Form),
            ("auto8", ShardError::Form),
            ("auto/2/4", ShardError::Form),
            ("slice:auto", ShardError::Form),
            ("auto/0", ShardError::Range),
            ("5/4", ShardError::Range),
        ] {
            assert_eq!(wrong.parse::<ShardArg>(), Err(error), "{wrong}");
        }
        let variable = |name: &str| {
            let value = match name {
                "JOB_COMPLETION_INDEX" => "0",
                "JOB_COMPLETIONS" => "8",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let resolved = |text: &str| text.parse::<ShardArg>().unwrap().resolve(&variable).unwrap();
        assert_eq!(resolved("hash:auto").unwrap().to_string(), "hash:1/8");
        assert_eq!(resolved("2/4").unwrap().to_string(), "2/4");
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for wrong in ["", "1", "1/", "/2", "a/b", "1/2/3", "-1/2", "slice:1/2", "1.5/2"] {
            assert_eq!(wrong.parse::<Shard>(), Err(ShardError::Form), "{wrong}");
        }
        for wrong in ["0/2", "3/2", "0/0", "1/0"] {
            assert_eq!(wrong.parse::<Shard>(), Err(ShardError::Range), "{wrong}");
        }
    }
}
