//! Arithmetic that interpreters of CPUs share: [lanes](lane) of a vector, the host's [floats](real), and
//! [rounding] of what is known exactly.
//!
//! Nothing here is specific to an instruction set: what a NaN becomes, which exceptions are noted and when results
//! are flushed to zero is the CPU's business.
#![forbid(unsafe_code)]

pub mod lane;
pub mod real;
pub mod rounding;
