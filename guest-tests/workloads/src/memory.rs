//! Workloads that wait for loads.

use crate::compute::{GOLDEN, decide, xorshift};

/// Words in a cache line of 64 bytes; the chase uses one word of each.
const LINE_WORDS: usize = 8;

/// Links the lines into one cycle through all of them, in an order that prefetchers do not guess.
///
/// The order is that of a linear congruential generator modulo a power of two: with a multiplier
/// of 1 modulo 4 and an odd increment it visits every value (Hull and Dobell, 1962).
pub(crate) fn prepare_chase(memory: &mut [u64]) {
    let lines = memory.len() / LINE_WORDS;
    debug_assert!(lines.is_power_of_two());
    let step = |line: usize| line.wrapping_mul(0x2545_F491_4F6C_DD1D).wrapping_add(0x1234_5677) & (lines - 1);
    memory.fill(0);
    for line in 0..lines {
        memory[line * LINE_WORDS] = (step(line) * LINE_WORDS) as u64;
    }
}

/// Follows the links: each load needs the one before it.
#[inline(never)]
pub(crate) fn chase(memory: &mut [u64], iterations: u64) -> u64 {
    let mut position = 0;
    for _ in 0..iterations {
        position = memory[position as usize];
    }
    position
}

/// Follows the links, and between two of them computes and branches.
#[inline(never)]
pub(crate) fn mixed(memory: &mut [u64], iterations: u64) -> u64 {
    let mut position = 0;
    let mut random = GOLDEN;
    let mut sum = 0;
    for _ in 0..iterations {
        position = memory[position as usize];
        random = xorshift(random);
        sum = decide(sum, random).wrapping_add(position);
    }
    sum
}
