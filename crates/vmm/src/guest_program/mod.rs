//! A program of the host in a Linux guest: what it needs goes there, what it prints comes back, and what it executes
//! is counted apart from the rest.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`files`] | finds what a program needs: interpreter, libraries, data |
//! | [`job`] | the records by which the guest's init gets files and program |
//! | [`cpio`] | the initial RAM disk with init |
//! | [`boot`] | boots a kernel up to where init waits for a program, into a snapshot |
//! | [`counters`] | what the guest's perf counts in the program |
//! | `changed.rs` | what the program has written comes back |
//! | `run.rs` | runs a program from there |
//! | [`roi`] | a part of the program that is counted alone |
//! | [`sample`] | where the program is, at exact numbers of instructions |
//! | `error.rs` | why a program could not be run |

pub mod boot;
mod changed;
pub mod counters;
pub mod cpio;
mod error;
pub mod files;
pub mod job;
pub mod roi;
mod run;
pub mod sample;

pub use self::error::ProgramError;
pub use self::run::{EventCount, ProgramConfig, ProgramReport, RegionReport, run};

/// The guest's process 1, from `guest-tests/init`; empty where it could not be compiled.
pub const INIT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest-init"));
