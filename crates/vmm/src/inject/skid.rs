//! How late interrupts are: `20`, `5-60`, `core`, each with `@SEED`.

use std::str::FromStr;
use vpmu::inject::Skid;

/// Most instructions of a skid.
const MOST: u64 = 1_000_000;

/// How many instructions late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkidRange {
    /// From so many to so many, each as likely.
    Range {
        /// Least.
        least: u64,
        /// Most.
        most: u64,
    },
    /// As the profile's core: what was in flight when the counter overflowed retires first, which is something
    /// between a cycle's worth of instructions and what its reorder buffer holds.
    Core,
}

/// Skid as a user asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkidChoice {
    /// How much.
    pub range: SkidRange,
    /// Of the generator.
    pub seed: u64,
}

/// No skid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SkidError {
    /// Something else.
    #[error("write it as 20, 5-60 or core, with @SEED behind it for another seed than 1")]
    Form,
    /// Too far.
    #[error("no more than {MOST} instructions")]
    TooMuch,
    /// From more to less.
    #[error("the first number is the smaller one")]
    Order,
}

impl FromStr for SkidChoice {
    type Err = SkidError;

    fn from_str(text: &str) -> Result<Self, SkidError> {
        let number = |text: &str| text.parse::<u64>().map_err(|_| SkidError::Form);
        let (text, seed) = match text.split_once('@') {
            Some((text, seed)) => (text, number(seed)?),
            None => (text, 1),
        };
        let range = match text.split_once('-') {
            _ if text == "core" => SkidRange::Core,
            Some((least, most)) => SkidRange::Range { least: number(least)?, most: number(most)? },
            None => SkidRange::Range { least: number(text)?, most: number(text)? },
        };
        match range {
            SkidRange::Range { most: MOST.., .. } => Err(SkidError::TooMuch),
            SkidRange::Range { least, most } if least > most => Err(SkidError::Order),
            SkidRange::Range { .. } | SkidRange::Core => Ok(Self { range, seed }),
        }
    }
}

impl SkidChoice {
    /// For the state machine; `core` is the width and the reorder buffer of the profile's core, if they are known.
    #[must_use]
    pub fn resolve(self, core: Option<(u32, u32)>) -> Option<Skid> {
        let (least, most) = match self.range {
            SkidRange::Range { least, most } => (least, most),
            SkidRange::Core => core.map(|(width, buffer)| (width.into(), buffer.into()))?,
        };
        Some(Skid::new(least, most, self.seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms() {
        let fixed = SkidChoice { range: SkidRange::Range { least: 20, most: 20 }, seed: 1 };
        assert_eq!("20".parse(), Ok(fixed));
        let range = SkidChoice { range: SkidRange::Range { least: 5, most: 60 }, seed: 7 };
        assert_eq!("5-60@7".parse(), Ok(range));
        assert_eq!("core".parse(), Ok(SkidChoice { range: SkidRange::Core, seed: 1 }));
        assert_eq!("core@0".parse(), Ok(SkidChoice { range: SkidRange::Core, seed: 0 }));
        for (wrong, error) in [
            ("", SkidError::Form),
            ("x", SkidError::Form),
            ("5-", SkidError::Form),
            ("core@", SkidError::Form),
            ("-1", SkidError::Form),
            ("60-5", SkidError::Order),
            ("1000000", SkidError::TooMuch),
        ] {
            assert_eq!(wrong.parse::<SkidChoice>(), Err(error), "{wrong:?}");
        }
    }

    #[test]
    fn a_core_that_is_not_known_has_no_skid() {
        let core = SkidChoice { range: SkidRange::Core, seed: 1 };
        assert_eq!(core.resolve(None), None);
        assert_eq!(core.resolve(Some((4, 224))), Some(Skid::new(4, 224, 1)));
    }
}
