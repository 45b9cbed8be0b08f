//! The interpreter as its users see it. One binary: each that has the interpreter compiles it again.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod again;
#[path = "../common/mod.rs"]
mod common;
mod mmu;
mod observe;
mod random_code;
mod system;
