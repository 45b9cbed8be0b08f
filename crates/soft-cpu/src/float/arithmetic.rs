//! Sums, products, quotients, square roots and fused multiply-add.

use super::environment::{ASSIST, DE, Env, ZE};
use super::exact::{invalid, propagate, round, round_sum, unpack};
use soft_arithmetic::exact::Exact;
use soft_arithmetic::format::{Class, Float, Format, HALF};
use soft_arithmetic::real::{Operation, Real, plainly_exact};
use soft_arithmetic::rounding::Rounding;

/// Nothing is subnormal that would have consequences, or that DAZ makes zero.
#[inline(always)]
pub(crate) fn ordinary<R: Real>(a: R) -> bool {
    (a.magnitude() >= R::MIN_NORMAL) | (a == R::ZERO)
}

#[inline(always)]
pub(crate) fn arithmetic<R: Float>(env: &mut Env, operation: Operation, a: R, b: R) -> R {
    // NaNs are not ordinary.
    if ordinary(a) && ordinary(b) {
        let result = match operation {
            Operation::Add => a.add(b),
            Operation::Sub => a.sub(b),
            Operation::Mul => a.mul(b),
            Operation::Div => a.div(b),
        };
        // The smallest normal number may be a tiny one that was rounded up.
        if result.finite() && result.magnitude() > R::MIN_NORMAL && env.exactness_known() {
            return result;
        }
        if result.finite() && env.rounding() == Rounding::Nearest && is_exact(operation, a, b, result) {
            return result;
        }
    }
    R::from_pattern(slow(env, R::FORMAT, operation, a.pattern(), b.pattern()))
}

/// True only if a finite result is exact, and is zero or normal.
#[inline(always)]
fn is_exact<R: Float>(operation: Operation, a: R, b: R, result: R) -> bool {
    match operation {
        Operation::Mul if a == R::ZERO || b == R::ZERO => true,
        Operation::Div if a == R::ZERO => true,
        Operation::Div => {
            let product = result.mul(b);
            let normal = result.magnitude() >= R::MIN_NORMAL && b.finite();
            normal && product == a && plainly_exact(Operation::Mul, result, b, product)
        }
        _ => plainly_exact(operation, a, b, result),
    }
}

/// Any format and operands.
#[inline(never)]
pub(crate) fn slow(env: &mut Env, format: Format, operation: Operation, a: u64, b: u64) -> u64 {
    let sum = matches!(operation, Operation::Add | Operation::Sub);
    let consequences = if sum || format == HALF { DE } else { DE | ASSIST };
    let (x, mut y) = (unpack(env, format, a, consequences), unpack(env, format, b, consequences));
    if let Some(nan) = propagate(env, format, &[(a, &x), (b, &y)]) {
        return nan;
    }
    y.negative ^= operation == Operation::Sub;
    let negative = x.negative != y.negative;
    let (infinite, zero) = (x.is_infinite() || y.is_infinite(), x.is_zero() || y.is_zero());
    let special = match operation {
        Operation::Add | Operation::Sub => {
            if x.is_infinite() && y.is_infinite() && negative {
                return invalid(env, format);
            }
            if infinite {
                Some(format.infinity(if x.is_infinite() { x.negative } else { y.negative }))
            } else if x.is_zero() && y.is_zero() && !negative {
                Some(format.zero(x.negative))
            } else {
                None
            }
        }
        Operation::Mul => match (infinite, zero) {
            (true, true) => return invalid(env, format),
            (true, false) => Some(format.infinity(negative)),
            (false, true) => Some(format.zero(negative)),
            (false, false) => None,
        },
        Operation::Div => {
            if x.is_infinite() && y.is_infinite() || x.is_zero() && y.is_zero() {
                return invalid(env, format);
            }
            if y.is_zero() && !x.is_infinite() {
                env.reject(ZE);
                return format.infinity(negative);
            }
            match (infinite, zero) {
                (true, _) if x.is_infinite() => Some(format.infinity(negative)),
                (true, _) | (_, true) => Some(format.zero(negative)),
                (false, false) => None,
            }
        }
    };
    // A sum with a subnormal operand is done without help.
    let helped = if env.subnormals() == DE && sum { ASSIST & !env.raised } else { 0 };
    env.accept();
    if let Some(result) = special {
        return result;
    }
    let result = match operation {
        Operation::Add | Operation::Sub => round_sum(env, format, Exact::sum(Exact::of(&x), Exact::of(&y))),
        Operation::Mul => round(env, format, Exact::product(&x, &y)),
        Operation::Div => round(env, format, Exact::quotient(&x, &y)),
    };
    env.raised &= !helped;
    result
}

#[inline(always)]
pub(crate) fn square_root<R: Float>(env: &mut Env, a: R) -> R {
    if !a.negative() && a.finite() && ordinary(a) {
        let result = a.sqrt();
        let exact = || result.mul(result) == a && plainly_exact(Operation::Mul, result, result, a);
        if env.exactness_known() || a == R::ZERO || exact() {
            return result;
        }
    }
    R::from_pattern(slow_square_root(env, R::FORMAT, a.pattern()))
}

/// Any format and operand.
#[inline(never)]
pub(crate) fn slow_square_root(env: &mut Env, format: Format, a: u64) -> u64 {
    let x = unpack(env, format, a, if format == HALF { DE } else { DE | ASSIST });
    if let Some(nan) = propagate(env, format, &[(a, &x)]) {
        return nan;
    }
    if x.negative && !x.is_zero() {
        return invalid(env, format);
    }
    env.accept();
    match x.class {
        Class::Zero => format.zero(x.negative),
        Class::Infinity => format.infinity(false),
        _ => round(env, format, Exact::root(&x)),
    }
}

/// How a fused multiply-add takes its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signs {
    /// The product is negated.
    pub(crate) product: bool,
    /// The addend is subtracted.
    pub(crate) addend: bool,
}

/// a * b + c rounded once. `order` says which of `a`, `b`, `c` (0, 1, 2) is looked at for a NaN first, second and
/// third.
#[inline(always)]
pub(crate) fn fused<R: Float>(env: &mut Env, signs: Signs, [a, b, c]: [R; 3], order: [u8; 3]) -> R {
    if env.rounding() == Rounding::Nearest && ordinary(a) && ordinary(b) && ordinary(c) {
        let factor = if signs.product { a.negate() } else { a };
        let addend = if signs.addend { c.negate() } else { c };
        let result = factor.fused(b, addend);
        // The smallest normal number may be a tiny one that was rounded up.
        let normal = result.finite() && result.magnitude() > R::MIN_NORMAL;
        if normal && (env.exactness_known() || is_exact_fused(factor, b, addend, result)) {
            return result;
        }
    }
    R::from_pattern(slow_fused(env, R::FORMAT, signs, [a, b, c].map(R::pattern), order))
}

/// True only if a normal number is the exact result.
#[inline(always)]
pub(crate) fn is_exact_fused<R: Float>(a: R, b: R, c: R, result: R) -> bool {
    let product = a.mul(b);
    let exact = product == R::ZERO && (a == R::ZERO || b == R::ZERO)
        || product.finite() && plainly_exact(Operation::Mul, a, b, product);
    exact && plainly_exact(Operation::Add, product, c, result)
}

/// Any format and operands.
#[inline(never)]
pub(crate) fn slow_fused(
    env: &mut Env,
    format: Format,
    signs: Signs,
    operands: [u64; 3],
    order: [u8; 3],
) -> u64 {
    let consequences = if format == HALF { DE } else { DE | ASSIST };
    let [mut x, y, mut z] = operands.map(|bits| unpack(env, format, bits, consequences));
    let all = [(operands[0], x), (operands[1], y), (operands[2], z)];
    let [first, second, third] = order.map(|n| &all[usize::from(n % 3)]);
    let undefined = x.is_infinite() && y.is_zero() || x.is_zero() && y.is_infinite();
    let ordered = [(first.0, &first.1), (second.0, &second.1), (third.0, &third.1)];
    if let Some(nan) = propagate(env, format, &ordered) {
        return nan;
    }
    x.negative ^= signs.product;
    z.negative ^= signs.addend;
    let negative = x.negative != y.negative;
    let infinite = x.is_infinite() || y.is_infinite();
    if undefined || z.is_infinite() && infinite && z.negative != negative {
        return invalid(env, format);
    }
    env.accept();
    if z.is_infinite() || infinite {
        return format.infinity(if z.is_infinite() { z.negative } else { negative });
    }
    if z.is_zero() && (x.is_zero() || y.is_zero()) && z.negative == negative {
        return format.zero(negative);
    }
    round_sum(env, format, Exact::sum(Exact::of(&z), Exact::product(&x, &y)))
}
