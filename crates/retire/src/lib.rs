//! The retirement stream: what an execution engine says about retired instructions, in program order.
//!
//! An engine produces it, a model of the core or a recorder of branches consumes it. The types are neutral: none is
//! specific to an instruction set.
#![no_std]
#![forbid(unsafe_code)]

mod branch;
mod event;
mod memory;

pub use branch::{Branch, BranchKind};
pub use event::{Assist, CoreEvent};
pub use memory::MemoryAccess;
