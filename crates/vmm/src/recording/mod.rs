//! Everything that a program in a guest executes, by function, line and caller: not samples, but every block of the
//! retirement stream.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`symbols`] | functions of ELF files and of the kernel |
//! | `code.rs` | which file, and which function, a piece of guest code is of |
//! | `contexts.rs` | who called whom: a tree of contexts, and the calls that are open in each thread |
//! | `branches.rs` | how often each branch was taken |
//! | [`recorder`] | takes what retires |
//! | [`data`] | the result, as it is written to a file |
//! | `finish.rs` | from the one to the other, with lines of source code |

mod branches;
mod code;
mod contexts;
pub mod data;
mod finish;
pub mod recorder;
pub mod symbols;
