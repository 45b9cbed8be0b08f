//! Masks of bits, and the low bits of a number: the conversions that mean to truncate.

/// A mask of bit `n`; 0 above bit 63.
pub(crate) const fn bit(n: u32) -> u64 {
    if n < 64 { 1 << n } else { 0 }
}

/// A mask of the `bits` lowest bits (64 or more: all ones).
#[must_use]
pub const fn low_bits(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The low bits of a number, in a smaller type.
macro_rules! low {
    ($($name:ident: $from:ty => $to:ty;)*) => { $(
        #[doc = concat!("The low bits of a `", stringify!($from), "`.")]
        #[expect(clippy::cast_possible_truncation, reason = "this is what it is for")]
        pub(crate) const fn $name(value: $from) -> $to {
            value as $to
        }
    )* };
}

low! {
    low_u8: u64 => u8;
    low_u16: u64 => u16;
    low_u32: u64 => u32;
    low_u64: u128 => u64;
    low_usize: u64 => usize;
}
