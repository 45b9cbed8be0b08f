//! Comparisons, minima and maxima.

use super::environment::{DAZ, DE, Env, IE};
use super::exact::{propagate, unpack};
use core::cmp::Ordering;
use soft_arithmetic::format::{Class, Float, Format, Number};

/// Applies DAZ, or notes a subnormal operand.
#[inline(always)]
fn operand<R: Float>(env: &mut Env, a: R) -> R {
    if !a.subnormal() {
        return a;
    }
    if env.mxcsr & DAZ != 0 {
        return a.signed_zero();
    }
    env.subnormal(DE);
    a
}

/// MIN (`less`) and MAX: the second operand if one is NaN or both are zero.
#[inline(always)]
pub(crate) fn extreme<R: Float>(env: &mut Env, less: bool, a: R, b: R) -> R {
    let (a, b) = (operand(env, a), operand(env, b));
    if a.nan() || b.nan() {
        env.reject(IE);
        return b;
    }
    env.accept();
    if (less && a < b) || (!less && a > b) { a } else { b }
}

/// IE for signalling NaNs, and with `signals` for quiet ones.
#[inline(always)]
fn check_order<R: Float>(env: &mut Env, signals: bool, a: R, b: R) -> (R, R) {
    let (a, b) = (operand(env, a), operand(env, b));
    if !a.nan() && !b.nan() {
        env.accept();
    } else if signals || a.signalling() || b.signalling() {
        env.reject(IE);
    } else {
        env.reject(0);
    }
    (a, b)
}

/// Whether the predicate of CMPccxx (its low three bits) and VCMPccxx (five) holds, and whether it raises IE for quiet
/// NaNs (SDM volume 2, CMPPD, "Comparison Predicate for CMPPD and CMPPS Instructions").
#[inline(always)]
fn holds(predicate: u8, order: Option<Ordering>) -> bool {
    let holds = match predicate & 3 {
        // EQ, and from 8 on also if unordered.
        0 => order == Some(Ordering::Equal) || predicate & 8 != 0 && order.is_none(),
        1 => order == Some(Ordering::Less) || predicate & 8 != 0 && order.is_none(),
        2 => matches!(order, Some(Ordering::Less | Ordering::Equal)) || predicate & 8 != 0 && order.is_none(),
        // UNORD, and from 8 on never.
        _ => order.is_none() && predicate & 8 == 0,
    };
    holds != (predicate & 4 != 0)
}

#[inline(always)]
fn signals(predicate: u8) -> bool {
    matches!(predicate & 3, 1 | 2) != (predicate & 16 != 0)
}

/// The comparison of CMPccxx and VCMPccxx.
#[inline(always)]
pub(crate) fn compare<R: Float>(env: &mut Env, predicate: u8, a: R, b: R) -> bool {
    let (a, b) = check_order(env, signals(predicate), a, b);
    holds(predicate, a.partial_cmp(&b))
}

/// COMISx (`signals` on quiet NaNs) and UCOMISx.
#[inline(always)]
pub(crate) fn order<R: Float>(env: &mut Env, signals: bool, a: R, b: R) -> Option<Ordering> {
    let (a, b) = check_order(env, signals, a, b);
    a.partial_cmp(&b)
}

/// Order of two numbers that are no NaNs; the zeros are equal.
pub(super) fn order_of(x: &Number, y: &Number) -> Ordering {
    let signed = |number: &Number| number.negative && !number.is_zero();
    match (signed(x), signed(y)) {
        (false, false) => magnitudes(x, y),
        (true, true) => magnitudes(y, x),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}

/// Order of their magnitudes.
fn magnitudes(x: &Number, y: &Number) -> Ordering {
    let key = |number: &Number| match number.class {
        Class::Zero => (0, 0, 0),
        Class::Finite => (1, number.exponent, number.significand),
        _ => (2, 0, 0),
    };
    key(x).cmp(&key(y))
}

/// Any format: [`compare`].
pub(crate) fn slow_compare(env: &mut Env, format: Format, predicate: u8, a: u64, b: u64) -> bool {
    holds(predicate, slow_order(env, format, signals(predicate), a, b))
}

/// Any format: [`order`].
pub(crate) fn slow_order(env: &mut Env, format: Format, signals: bool, a: u64, b: u64) -> Option<Ordering> {
    let (x, y) = (unpack(env, format, a, DE), unpack(env, format, b, DE));
    if x.is_nan() || y.is_nan() {
        let signals = signals || x.class == Class::SignallingNan || y.class == Class::SignallingNan;
        env.reject(if signals { IE } else { 0 });
        return None;
    }
    env.accept();
    Some(order_of(&x, &y))
}

/// Any format: [`extreme`].
pub(crate) fn slow_extreme(env: &mut Env, format: Format, less: bool, a: u64, b: u64) -> u64 {
    let (x, y) = (unpack(env, format, a, DE), unpack(env, format, b, DE));
    if x.is_nan() || y.is_nan() {
        env.reject(IE);
        return b;
    }
    env.accept();
    let wanted = if less { Ordering::Less } else { Ordering::Greater };
    let (bits, number) = if order_of(&x, &y) == wanted { (a, x) } else { (b, y) };
    if number.is_zero() { format.zero(number.negative) } else { bits }
}

/// VRANGExx (SDM volume 2, "RangeDP"): minimum, maximum, or those of the magnitudes, as bits 1:0 of `control` say,
/// with a sign as bits 3:2 say.
pub(crate) fn range(env: &mut Env, format: Format, control: u8, a: u64, b: u64) -> u64 {
    let (x, y) = (unpack(env, format, a, DE), unpack(env, format, b, DE));
    let signalling = x.class == Class::SignallingNan || y.class == Class::SignallingNan;
    let result = if signalling || x.is_nan() && y.is_nan() {
        let Some(nan) = range_nan(env, format, (a, &x), (b, &y)) else { return b };
        if signalling {
            return nan;
        }
        nan
    } else {
        // A number is better than a quiet NaN.
        let first = if x.is_nan() || y.is_nan() {
            env.reject(0);
            y.is_nan()
        } else {
            env.accept();
            choose(control, &x, &y)
        };
        let (bits, number) = if first { (a, &x) } else { (b, &y) };
        if number.is_zero() { format.zero(number.negative) } else { bits }
    };
    let magnitude = result & !format.sign(true);
    match control >> 2 & 3 {
        0 => magnitude | a & format.sign(true),
        1 => result,
        2 => magnitude,
        _ => magnitude | format.sign(true),
    }
}

/// The first signalling NaN, else the first.
fn range_nan(env: &mut Env, format: Format, x: (u64, &Number), y: (u64, &Number)) -> Option<u64> {
    let second = y.1.class == Class::SignallingNan && x.1.class != Class::SignallingNan;
    propagate(env, format, &if second { [y, x] } else { [x, y] })
}

/// Whether VRANGE takes the first of two numbers.
fn choose(control: u8, x: &Number, y: &Number) -> bool {
    let maximum = control & 1 != 0;
    let order = if control & 2 != 0 { magnitudes(x, y) } else { order_of(x, y) };
    let order = order.then_with(|| y.negative.cmp(&x.negative));
    match order {
        Ordering::Less => !maximum,
        Ordering::Equal => true,
        Ordering::Greater => maximum,
    }
}
