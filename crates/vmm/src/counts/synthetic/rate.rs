//! Exact arithmetic: decimals as people write them, and counts as a function of time.

use platform::convert::scale;
use std::fmt;
use thiserror::Error;

/// Units of a [`Decimal`] in 1.
const SCALE: u64 = 1_000_000_000;
/// Digits after the point.
const DECIMALS: usize = 9;
/// Nanoseconds over which a [`Rate`] is expressed.
const PERIOD_NS: u128 = 1_000_000_000_000_000_000;

/// A decimal number from 0 to 18 446 744 073 with nine digits after the point, kept exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Decimal(u64);

/// Why a number is no [`Decimal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NumberProblem {
    /// A string, a table, a date ...
    #[error("is not a number")]
    NotANumber,
    /// `inf` or `nan`.
    #[error("is not finite")]
    NotFinite,
    /// Below 0.
    #[error("is negative")]
    Negative,
    /// More digits than are kept.
    #[error("has more than nine digits after the point")]
    TooFine,
    /// A frequency that is no whole number of Hz.
    #[error("is no whole number of Hz: up to six digits after the point")]
    FractionOfHz,
    /// Outside the range that makes sense for the key.
    #[error("is not between {low} and {high}")]
    OutOfRange {
        /// Smallest value allowed.
        low: u64,
        /// Largest value allowed.
        high: u64,
    },
}

impl Decimal {
    /// 1.
    pub const ONE: Self = Self(SCALE);

    /// A whole number; `None` when it is too large.
    #[must_use]
    pub fn whole(number: u64) -> Option<Self> {
        number.checked_mul(SCALE).map(Self)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The number in units of 10⁻⁹.
    #[must_use]
    pub fn nanos(self) -> u64 {
        self.0
    }

    /// Reads a TOML integer or float, from `low` to `high`.
    ///
    /// A float is taken as the shortest decimal that stands for it. That is what was written, up to
    /// 15 significant digits.
    ///
    /// # Errors
    /// See [`NumberProblem`].
    pub fn from_toml(value: &toml::Value, (low, high): (u64, u64)) -> Result<Self, NumberProblem> {
        let out_of_range = NumberProblem::OutOfRange { low, high };
        let number = match value {
            toml::Value::Integer(number) if *number < 0 => return Err(NumberProblem::Negative),
            toml::Value::Integer(number) => Self::whole(number.unsigned_abs()).ok_or(out_of_range)?,
            toml::Value::Float(number) if !number.is_finite() => return Err(NumberProblem::NotFinite),
            toml::Value::Float(number) if *number < 0.0 => return Err(NumberProblem::Negative),
            // `{}` never uses an exponent.
            toml::Value::Float(number) => Self::parse(&number.abs().to_string(), out_of_range)?,
            _ => return Err(NumberProblem::NotANumber),
        };
        let above = Self::whole(high).is_some_and(|high| number > high);
        let below = Self::whole(low).is_none_or(|low| number < low);
        if above || below { Err(out_of_range) } else { Ok(number) }
    }

    fn parse(text: &str, out_of_range: NumberProblem) -> Result<Self, NumberProblem> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let missing = DECIMALS.checked_sub(fraction.len()).ok_or(NumberProblem::TooFine)?;
        let digits = format!("{whole}{fraction}{}", "0".repeat(missing));
        digits.parse().map(Self).map_err(|_| out_of_range)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:09}", self.0 / SCALE, self.0 % SCALE);
        f.pad(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Occurrences in 10¹⁸ nanoseconds; exact for every [`Decimal`] times a frequency in Hz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Rate(pub(super) u128);

impl Rate {
    pub(super) fn per_second(hz: u64) -> Self {
        Self(u128::from(hz) * u128::from(SCALE))
    }

    pub(super) fn per_cycle(hz: u64, per_cycle: Decimal) -> Self {
        Self(u128::from(hz) * u128::from(per_cycle.0))
    }

    /// Occurrences in the first `ns` nanoseconds, rounded down. Never goes down as `ns` goes up.
    pub(super) fn count(self, ns: u64) -> u64 {
        // Whole and fractional part apart, so that no product exceeds 128 bits.
        let ns = u128::from(ns);
        let sum = ns * (self.0 / PERIOD_NS) + ns * (self.0 % PERIOD_NS) / PERIOD_NS;
        u64::try_from(sum).unwrap_or(u64::MAX)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// `self · numerator / denominator`, rounded up; `self` for a denominator of 0.
    pub(super) fn share(self, numerator: u64, denominator: u64) -> Self {
        let product = self.0.saturating_mul(u128::from(numerator));
        if denominator == 0 { self } else { Self(product.div_ceil(u128::from(denominator))) }
    }

    /// A time before which fewer than `count` occurrences happen, at least 1 ns, if counts may be
    /// up to `slack` ahead of the rate; `None` when nothing ever happens.
    pub(super) fn earliest(self, count: u64, slack: u64) -> Option<u64> {
        let needed = u128::from(count.saturating_sub(slack)) * PERIOD_NS;
        let ns = needed.checked_div(self.0)?;
        Some(u64::try_from(ns).unwrap_or(u64::MAX).saturating_add(1))
    }
}

/// `value · numerator / denominator`, rounded down, for `numerator <= denominator`; 0 when both are 0.
pub(super) fn part(value: u64, numerator: u64, denominator: u64) -> u64 {
    if denominator == 0 { 0 } else { scale(value, numerator, denominator) }
}
