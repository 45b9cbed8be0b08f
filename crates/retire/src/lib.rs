//! The retirement stream: what an execution engine says about retired instructions, in program order.
//!
//! An engine produces it, a model of the core or a recorder of branches consumes it ([`Observer`]). The engine
//! describes the instructions of a block once ([`Observer::define`]), and each time that they have retired it gives
//! their block's name with addresses and memory accesses ([`Observer::retire`]). The types are neutral: none is
//! specific to an instruction set.
#![no_std]
#![forbid(unsafe_code)]

mod block;
mod branch;
mod encoding;
mod event;
mod instruction;
mod memory;
mod observer;

pub use block::{Block, BlockId};
pub use branch::{Branch, BranchKind};
pub use encoding::{Addressing, Encoding, Operation, UpperBits};
pub use event::{Assist, CoreEvent};
pub use instruction::{
    Arithmetic, Class, Divider, Domain, FormId, Fusion, Instruction, InstructionSet, JumpFlags, Prefetch,
    REGISTERS, RegisterFile, RegisterSet, Renaming,
};
pub use memory::MemoryAccess;
pub use observer::{Observer, Unobserved};
