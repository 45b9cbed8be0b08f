//! The functions of SHA-1 and SHA-256 (FIPS 180-4, sections 4.1.1, 4.1.2, 6.1.2 and 6.2.2).

/// Ch.
#[inline(always)]
#[must_use]
pub const fn choose(x: u32, y: u32, z: u32) -> u32 {
    (y ^ z) & x ^ z
}

/// Parity.
#[inline(always)]
#[must_use]
pub const fn parity(x: u32, y: u32, z: u32) -> u32 {
    x ^ y ^ z
}

/// Maj.
#[inline(always)]
#[must_use]
pub const fn majority(x: u32, y: u32, z: u32) -> u32 {
    x & y | (x | y) & z
}

/// One round of SHA-1 on a to e, where `word` is the schedule's word with what is added to it, and `f` is that of the
/// round: Ch, Parity or Maj.
#[inline(always)]
#[must_use]
pub fn sha1_round([a, b, c, d, e]: [u32; 5], f: impl Fn(u32, u32, u32) -> u32, word: u32) -> [u32; 5] {
    let next = a.rotate_left(5).wrapping_add(f(b, c, d)).wrapping_add(e).wrapping_add(word);
    [next, a, b.rotate_left(30), c, d]
}

/// One round of SHA-256 on a to h, where `word` is the schedule's word plus the round's constant.
#[inline(always)]
#[must_use]
pub fn sha256_round([a, b, c, d, e, f, g, h]: [u32; 8], word: u32) -> [u32; 8] {
    let big_1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
    let big_0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
    let t1 = h.wrapping_add(big_1).wrapping_add(choose(e, f, g)).wrapping_add(word);
    let t2 = big_0.wrapping_add(majority(a, b, c));
    [t1.wrapping_add(t2), a, b, c, d.wrapping_add(t1), e, f, g]
}

/// sigma0 of SHA-256's message schedule.
#[inline(always)]
#[must_use]
pub const fn sha256_sigma_0(w: u32) -> u32 {
    w.rotate_right(7) ^ w.rotate_right(18) ^ w >> 3
}

/// sigma1 of SHA-256's message schedule.
#[inline(always)]
#[must_use]
pub const fn sha256_sigma_1(w: u32) -> u32 {
    w.rotate_right(17) ^ w.rotate_right(19) ^ w >> 10
}
