//! Floating-point operations on elements.

use super::form::{self, Op};
use crate::context::Core;
use crate::exec::Operands;
use crate::fp::Mode;
use crate::fp::arithmetic::{arithmetic, fused, multiply_extended, square_root, step};
use crate::fp::convert::{Integer, between, from_integer, narrow, round_to_integer, to_integer, widen};
use crate::fp::environment::Env;
use crate::fp::estimate::{reciprocal, reciprocal_exponent, reciprocal_root};
use crate::fp::format::{DOUBLE, Float, HALF, SINGLE};
use crate::fp::order::{Extreme, compare, extreme};
use core::cmp::Ordering;
use soft_arithmetic::lane::{Element, Lane};
use soft_arithmetic::real::Operation;
use soft_arithmetic::rounding::Rounding;
use soft_base::Low;

macro_rules! float {
    ($($(#[$doc:meta])* $name:ident |$env:pat_param, $d:pat_param, $a:pat_param, $b:pat_param| $result:expr;)*) => { $(
        $(#[$doc])*
        pub(crate) enum $name {}
        impl<F: Float> Op<F> for $name {
            const PURE: bool = false;
            #[inline(always)]
            fn apply($env: &mut Env, $d: F, $a: F, $b: F) -> F {
                $result
            }
        }
    )* };
}

float! {
    /// FADD, FADDP.
    Fadd |env, _, a, b| arithmetic(env, Operation::Add, a, b);
    /// FSUB.
    Fsub |env, _, a, b| arithmetic(env, Operation::Sub, a, b);
    /// FMUL.
    Fmul |env, _, a, b| arithmetic(env, Operation::Mul, a, b);
    /// FNMUL.
    Fnmul |env, _, a, b| arithmetic(env, Operation::Mul, a, b).negate();
    /// FDIV.
    Fdiv |env, _, a, b| arithmetic(env, Operation::Div, a, b);
    /// FMULX.
    Fmulx |env, _, a, b| multiply_extended(env, a, b);
    /// FMLA.
    Fmla |env, d, a, b| fused(env, d, a, b);
    /// FMLS.
    Fmls |env, d, a, b| fused(env, d, a.negate(), b);
    /// FABD.
    Fabd |env, _, a, b| arithmetic(env, Operation::Sub, a, b).magnitude();
    /// FMAX, FMAXP, FMAXV.
    Fmax |env, _, a, b| extreme(env, Extreme::Maximum, false, a, b);
    /// FMIN, FMINP, FMINV.
    Fmin |env, _, a, b| extreme(env, Extreme::Minimum, false, a, b);
    /// FMAXNM, FMAXNMP, FMAXNMV.
    Fmaxnm |env, _, a, b| extreme(env, Extreme::Maximum, true, a, b);
    /// FMINNM, FMINNMP, FMINNMV.
    Fminnm |env, _, a, b| extreme(env, Extreme::Minimum, true, a, b);
    /// FRECPS.
    Frecps |env, _, a, b| step(env, false, a, b);
    /// FRSQRTS.
    Frsqrts |env, _, a, b| step(env, true, a, b);
    /// FSQRT.
    Fsqrt |env, _, a, _| square_root(env, a);
    /// FRECPE.
    Frecpe |env, _, a, _| reciprocal(env, a);
    /// FRSQRTE.
    Frsqrte |env, _, a, _| reciprocal_root(env, a);
    /// FRECPX.
    Frecpx |env, _, a, _| reciprocal_exponent(env, a);
}

/// FABS.
pub(crate) enum Fabs {}
/// FNEG.
pub(crate) enum Fneg {}
/// FMOV between registers.
pub(crate) enum Fmov {}

impl<F: Float> Op<F> for Fabs {
    #[inline(always)]
    fn apply(_env: &mut Env, _d: F, a: F, _b: F) -> F {
        a.magnitude()
    }
}

impl<F: Float> Op<F> for Fneg {
    #[inline(always)]
    fn apply(_env: &mut Env, _d: F, a: F, _b: F) -> F {
        a.negate()
    }
}

impl<F: Float> Op<F> for Fmov {
    #[inline(always)]
    fn apply(_env: &mut Env, _d: F, a: F, _b: F) -> F {
        a
    }
}

/// f32 and f64 with the integers of the same width.
pub(crate) trait FloatElement: Float + Element {
    type Bits: Element;
    /// A number's pattern, or any bits of this width.
    fn bits_from(value: u64) -> Self::Bits {
        Self::Bits::low(value.into())
    }
}

impl FloatElement for f32 {
    type Bits = u32;
}

impl FloatElement for f64 {
    type Bits = u64;
}

macro_rules! comparison {
    ($($(#[$doc:meta])* $name:ident |$env:ident, $a:ident, $b:ident| $holds:expr;)*) => { $(
        $(#[$doc])*
        pub(crate) enum $name {}
        comparison!(@ $name |$env, $a, $b| $holds; f32: u32, f64: u64);
    )* };
    (@ $name:ident |$env:ident, $a:ident, $b:ident| $holds:expr; $($t:ty: $bits:ty),*) => { $(
        impl Op<$bits, $t> for $name {
            const PURE: bool = false;
            #[inline(always)]
            fn apply($env: &mut Env, _d: $bits, $a: $t, $b: $t) -> $bits {
                <$bits>::from($holds).wrapping_neg()
            }
        }
    )* };
}

comparison! {
    /// FCMEQ.
    Fcmeq |env, a, b| compare(env, false, a, b) == Some(Ordering::Equal);
    /// FCMGE.
    Fcmge |env, a, b| compare(env, true, a, b).is_some_and(Ordering::is_ge);
    /// FCMGT.
    Fcmgt |env, a, b| compare(env, true, a, b) == Some(Ordering::Greater);
    /// FCMLE with 0.
    Fcmle |env, a, b| compare(env, true, a, b).is_some_and(Ordering::is_le);
    /// FCMLT with 0.
    Fcmlt |env, a, b| compare(env, true, a, b) == Some(Ordering::Less);
    /// FACGE.
    Facge |env, a, b| compare(env, true, a.abs(), b.abs()).is_some_and(Ordering::is_ge);
    /// FACGT.
    Facgt |env, a, b| compare(env, true, a.abs(), b.abs()) == Some(Ordering::Greater);
}

/// How a number becomes an integer, as an immediate operand: the direction of rounding in bits 2:0, bits behind the
/// point from bit 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Nearest = 0,
    Up = 1,
    Down = 2,
    Zero = 3,
    NearestAway = 4,
    /// As FPCR says.
    Current = 5,
    /// The same, and IXC says if that was inexact (FRINTX).
    CurrentExact = 6,
}

/// The direction in bits 2:0 of an immediate operand.
#[inline(always)]
fn direction(env: &Env, control: u64) -> Rounding {
    match control & 7 {
        0 => Rounding::Nearest,
        1 => Rounding::Up,
        2 => Rounding::Down,
        3 => Rounding::Zero,
        4 => Rounding::NearestAway,
        _ => env.rounding(),
    }
}

/// FCVTNS, FCVTZU and so on.
pub(crate) struct ToInteger<const SIGNED: bool>;

impl<F: FloatElement, const SIGNED: bool> Op<F::Bits, F, F::Bits> for ToInteger<SIGNED> {
    const PURE: bool = false;
    #[inline(always)]
    fn apply(env: &mut Env, _d: F::Bits, a: F, b: F::Bits) -> F::Bits {
        let control = b.bits().low_u64();
        let mode = direction(env, control);
        let to = Integer { width: F::BITS, signed: SIGNED, fraction: (control >> 8).low_u32() & 0x7F };
        F::bits_from(to_integer(env, a, to, mode))
    }
}

/// SCVTF and UCVTF.
pub(crate) struct FromInteger<const SIGNED: bool>;

impl<F: FloatElement, const SIGNED: bool> Op<F, F::Bits> for FromInteger<SIGNED> {
    const PURE: bool = false;
    #[inline(always)]
    fn apply(env: &mut Env, _d: F, a: F::Bits, b: F::Bits) -> F {
        let fraction = (b.bits() >> 8).low_u32() & 0x7F;
        from_integer(env, a.bits().low_u64(), Integer { width: F::BITS, signed: SIGNED, fraction })
    }
}

/// FRINTN, FRINTX and so on.
pub(crate) enum Frint {}

impl<F: FloatElement> Op<F, F, F::Bits> for Frint {
    const PURE: bool = false;
    #[inline(always)]
    fn apply(env: &mut Env, _d: F, a: F, b: F::Bits) -> F {
        let control = b.bits().low_u64();
        let mode = direction(env, control);
        round_to_integer(env, a, mode, control & 7 == Direction::CurrentExact as u64)
    }
}

/// FCVT between formats, FCVTL and FCVTN.
pub(crate) enum Fcvt {}

impl Op<f64, f32> for Fcvt {
    const PURE: bool = false;
    #[inline(always)]
    fn apply(env: &mut Env, _d: f64, a: f32, _b: f32) -> f64 {
        widen(env, a)
    }
}

impl Op<f32, f64> for Fcvt {
    const PURE: bool = false;
    #[inline(always)]
    fn apply(env: &mut Env, _d: f32, a: f64, _b: f64) -> f32 {
        narrow(env, a)
    }
}

impl Op<f32, u16> for Fcvt {
    const PURE: bool = false;
    fn apply(env: &mut Env, _d: f32, a: u16, _b: u16) -> f32 {
        let mode = Mode::Ieee(env.rounding());
        f32::from_pattern(between(env, HALF, SINGLE, a.into(), mode))
    }
}

impl Op<f64, u16> for Fcvt {
    const PURE: bool = false;
    fn apply(env: &mut Env, _d: f64, a: u16, _b: u16) -> f64 {
        let mode = Mode::Ieee(env.rounding());
        f64::from_pattern(between(env, HALF, DOUBLE, a.into(), mode))
    }
}

impl<F: Float> Op<u16, F> for Fcvt {
    const PURE: bool = false;
    fn apply(env: &mut Env, _d: u16, a: F, _b: F) -> u16 {
        let mode = Mode::Ieee(env.rounding());
        between(env, F::FORMAT, HALF, a.pattern(), mode).low_u16()
    }
}

/// FCVTXN.
pub(crate) enum Fcvtxn {}

impl Op<f32, f64> for Fcvtxn {
    const PURE: bool = false;
    fn apply(env: &mut Env, _d: f32, a: f64, _b: f64) -> f32 {
        f32::from_pattern(between(env, DOUBLE, SINGLE, a.pattern(), Mode::Odd))
    }
}

/// FMADD, FMSUB, FNMADD and FNMSUB: Ra, with the product added or subtracted, and perhaps the sign of all changed.
#[inline(always)]
pub(crate) fn multiply_add<F: Float, const SUB: bool, const NEGATE: bool>(c: &mut Core, i: &Operands) {
    let [a, b, addend] = [i.rn, i.rm, i.ra].map(|register| F::low(c.v[form::number(register)]));
    let a = if SUB != NEGATE { a.negate() } else { a };
    let addend = if NEGATE { addend.negate() } else { addend };
    c.v[form::number(i.rd)] = fused(&mut c.fp, addend, a, b).bits();
}

/// FCVTNS and so on to a general-purpose register of `aux` bits; the immediate operand is as for [`ToInteger`].
#[inline(always)]
pub(crate) fn to_general<F: Float, const SIGNED: bool>(c: &mut Core, i: &Operands) {
    let to = Integer { width: i.aux.into(), signed: SIGNED, fraction: (i.imm >> 8).low_u32() & 0x7F };
    let mode = direction(&c.fp, i.imm);
    let value = to_integer(&mut c.fp, F::low(c.v[form::number(i.rn)]), to, mode);
    c.set_reg(i.rd, value);
}

/// SCVTF and UCVTF from a general-purpose register of `aux` bits.
#[inline(always)]
pub(crate) fn from_general<F: Float, const SIGNED: bool>(c: &mut Core, i: &Operands) {
    let from = Integer { width: i.aux.into(), signed: SIGNED, fraction: (i.imm >> 8).low_u32() & 0x7F };
    let value = c.reg(i.rn);
    let value: F = from_integer(&mut c.fp, value, from);
    c.v[form::number(i.rd)] = value.bits();
}
