//! The core model against llvm-mca, LLVM's machine code analyser.
//!
//! `cargo xtask uops` writes `crates/core-model/data/*.tsv`: it prints every instruction of the x86-64-v2 level in
//! AT&T syntax, asks `llvm-mca -instruction-tables` what LLVM's scheduling model says of it, and writes uops, latency
//! and units down. `cargo xtask mca` generates basic blocks, and compares the cycles per iteration of the core
//! model with those of llvm-mca's simulation. Both need the llvm-mca of LLVM 19 or newer.

mod blocks;
mod compare;
mod instructions;
mod llvm;
mod uops;

pub(crate) use compare::{CompareArgs, compare};
pub(crate) use uops::write_tables;
