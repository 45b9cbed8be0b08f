//! Packed BCD integers: 18 digits, two per byte, and a sign in the highest bit of ten bytes.

use super::float::{Class, Env, F80, IE, PE, from_integer, integral};
use crate::low::Low;

/// The packed BCD of masked invalid operations.
pub(super) const INDEFINITE: u128 = 0xFFFF_C000_0000_0000_0000;

/// FBLD. What digits above 9 give is undefined; here each counts with its weight.
pub(crate) fn from_bcd(bits: u128) -> F80 {
    let digits = (0..18).rev().fold(0, |value, n| value * 10 + (bits >> (4 * n) & 15) as i64);
    let magnitude = from_integer(digits);
    if bits >> 79 & 1 != 0 { magnitude.negate() } else { magnitude }
}

/// FBSTP.
pub(crate) fn to_bcd(env: &mut Env, a: F80) -> u128 {
    const LIMIT: u128 = 1_000_000_000_000_000_000;
    let number = a.number();
    let cut = match number.class {
        Class::Zero | Class::Finite => integral(env.rounding(), &number),
        _ => None,
    };
    let Some(cut) = cut.filter(|cut| cut.value < LIMIT) else {
        env.raise(IE);
        return INDEFINITE;
    };
    if cut.inexact {
        env.raise(PE);
    }
    env.c1 = cut.up;
    let mut rest = cut.value.low_u64();
    let mut bits = u128::from(number.negative) << 79;
    for n in 0..18 {
        bits |= u128::from(rest % 10) << (4 * n);
        rest /= 10;
    }
    bits
}
