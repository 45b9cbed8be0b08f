//! Workloads without memory.

use core::hint::black_box;

/// Multiplier of the golden ratio: an odd constant with well mixed bits.
pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Next value of a xorshift generator (Marsaglia, "Xorshift RNGs", 2003, triple 13, 7, 17).
pub(crate) fn xorshift(mut x: u64) -> u64 {
    x ^= x << 13;
    x ^= x >> 7;
    x ^ x << 17
}

/// Six independent chains of two single-cycle instructions that every ALU port takes: more than any
/// core of the profiles issues, so nearly every slot retires something.
#[inline(never)]
pub(crate) fn alu(_: &mut [u64], iterations: u64) -> u64 {
    // Three shapes in two widths, so that the compiler cannot pair chains into vectors.
    let (mut a, mut b, mut c) = (GOLDEN, GOLDEN << 1, GOLDEN << 2);
    let (mut d, mut e, mut f) = (1_u32, 2_u32, 3_u32);
    for _ in 0..iterations {
        a = a.wrapping_add(0x1111_1111) ^ 0x2222_2222;
        b = (b ^ 0x3333_3333).wrapping_add(0x4444_4444);
        c = 0x5555_5555_u64.wrapping_sub(c ^ 0x6666_6666);
        d = d.wrapping_add(0x1111_1111) ^ 0x7777_7777;
        e = (e ^ 0x3333_3333).wrapping_add(0x0808_0808);
        f = 0x5555_5555_u32.wrapping_sub(f ^ 0x0606_0606);
    }
    let narrow = u64::from(d) << 32 ^ u64::from(e) << 16 ^ u64::from(f);
    a ^ b.rotate_left(8) ^ c.rotate_left(24) ^ narrow.wrapping_mul(GOLDEN)
}

/// Each division waits for the one before it, and the divider does nothing else.
#[inline(never)]
pub(crate) fn divide(_: &mut [u64], iterations: u64) -> u64 {
    let mut dividend = GOLDEN;
    let mut x = black_box(1_u64);
    for _ in 0..iterations {
        dividend = dividend.wrapping_add(GOLDEN);
        // Both operands have bits above 32, so no short cut for small numbers applies.
        x = (dividend | 1 << 63) / (x | 1 << 32);
    }
    x
}

/// The word that keeps random numbers between two calls: predictors learn thousands of random directions that come
/// again and again, as was measured (docs/silicon.md).
pub(crate) const RANDOM: usize = 0;

pub(crate) fn prepare_random(memory: &mut [u64]) {
    memory[RANDOM] = GOLDEN;
}

/// Both branches are taken half of the time, by bits that no predictor can learn. They are known late, so that what is
/// fetched behind a wrong guess takes longer than to begin anew.
#[inline(never)]
pub(crate) fn branches(memory: &mut [u64], iterations: u64) -> u64 {
    let mut random = memory[RANDOM];
    let mut sum = 0_u64;
    for _ in 0..iterations {
        random = xorshift(xorshift(random));
        sum = decide(sum, random);
        sum = decide(sum, random >> 32);
    }
    memory[RANDOM] = random;
    sum
}

/// A branch on bit 0 of `random`. The opaque value in one arm keeps it from becoming a conditional move.
#[inline(always)]
pub(crate) fn decide(sum: u64, random: u64) -> u64 {
    if random & 1 == 0 { sum.wrapping_add(black_box(3)) } else { sum.rotate_left(1) ^ random }
}
