//! Truncation on purpose, which instructions do all the time: the one place for casts that drop bits.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the methods say what they drop"
)]

/// The low bits of an integer; those above are dropped.
pub trait Low: Copy {
    /// The low 8 bits.
    fn low_u8(self) -> u8;
    /// The low 16 bits.
    fn low_u16(self) -> u16;
    /// The low 32 bits.
    fn low_u32(self) -> u32;
    /// The low 64 bits.
    fn low_u64(self) -> u64;
    /// As many low bits as an index has.
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
