//! Conversions between widths, for which `as` would not say what is meant.

const _: () = assert!(usize::BITS == 64, "addresses and lengths of guests need a 64-bit host");

/// Bits 7:0.
#[must_use]
pub const fn low_u8(value: u64) -> u8 {
    value.to_le_bytes()[0]
}

/// Bits 15:0.
#[must_use]
pub const fn low_u16(value: u64) -> u16 {
    let [b0, b1, ..] = value.to_le_bytes();
    u16::from_le_bytes([b0, b1])
}

/// Bits 31:0.
#[must_use]
pub const fn low_u32(value: u64) -> u32 {
    let [b0, b1, b2, b3, ..] = value.to_le_bytes();
    u32::from_le_bytes([b0, b1, b2, b3])
}

/// Bits 63:0.
#[must_use]
pub const fn low_u64(value: u128) -> u64 {
    let [b0, b1, b2, b3, b4, b5, b6, b7, ..] = value.to_le_bytes();
    u64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7])
}

/// A length or offset of guest memory or of a file, as the host counts bytes. Nothing is lost: hosts have 64 bits.
#[must_use]
#[inline(always)]
pub const fn host_size(value: u64) -> usize {
    usize::from_le_bytes(value.to_le_bytes())
}

/// A number of things as a 32-bit field holds it; saturates.
#[must_use]
pub fn count_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// `value · numerator / denominator`, rounded down; saturates, also for a denominator of 0.
#[must_use]
pub fn scale(value: u64, numerator: u64, denominator: u64) -> u64 {
    let product = u128::from(value) * u128::from(numerator);
    product.checked_div(denominator.into()).map_or(u64::MAX, |ratio| u64::try_from(ratio).unwrap_or(u64::MAX))
}
