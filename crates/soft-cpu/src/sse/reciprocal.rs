//! RCPSS, RCPPS, RSQRTSS and RSQRTPS.
//!
//! The SDM allows a relative error of 1.5 * 2^-12 and leaves the rest to the model. Here the result is the exact
//! one rounded to nearest (relative error at most 2^-24), independent of MXCSR. As the SDM says, denormal operands
//! count as zero, denormal results become zero, and no exception is raised.

use super::float::{Real, indefinite};
use super::lane::{build, get, set};
use super::scalar::GetReal;
use crate::account::totals::Arithmetic;
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::Done;
use crate::exec::Insn;
use crate::exec::operand::Get;
use crate::low::nearest_f32;

pub(crate) trait Approximation {
    fn apply(a: f32) -> f32;
}

pub(crate) struct Reciprocal;
pub(crate) struct ReciprocalRoot;

impl Approximation for Reciprocal {
    fn apply(a: f32) -> f32 {
        if a.is_nan() {
            return a.quiet();
        }
        let a = if a.is_subnormal() { a.signed_zero() } else { a };
        let result = 1.0 / a;
        if result.is_subnormal() { result.signed_zero() } else { result }
    }
}

impl Approximation for ReciprocalRoot {
    fn apply(a: f32) -> f32 {
        if a.is_nan() {
            return a.quiet();
        }
        let a = if a.is_subnormal() { a.signed_zero() } else { a };
        if a < 0.0 {
            return indefinite();
        }
        // sqrt(-0) is -0. The result is never denormal.
        nearest_f32(1.0 / f64::from(a).sqrt())
    }
}

pub(crate) fn packed<B: Bus, O: Approximation, S: Get<u128>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let source = S::get(c, b, i)?;
    c.xmm[usize::from(i.dst & 15)] = build::<f32>(|n| O::apply(get(source, n)));
    c.retire_arithmetic(Arithmetic::PackedSingle);
    Ok(())
}

pub(crate) fn scalar<B: Bus, O: Approximation, S: GetReal<f32>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_sse()?;
    let source = S::real(c, b, i)?;
    let register = &mut c.xmm[usize::from(i.dst & 15)];
    *register = set(*register, 0, O::apply(source));
    c.retire_arithmetic(Arithmetic::ScalarSingle);
    Ok(())
}
