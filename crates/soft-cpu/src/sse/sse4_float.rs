//! Floating-point instructions of SSE3 and SSE4.1: neighbours, rounding to integers, dot products.

use super::float::{self, DAZ, Env, Float, IE, Operation, PE, rounding};
use super::lane::{Lane, build, get};
use super::scalar::FloatOp;
use crate::account::totals::{Arithmetic, Flop};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::Done;
use crate::exec::Insn;
use crate::exec::operand::Get;
use crate::low::Low;
use crate::silicon::Rule;

/// ROUNDxx: to an integer, as bits 2:0 of `control` say; bit 3 keeps PE away.
pub(crate) struct Round;

impl FloatOp for Round {
    const ARITHMETIC: bool = false;

    fn apply<R: Float>(env: &mut Env, _a: R, b: R, control: u8) -> R {
        let value = if env.mxcsr & DAZ != 0 && b.subnormal() { b.signed_zero() } else { b };
        if value.nan() {
            env.raised |= if value.signalling() { IE } else { 0 };
            return value.quiet();
        }
        let mode = if control & 4 != 0 { env.rounding() } else { rounding(u32::from(control)) };
        let rounded = value.integral(mode);
        if rounded != value && control & 8 == 0 {
            env.raised |= PE;
        }
        rounded
    }
}

/// An operation on a whole vector that needs the floating-point environment.
pub(crate) trait FloatVector {
    /// What the results of [`apply`](Self::apply) are: sums, as many as the vector has lanes.
    const LANES: u32;
    fn apply(env: &mut Env, a: u128, b: u128) -> u128;
}

pub(crate) struct Addsubps;
pub(crate) struct Addsubpd;
pub(crate) struct Haddps;
pub(crate) struct Haddpd;
pub(crate) struct Hsubps;
pub(crate) struct Hsubpd;

macro_rules! float_vector {
    ($($name:ident: $function:ident::<$real:ty>($($operation:expr)?);)*) => { $(
        impl FloatVector for $name {
            const LANES: u32 = 128 / <$real as Lane>::BITS;
            fn apply(env: &mut Env, a: u128, b: u128) -> u128 {
                $function::<$real>(env, a, b $(, $operation)?)
            }
        }
    )* };
}
float_vector! {
    Addsubps: alternate::<f32>();
    Addsubpd: alternate::<f64>();
    Haddps: horizontal::<f32>(Operation::Add);
    Haddpd: horizontal::<f64>(Operation::Add);
    Hsubps: horizontal::<f32>(Operation::Sub);
    Hsubpd: horizontal::<f64>(Operation::Sub);
}

/// Subtracts even lanes and adds odd ones.
fn alternate<R: Float>(env: &mut Env, a: u128, b: u128) -> u128 {
    build::<R>(|n| {
        let operation = if n & 1 == 0 { Operation::Sub } else { Operation::Add };
        float::arithmetic(env, operation, get(a, n), get(b, n))
    })
}

/// Combines neighbours: those of `a` become the low half, those of `b` the high half.
fn horizontal<R: Float>(env: &mut Env, a: u128, b: u128, operation: Operation) -> u128 {
    let half = 64 / R::BITS;
    build::<R>(|n| {
        let (from, n) = if n < half { (a, n) } else { (b, n - half) };
        float::arithmetic(env, operation, get(from, 2 * n), get(from, 2 * n + 1))
    })
}

pub(crate) fn float_vector<B: Bus, O: FloatVector, S: Get<u128>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_sse()?;
    let right = S::get(c, b, i)?;
    let mut env = Env::new(c.mxcsr);
    let result = O::apply(&mut env, c.xmm[usize::from(i.dst & 15)], right);
    c.float_done(&env)?;
    c.xmm[usize::from(i.dst & 15)] = result;
    c.retire_flops(Flop::AddSub, O::LANES);
    c.retire_arithmetic(Arithmetic::of(true, 128 / O::LANES));
    Ok(())
}

/// DPPS, DPPD: products where the control's high half says, their sum where its low half says. Exceptions of
/// the products come before those of the sums.
pub(crate) fn dot_product<B: Bus, R: Float, S: Get<u128>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let right = S::get(c, b, i)?;
    let left = c.xmm[usize::from(i.dst & 15)];
    let control = i.imm.low_u8();
    let mut env = Env::new(c.mxcsr);
    let products = build::<R>(|n| {
        if control >> (4 + n) & 1 == 0 {
            return R::ZERO;
        }
        float::arithmetic(&mut env, Operation::Mul, get(left, n), get(right, n))
    });
    c.float_done(&env)?;
    let mut env = Env::new(c.mxcsr);
    let mut sum = |a: R, b: R| float::arithmetic(&mut env, Operation::Add, a, b);
    let lanes = 128 / R::BITS;
    // From this product on; the order decides only which NaN the result is.
    let mut from = |n: u32| {
        let pair = sum(get(products, n), get(products, n ^ 1));
        if lanes == 2 {
            return pair;
        }
        let other = sum(get(products, n ^ 2), get(products, n ^ 3));
        sum(pair, other)
    };
    let total = from(0);
    let totals = if total.nan() && c.holds(Rule::DotProductNanByLane) {
        build::<R>(|n| from(if lanes == 2 { n } else { n ^ 1 }))
    } else {
        build::<R>(|_| total)
    };
    c.float_done(&env)?;
    c.xmm[usize::from(i.dst & 15)] =
        build::<R>(|n| if control >> n & 1 != 0 { get(totals, n) } else { R::ZERO });
    c.retire_flops(Flop::Mul, (control >> 4 & ((1 << lanes) - 1).low_u8()).count_ones());
    c.retire_flops(Flop::AddSub, lanes - 1);
    // Two operations on each element.
    c.retire_arithmetic(Arithmetic::of(true, R::BITS));
    c.retire_arithmetic(Arithmetic::of(true, R::BITS));
    Ok(())
}
