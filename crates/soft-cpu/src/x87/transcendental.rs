//! Transcendental functions on register contents: computed to some 190 bits by a library and rounded once, so that
//! results are the exact ones but for a chance of 2^-64 to be off by one unit in the last place. Arguments of the
//! trigonometric functions are reduced with the pi of 66 bits that hardware uses (SDM volume 1, section 8.3.8).

use super::arith;
use super::float::{
    Class, EXTENDED, Env, F80, Number, PE, UE, ZE, finish, from_integer, normalise, operand, operands,
};
use crate::low::Low;
use astro_float_num::{BigFloat, Consts, RoundingMode, Sign};
use std::cell::RefCell;

/// Bits of intermediate results.
const PRECISION: usize = 192;
/// Rounding of intermediate results.
const ROUND: RoundingMode = RoundingMode::ToEven;
/// Arguments below 2^`TINY` differ from the first term of their series by less than a unit of 128 bits.
const TINY: i32 = -66;

thread_local! {
    /// Digits of pi and ln 2 that were computed before; they change nothing but the time it takes.
    static CONSTANTS: RefCell<Option<Consts>> = const { RefCell::new(None) };
}

/// Computes with the constants. `None` if there is no memory for them.
fn compute(work: impl FnOnce(&mut Consts) -> BigFloat) -> Option<BigFloat> {
    CONSTANTS.with_borrow_mut(|constants| {
        if constants.is_none() {
            *constants = Consts::new().ok();
        }
        constants.as_mut().map(work)
    })
}

/// A finite number that is not 0.
fn wide(number: &Number) -> BigFloat {
    let sign = if number.negative { Sign::Neg } else { Sign::Pos };
    BigFloat::from_words(&[number.significand], sign, number.exponent + 1)
}

/// An irrational result, rounded.
fn narrow(env: &mut Env, value: Option<BigFloat>) -> F80 {
    let value = value.unwrap_or_else(|| BigFloat::nan(None));
    let Some(([.., low, high], _, sign, exponent, _)) = value.as_raw_parts() else {
        return env.invalid();
    };
    let significand = u128::from(*high) << 64 | u128::from(*low) | 1;
    finish(env, sign.is_negative(), exponent - 1, significand, EXTENDED)
}

/// A number next to a finite one: a little nearer to 0, or farther from it.
fn beside(env: &mut Env, number: &Number, nearer: bool) -> F80 {
    let significand = u128::from(number.significand) << 63;
    let significand = if nearer { significand - 1 } else { significand + 1 };
    normalise(env, number.negative, number.exponent + 1, significand, EXTENDED)
}

/// What a trigonometric function makes of its operand.
pub(crate) enum Reduced<T> {
    Value(T),
    /// Its magnitude is 2^63 or more: the operand stays, C2 says so.
    OutOfRange,
}

impl<T> Reduced<T> {
    pub(crate) fn map<U>(self, function: impl FnOnce(T) -> U) -> Reduced<U> {
        match self {
            Self::Value(value) => Reduced::Value(function(value)),
            Self::OutOfRange => Reduced::OutOfRange,
        }
    }
}

/// A right angle in units of 2^-67: half of the pi of the SDM, 0.C90FDAA22168C234C * 4.
const RIGHT_ANGLE: u128 = 0xC_90FD_AA22_168C_234C;

/// The number of right angles in the magnitude of a number, modulo 4, and the rest between -1/2 and 1/2 of one.
fn reduce(x: &Number) -> (u128, BigFloat) {
    let Ok(shift) = u32::try_from(x.exponent + 4) else {
        return (0, wide(x).abs());
    };
    // One at a time: two bits are free above a full circle.
    let circle = 4 * RIGHT_ANGLE;
    let angle = (0..shift).fold(u128::from(x.significand), |angle, _| (angle << 1) % circle);
    let (quadrant, rest) = (angle / RIGHT_ANGLE, angle % RIGHT_ANGLE);
    let next = rest > RIGHT_ANGLE / 2;
    let (sign, rest) = if next { (Sign::Neg, RIGHT_ANGLE - rest) } else { (Sign::Pos, rest) };
    let zeros = rest.leading_zeros();
    let bits = rest.unbounded_shl(zeros);
    let exponent = 128 - 67 - zeros.cast_signed();
    (
        quadrant + u128::from(next),
        BigFloat::from_words(&[bits.low_u64(), (bits >> 64) as u64], sign, exponent),
    )
}

/// `function` gets the number of right angles and the rest; the result is that of the magnitude.
fn trigonometric(
    env: &mut Env,
    a: F80,
    of_zero: F80,
    of_tiny: impl FnOnce(&mut Env, &Number) -> F80,
    function: impl FnOnce(u128, &BigFloat, &mut Consts) -> BigFloat,
) -> Reduced<F80> {
    let x = match operand(env, a) {
        Ok(number) => number,
        Err(result) => return Reduced::Value(result),
    };
    if x.is_infinite() {
        return Reduced::Value(env.invalid());
    }
    env.denormal(&[&x]);
    Reduced::Value(match x.class {
        Class::Zero => of_zero,
        _ if x.exponent >= 63 => return Reduced::OutOfRange,
        _ if x.exponent < TINY => of_tiny(env, &x),
        _ => {
            let (quadrant, rest) = reduce(&x);
            let value = compute(|constants| function(quadrant, &rest, constants));
            narrow(env, value)
        }
    })
}

/// The sine of some right angles and a rest.
fn sine_of(quadrant: u128, rest: &BigFloat, constants: &mut Consts) -> BigFloat {
    let value = match quadrant & 1 {
        0 => rest.sin(PRECISION, ROUND, constants),
        _ => rest.cos(PRECISION, ROUND, constants),
    };
    if quadrant & 2 == 0 { value } else { value.neg() }
}

fn with_sign(value: BigFloat, negative: bool) -> BigFloat {
    if negative { value.neg() } else { value }
}

const SMALLEST_NORMAL: F80 = F80 { high: 1, significand: 1 << 63 };

/// FSIN.
pub(crate) fn sine(env: &mut Env, a: F80) -> Reduced<F80> {
    let tiny = |env: &mut Env, x: &Number| {
        if env.unrounded_tiny && a.magnitude() == SMALLEST_NORMAL {
            env.raise(PE);
            return a;
        }
        beside(env, x, true)
    };
    let negative = a.negative();
    trigonometric(env, a, a, tiny, |quadrant, rest, constants| {
        with_sign(sine_of(quadrant, rest, constants), negative)
    })
}

/// FCOS.
pub(crate) fn cosine(env: &mut Env, a: F80) -> Reduced<F80> {
    let tiny = |env: &mut Env, x: &Number| {
        if env.unrounded_tiny && (x.denormal || a.magnitude() == SMALLEST_NORMAL) {
            env.raise(PE);
            return F80::ONE;
        }
        beside(env, &F80::ONE.number(), true)
    };
    trigonometric(env, a, F80::ONE, tiny, |quadrant, rest, constants| sine_of(quadrant + 1, rest, constants))
}

/// FPTAN, without the 1 that it pushes.
pub(crate) fn tangent(env: &mut Env, a: F80) -> Reduced<F80> {
    let tiny = |env: &mut Env, x: &Number| beside(env, x, false);
    let negative = a.negative();
    trigonometric(env, a, a, tiny, |quadrant, rest, constants| {
        let tangent = rest.tan(PRECISION, ROUND, constants);
        let value = if quadrant & 1 == 0 { tangent } else { tangent.reciprocal(PRECISION, ROUND).neg() };
        with_sign(value, negative)
    })
}

/// F2XM1: 2^a - 1. Outside of -1 to 1 the result is undefined; here the operand stays.
pub(crate) fn exponential(env: &mut Env, a: F80) -> F80 {
    let x = match operand(env, a) {
        Ok(number) => number,
        Err(result) => return result,
    };
    env.denormal(&[&x]);
    match x.class {
        Class::Infinity if x.negative => F80::ONE.negate(),
        Class::Finite if x.exponent < 0 => {
            let value = compute(|constants| {
                let ln_2 = constants.ln_2(PRECISION + 64, ROUND);
                let product = wide(&x).mul(&ln_2, PRECISION + 64, ROUND);
                if x.exponent < TINY {
                    // The first two terms of the series.
                    let square = product.mul(&product, PRECISION, ROUND);
                    return product.add(&half(&square), PRECISION, ROUND);
                }
                let power = product.exp(PRECISION + 64, ROUND, constants);
                power.sub(&BigFloat::from_word(1, 64), PRECISION, ROUND)
            });
            narrow(env, value)
        }
        Class::Finite => {
            // Hardware says so even of the exact results for 1 and -1.
            env.raise(PE);
            if a == F80::ONE.negate() { F80 { high: 0xBFFE, ..a } } else { a }
        }
        _ => a,
    }
}

fn half(value: &BigFloat) -> BigFloat {
    value.mul(&BigFloat::from_words(&[1 << 63], Sign::Pos, 0), PRECISION, ROUND)
}

/// The product of a logarithm and `y` where one of them is 0 or infinite. `logarithm`: its sign, and whether
/// it is infinite.
fn special(env: &mut Env, negative: bool, infinite: bool, y: &Number) -> F80 {
    let negative = negative != y.negative;
    match (infinite, y.class) {
        (true, Class::Zero) => env.invalid(),
        (true, _) | (_, Class::Infinity) => F80::infinity(negative),
        _ => F80::zero(negative),
    }
}

/// FYL2X: b * log2(a).
pub(crate) fn logarithm(env: &mut Env, a: F80, b: F80) -> F80 {
    let (x, y) = match operands(env, a, b) {
        Ok(numbers) => numbers,
        Err(result) => return result,
    };
    if x.negative && !x.is_zero() {
        return env.invalid();
    }
    if x.is_zero() {
        if y.class == Class::Finite {
            env.raise(ZE);
        }
        return special(env, true, true, &y);
    }
    env.denormal(&[&x, &y]);
    if x.is_infinite() {
        return special(env, false, true, &y);
    }
    if x.significand == F80::ONE.significand {
        // A whole number; the product is rounded to extended precision whatever the control word says.
        let control = env.control;
        env.control |= 0x300;
        let product = arith::mul(env, from_integer(x.exponent.into()), b);
        env.control = control;
        if x.exponent != 0 && y.class == Class::Finite {
            // Hardware says so even of these, and so it does of denormal ones (Granite Rapids).
            let is_denormal = product.significand >> 63 == 0 && product.significand != 0;
            env.raise(if is_denormal { PE | UE } else { PE });
        }
        return product;
    }
    if y.class != Class::Finite {
        return special(env, x.exponent < 0, false, &y);
    }
    let value = compute(|constants| {
        let log = wide(&x).log2(PRECISION, ROUND, constants);
        log.mul(&wide(&y), PRECISION, ROUND)
    });
    narrow(env, value)
}

/// FYL2XP1: b * log2(a + 1). Beyond 1 - sqrt(1/2) the result is undefined; here it is right, or an invalid operation
/// for -1 and below.
pub(crate) fn logarithm_plus_1(env: &mut Env, a: F80, b: F80) -> F80 {
    let (x, y) = match operands(env, a, b) {
        Ok(numbers) => numbers,
        Err(result) => return result,
    };
    if x.negative && !x.is_zero() && x.exponent >= 0 || x.is_zero() && y.is_infinite() {
        return env.invalid();
    }
    env.denormal(&[&x, &y]);
    if x.class != Class::Finite || y.class != Class::Finite {
        return special(env, x.negative, x.is_infinite(), &y);
    }
    let value = compute(|constants| {
        let x_wide = wide(&x);
        let log = if x.exponent < TINY {
            // The first two terms of the series.
            let square = x_wide.mul(&x_wide, PRECISION, ROUND);
            let ln = x_wide.sub(&half(&square), PRECISION, ROUND);
            ln.div(&constants.ln_2(PRECISION, ROUND), PRECISION, ROUND)
        } else {
            let sum = x_wide.add(&BigFloat::from_word(1, 64), PRECISION, ROUND);
            sum.log2(PRECISION, ROUND, constants)
        };
        log.mul(&wide(&y), PRECISION, ROUND)
    });
    narrow(env, value)
}

/// FPATAN: the angle of the point (`a`, `b`), in all four quadrants.
pub(crate) fn arctangent(env: &mut Env, a: F80, b: F80) -> F80 {
    let (x, y) = match operands(env, a, b) {
        Ok(numbers) => numbers,
        Err(result) => return result,
    };
    env.denormal(&[&x, &y]);
    // Quarters of pi, where the angle is a multiple of it.
    let quarters = match (y.class, x.class) {
        (Class::Infinity, Class::Infinity) => Some(if x.negative { 3 } else { 1 }),
        (Class::Infinity, _) => Some(2),
        (Class::Zero, _) | (_, Class::Infinity) => Some(if x.negative { 4 } else { 0 }),
        (_, Class::Zero) => Some(2),
        _ => None,
    };
    if quarters == Some(0) {
        return F80::zero(y.negative);
    }
    let value = compute(|constants| {
        let pi = constants.pi(PRECISION, ROUND);
        let magnitude = match quarters {
            Some(count) => half(&half(&pi.mul(&BigFloat::from_word(count, 64), PRECISION, ROUND))),
            None => {
                let ratio = wide(&y).abs().div(&wide(&x).abs(), PRECISION, ROUND);
                let exponent = ratio.exponent().unwrap_or_default();
                let angle = match exponent {
                    // Just below the ratio.
                    ..TINY => {
                        let below = BigFloat::from_words(&[1 << 63], Sign::Pos, exponent - 140);
                        ratio.sub(&below, PRECISION, ROUND)
                    }
                    // Just below a right angle.
                    200.. => half(&pi),
                    _ => ratio.atan(PRECISION, ROUND, constants),
                };
                if x.negative { pi.sub(&angle, PRECISION, ROUND) } else { angle }
            }
        };
        if y.negative { magnitude.neg() } else { magnitude }
    });
    narrow(env, value)
}
