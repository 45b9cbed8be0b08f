//! Workloads that are limited by fetching and decoding their own code.

use crate::compute::GOLDEN;

/// Generated functions; together with [`STEPS`] this makes about 128 KiB of code.
const PARTS: u64 = 32;
/// Steps in a function, see `sixty_four!`.
const STEPS: u64 = 64;

/// A constant that is different for each step, so that no two steps are the same code.
const fn constant(step: u64) -> u64 {
    (step + 1).wrapping_mul(GOLDEN) | 1 << 63
}

macro_rules! four {
    ($step:ident, $x:ident, $n:expr) => {
        $step!($x, $n * 4);
        $step!($x, $n * 4 + 1);
        $step!($x, $n * 4 + 2);
        $step!($x, $n * 4 + 3);
    };
}

/// One step: four chains, each with a 10-byte MOV of a constant, an ADD and a rotate. About 68 bytes for
/// twelve micro-operations, which is more than decoders take in a cycle or two.
macro_rules! one {
    ($x:ident, $n:expr) => {
        $x[0] = $x[0].wrapping_add(const { constant(4 * (P * STEPS + $n)) }).rotate_left(5);
        $x[1] = $x[1].wrapping_add(const { constant(4 * (P * STEPS + $n) + 1) }).rotate_left(9);
        $x[2] = $x[2].wrapping_add(const { constant(4 * (P * STEPS + $n) + 2) }).rotate_left(15);
        $x[3] = $x[3].wrapping_add(const { constant(4 * (P * STEPS + $n) + 3) }).rotate_left(21);
    };
}

macro_rules! sixteen {
    ($x:ident, $n:expr) => {
        four!(one, $x, $n * 4);
        four!(one, $x, $n * 4 + 1);
        four!(one, $x, $n * 4 + 2);
        four!(one, $x, $n * 4 + 3);
    };
}

#[inline(never)]
fn part<const P: u64>(mut x: [u64; 4]) -> [u64; 4] {
    four!(sixteen, x, 0);
    x
}

macro_rules! parts {
    ($x:ident: $($p:literal)*) => { $( $x = part::<$p>($x); )* };
}

/// Each iteration passes once through all parts.
#[inline(never)]
pub(crate) fn run(_: &mut [u64], iterations: u64) -> u64 {
    const { assert!(PARTS == 32) };
    let mut x: [u64; 4] = core::array::from_fn(|i| GOLDEN.wrapping_mul(i as u64 + 1));
    for _ in 0..iterations {
        parts!(x: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        parts!(x: 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    }
    x.iter().fold(0, |sum, value| sum.rotate_left(1) ^ value)
}

/// Each iteration passes through seven parts: they fit the first-level instruction cache, and have more
/// micro-operations than the micro-op cache of any core of the profiles.
#[inline(never)]
pub(crate) fn decode(_: &mut [u64], iterations: u64) -> u64 {
    let mut x: [u64; 4] = core::array::from_fn(|i| GOLDEN.wrapping_mul(i as u64 + 1));
    for _ in 0..iterations {
        parts!(x: 0 1 2 3 4 5 6);
    }
    x.iter().fold(0, |sum, value| sum.rotate_left(1) ^ value)
}

/// Small functions of [`jumps`].
const HOPS: usize = 2_048;

/// Two constants of ten bytes make it about 48 bytes long.
#[inline(never)]
fn hop<const N: usize>(x: u64) -> u64 {
    x.wrapping_add(const { constant(2 * N as u64) }) ^ const { constant(2 * N as u64 + 1) }
}

/// Calls in an order in which the next function is never in the next line.
macro_rules! hops {
    ($x:ident, $n:expr) => {
        $x = hop::<{ ($n) * 37 % HOPS }>($x);
    };
}

macro_rules! sixty_four_hops {
    ($x:ident, $n:expr) => {
        four!(four_hops, $x, $n * 4);
        four!(four_hops, $x, $n * 4 + 1);
        four!(four_hops, $x, $n * 4 + 2);
        four!(four_hops, $x, $n * 4 + 3);
    };
}

macro_rules! four_hops {
    ($x:ident, $n:expr) => {
        four!(hops, $x, $n);
    };
}

/// Each iteration calls every function once: 96 KiB of code, of which each line is needed for a few instructions.
#[inline(never)]
pub(crate) fn jumps(_: &mut [u64], iterations: u64) -> u64 {
    const { assert!(HOPS == 2 * 16 * 64) };
    let mut x = GOLDEN;
    for _ in 0..iterations {
        four!(sixty_four_hops, x, 0);
        four!(sixty_four_hops, x, 1);
        four!(sixty_four_hops, x, 2);
        four!(sixty_four_hops, x, 3);
        four!(sixty_four_hops, x, 4);
        four!(sixty_four_hops, x, 5);
        four!(sixty_four_hops, x, 6);
        four!(sixty_four_hops, x, 7);
    }
    x
}
