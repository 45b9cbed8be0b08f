//! Masks of bits.

/// A mask of bit `n`; 0 above bit 63.
pub(crate) const fn bit(n: u32) -> u64 {
    if n < 64 { 1 << n } else { 0 }
}

/// A mask of the `bits` lowest bits (64 or more: all ones).
#[must_use]
pub const fn low_bits(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
