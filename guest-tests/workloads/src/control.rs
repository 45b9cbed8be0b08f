//! Workloads that jump to places that are hard to predict.

use crate::compute::{GOLDEN, RANDOM, xorshift};
use core::hint::black_box;

/// What an indirect call may reach.
const TARGETS: usize = 16;
/// Calls within each other: more than the return stack of any core of the profiles (16 to 32).
const DEPTH: u64 = 64;

/// The constant makes each of them a function of its own.
#[inline(never)]
fn target<const N: u64>(x: u64) -> u64 {
    (x ^ const { GOLDEN.rotate_left(N as u32) }).wrapping_add(N)
}

macro_rules! targets {
    ($($n:literal)*) => { [$(target::<$n>),*] };
}

/// Each call goes where random bits say, which no predictor can learn.
#[inline(never)]
pub(crate) fn indirect(memory: &mut [u64], iterations: u64) -> u64 {
    let table: [fn(u64) -> u64; TARGETS] = black_box(targets!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15));
    let mut random = memory[RANDOM];
    let mut sum = 0;
    for _ in 0..iterations {
        random = xorshift(random);
        sum = table[(random >> 20) as usize % TARGETS](sum);
    }
    memory[RANDOM] = random;
    sum
}

/// The rotation of what comes back keeps it from becoming a loop. Two call sites, so that the return address says
/// which way was taken: a predictor that lost its return stack has to guess. The next way is known late, so that what
/// is fetched behind a wrong guess takes longer than to begin anew.
#[inline(never)]
fn descend(depth: u64, random: u64) -> u64 {
    if depth == 0 {
        return random;
    }
    let random = xorshift(xorshift(random));
    if random >> 20 & 1 == 0 {
        descend(depth - 1, random).rotate_left(3).wrapping_add(depth)
    } else {
        descend(depth - 1, !random).rotate_left(1) ^ depth
    }
}

/// Goes down and up again, another way each time.
#[inline(never)]
pub(crate) fn calls(memory: &mut [u64], iterations: u64) -> u64 {
    let mut random = memory[RANDOM];
    let mut sum = 0_u64;
    for _ in 0..iterations {
        random = xorshift(random);
        sum = sum.rotate_left(1) ^ descend(DEPTH, random);
    }
    memory[RANDOM] = random;
    sum
}
