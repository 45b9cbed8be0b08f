//! Sums, products, quotients, square roots and fused multiply-add.
//!
//! The host computes what it rounds as FPCR asks: to nearest, with operands and results that are normal numbers.
//! Whether that was inexact matters only until IXC is set. Everything else is computed exactly and rounded by own
//! code, because general soft-float libraries detect tininess after rounding, and have neither Arm's flushing to zero
//! nor rounding to odd.

use super::environment::{DZC, Env};
use super::exact::{Exact, Mode, round, round_sum};
use super::format::{Class, Float, Format, invalid, process_nan, process_nans, unpack};
use soft_arithmetic::real::{Operation, plainly_exact};

/// FADD, FSUB, FMUL, FDIV.
#[inline(always)]
pub(crate) fn arithmetic<F: Float>(env: &mut Env, operation: Operation, a: F, b: F) -> F {
    if env.as_host() {
        let result = match operation {
            Operation::Add => a.add(b),
            Operation::Sub => a.sub(b),
            Operation::Mul => a.mul(b),
            Operation::Div => a.div(b),
        };
        // The smallest normal number may be a tiny one that was rounded up.
        let ordinary = result.finite() && result.magnitude() > F::MIN_NORMAL;
        if ordinary && (env.inexact_known() || is_exact(operation, a, b, result)) {
            return result;
        }
        // Sums do not underflow, and a product is 0 without underflow if an operand is.
        if result == F::ZERO
            && match operation {
                Operation::Add | Operation::Sub => true,
                Operation::Mul => (a == F::ZERO || b == F::ZERO) && a.finite() && b.finite(),
                Operation::Div => a == F::ZERO,
            }
        {
            return result;
        }
    }
    F::from_pattern(slow(env, F::FORMAT, operation, a.pattern(), b.pattern()))
}

/// True only if a result that is a normal number is exact.
#[inline(always)]
fn is_exact<F: Float>(operation: Operation, a: F, b: F, result: F) -> bool {
    match operation {
        Operation::Div => {
            let product = result.mul(b);
            product == a && plainly_exact(Operation::Mul, result, b, product)
        }
        _ => plainly_exact(operation, a, b, result),
    }
}

#[inline(never)]
fn slow(env: &mut Env, format: Format, operation: Operation, a: u64, b: u64) -> u64 {
    match operation {
        Operation::Add => sum(env, format, a, b, false),
        Operation::Sub => sum(env, format, a, b, true),
        Operation::Mul => product(env, format, a, b, None),
        Operation::Div => quotient(env, format, a, b),
    }
}

fn sum(env: &mut Env, format: Format, a: u64, b: u64, subtract: bool) -> u64 {
    let (x, mut y) = (unpack(env, format, a), unpack(env, format, b));
    if let Some(nan) = process_nans(env, format, &[(a, &x), (b, &y)]) {
        return nan;
    }
    y.negative ^= subtract;
    if x.is_infinite() || y.is_infinite() {
        if x.is_infinite() && y.is_infinite() && x.negative != y.negative {
            return invalid(env, format);
        }
        return format.infinity(if x.is_infinite() { x.negative } else { y.negative });
    }
    if x.is_zero() && y.is_zero() && x.negative == y.negative {
        return format.zero(x.negative);
    }
    round_sum(env, format, Exact::sum(Exact::of(&x), Exact::of(&y)))
}

/// `extended`: what infinity times zero gives without a sign, instead of an invalid operation.
fn product(env: &mut Env, format: Format, a: u64, b: u64, extended: Option<u64>) -> u64 {
    let (x, y) = (unpack(env, format, a), unpack(env, format, b));
    if let Some(nan) = process_nans(env, format, &[(a, &x), (b, &y)]) {
        return nan;
    }
    let negative = x.negative != y.negative;
    let (infinite, zero) = (x.is_infinite() || y.is_infinite(), x.is_zero() || y.is_zero());
    match (infinite, zero) {
        (true, true) => match extended {
            Some(value) => format.sign(negative) | value,
            None => invalid(env, format),
        },
        (true, false) => format.infinity(negative),
        (false, true) => format.zero(negative),
        (false, false) => {
            let mode = Mode::Ieee(env.rounding());
            round(env, format, Exact::product(&x, &y), mode)
        }
    }
}

fn quotient(env: &mut Env, format: Format, a: u64, b: u64) -> u64 {
    let (x, y) = (unpack(env, format, a), unpack(env, format, b));
    if let Some(nan) = process_nans(env, format, &[(a, &x), (b, &y)]) {
        return nan;
    }
    let negative = x.negative != y.negative;
    if x.is_infinite() && y.is_infinite() || x.is_zero() && y.is_zero() {
        return invalid(env, format);
    }
    if x.is_infinite() || y.is_zero() {
        if !x.is_infinite() {
            env.raise(DZC);
        }
        return format.infinity(negative);
    }
    if x.is_zero() || y.is_infinite() {
        return format.zero(negative);
    }
    let mode = Mode::Ieee(env.rounding());
    round(env, format, Exact::quotient(&x, &y), mode)
}

/// FMULX: infinity times zero is 2.
#[inline]
pub(crate) fn multiply_extended<F: Float>(env: &mut Env, a: F, b: F) -> F {
    if env.as_host() && env.inexact_known() {
        let result = a.mul(b);
        if result.finite() && result.magnitude() > F::MIN_NORMAL {
            return result;
        }
    }
    let two = F::FORMAT.power_of_2(false, 1);
    F::from_pattern(product(env, F::FORMAT, a.pattern(), b.pattern(), Some(two)))
}

/// FSQRT.
#[inline]
pub(crate) fn square_root<F: Float>(env: &mut Env, a: F) -> F {
    if env.as_host() && a.finite() && a.magnitude() >= F::MIN_NORMAL && !a.negative() {
        let result = a.sqrt();
        let exact = || result.mul(result) == a && plainly_exact(Operation::Mul, result, result, a);
        if env.inexact_known() || exact() {
            return result;
        }
    }
    F::from_pattern(slow_square_root(env, F::FORMAT, a.pattern()))
}

#[inline(never)]
fn slow_square_root(env: &mut Env, format: Format, a: u64) -> u64 {
    let x = unpack(env, format, a);
    match x.class {
        Class::QuietNan | Class::SignallingNan => process_nan(env, format, a, &x),
        Class::Zero => format.zero(x.negative),
        _ if x.negative => invalid(env, format),
        Class::Infinity => format.infinity(false),
        Class::Finite => {
            let mode = Mode::Ieee(env.rounding());
            round(env, format, Exact::root(&x), mode)
        }
    }
}

/// `addend` + a * b, rounded once.
#[inline]
pub(crate) fn fused<F: Float>(env: &mut Env, addend: F, a: F, b: F) -> F {
    if env.as_host() && env.inexact_known() {
        let result = a.fused(b, addend);
        if result.finite() && result.magnitude() > F::MIN_NORMAL {
            return result;
        }
    }
    F::from_pattern(slow_fused(env, F::FORMAT, [addend, a, b].map(F::pattern)))
}

/// Arm ARM, FPMulAdd.
#[inline(never)]
fn slow_fused(env: &mut Env, format: Format, operands: [u64; 3]) -> u64 {
    let [z, x, y] = operands.map(|operand| unpack(env, format, operand));
    let undefined = x.is_infinite() && y.is_zero() || x.is_zero() && y.is_infinite();
    let nan = process_nans(env, format, &[(operands[0], &z), (operands[1], &x), (operands[2], &y)]);
    if z.class == Class::QuietNan && undefined {
        return invalid(env, format);
    }
    if let Some(nan) = nan {
        return nan;
    }
    let negative = x.negative != y.negative;
    let infinite = x.is_infinite() || y.is_infinite();
    if undefined || z.is_infinite() && infinite && z.negative != negative {
        return invalid(env, format);
    }
    if z.is_infinite() || infinite {
        return format.infinity(if z.is_infinite() { z.negative } else { negative });
    }
    if z.is_zero() && (x.is_zero() || y.is_zero()) && z.negative == negative {
        return format.zero(negative);
    }
    round_sum(env, format, Exact::sum(Exact::of(&z), Exact::product(&x, &y)))
}

/// FRECPS (`halve` false: 2 - a * b) and FRSQRTS (true: (3 - a * b) / 2), rounded once.
#[inline(never)]
pub(crate) fn step<F: Float>(env: &mut Env, halve: bool, a: F, b: F) -> F {
    let format = F::FORMAT;
    let (a, b) = (a.negate().pattern(), b.pattern());
    let (x, y) = (unpack(env, format, a), unpack(env, format, b));
    if let Some(nan) = process_nans(env, format, &[(a, &x), (b, &y)]) {
        return F::from_pattern(nan);
    }
    let (infinite, zero) = (x.is_infinite() || y.is_infinite(), x.is_zero() || y.is_zero());
    let constant = Exact::fixed(false, if halve { 3 } else { 2 }, 0);
    F::from_pattern(match (infinite, zero) {
        (true, false) => format.infinity(x.negative != y.negative),
        // 2, or 3/2.
        (_, true) => {
            let value = if halve { constant.scaled(-1) } else { constant };
            round(env, format, value, Mode::Ieee(env.rounding()))
        }
        (false, false) => {
            let sum = Exact::sum(constant, Exact::product(&x, &y));
            round_sum(env, format, if halve { sum.scaled(-1) } else { sum })
        }
    })
}
