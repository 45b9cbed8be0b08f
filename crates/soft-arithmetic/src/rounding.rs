//! Rounding of exact results, kept as integers.

/// To which neighbour a result that does not fit is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// The nearest; of two the even one.
    Nearest,
    /// The nearest; of two the one away from zero.
    NearestAway,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
    /// Towards zero.
    Zero,
}

impl Rounding {
    /// Whether a number with this sign that is too large for its format becomes infinite, not the largest number.
    #[must_use]
    pub fn overflows_to_infinity(self, negative: bool) -> bool {
        match self {
            Self::Nearest | Self::NearestAway => true,
            Self::Down => negative,
            Self::Up => !negative,
            Self::Zero => false,
        }
    }
}

/// `value` / 2^`count`; what falls out leaves a 1 in the lowest bit.
#[inline]
#[must_use]
pub fn shift_sticky(value: u128, count: u32) -> u128 {
    match count {
        0 => value,
        1..=127 => value >> count | u128::from(value << (128 - count) != 0),
        _ => u128::from(value != 0),
    }
}

/// A significand after rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The bits kept; one more than asked for if rounding carried.
    pub value: u128,
    /// What was dropped is not zero.
    pub inexact: bool,
    /// Rounded away from zero.
    pub up: bool,
}

/// Drops the low `drop` bits (1 to 127) of a magnitude.
#[inline]
#[must_use]
pub fn cut(mode: Rounding, negative: bool, value: u128, drop: u32) -> Cut {
    let kept = value >> drop;
    let rest = value << (128 - drop);
    const HALF: u128 = 1 << 127;
    let up = match mode {
        Rounding::Nearest => rest > HALF || rest == HALF && kept & 1 != 0,
        Rounding::NearestAway => rest >= HALF,
        Rounding::Down => rest != 0 && negative,
        Rounding::Up => rest != 0 && !negative,
        Rounding::Zero => false,
    };
    Cut { value: kept + u128::from(up), inexact: rest != 0, up }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_keeps_what_it_should_of_halves_and_quarters() {
        use Rounding::{Down, Nearest, NearestAway, Up, Zero};
        // Quarters: 1.25, 1.5, 2.5, 2.75.
        for (mode, positive, negative) in [
            (Nearest, [1, 2, 2, 3], [1, 2, 2, 3]),
            (NearestAway, [1, 2, 3, 3], [1, 2, 3, 3]),
            (Down, [1, 1, 2, 2], [2, 2, 3, 3]),
            (Up, [2, 2, 3, 3], [1, 1, 2, 2]),
            (Zero, [1, 1, 2, 2], [1, 1, 2, 2]),
        ] {
            for (sign, expected) in [(false, positive), (true, negative)] {
                let kept = [5, 6, 10, 11].map(|quarters| cut(mode, sign, quarters, 2).value);
                assert_eq!(kept, expected, "{mode:?}, negative: {sign}");
            }
        }
    }

    #[test]
    fn what_falls_out_is_remembered() {
        assert_eq!([0, 1, 4, 128, 500].map(|count| shift_sticky(0b1_0010, count)), [18, 9, 1 | 1, 1, 1]);
        assert_eq!(shift_sticky(0, 500), 0);
    }
}
