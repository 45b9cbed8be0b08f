//! Truncation on purpose, which instructions do all the time: the one place for casts that drop bits.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the methods say what they drop"
)]

/// The low bits of an integer; those above are dropped.
pub(crate) trait Low: Copy {
    fn low_u8(self) -> u8;
    fn low_u16(self) -> u16;
    fn low_u32(self) -> u32;
    fn low_u64(self) -> u64;
    fn low_usize(self) -> usize;
}

macro_rules! low {
    ($($t:ty)*) => { $(
        impl Low for $t {
            #[inline(always)]
            fn low_u8(self) -> u8 {
                self as u8
            }
            #[inline(always)]
            fn low_u16(self) -> u16 {
                self as u16
            }
            #[inline(always)]
            fn low_u32(self) -> u32 {
                self as u32
            }
            #[inline(always)]
            fn low_u64(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn low_usize(self) -> usize {
                self as usize
            }
        }
    )* };
}
low!(u16 u32 u64 u128 usize i16 i32 i64 i128);

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
