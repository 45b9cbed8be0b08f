//! The compiling tier of [`soft_cpu`]: hot blocks of x86-64 guest code become code of the host.
//!
//! The host is an x86-64 CPU too, so that most instructions are emitted nearly unchanged: guest registers are in
//! registers of the host for good, and the guest's flags in the host's until something else needs those. Memory
//! operands are looked up in the software TLB; what that does not know, and every instruction that is not compiled, is
//! left to the interpreter, with the state that is before the instruction. Code goes on behind what is never compiled.
//!
//! ```text
//! soft_cpu::Cpu::run            which block, how many fit, what it adds up to
//!   BlockCompiler (compiler.rs) code by block, links between blocks, entering
//!     translate.rs              one block: its head, its instructions, its ways out
//!       integer.rs, shift.rs, bits.rs, divide.rs, locked.rs, vector.rs, branch.rs
//!                               what each instruction becomes
//!       address.rs, pages.rs    memory operands: one, and several in a page
//!       state.rs                where flags and registers are
//!     plan.rs                   which operands may be in one page
//!       live.rs                 flags that matter
//!       kinds.rs                which vector instructions are compiled
//!     emit.rs, frame.rs         iced's encoder; registers, and what is on the stack
//!     registers.rs              vector registers
//!     memory.rs, ram.rs         all that is unsafe
//! ```
//!
//! # Exactness
//!
//! A block is executed as a whole or up to an instruction that the interpreter does. It is entered if a block of the
//! greatest length fits what is left of the budget, and for so many blocks only, or for more after a look at what
//! they have left of it; each leaves a note, from which totals and branches are worked out as after interpreted
//! blocks. Flags that the SDM leaves undefined get the interpreter's values, wherever anything may look at them.
//!
//! # Security
//!
//! Guest code decides what is compiled, not what that may do: it reads and writes the RAM that it is given, its frame
//! and the notes. Each access to RAM is checked against its size, after the TLB has allowed it. Code is written
//! through one mapping and executed through another, between pages that are not mapped. Constants of the guest are in
//! code as it has them; there is no code at other addresses that these could be jumped to by.
#![deny(unsafe_code)]

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod address;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod bits;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod branch;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod compiler;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod divide;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod emit;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod frame;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod integer;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod kinds;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod live;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod locked;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod memory;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod pages;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod plan;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod ram;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod registers;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod shift;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod state;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod translate;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod vector;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use compiler::{BlockCompiler, HOT};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use ram::Ram;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use registers::Vectors;
