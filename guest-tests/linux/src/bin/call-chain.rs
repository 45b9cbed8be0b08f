//! `call-chain [ROUNDS [marked]]`: `outer` calls `middle` 100 times, which calls `leaf`, which loops ROUNDS times.
//! With `marked` that is an interval `sampled` of the VMM.

#![expect(unsafe_code, reason = "system calls, and instructions that the program is about")]

use linux_guest::vmm;
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
    let mut args = std::env::args().skip(1);
    let rounds = black_box(args.next().and_then(|text| text.parse().ok()).unwrap_or(10_000));
    black_box(match args.next().as_deref() {
        Some("marked") => vmm::interval("sampled", || outer(rounds)),
        _ => outer(rounds),
    });
}
