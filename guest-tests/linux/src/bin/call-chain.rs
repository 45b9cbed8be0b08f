//! `call-chain [ROUNDS]`: `outer` calls `middle` 100 times, which calls `leaf`, which loops ROUNDS times.

#![expect(unsafe_code, reason = "system calls, and instructions that the program is about")]

use std::hint::black_box;

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn leaf(rounds: u64) -> u64 {
    let mut sum = 0_u64;
    for round in 0..rounds {
        sum = black_box(sum.wrapping_add(round * round));
    }
    sum
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn middle(rounds: u64) -> u64 {
    // Not the last thing it does, so that the call stays a call.
    black_box(leaf(rounds)) + 1
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn outer(rounds: u64) -> u64 {
    (0..100).map(|_| middle(rounds)).fold(0, u64::wrapping_add)
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000);
    black_box(outer(black_box(rounds)));
}
