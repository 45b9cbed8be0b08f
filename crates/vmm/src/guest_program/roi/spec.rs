//! How a region is written: `FUNCTION`, `A..B`, `FROM..TO`.

use std::fmt;
use std::str::FromStr;

/// Where a region begins or ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// Before the first instruction of this function of the program.
    Symbol(String),
    /// Before an SSC mark with this number: `mov $NUMBER, %ebx` and the bytes 64 67 90, as simulators of Intel's have
    /// it.
    Ssc(u32),
}

/// A part of a program, as a user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Region {
    /// User instructions of the program, counted from 0: the first, and the one behind the last.
    Numbers {
        /// The first.
        from: u64,
        /// Behind the last; the program's end without it.
        to: Option<u64>,
    },
    /// From each call of a function to its return.
    Function(String),
    /// From one mark to another, or to the program's end, as often as that comes.
    Marks {
        /// Begins here.
        from: Mark,
        /// Ends here.
        to: Option<Mark>,
    },
}

/// What is no region.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is no region: write FUNCTION, FROM..TO with functions or ssc:NUMBER, or A..B with numbers of instructions"
)]
pub struct NoRegion;

impl FromStr for Mark {
    type Err = NoRegion;

    fn from_str(text: &str) -> Result<Self, NoRegion> {
        match text.strip_prefix("ssc:") {
            // Their manuals write them in hexadecimal digits.
            Some(number) => {
                let digits = number.strip_prefix("0x").unwrap_or(number);
                u32::from_str_radix(digits, 16).map(Self::Ssc).map_err(|_| NoRegion)
            }
            None if text.is_empty() || text.starts_with(|first: char| first.is_ascii_digit()) => {
                Err(NoRegion)
            }
            None => Ok(Self::Symbol(text.to_owned())),
        }
    }
}

impl FromStr for Region {
    type Err = NoRegion;

    fn from_str(text: &str) -> Result<Self, NoRegion> {
        let Some((from, to)) = text.split_once("..") else {
            return match text.parse()? {
                Mark::Symbol(name) => Ok(Self::Function(name)),
                Mark::Ssc(_) => Err(NoRegion),
            };
        };
        let number = |text: &str| text.replace('_', "").parse::<u64>();
        let is_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
        if is_number(from) || from.is_empty() {
            let from = if from.is_empty() { 0 } else { number(from).map_err(|_| NoRegion)? };
            let to = if to.is_empty() { None } else { Some(number(to).map_err(|_| NoRegion)?) };
            return if to.is_some_and(|to| to <= from) {
                Err(NoRegion)
            } else {
                Ok(Self::Numbers { from, to })
            };
        }
        let to = if to.is_empty() { None } else { Some(to.parse()?) };
        Ok(Self::Marks { from: from.parse()?, to })
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symbol(name) => f.write_str(name),
            Self::Ssc(number) => write!(f, "ssc:{number:x}"),
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers { from, to: Some(to) } => write!(f, "{from}..{to}"),
            Self::Numbers { from, to: None } => write!(f, "{from}.."),
            Self::Function(name) => f.write_str(name),
            Self::Marks { from, to: Some(to) } => write!(f, "{from}..{to}"),
            Self::Marks { from, to: None } => write!(f, "{from}.."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_written_as_they_are_read() {
        for text in ["main", "0..5", "7..", "a..b", "a::b..c", "ssc:111..ssc:222", "a.."] {
            let region: Region = text.parse().unwrap_or_else(|_| panic!("{text} is a region"));
            assert_eq!(region.to_string(), text);
        }
        assert_eq!("..1_000".parse(), Ok(Region::Numbers { from: 0, to: Some(1000) }));
    }

    #[test]
    fn what_is_no_region_is_refused() {
        for text in ["", "5", "5..5", "9..3", "1..b", "a..1", "ssc:1", "ssc:x..a", "99999999999999999999.."] {
            assert_eq!(text.parse::<Region>(), Err(NoRegion), "{text}");
        }
    }
}
