//! The oracles of the interpreters. That of `arm-cpu` is [`a64`]; the rest is
//! the oracle of `soft-cpu`: random instruction sequences run on the host's CPU, in ring 3 of a KVM guest, and in
//! the interpreter. Both sides have the same memory, page tables and registers, and must end in the same
//! exception with the same state.
//!
//! ```text
//! generator  ->  Case  ->  native: KVM, ring 3    ->  Outcome  \
//!                      ->  soft:   soft_cpu::Cpu  ->  Outcome  -> compare -> run (shrinks differences)
//! ```

pub mod a64;
pub mod case;
pub mod changes;
pub mod compare;
mod compiled;
pub mod corpus;
pub mod cpu;
pub mod fuzz;
pub mod generator;
mod group;
pub mod host;
pub mod layout;
mod left_open;
pub mod machine;
pub mod masks;
pub mod native;
mod reserved;
pub mod run;
mod shrink;
pub mod soft;
pub mod start;
mod undefined;
pub mod vectors;
mod watchdog;
mod xsave;

/// An instruction set whose interpreter is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Isa {
    /// x86-64: soft-cpu.
    X86,
    /// A64: arm-cpu.
    A64,
}
