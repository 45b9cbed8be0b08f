//! The oracle of `soft-cpu`: random instruction sequences run on the host's CPU, in ring 3 of a KVM guest, and in
//! the interpreter. Both sides have the same memory, page tables and registers, and must end in the same
//! exception with the same state.
//!
//! ```text
//! generator  ->  Case  ->  native: KVM, ring 3    ->  Outcome  \
//!                      ->  soft:   soft_cpu::Cpu  ->  Outcome  -> compare -> run (shrinks differences)
//! ```

pub mod case;
pub mod compare;
pub mod corpus;
pub mod cpu;
pub mod fuzz;
pub mod generator;
pub mod layout;
mod left_open;
pub mod masks;
pub mod native;
pub mod run;
pub mod soft;
pub mod start;
mod undefined;
mod watchdog;
