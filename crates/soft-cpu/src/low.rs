//! Truncation on purpose, which instructions do all the time: the one place for casts that drop bits, with that of
//! integers in `soft-base`.
#![expect(clippy::cast_possible_truncation, reason = "the functions say what they drop")]

pub(crate) use soft_base::Low;

/// Rounded to nearest, ties to even.
#[inline(always)]
pub(crate) fn nearest_f32(value: f64) -> f32 {
    value as f32
}

/// Without its fraction; saturates.
#[inline(always)]
pub(crate) fn integer(value: f64) -> i128 {
    value as i128
}
