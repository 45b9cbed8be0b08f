//! Arithmetic on register contents, with the masked responses to invalid operations (SDM volume 1, section 8.5).

use super::float::{
    Class, Cut, EXTENDED, Env, F80, Number, PE, Rounding, ZE, finish, from_integer, integral, normalise,
    operand, operands, propagate, shift_sticky,
};
use crate::low::Low;
use core::cmp::Ordering;

pub(crate) fn add(env: &mut Env, a: F80, b: F80) -> F80 {
    sum(env, a, b, false)
}

pub(crate) fn sub(env: &mut Env, a: F80, b: F80) -> F80 {
    sum(env, a, b, true)
}

fn sum(env: &mut Env, a: F80, b: F80, subtract: bool) -> F80 {
    let (x, mut y) = match operands(env, a, b) {
        Ok(numbers) => numbers,
        Err(result) => return result,
    };
    y.negative ^= subtract;
    if x.is_infinite() && y.is_infinite() && x.negative != y.negative {
        return env.invalid();
    }
    env.denormal(&[&x, &y]);
    if x.is_infinite() || y.is_infinite() {
        return F80::infinity(if x.is_infinite() { x.negative } else { y.negative });
    }
    if x.is_zero() && y.is_zero() {
        return F80::zero(zero_sum_sign(env, &x, &y));
    }
    // The larger exponent first; a zero has the smallest.
    let (large, small) =
        if y.is_zero() || !x.is_zero() && x.exponent >= y.exponent { (x, y) } else { (y, x) };
    let distance = (large.exponent - small.exponent).unsigned_abs();
    let wide = |number: &Number| u128::from(number.significand) << 63;
    let (left, right) = (wide(&large), shift_sticky(wide(&small), distance));
    let (negative, magnitude) = match large.negative == small.negative {
        true => (large.negative, left + right),
        // Only equal exponents can reverse the order.
        false if left >= right => (large.negative, left - right),
        false => (small.negative, right - left),
    };
    if magnitude == 0 {
        return F80::zero(zero_sum_sign(env, &x, &y));
    }
    let format = env.precision();
    normalise(env, negative, large.exponent + 1, magnitude, format)
}

/// The sign of a sum that is 0: that of equal signs, else that of the rounding direction.
fn zero_sum_sign(env: &Env, x: &Number, y: &Number) -> bool {
    if x.negative == y.negative { x.negative } else { env.rounding() == Rounding::Down }
}

pub(crate) fn mul(env: &mut Env, a: F80, b: F80) -> F80 {
    let (x, y) = match operands(env, a, b) {
        Ok(numbers) => numbers,
        Err(result) => return result,
    };
    let negative = x.negative != y.negative;
    if x.is_infinite() && y.is_zero() || x.is_zero() && y.is_infinite() {
        return env.invalid();
    }
    env.denormal(&[&x, &y]);
    if x.is_infinite() || y.is_infinite() {
        return F80::infinity(negative);
    }
    let product = u128::from(x.significand) * u128::from(y.significand);
    let format = env.precision();
    normalise(env, negative, x.exponent + y.exponent + 1, product, format)
}

pub(crate) fn div(env: &mut Env, a: F80, b: F80) -> F80 {
    let (x, y) = match operands(env, a, b) {
        Ok(numbers) => numbers,
        Err(result) => return result,
    };
    let negative = x.negative != y.negative;
    if x.is_infinite() && y.is_infinite() || x.is_zero() && y.is_zero() {
        return env.invalid();
    }
    if y.is_zero() && !x.is_infinite() {
        // Even of a denormal dividend.
        env.raise(ZE);
        return F80::infinity(negative);
    }
    env.denormal(&[&x, &y]);
    if x.is_infinite() {
        return F80::infinity(negative);
    }
    if x.is_zero() || y.is_infinite() {
        return F80::zero(negative);
    }
    let divisor = u128::from(y.significand);
    let dividend = u128::from(x.significand) << 64;
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    // 64 or 65 bits; how the remainder compares with half the divisor stands for the others.
    let below = match (2 * rest).cmp(&divisor) {
        _ if rest == 0 => 0,
        Ordering::Less => 1,
        Ordering::Equal => 2,
        Ordering::Greater => 3,
    };
    let format = env.precision();
    normalise(env, negative, x.exponent - y.exponent, quotient << 63 | below << 61, format)
}

pub(crate) fn sqrt(env: &mut Env, a: F80) -> F80 {
    let x = match operand(env, a) {
        Ok(number) => number,
        Err(result) => return result,
    };
    if x.is_zero() {
        return a;
    }
    if x.negative {
        return env.invalid();
    }
    env.denormal(&[&x]);
    if x.is_infinite() {
        return a;
    }
    // Of an even power of two, so that the root has 64 bits.
    let odd = x.exponent & 1;
    let radicand = u128::from(x.significand) << 63 << odd;
    let root = radicand.isqrt();
    let rest = radicand - root * root;
    // More than half a unit is left if the remainder exceeds the root; exactly half is impossible.
    let below = if rest == 0 { 0 } else { 1 + 2 * u128::from(rest > root) };
    let format = env.precision();
    finish(env, false, (x.exponent - odd) / 2, root << 64 | below << 62, format)
}

/// FRNDINT.
pub(crate) fn round_to_integer(env: &mut Env, a: F80) -> F80 {
    let x = match operand(env, a) {
        Ok(number) => number,
        Err(result) => return result,
    };
    if x.class != Class::Finite {
        return a;
    }
    env.denormal(&[&x]);
    match integral(env.rounding(), &x) {
        // At 2^63 and above all are integers.
        Some(Cut { value, inexact, up }) if x.exponent < 63 => {
            if inexact {
                env.raise(PE);
            }
            let up = up && inexact;
            let result = normalise(env, x.negative, 127, value, EXTENDED);
            env.c1 = up;
            result
        }
        _ => a,
    }
}

/// FSCALE: a * 2^trunc(b).
pub(crate) fn scale(env: &mut Env, a: F80, b: F80) -> F80 {
    let (x, y) = match operands(env, a, b) {
        Ok(numbers) => numbers,
        Err(result) => return result,
    };
    if y.is_infinite() {
        let invalid = if y.negative { x.is_infinite() } else { x.is_zero() };
        if invalid {
            return env.invalid();
        }
        env.denormal(&[&x]);
        return if y.negative { F80::zero(x.negative) } else { F80::infinity(x.negative) };
    }
    env.denormal(&[&x, &y]);
    if x.class != Class::Finite || y.is_zero() && !x.denormal {
        return a;
    }
    // Beyond this every result overflows or underflows twice over.
    const FAR: i64 = 0x1_8000;
    let distance = match integral(Rounding::Zero, &y) {
        Some(cut) => cut.value.min(FAR as u128).low_u64().cast_signed(),
        None => FAR,
    };
    let distance = (if y.negative { -distance } else { distance }).low_u32().cast_signed();
    finish(env, x.negative, x.exponent + distance, u128::from(x.significand) << 64, EXTENDED)
}

/// FXTRACT: the exponent and the significand, both as numbers.
pub(crate) fn extract(env: &mut Env, a: F80) -> (F80, F80) {
    let x = match operand(env, a) {
        Ok(number) => number,
        Err(result) => return (result, result),
    };
    match x.class {
        Class::Zero => {
            env.raise(ZE);
            (F80::infinity(true), a)
        }
        Class::Infinity => (F80::infinity(false), a),
        _ => {
            env.denormal(&[&x]);
            let significand =
                F80 { high: u16::from(x.negative) << 15 | F80::ONE.high, significand: x.significand };
            (from_integer(i64::from(x.exponent)), significand)
        }
    }
}

/// What FPREM and FPREM1 leave.
pub(crate) struct Remainder {
    pub(crate) value: F80,
    pub(crate) quotient: Quotient,
}

/// What the condition codes say about a remainder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quotient {
    /// The low three bits.
    Low(u8),
    /// The reduction is not complete.
    Incomplete,
    /// There is none: NaNs and invalid operations.
    Absent,
}

/// FPREM; with `nearest` FPREM1, whose quotient is rounded to nearest instead of towards zero.
pub(crate) fn remainder(env: &mut Env, a: F80, b: F80, nearest: bool) -> Remainder {
    let whole = |value| Remainder { value, quotient: Quotient::Low(0) };
    let (x, y) = match operands(env, a, b) {
        Ok(numbers) => numbers,
        Err(value) => return Remainder { value, quotient: Quotient::Absent },
    };
    if x.is_infinite() || y.is_zero() {
        return Remainder { value: env.invalid(), quotient: Quotient::Absent };
    }
    env.denormal(&[&x, &y]);
    if x.is_zero() {
        return whole(a);
    }
    if y.is_infinite() {
        // Seen on Granite Rapids: a denormal dividend is returned without UE, even if that is not masked.
        if x.denormal && a.significand >> 63 == 0 {
            return whole(a);
        }
        return whole(normalise(env, x.negative, x.exponent + 64, u128::from(x.significand), EXTENDED));
    }
    let distance = x.exponent - y.exponent;
    let divisor = u128::from(y.significand);
    if distance >= 64 {
        // Reduces by 32 to 63 powers of two; the caller repeats.
        let step = (distance & 31 | 32).cast_unsigned();
        let rest = (u128::from(x.significand) << step) % divisor;
        let exponent = x.exponent - step.cast_signed() + 64;
        return Remainder {
            value: normalise(env, x.negative, exponent, rest, EXTENDED),
            quotient: Quotient::Incomplete,
        };
    }
    if distance < -1 || distance < 0 && !nearest {
        return whole(normalise(env, x.negative, x.exponent + 64, u128::from(x.significand), EXTENDED));
    }
    // Both in units of the divisor's lowest bit, halved if the dividend is the smaller one.
    let (dividend, divisor, unit) = if distance < 0 {
        (u128::from(x.significand), divisor << 1, y.exponent - 1)
    } else {
        (u128::from(x.significand) << distance, divisor, y.exponent)
    };
    let (mut quotient, mut rest) = (dividend / divisor, dividend % divisor);
    let mut negative = x.negative;
    if nearest {
        let order = (rest << 1).cmp(&divisor);
        if order == Ordering::Greater || order == Ordering::Equal && quotient & 1 != 0 {
            quotient += 1;
            rest = divisor - rest;
            negative = !negative;
        }
    }
    if rest == 0 {
        negative = x.negative;
    }
    let quotient = Quotient::Low(quotient.low_u8() & 7);
    Remainder { value: normalise(env, negative, unit + 64, rest, EXTENDED), quotient }
}

/// Compares; `None` is unordered. `quiet`: quiet NaNs raise nothing.
pub(crate) fn compare(env: &mut Env, a: F80, b: F80, quiet: bool) -> Option<Ordering> {
    let (x, y) = (a.number(), b.number());
    if x.class == Class::Unsupported || y.class == Class::Unsupported {
        env.invalid();
        return None;
    }
    if x.class == Class::Nan || y.class == Class::Nan {
        if quiet {
            propagate(env, a, b);
        } else {
            env.invalid();
        }
        return None;
    }
    env.denormal(&[&x, &y]);
    if x.is_zero() && y.is_zero() {
        return Some(Ordering::Equal);
    }
    let magnitude = |number: &Number| match number.class {
        Class::Zero => (i32::MIN, 0),
        Class::Infinity => (i32::MAX, 0),
        _ => (number.exponent, number.significand),
    };
    let order = magnitude(&x).cmp(&magnitude(&y));
    Some(match (x.negative, y.negative) {
        (false, false) => order,
        (true, true) => order.reverse(),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    })
}
