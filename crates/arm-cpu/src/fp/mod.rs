//! Floating point as AArch64 has it (Arm ARM A1.5, and the shared pseudocode in J1.3 under "functions/float"): pure
//! functions of FPCR, FPSR and operands.
//!
//! The order: [`environment`] and [`format`] (operands taken apart, NaNs), [`exact`] (rounding), and on these
//! [`arithmetic`], [`order`], [`convert`] and [`estimate`].

pub(crate) mod arithmetic;
pub(crate) mod convert;
pub(crate) mod environment;
pub(crate) mod estimate;
mod exact;
pub(crate) mod format;
pub(crate) mod order;
#[cfg(test)]
mod tests;

pub(crate) use environment::Env;
pub(crate) use exact::Mode;
