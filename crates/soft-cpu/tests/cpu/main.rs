//! The interpreter as its users see it. One binary: each that has the interpreter compiles it again.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod blocks;
mod branches;
#[path = "../common/mod.rs"]
mod common;
mod coverage;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod host;
mod legacy;
mod observe;
mod random_code;
mod system;
mod transcendental;
