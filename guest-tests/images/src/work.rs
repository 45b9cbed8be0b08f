//! Ways to keep the CPU busy.
//!
//! Lengths are time stamp counter ticks, not iterations, because time-driven counts need time to
//! pass; engines that see every instruction need much less of it.

use guest_runtime::{rdtsc, ring0_loop, spin_for};

use crate::counts::{Kind, kind};

/// Ticks in which every counter moves: about half a millisecond, or a few ten thousand instructions.
#[must_use]
pub fn brief() -> u64 {
    match kind() {
        Kind::Exact | Kind::Modelled => 50_000,
        Kind::Synthetic | Kind::Hardware => 1_000_000,
    }
}

/// Ticks in which counts can be told apart by ring. Time-driven counts know the ring from samples,
/// one a millisecond: this is more than ten of them.
#[must_use]
pub fn lengthy() -> u64 {
    match kind() {
        Kind::Exact | Kind::Modelled => 200_000,
        Kind::Synthetic | Kind::Hardware => 50_000_000,
    }
}

/// Runs in ring 3 for a [`brief`] time.
pub fn busy() {
    spin_for(brief());
}

/// Runs in ring 3 for a [`lengthy`] time.
pub fn busy_in_ring3() {
    spin_for(lengthy());
}

/// Runs in ring 0 for a [`lengthy`] time, but for the way there and back.
pub fn busy_in_ring0() {
    let start = rdtsc();
    let mut iterations = 100;
    loop {
        let before = rdtsc();
        ring0_loop(iterations);
        let after = rdtsc();
        if after.wrapping_sub(start) >= lengthy() {
            return;
        }
        // An iteration takes 3 ns or 10 µs: find the number that makes the way there and back small.
        if after.wrapping_sub(before) < lengthy() / 16 {
            iterations *= 2;
        }
    }
}
