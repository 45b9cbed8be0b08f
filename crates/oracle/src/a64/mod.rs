//! The oracle of `arm-cpu`: random instruction sequences run in user mode of QEMU, and in the interpreter. Both sides
//! have the same memory and registers, and must end in the same signal with the same state.
//!
//! ```text
//! forms -> generator -> Case -> native: qemu-aarch64, a64-runner -> Outcome  \
//!                            -> soft:   arm_cpu::Cpu             -> Outcome  -> compare -> run
//! ```

pub mod case;
pub mod compare;
pub mod corpus;
pub mod forms;
pub mod fuzz;
pub mod generator;
pub mod native;
pub mod report;
pub mod rules;
pub mod run;
mod runner;
pub mod soft;
pub mod start;
mod system;

pub use runner::NativeError;
