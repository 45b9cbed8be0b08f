//! The interpreter as its users see it. One binary: each that has the interpreter compiles it again.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, reason = "test code")]

mod blocks;
mod branches;
#[path = "../common/mod.rs"]
mod common;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod host;
mod legacy;
mod observe;
mod random_code;
mod system;
mod transcendental;
