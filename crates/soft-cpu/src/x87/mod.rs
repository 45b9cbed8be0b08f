//! The x87 FPU. `float`, `arith`, `transcendental` and `bcd` are pure functions over 80-bit values; `stack` is the
//! register file with its tags and exceptions; the other files are the instructions. FNINIT, FXSAVE and the control
//! word are in `exec::x87`.
//!
//! The data pointer changes only with unmasked exceptions, and so does the opcode; the segment selectors of
//! both pointers are not kept. CPUID says so (leaf 7, FDP_EXCPTN_ONLY and the deprecation of FPU CS and DS).
//! With CR0.NE = 0 an unmasked exception is ignored, as with IGNNE# asserted.

mod arith;
mod bcd;
pub(crate) mod compute;
pub(crate) mod environment;
mod float;
mod stack;
#[cfg(test)]
mod tests;
mod transcendental;
pub(crate) mod transfer;

pub(crate) use stack::TOP;
