//! The core model against llvm-mca, LLVM's machine code analyser.
//!
//! `cargo xtask uops` writes `crates/core-model/data/*.tsv`: it prints every instruction of the x86-64-v4 level, or of
//! Armv8.0, as assembly, asks `llvm-mca -instruction-tables` what LLVM's scheduling model says of it, and writes uops,
//! latency and units down; tables of cores that LLVM has no scheduling model of are made of another one and of what was
//! measured ([`measured`]). `cargo xtask mca` generates basic blocks of x86, and compares the cycles per iteration of
//! the core model with those of llvm-mca's simulation. For x86 both need the llvm-mca of LLVM 19 or newer.

mod a64;
pub(crate) mod blocks;
mod compare;
mod llvm;
mod measured;
mod target;
mod uops;
pub(crate) mod x86;

pub(crate) use compare::{CompareArgs, compare};
pub(crate) use uops::{UopsArgs, write_tables};
