//! Floating-point arithmetic on one element, with the exceptions and rounding that MXCSR asks for
//! (SDM volume 1, chapters 10 and 11).
//!
//! The host rounds to nearest. Whether a result is inexact, and in which direction, follows from the error term that
//! addition, multiplication, division and square root have as a floating-point number; the other
//! rounding modes step to the neighbour from there. f32 is judged in f64, which holds its error terms.

use crate::low::{Low, integer, nearest_f32};
use core::cmp::Ordering;
pub(crate) use soft_arithmetic::real::{Operation, Real};
use soft_arithmetic::real::{plainly_exact, two_sum};
pub(crate) use soft_arithmetic::rounding::Rounding;

pub(crate) const IE: u32 = 1;
pub(crate) const DE: u32 = 1 << 1;
pub(crate) const ZE: u32 = 1 << 2;
pub(crate) const OE: u32 = 1 << 3;
pub(crate) const UE: u32 = 1 << 4;
pub(crate) const PE: u32 = 1 << 5;
pub(crate) const DAZ: u32 = 1 << 6;
const FTZ: u32 = 1 << 15;
/// Beside the exceptions of an instruction, not in MXCSR: Intel's cores need a microcode assist. They do for subnormal
/// operands of multiplications, divisions and square roots, and for subnormal results except of sums with a subnormal
/// operand (Agner Fog, "The microarchitecture of Intel, AMD, and VIA CPUs", Skylake, "Underflow and subnormals").
pub(crate) const ASSIST: u32 = 1 << 16;

/// From bits 1:0, as MXCSR, the x87 control word and ROUNDxx number the modes.
#[inline(always)]
pub(crate) fn rounding(bits: u32) -> Rounding {
    match bits & 3 {
        0 => Rounding::Nearest,
        1 => Rounding::Down,
        2 => Rounding::Up,
        _ => Rounding::Zero,
    }
}

/// MXCSR and the exceptions of the current instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Env {
    pub(crate) mxcsr: u32,
    /// Of all elements so far.
    pub(crate) raised: u32,
    /// The current element has a denormal operand, which counts unless something more important does.
    denormal: u32,
}

impl Env {
    pub(crate) fn new(mxcsr: u32) -> Self {
        Self { mxcsr, raised: 0, denormal: 0 }
    }

    #[inline(always)]
    pub(crate) fn rounding(&self) -> Rounding {
        rounding(self.mxcsr >> 13)
    }

    /// Ends an element whose operands are in order.
    #[inline(always)]
    fn accept(&mut self) {
        self.raised |= self.denormal;
        self.denormal = 0;
    }

    /// Ends an element with an exception that hides a denormal operand.
    fn reject(&mut self, exception: u32) {
        self.raised |= exception;
        self.denormal = 0;
    }

    /// PE is masked and set already, and nothing has to be stepped: the error term is of no interest.
    fn exactness_known(&self) -> bool {
        self.mxcsr & self.mxcsr >> 7 & PE != 0 && self.rounding() == Rounding::Nearest
    }
}

/// Applies DAZ; without it a subnormal operand has consequences: DE, for some operations with [`ASSIST`].
#[inline(always)]
fn operand<R: Real>(env: &mut Env, a: R, consequences: u32) -> R {
    if !a.subnormal() {
        return a;
    }
    if env.mxcsr & DAZ != 0 {
        return a.signed_zero();
    }
    env.denormal = consequences;
    a
}

/// The NaN of invalid operations: negative and quiet.
pub(crate) fn indefinite<R: Real>() -> R {
    R::NAN.negate()
}

/// The NaN that two operands, at least one of them NaN, give.
#[cold]
fn propagate<R: Real>(env: &mut Env, a: R, b: R) -> R {
    env.reject(if a.signalling() || b.signalling() { IE } else { 0 });
    if a.nan() { a.quiet() } else { b.quiet() }
}

#[inline(always)]
pub(crate) fn arithmetic<R: Real>(env: &mut Env, operation: Operation, a: R, b: R) -> R {
    let consequences = match operation {
        Operation::Add | Operation::Sub => DE,
        Operation::Mul | Operation::Div => DE | ASSIST,
    };
    let (a, b) = (operand(env, a, consequences), operand(env, b, consequences));
    if a.nan() || b.nan() {
        return propagate(env, a, b);
    }
    let result = match operation {
        Operation::Add => a.add(b),
        Operation::Sub => a.sub(b),
        Operation::Mul => a.mul(b),
        Operation::Div => a.div(b),
    };
    if result.finite() {
        let ordinary = result.magnitude() >= R::MIN_NORMAL && env.exactness_known();
        if ordinary || env.rounding() == Rounding::Nearest && plainly_exact(operation, a, b, result) {
            env.accept();
            return result;
        }
    }
    finish(env, operation, a, b, result)
}

/// Exceptions and rounding of a result that was rounded to nearest.
#[inline(never)]
fn finish<R: Real>(env: &mut Env, operation: Operation, a: R, b: R, result: R) -> R {
    if result.nan() {
        env.reject(IE);
        return indefinite();
    }
    if operation == Operation::Div && b == R::ZERO && a.finite() {
        env.reject(ZE);
        return result;
    }
    // A sum with a subnormal operand is done without help.
    let helped = if env.denormal == DE && matches!(operation, Operation::Add | Operation::Sub) {
        ASSIST & !env.raised
    } else {
        0
    };
    env.accept();
    if !a.finite() || !b.finite() {
        return result;
    }
    let error = match operation {
        Operation::Add | Operation::Sub if result == R::ZERO => {
            // The sign of a zero sum of opposite operands is that of the rounding direction.
            let b_negative = b.negative() != (operation == Operation::Sub);
            if env.rounding() == Rounding::Down && a.negative() != b_negative {
                return R::ZERO.negate();
            }
            return result;
        }
        Operation::Add => sum_error(a, b, result),
        Operation::Sub => sum_error(a, b.negate(), result),
        Operation::Mul => product_error(a.to_f64(), b.to_f64(), result.to_f64()),
        Operation::Div => quotient_error(a.to_f64(), b.to_f64(), result.to_f64()),
    };
    let rounded =
        round(env, result, error.unwrap_or(Ordering::Equal), |mode| Unbounded::of(mode, operation, a, b));
    env.raised &= !helped;
    rounded
}

/// A result as it would be if there were no limits to its exponent.
struct Unbounded {
    exact: bool,
    /// Exponent after rounding.
    exponent: i32,
}

impl Unbounded {
    /// From a magnitude between 1/4 and 4 times 2^`exponent` and the exact value's place beside it.
    fn new<R: Real>(mode: Rounding, negative: bool, magnitude: f64, error: Ordering, exponent: i32) -> Self {
        let narrow = R::BITS == 32;
        let nearest = if narrow { f64::from(nearest_f32(magnitude)) } else { magnitude };
        let error = magnitude.partial_cmp(&nearest).filter(|order| order.is_ne()).unwrap_or(error);
        let up = if narrow { f64::from(nearest_f32(nearest).next_up()) } else { nearest.next_up() };
        let down = if narrow { f64::from(nearest_f32(nearest).next_down()) } else { nearest.next_down() };
        let away = mode == if negative { Rounding::Down } else { Rounding::Up };
        let rounded = match error {
            Ordering::Greater if away => up,
            Ordering::Less if !away && mode != Rounding::Nearest => down,
            _ => nearest,
        };
        Self { exact: error.is_eq(), exponent: split(rounded).1 + exponent }
    }

    fn of<R: Real>(mode: Rounding, operation: Operation, a: R, b: R) -> Self {
        let (a, b) = (a.to_f64(), b.to_f64());
        let ((x, ex), (y, ey)) = (split(a.abs()), split(b.abs()));
        let negative = a.is_sign_negative() != b.is_sign_negative();
        let sign = |error: f64| error.partial_cmp(&0.0).unwrap_or(Ordering::Equal);
        match operation {
            Operation::Mul => {
                let product = x * y;
                Self::new::<R>(mode, negative, product, sign(x.mul_add(y, -product)), ex + ey)
            }
            Operation::Div => {
                let quotient = x / y;
                Self::new::<R>(mode, negative, quotient, sign((-quotient).mul_add(y, x)), ex - ey)
            }
            Operation::Add | Operation::Sub => {
                // Sums do not underflow inexactly, and half of one does not overflow.
                let (x, y) = (a * 0.5, if operation == Operation::Sub { -b * 0.5 } else { b * 0.5 });
                let halved = x * 2.0 == a && y.abs() * 2.0 == b.abs();
                let exact = halved && sum_error(x, y, x + y) == Some(Ordering::Equal);
                Self { exact: exact && has_significand_of::<R>(x + y), exponent: i32::MAX }
            }
        }
    }

    /// No result of the operation is too large or too small.
    fn never() -> Self {
        Self { exact: false, exponent: i32::MAX }
    }
}

/// Whether the significand of a normal number fits into `R`.
fn has_significand_of<R: Real>(x: f64) -> bool {
    R::BITS == 64 || split(x).0.to_bits() << (64 - 29) == 0
}

/// `x` as m * 2^e with m between 1 and 2; (0, 0) for zero.
fn split(x: f64) -> (f64, i32) {
    const EXPONENT: u64 = 0x7FF << 52;
    if x == 0.0 {
        return (x, 0);
    }
    let (x, offset) = if x.is_subnormal() { (x * 2_f64.powi(64), -64) } else { (x, 0) };
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7FF) as i32 - 1023;
    (f64::from_bits(bits & !EXPONENT | 1023 << 52), exponent + offset)
}

/// Sign of a * b - result. Exponents are taken out first, so that nothing underflows.
fn product_error(a: f64, b: f64, result: f64) -> Option<Ordering> {
    let ((a, ea), (b, eb), (r, er)) = (split(a), split(b), split(result));
    let scaled = if r == 0.0 { r } else { r * 2_f64.powi((er - ea - eb).clamp(-1000, 1000)) };
    a.mul_add(b, -scaled).partial_cmp(&0.0)
}

/// Sign of a / b - result.
fn quotient_error(a: f64, b: f64, result: f64) -> Option<Ordering> {
    let ((a, ea), (b, eb), (r, er)) = (split(a), split(b), split(result));
    let scaled = if r == 0.0 { r } else { r * 2_f64.powi((er + eb - ea).clamp(-1000, 1000)) };
    let rest = (-scaled).mul_add(b, a).partial_cmp(&0.0);
    if b < 0.0 { rest.map(Ordering::reverse) } else { rest }
}

/// Sign of (a + b) - sum.
fn sum_error<R: Real>(a: R, b: R, sum: R) -> Option<Ordering> {
    if !sum.finite() {
        return Some(if sum.negative() { Ordering::Greater } else { Ordering::Less });
    }
    let part = sum.sub(a);
    if !part.finite() {
        // Large operands of opposite signs: their halves have half the error. The sum of two f32 is one f64 here.
        let (a, b, sum) = (a.to_f64() * 0.5, b.to_f64() * 0.5, sum.to_f64() * 0.5);
        let nearest = a + b;
        let rounded = nearest.partial_cmp(&sum).filter(|order| order.is_ne());
        return rounded.or_else(|| two_sum(a, b, nearest).partial_cmp(&0.0));
    }
    two_sum(a, b, sum).partial_cmp(&R::ZERO)
}

/// Steps a nearest result to the neighbour that the rounding mode wants. `error` compares the exact value with it;
/// `unbounded` gives the result without limits to the exponent.
fn round<R: Real>(
    env: &mut Env,
    nearest: R,
    error: Ordering,
    unbounded: impl Fn(Rounding) -> Unbounded,
) -> R {
    let mut raised = 0;
    let overflowed = !nearest.finite();
    let error = match (overflowed, nearest.negative()) {
        (true, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
        _ => error,
    };
    if error != Ordering::Equal {
        raised |= PE;
    }
    let result = match (env.rounding(), error) {
        (Rounding::Down, Ordering::Less) => nearest.down(),
        (Rounding::Up, Ordering::Greater) => nearest.up(),
        (Rounding::Zero, Ordering::Less) if !nearest.negative() => nearest.down(),
        (Rounding::Zero, Ordering::Greater) if nearest.negative() => nearest.up(),
        _ => nearest,
    };
    if overflowed || !result.finite() {
        raised |= OE | PE;
    }
    // Tininess counts after rounding: a value that only the denormal precision rounds up to the smallest normal is
    // tiny.
    let mode = env.rounding();
    let tiny = result.magnitude() < R::MIN_NORMAL
        || result.magnitude() == R::MIN_NORMAL
            && error != Ordering::Equal
            && unbounded(mode).exponent < if R::BITS == 32 { -126 } else { -1022 };
    if tiny && (result != R::ZERO || error != Ordering::Equal) {
        let masked = env.mxcsr >> 7 & UE != 0;
        if error != Ordering::Equal || !masked {
            raised |= UE;
        }
        if env.mxcsr & FTZ != 0 && masked && result != R::ZERO {
            env.raised |= UE | PE;
            return result.signed_zero();
        }
        if masked && result != R::ZERO {
            raised |= ASSIST;
        }
    }
    // Beside an unmasked OE or UE only the significand decides on PE (SDM volume 1, sections 4.9.1.4 and 4.9.1.5).
    if raised & (OE | UE) & !(env.mxcsr >> 7) != 0 && raised & PE != 0 && unbounded(mode).exact {
        raised &= !PE;
    }
    env.raised |= raised;
    result
}

pub(crate) fn square_root<R: Real>(env: &mut Env, a: R) -> R {
    let a = operand(env, a, DE | ASSIST);
    if a.nan() {
        return propagate(env, a, a);
    }
    if a.negative() && a != R::ZERO {
        env.reject(IE);
        return indefinite();
    }
    env.accept();
    let result = a.sqrt();
    if !result.finite() || result == R::ZERO || env.exactness_known() {
        return result;
    }
    // a - result^2, with the exponents taken out.
    let ((a, ea), (r, er)) = (split(a.to_f64()), split(result.to_f64()));
    let scaled = r * 2_f64.powi(2 * er - ea);
    let error = (-scaled).mul_add(r, a).partial_cmp(&0.0);
    round(env, result, error.unwrap_or(Ordering::Equal), |_| Unbounded::never())
}

/// MIN (`LESS`) and MAX: the second operand if one is NaN or both are zero.
pub(crate) fn extreme<R: Real>(env: &mut Env, less: bool, a: R, b: R) -> R {
    let (a, b) = (operand(env, a, DE), operand(env, b, DE));
    if a.nan() || b.nan() {
        env.reject(IE);
        return b;
    }
    env.accept();
    if (less && a < b) || (!less && a > b) { a } else { b }
}

/// Comparisons: IE for signalling NaNs, and with `signals` for quiet ones.
fn check_order<R: Real>(env: &mut Env, signals: bool, a: R, b: R) -> (R, R) {
    let (a, b) = (operand(env, a, DE), operand(env, b, DE));
    if !a.nan() && !b.nan() {
        env.accept();
    } else if signals || a.signalling() || b.signalling() {
        env.reject(IE);
    } else {
        env.reject(0);
    }
    (a, b)
}

/// The comparison of CMPccxx with the predicate's three bits.
pub(crate) fn compare<R: Real>(env: &mut Env, predicate: u8, a: R, b: R) -> bool {
    // LT, LE and their negations raise IE for quiet NaNs too.
    let (a, b) = check_order(env, matches!(predicate & 3, 1 | 2), a, b);
    let holds = match predicate & 3 {
        0 => a == b,
        1 => a < b,
        2 => a <= b,
        _ => a.nan() || b.nan(),
    };
    holds != (predicate & 4 != 0)
}

/// COMISx (`SIGNALS` on quiet NaNs) and UCOMISx.
pub(crate) fn order<R: Real>(env: &mut Env, signals: bool, a: R, b: R) -> Option<Ordering> {
    let (a, b) = check_order(env, signals, a, b);
    a.partial_cmp(&b)
}

/// To a signed integer of `bits` bits; the indefinite integer if it does not fit.
pub(crate) fn to_integer<R: Real>(env: &mut Env, a: R, bits: u32, truncate: bool) -> u64 {
    let indefinite = 1_u64 << (bits - 1);
    let a = if env.mxcsr & DAZ != 0 && a.subnormal() { a.signed_zero() } else { a };
    let mode = if truncate { Rounding::Zero } else { env.rounding() };
    let integral = a.integral(mode).to_f64();
    let limit = 2_f64.powi(bits.cast_signed() - 1);
    if a.nan() || integral >= limit || integral < -limit {
        env.raised |= IE;
        return indefinite;
    }
    if integral != a.to_f64() {
        env.raised |= PE;
    }
    integer(integral).low_u64() & (u64::MAX >> (64 - bits))
}

pub(crate) fn f64_from_integer(env: &mut Env, value: i64) -> f64 {
    let nearest = value as f64;
    if value.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS {
        return nearest;
    }
    let error = i128::from(value).cmp(&integer(nearest));
    round(env, nearest, error, |_| Unbounded::never())
}

pub(crate) fn f32_from_integer(env: &mut Env, value: i64) -> f32 {
    let nearest = value as f32;
    if value.unsigned_abs() <= 1 << f32::MANTISSA_DIGITS {
        return nearest;
    }
    let error = i128::from(value).cmp(&integer(nearest.into()));
    round(env, nearest, error, |_| Unbounded::never())
}

pub(crate) fn widen(env: &mut Env, a: f32) -> f64 {
    let a = operand(env, a, DE);
    if a.is_nan() {
        env.reject(if a.signalling() { IE } else { 0 });
        let bits = u64::from(a.to_bits());
        return f64::from_bits((bits & 1 << 31) << 32 | 0x7FF8 << 48 | (bits & 0x7F_FFFF) << 29);
    }
    env.accept();
    f64::from(a)
}

pub(crate) fn narrow(env: &mut Env, a: f64) -> f32 {
    let a = operand(env, a, DE);
    if a.is_nan() {
        env.reject(if a.signalling() { IE } else { 0 });
        let bits = a.to_bits();
        return f32::from_bits(
            (bits >> 32).low_u32() & 1 << 31 | 0x7FC0_0000 | (bits >> 29).low_u32() & 0x7F_FFFF,
        );
    }
    env.accept();
    let nearest = nearest_f32(a);
    if a.is_infinite() {
        return nearest;
    }
    let error = a.partial_cmp(&f64::from(nearest)).unwrap_or(Ordering::Equal);
    round(env, nearest, error, |mode| {
        let (magnitude, exponent) = split(a.abs());
        Unbounded::new::<f32>(mode, a.is_sign_negative(), magnitude, Ordering::Equal, exponent)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest number makes the error term overflow on its way.
    #[test]
    fn sums_with_the_largest_number_round_as_others_do() {
        const ROUND_UP: u32 = 0x5F80;
        for (a, b, sum) in [(0x7EFB_BD6F, 0xFF7F_FFFF, 0xFF02_2147), (0x7F7F_FFFF, 0xFF7F_FFFE, 0x7380_0000)]
        {
            let mut env = Env::new(ROUND_UP);
            let found = arithmetic(&mut env, Operation::Add, f32::from_bits(a), f32::from_bits(b));
            let inexact = if sum == 0x7380_0000 { 0 } else { PE };
            assert_eq!((found.to_bits(), env.raised), (sum, inexact), "{a:#x} + {b:#x}");
        }
    }
}
