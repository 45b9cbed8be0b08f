//! Floating-point numbers as SSE to AVX-512 have them: pure functions of MXCSR and elements (SDM volume 1, chapters 4,
//! 10, 11, 14 and 15).
//!
//! The host computes what it rounds to nearest, where that is what MXCSR asks for and nothing has to be noted.
//! Everything else, and half precision, is computed exactly and rounded by own code, because soft-float libraries have
//! neither flushing to zero, nor DE, nor the PE of unmasked overflow and underflow.
//!
//! The order: `environment`, `exact` (operands taken apart, NaNs, rounding), and on these the operations.

pub(crate) mod arithmetic;
pub(crate) mod bfloat;
pub(crate) mod convert;
mod environment;
pub(crate) mod estimate;
mod exact;
pub(crate) mod order;
pub(crate) mod parts;
#[cfg(test)]
mod tests;

pub(crate) use arithmetic::{arithmetic, square_root};
pub(crate) use convert::{f32_from_integer, f64_from_integer, narrow, to_integer, widen};
pub(crate) use environment::{ASSIST, DAZ, DE, Env, IE, PE, ZE, rounding};
pub(crate) use order::{compare, extreme, order};
pub(crate) use soft_arithmetic::format::{DOUBLE, Float, Format, HALF, SINGLE};
pub(crate) use soft_arithmetic::real::{Operation, Real};

/// The NaN of invalid operations: negative and quiet.
pub(crate) fn indefinite<R: Real>() -> R {
    R::NAN.negate()
}
