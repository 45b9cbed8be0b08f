//! Arithmetic that interpreters of CPUs share: [lanes](lane) of a vector, the host's [floats](real),
//! [formats](mod@format) of numbers, results that are known [exactly](exact), their [rounding], and the steps of
//! [AES](aes), [SHA](sha) and [polynomials](polynomial) over GF(2).
//!
//! Nothing here is specific to an instruction set: what a NaN becomes, which exceptions are noted and when results
//! are flushed to zero is the CPU's business.
#![forbid(unsafe_code)]

pub mod aes;
pub mod exact;
pub mod format;
pub mod lane;
pub mod polynomial;
pub mod real;
pub mod rounding;
pub mod sha;
