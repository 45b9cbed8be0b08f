//! Comparisons, minima and maxima.

use super::environment::{Env, FZ, IOC};
use super::format::{Class, Float, Number, process_nans, unpack};
use core::cmp::Ordering;

/// Order of two numbers that are no NaNs; the zeros are equal.
fn order(x: &Number, y: &Number) -> Ordering {
    let key = |number: &Number| {
        let magnitude = match number.class {
            Class::Zero => (0, 0, 0),
            Class::Finite => (1, number.exponent, number.significand),
            _ => (2, 0, 0),
        };
        (number.negative && magnitude.0 != 0, magnitude)
    };
    match (key(x), key(y)) {
        ((false, x), (false, y)) => x.cmp(&y),
        ((true, x), (true, y)) => y.cmp(&x),
        ((true, _), (false, _)) => Ordering::Less,
        ((false, _), (true, _)) => Ordering::Greater,
    }
}

/// How two numbers compare; `None` if one is a NaN, which raises an invalid operation if it signals, or always with
/// `signals` (Arm ARM, FPCompare, FPCompareEQ, FPCompareGE).
#[inline]
pub(crate) fn compare<F: Float>(env: &mut Env, signals: bool, a: F, b: F) -> Option<Ordering> {
    if env.fpcr & FZ == 0
        && let Some(order) = a.partial_cmp(&b)
    {
        return Some(order);
    }
    slow_compare(env, signals, a, b)
}

#[inline(never)]
fn slow_compare<F: Float>(env: &mut Env, signals: bool, a: F, b: F) -> Option<Ordering> {
    let (x, y) = (unpack(env, F::FORMAT, a.pattern()), unpack(env, F::FORMAT, b.pattern()));
    if x.is_nan() || y.is_nan() {
        if signals || x.class == Class::SignallingNan || y.class == Class::SignallingNan {
            env.raise(IOC);
        }
        return None;
    }
    Some(order(&x, &y))
}

/// Which of two numbers is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extreme {
    Minimum,
    Maximum,
}

/// FMIN and FMAX; with `number` FMINNM and FMAXNM, for which a number is better than a quiet NaN.
#[inline]
pub(crate) fn extreme<F: Float>(env: &mut Env, which: Extreme, number: bool, a: F, b: F) -> F {
    if env.fpcr & FZ == 0 && a != b {
        match a.partial_cmp(&b) {
            Some(Ordering::Less) => return if which == Extreme::Minimum { a } else { b },
            Some(_) => return if which == Extreme::Minimum { b } else { a },
            None => {}
        }
    }
    slow_extreme(env, which, number, a, b)
}

#[inline(never)]
fn slow_extreme<F: Float>(env: &mut Env, which: Extreme, number: bool, a: F, b: F) -> F {
    let format = F::FORMAT;
    // What loses against every number.
    let least =
        Number { class: Class::Infinity, negative: which == Extreme::Maximum, exponent: 0, significand: 0 };
    let (mut a, mut b) = (a.pattern(), b.pattern());
    let (mut x, mut y) = (unpack(env, format, a), unpack(env, format, b));
    if number {
        match (x.class == Class::QuietNan, y.class == Class::QuietNan) {
            (true, false) => (a, x) = (format.infinity(least.negative), least),
            (false, true) => (b, y) = (format.infinity(least.negative), least),
            _ => {}
        }
    }
    if let Some(nan) = process_nans(env, format, &[(a, &x), (b, &y)]) {
        return F::from_pattern(nan);
    }
    let first = match (order(&x, &y), which) {
        (Ordering::Less, Extreme::Minimum) | (Ordering::Greater, Extreme::Maximum) => true,
        // Minus zero is less than plus zero.
        (Ordering::Equal, Extreme::Minimum) => x.negative,
        (Ordering::Equal, Extreme::Maximum) => !x.negative,
        _ => false,
    };
    let (bits, chosen) = if first { (a, x) } else { (b, y) };
    F::from_pattern(if chosen.is_zero() { format.zero(chosen.negative) } else { bits })
}
