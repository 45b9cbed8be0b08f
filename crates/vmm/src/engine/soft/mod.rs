//! The soft engine: our interpreters, so that images run without KVM and are counted exactly.
//!
//! Time comes from the guest itself: an instruction is a core cycle and each iteration of REP another one, or a model
//! of the core says how many they take; a core cycle is a tick of the TSC, and a halted CPU skips to the next timer.
//! So a run does not depend on the host's speed, and the same command gives the same bytes.
//!
//! | file | what it is |
//! | --- | --- |
//! | `run.rs` | the run loop |
//! | `clock.rs`, `idle.rs` | guest time, and a CPU that waits |
//! | `debug.rs` | a debugger stops the guest |
//! | `ram.rs` | guest RAM for an interpreter |
//! | `timing.rs` | a model of the core observes what retires |
//! | [`x86`], [`arm`] | the interpreters of x86-64 and of AArch64 |

pub mod arm;
mod clock;
mod debug;
mod idle;
mod ram;
mod run;
mod timing;
pub mod x86;

/// Larger totals are not of a guest: at a billion a second it would have run for two years.
const MAX_TOTAL: u64 = 1 << 56;
