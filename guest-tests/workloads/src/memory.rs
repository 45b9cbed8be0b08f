//! Workloads that wait for loads.

use core::{
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering},
};

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

/// The word, in the first line, that keeps the place between two calls: a large ring is walked on, not from its
/// start again and again.
const PLACE: usize = 1;
/// The same for random numbers.
const RANDOM: usize = 2;

pub(crate) fn prepare_mixed(memory: &mut [u64]) {
    prepare_chase(memory);
    memory[RANDOM] = GOLDEN;
}

/// Follows the links: each load needs the one before it.
#[inline(never)]
pub(crate) fn chase(memory: &mut [u64], iterations: u64) -> u64 {
    let mut position = memory[PLACE];
    for _ in 0..iterations {
        position = memory[position as usize];
    }
    memory[PLACE] = position;
    position
}

/// Follows the links, and between two of them computes and branches.
#[inline(never)]
pub(crate) fn mixed(memory: &mut [u64], iterations: u64) -> u64 {
    let mut position = memory[PLACE];
    let mut random = memory[RANDOM];
    let mut sum = 0;
    for _ in 0..iterations {
        position = memory[position as usize];
        random = xorshift(random);
        sum = decide(sum, random).wrapping_add(position);
    }
    memory[PLACE] = position;
    memory[RANDOM] = random;
    sum
}

/// Small numbers, so that sums do not depend on how often the memory was walked before.
pub(crate) fn prepare_stream(memory: &mut [u64]) {
    for (index, word) in memory.iter_mut().enumerate() {
        *word = index as u64;
    }
}

/// Reads a line of one half and writes it, with a constant added, to the other half.
#[inline(never)]
pub(crate) fn stream(memory: &mut [u64], iterations: u64) -> u64 {
    let (from, to) = memory.split_at_mut(memory.len() / 2);
    let (from, _) = from.as_chunks_mut::<LINE_WORDS>();
    let (to, _) = to.as_chunks_mut::<LINE_WORDS>();
    // The first line says how far earlier calls came.
    let mut next = from[0][PLACE] as usize;
    let mut last = 0;
    let mut left = iterations;
    while left > 0 {
        next = if next < from.len() { next.max(1) } else { 1 };
        let before = left;
        for (from, to) in from[next..].iter().zip(&mut to[next..]) {
            if left == 0 {
                break;
            }
            *to = from.map(|word| word.wrapping_add(GOLDEN));
            last = to[0];
            left -= 1;
        }
        next += (before - left) as usize;
    }
    from[0][PLACE] = next as u64;
    last
}

/// A word with a cache line of its own.
#[repr(align(64))]
struct Line(AtomicU64);

/// Two locked additions to lines of their own.
#[inline(never)]
pub(crate) fn locks(_: &mut [u64], iterations: u64) -> u64 {
    let lines = [Line(AtomicU64::new(0)), Line(AtomicU64::new(0))];
    // Other code might know the address, so the compiler leaves every addition.
    let [first, second] = black_box(&lines);
    for _ in 0..iterations {
        first.0.fetch_add(1, Ordering::Relaxed);
        second.0.fetch_add(GOLDEN, Ordering::Relaxed);
    }
    first.0.load(Ordering::Relaxed) ^ second.0.load(Ordering::Relaxed)
}
