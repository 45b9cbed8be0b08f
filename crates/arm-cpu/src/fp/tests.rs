//! Arithmetic against LLVM's APFloat, another implementation of IEEE 754, and what the Arm ARM says beyond that.

use super::arithmetic::{arithmetic, fused, multiply_extended, square_root, step};
use super::convert::{Integer, between, from_integer, narrow, round_to_integer, to_integer, widen};
use super::environment::{AHP, DN, DZC, Env, FZ, IDC, IOC, IXC, OFC, UFC};
use super::estimate::{
    reciprocal, reciprocal_exponent, reciprocal_root, unsigned_reciprocal, unsigned_reciprocal_root,
};
use super::exact::Mode;
use super::format::{DOUBLE, Float, HALF, SINGLE};
use super::order::{Extreme, compare, extreme};
use core::cmp::Ordering;
use proptest::prelude::*;
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float as ApFloat, FloatConvert, Round, Status, StatusAnd};
use soft_arithmetic::real::Operation;
use soft_arithmetic::rounding::Rounding;

/// By FPCR.RMode.
const MODES: [Round; 4] =
    [Round::NearestTiesToEven, Round::TowardPositive, Round::TowardNegative, Round::TowardZero];

/// FPCR with a direction of rounding, FPSR with IXC if it shall be known.
fn env(mode: u32, fpsr: u32) -> Env {
    Env { fpcr: mode << 22, fpsr }
}

/// Any number, with exponents that often meet.
fn number(width: u32, fraction: u32) -> impl Strategy<Value = u64> {
    let ones = (1_u64 << (width - 1 - fraction)) - 1;
    let exponent = prop_oneof![
        Just(0),
        Just(1),
        Just(ones - 1),
        Just(ones),
        (ones / 2).saturating_sub(60)..(ones / 2 + 70).min(ones),
        0..=ones
    ];
    let bits = prop_oneof![
        any::<u64>(),
        Just(0),
        0..8_u64,
        (0..8_u64).prop_map(|n| !n),
        (0..fraction).prop_map(|n| 1_u64 << n)
    ];
    (any::<bool>(), exponent, bits).prop_map(move |(negative, exponent, bits)| {
        u64::from(negative) << (width - 1) | exponent << fraction | bits & ((1 << fraction) - 1)
    })
}

fn single() -> impl Strategy<Value = f32> {
    number(32, 23).prop_map(f32::from_pattern)
}

fn double() -> impl Strategy<Value = f64> {
    number(64, 52).prop_map(f64::from_pattern)
}

/// FPSR without traces of an earlier operation, or with IXC.
fn status() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(IXC)]
}

/// Bits of an integer.
fn width() -> impl Strategy<Value = u32> {
    prop_oneof![Just(32), Just(64)]
}

/// What FPSR shall be. Tininess is detected before rounding, so by the result that is rounded to zero.
fn flags<F: ApFloat>(before: u32, status: Status, truncated: F) -> u32 {
    let tiny = truncated.is_denormal() || truncated.is_zero();
    let mut flags = before;
    for (bit, flag) in [
        (Status::INVALID_OP, IOC),
        (Status::DIV_BY_ZERO, DZC),
        (Status::OVERFLOW, OFC | IXC),
        (Status::INEXACT, IXC),
        (Status::INEXACT, if tiny { UFC } else { 0 }),
    ] {
        flags |= if status.contains(bit) { flag } else { 0 };
    }
    flags
}

/// Compares a result that is no NaN with APFloat's. `other` rounds in a direction. An overflow that ends at the
/// largest number is none to APFloat.
#[track_caller]
fn check<A: ApFloat + std::fmt::Debug>(
    mode: u32,
    before: u32,
    own: (u128, u32),
    other: impl Fn(Round) -> StatusAnd<A>,
) {
    let expected = other(MODES[mode as usize]);
    if expected.value.is_nan() {
        assert!(A::from_bits(own.0).is_nan(), "{:#x} is a number", own.0);
        return;
    }
    let mut status = flags(before, expected.status, other(Round::TowardZero).value);
    if other(Round::NearestTiesToEven).status.contains(Status::OVERFLOW) && !expected.value.is_infinite() {
        // Beyond the largest number in both directions, or between it and what rounds up.
        status |= own.1 & OFC;
    }
    assert_eq!(own.0, expected.value.to_bits(), "{expected:?}");
    assert_eq!(own.1, status, "FPSR of {expected:?}");
}

macro_rules! against_apfloat {
    ($name:ident, $t:ty, $ap:ty, $number:ident, $wide:expr) => {
        mod $name {
            use super::*;
            use soft_arithmetic::lane::Lane;

            fn ap(x: $t) -> $ap {
                <$ap>::from_bits(x.bits())
            }

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(2_000))]

                #[test]
                fn basic(a in $number(), b in $number(), mode in 0..4_u32, fpsr in status()) {
                    let (x, y) = (ap(a), ap(b));
                    for operation in [Operation::Add, Operation::Sub, Operation::Mul, Operation::Div] {
                        let mut env = env(mode, fpsr);
                        let own = arithmetic(&mut env, operation, a, b);
                        check(mode, fpsr, (own.bits(), env.fpsr), |round| match operation {
                            Operation::Add => x.add_r(y, round),
                            Operation::Sub => x.sub_r(y, round),
                            Operation::Mul => x.mul_r(y, round),
                            Operation::Div => x.div_r(y, round),
                        });
                    }
                }

                #[test]
                fn multiply_add(
                    a in $number(), b in $number(), c in $number(), mode in 0..4_u32, fpsr in status(),
                ) {
                    let mut env = env(mode, fpsr);
                    let own = fused(&mut env, c, a, b);
                    check(mode, fpsr, (own.bits(), env.fpsr), |round| ap(a).mul_add_r(ap(b), ap(c), round));
                }

                /// A sum that nearly cancels the product.
                #[test]
                fn cancelling_multiply_add(a in $number(), b in $number(), step in -3..4_i64, mode in 0..4_u32) {
                    let product = arithmetic(&mut env(0, 0), Operation::Mul, a, b);
                    let c = -<$t>::from_pattern(product.pattern().wrapping_add_signed(step));
                    let mut env = env(mode, 0);
                    let own = fused(&mut env, c, a, b);
                    check(mode, 0, (own.bits(), env.fpsr), |round| ap(a).mul_add_r(ap(b), ap(c), round));
                }

                #[test]
                fn integers(a in $number(), mode in 0..4_u32, fpsr in status(), width in width()) {
                    for rounding in [Rounding::Nearest, Rounding::NearestAway, Rounding::Zero, Rounding::Up] {
                        let round = match rounding {
                            Rounding::Nearest => Round::NearestTiesToEven,
                            Rounding::NearestAway => Round::NearestTiesToAway,
                            Rounding::Zero => Round::TowardZero,
                            _ => Round::TowardPositive,
                        };
                        let expected = |status: Status| match status {
                            status if status.contains(Status::INVALID_OP) => fpsr | IOC,
                            status if status.contains(Status::INEXACT) => fpsr | IXC,
                            _ => fpsr,
                        };
                        let mask = u64::MAX >> (64 - width);
                        for signed in [false, true] {
                            let mut own = env(mode, fpsr);
                            let integer = Integer { width, signed, fraction: 0 };
                            let value = to_integer(&mut own, a, integer, rounding);
                            let (other, status) = if signed {
                                let other = ap(a).to_i128_r(width as usize, round, &mut false);
                                (other.value as u64 & mask, other.status)
                            } else {
                                let other = ap(a).to_u128_r(width as usize, round, &mut false);
                                (other.value as u64 & mask, other.status)
                            };
                            // A NaN is 0 here, and something else there.
                            let other = if a.is_nan() { 0 } else { other };
                            prop_assert_eq!((value, own.fpsr), (other, expected(status)), "{:?}", integer);
                        }
                        if !a.is_nan() {
                            let mut own = env(mode, fpsr);
                            let value = round_to_integer(&mut own, a, rounding, true);
                            let other = ap(a).round_to_integral(round);
                            prop_assert_eq!(value.bits(), other.value.to_bits());
                            prop_assert_eq!(own.fpsr, expected(other.status));
                        }
                    }
                }

                #[test]
                fn from_integers(value: i64, shift in 0..64_u32, mode in 0..4_u32, width in width()) {
                    let value = value >> shift;
                    let mut own = env(mode, 0);
                    let from = Integer { width, signed: true, fraction: 0 };
                    let result: $t = from_integer(&mut own, value as u64, from);
                    let integer = if width == 32 { i128::from(value as i32) } else { value.into() };
                    check(mode, 0, (result.bits(), own.fpsr), |round| <$ap>::from_i128_r(integer, round));
                    let mut own = env(mode, 0);
                    let from = Integer { width, signed: false, fraction: 0 };
                    let result: $t = from_integer(&mut own, value as u64, from);
                    let integer = value as u64 & u64::MAX >> (64 - width);
                    check(mode, 0, (result.bits(), own.fpsr), |round| <$ap>::from_u128_r(integer.into(), round));
                }

                /// Fixed point is an integer times a power of two.
                #[test]
                fn fixed_point(a in $number(), value: i64, fraction in 1..64_u32, mode in 0..4_u32) {
                    let format = Integer { width: 64, signed: true, fraction };
                    let mut own = env(mode, 0);
                    let result: $t = from_integer(&mut own, value as u64, format);
                    let scaled = |round| {
                        let rounded = <$ap>::from_i128_r(value.into(), round);
                        StatusAnd { value: rounded.value.scalbn(-(fraction as i32)), ..rounded }
                    };
                    check(mode, 0, (result.bits(), own.fpsr), scaled);
                    let mut own = env(mode, 0);
                    let result = to_integer(&mut own, a, format, Rounding::Down);
                    let scaled = ap(a).scalbn_r(fraction as i32, Round::TowardNegative);
                    let other = scaled.to_i128_r(64, Round::TowardNegative, &mut false);
                    if !a.is_nan() {
                        prop_assert_eq!(result, other.value as u64);
                        prop_assert_eq!(own.fpsr & IOC != 0, other.status.contains(Status::INVALID_OP));
                    }
                }

                /// No other number of the format is nearer in the direction of rounding.
                #[test]
                fn roots(a in $number(), mode in 0..4_u32, fpsr in status()) {
                    let a = a.abs();
                    if !a.is_finite() || a == 0.0 {
                        return Ok(());
                    }
                    let mut env = env(mode, fpsr);
                    let root = square_root(&mut env, a);
                    let square = |x: $t, round| ap(x).mul_r(ap(x), round);
                    let exact = square(root, Round::TowardZero);
                    let is_exact = exact.status == Status::OK && exact.value == ap(a);
                    prop_assert_eq!(env.fpsr, if is_exact { fpsr } else { IXC });
                    // Far enough from the ends for the square to be a normal number.
                    if a > <$t>::MIN_POSITIVE * 1e10 && !is_exact {
                        let below = |x: $t| square(x, Round::TowardPositive).value <= ap(a);
                        match MODES[mode as usize] {
                            Round::TowardPositive => prop_assert!(!below(root) && below(root.next_down())),
                            Round::NearestTiesToEven => {
                                prop_assert!(below(root.next_down()) && !below(root.next_up()));
                                prop_assert_eq!(root, a.sqrt());
                            }
                            _ => prop_assert!(below(root) && !below(root.next_up())),
                        }
                    }
                }

                #[test]
                fn orders(a in $number(), b in $number(), flush: bool) {
                    let mut own = Env { fpcr: if flush { FZ } else { 0 }, fpsr: 0 };
                    let flushed = |x: $t| if flush && x.is_subnormal() { (0.0 as $t).copysign(x) } else { x };
                    let (x, y) = (flushed(a), flushed(b));
                    prop_assert_eq!(compare(&mut own, false, a, b), x.partial_cmp(&y));
                    if !x.is_nan() && !y.is_nan() {
                        let denormal = x.to_bits() != a.to_bits() || y.to_bits() != b.to_bits();
                        prop_assert_eq!(own.fpsr, if denormal { IDC } else { 0 });
                        for number in [false, true] {
                            let min = extreme(&mut own, Extreme::Minimum, number, a, b);
                            let max = extreme(&mut own, Extreme::Maximum, number, a, b);
                            let sorted = if x.total_cmp(&y) == Ordering::Greater { (y, x) } else { (x, y) };
                            prop_assert_eq!((min.to_bits(), max.to_bits()), (sorted.0.to_bits(), sorted.1.to_bits()));
                        }
                    }
                }

                #[test]
                fn steps_are_fused(a in $number(), b in $number(), mode in 0..4_u32) {
                    if !a.is_finite() || !b.is_finite() {
                        return Ok(());
                    }
                    let mut own = env(mode, 0);
                    let result = step(&mut own, false, a, b);
                    check(mode, 0, (result.bits(), own.fpsr), |round| ap(-a).mul_add_r(ap(b), ap(2.0), round));
                    let result = step(&mut env(mode, 0), true, a, b);
                    let expected = ap(-a).mul_add_r(ap(b), ap(3.0), MODES[mode as usize]).value;
                    // Half of a number that is neither tiny nor too large.
                    if !expected.is_infinite() && (result.abs() > 1e-30) && result.abs() < 1e30 {
                        prop_assert_eq!((result * 2.0).bits(), expected.to_bits());
                    }
                }

                /// As near as the Arm ARM promises, where the result is a normal number: 8 bits.
                #[test]
                fn estimates_are_near(a in $number()) {
                    let mut own = env(0, 0);
                    let magnitude = a.abs();
                    if magnitude > 1e-30 && magnitude < 1e30 {
                        let error = reciprocal(&mut own, a) * a - 1.0;
                        prop_assert!(error.abs() < 1.0 / 256.0, "{error}");
                        let root = reciprocal_root(&mut own, magnitude);
                        prop_assert!((root * root * magnitude - 1.0).abs() < 2.0 / 256.0);
                        prop_assert_eq!(own.fpsr, 0);
                        let power = reciprocal_exponent(&mut own, a) * a;
                        prop_assert!((0.5..=4.0).contains(&power), "{power}");
                    }
                }

                #[test]
                fn nothing_panics(a: u64, b: u64, c: u64, fpcr: u32, fraction in 0..65_u32) {
                    let [a, b, c] = [a, b, c].map(<$t>::from_pattern);
                    let mut own = Env { fpcr, fpsr: 0 };
                    fused(&mut own, a, b, c);
                    multiply_extended(&mut own, a, b);
                    square_root(&mut own, a);
                    step(&mut own, true, a, b);
                    reciprocal(&mut own, a);
                    reciprocal_root(&mut own, a);
                    to_integer(&mut own, a, Integer { width: 64, signed: false, fraction }, Rounding::Nearest);
                }
            }
        }
    };
}
against_apfloat!(single_precision, f32, Single, single, Double);
against_apfloat!(double_precision, f64, Double, double, Double);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn formats_convert_as_in_apfloat(
        half in number(16, 10), single in number(32, 23), double in number(64, 52), mode in 0..4_u32, fpsr in status(),
    ) {
        let convert = |from, to, bits| {
            let mut own = env(mode, fpsr);
            let mode = Mode::Ieee(own.rounding());
            let result = between(&mut own, from, to, bits, mode);
            (u128::from(result), own.fpsr)
        };
        let (h, s, d) =
            (Half::from_bits(half.into()), Single::from_bits(single.into()), Double::from_bits(double.into()));
        check::<Single>(mode, fpsr, convert(HALF, SINGLE, half), |round| h.convert_r(round, &mut false));
        check::<Double>(mode, fpsr, convert(HALF, DOUBLE, half), |round| h.convert_r(round, &mut false));
        check::<Half>(mode, fpsr, convert(SINGLE, HALF, single), |round| s.convert_r(round, &mut false));
        check::<Half>(mode, fpsr, convert(DOUBLE, HALF, double), |round| d.convert_r(round, &mut false));
        check::<Single>(mode, fpsr, convert(DOUBLE, SINGLE, double), |round| d.convert_r(round, &mut false));
        // The quick ways are the same.
        let mut own = env(mode, fpsr);
        let result = narrow(&mut own, f64::from_bits(double));
        prop_assert_eq!((u128::from(result.to_bits()), own.fpsr), convert(DOUBLE, SINGLE, double));
        let mut own = env(mode, fpsr);
        let result = widen(&mut own, f32::from_pattern(single));
        prop_assert_eq!((u128::from(result.to_bits()), own.fpsr), convert(SINGLE, DOUBLE, single));
    }

    /// Rounding to odd and then to nearest is as rounding once (Arm ARM, FCVTXN).
    #[test]
    fn rounding_to_odd_allows_to_round_twice(double in number(64, 52)) {
        let mut own = env(0, 0);
        let odd = between(&mut own, DOUBLE, SINGLE, double, Mode::Odd);
        let twice = between(&mut own, SINGLE, HALF, odd, Mode::Ieee(Rounding::Nearest));
        let once = between(&mut own, DOUBLE, HALF, double, Mode::Ieee(Rounding::Nearest));
        prop_assert_eq!(twice, once);
    }
}

const QUIET: u64 = 0x7FF8_0000_0000_0001;
const SIGNALLING: u64 = 0xFFF0_0000_0000_0002;
const DEFAULT: u64 = 0x7FF8_0000_0000_0000;

#[test]
fn the_first_signalling_nan_wins_then_the_first() {
    let add = |fpcr, a, b| {
        let mut own = Env { fpcr, fpsr: 0 };
        let sum = arithmetic(&mut own, Operation::Add, f64::from_bits(a), f64::from_bits(b));
        (sum.to_bits(), own.fpsr)
    };
    let quieted = SIGNALLING | 1 << 51;
    assert_eq!(add(0, QUIET, SIGNALLING), (quieted, IOC));
    assert_eq!(add(0, SIGNALLING, QUIET), (quieted, IOC));
    assert_eq!(add(0, QUIET, QUIET + 1), (QUIET, 0));
    assert_eq!(add(0, 0, QUIET + 1), (QUIET + 1, 0));
    assert_eq!(add(DN, 0, QUIET), (DEFAULT, 0));
    assert_eq!(add(DN, 0, SIGNALLING), (DEFAULT, IOC));
    let infinity = f64::INFINITY.to_bits();
    assert_eq!(add(0, infinity, infinity | 1 << 63), (DEFAULT, IOC));
}

#[test]
fn a_fused_multiply_add_looks_at_the_addend_first() {
    let fused = |z: u64, x: f64, y: f64| {
        let mut own = env(0, 0);
        let result = fused(&mut own, f64::from_bits(z), x, y);
        (result.to_bits(), own.fpsr)
    };
    assert_eq!(fused(QUIET, f64::from_bits(QUIET + 1), 1.0), (QUIET, 0));
    assert_eq!(fused(QUIET, f64::INFINITY, 0.0), (DEFAULT, IOC));
    assert_eq!(fused(SIGNALLING, f64::INFINITY, 0.0), (SIGNALLING | 1 << 51, IOC));
    assert_eq!(fused(0, f64::INFINITY, 0.0), (DEFAULT, IOC));
}

#[test]
fn fz_flushes_operands_with_idc_and_results_with_ufc_alone() {
    let tiny = f64::MIN_POSITIVE;
    let run = |operation, a: f64, b: f64| {
        let mut own = Env { fpcr: FZ, fpsr: 0 };
        let result = arithmetic(&mut own, operation, a, b);
        (result.to_bits(), own.fpsr)
    };
    assert_eq!(run(Operation::Add, f64::from_bits(1), 1.0), (1.0_f64.to_bits(), IDC));
    assert_eq!(run(Operation::Mul, tiny, -0.5), ((-0.0_f64).to_bits(), UFC));
    assert_eq!(run(Operation::Sub, tiny * 1.5, tiny), (0, UFC));
    // Rounds up to the smallest normal number, but was tiny before.
    assert_eq!(run(Operation::Mul, tiny, 1.0_f64.next_down()), (0, UFC));
    let mut own = env(0, 0);
    let rounded = arithmetic(&mut own, Operation::Mul, tiny, 1.0_f64.next_down());
    assert_eq!((rounded, own.fpsr), (tiny, UFC | IXC));
    assert_eq!(run(Operation::Div, 1.0, f64::from_bits(1)), (f64::INFINITY.to_bits(), IDC | DZC));
}

#[test]
fn the_alternative_half_precision_has_no_infinities_and_no_nans() {
    let narrow = |bits: u32| {
        let mut own = Env { fpcr: AHP, fpsr: 0 };
        let result = between(&mut own, SINGLE, HALF, bits.into(), Mode::Ieee(Rounding::Nearest));
        (result, own.fpsr)
    };
    assert_eq!(narrow(131_008.0_f32.to_bits()), (0x7FFF, 0));
    assert_eq!(narrow((-131_072.0_f32).to_bits()), (0xFFFF, IOC));
    assert_eq!(narrow(f32::INFINITY.to_bits()), (0x7FFF, IOC));
    assert_eq!(narrow(0xFFC0_0000), (0x8000, IOC));
    let mut own = Env { fpcr: AHP, fpsr: 0 };
    let wide = between(&mut own, HALF, SINGLE, 0x7C00, Mode::Ieee(Rounding::Nearest));
    assert_eq!((wide, own.fpsr), (u64::from(65_536.0_f32.to_bits()), 0));
}

#[test]
fn a_number_is_better_than_a_quiet_nan_where_it_is_asked_for() {
    let run = |number, a: u64, b: u64| {
        let mut own = env(0, 0);
        let result = extreme(&mut own, Extreme::Maximum, number, f64::from_bits(a), f64::from_bits(b));
        (result.to_bits(), own.fpsr)
    };
    let one = 1.0_f64.to_bits();
    assert_eq!(run(true, QUIET, one), (one, 0));
    assert_eq!(run(false, QUIET, one), (QUIET, 0));
    assert_eq!(run(true, QUIET, QUIET + 1), (QUIET, 0));
    assert_eq!(run(true, QUIET, SIGNALLING), (SIGNALLING | 1 << 51, IOC));
    assert_eq!(run(true, 0, 1 << 63), (0, 0));
}

/// From the Arm ARM's pseudocode, by hand.
#[test]
fn estimates_are_those_of_the_architecture() {
    let mut own = env(0, 0);
    assert_eq!(reciprocal(&mut own, 1.0_f32), 511.0 / 512.0);
    assert_eq!(reciprocal_root(&mut own, 1.0_f32), 511.0 / 512.0);
    assert_eq!(reciprocal_root(&mut own, 4.0_f64), 511.0 / 1024.0);
    assert_eq!([0x7FFF_FFFF, 0x8000_0000].map(unsigned_reciprocal), [u32::MAX, 0xFF80_0000]);
    assert_eq!([0x3FFF_FFFF, 0x4000_0000].map(unsigned_reciprocal_root), [u32::MAX, 0xFF80_0000]);
    assert_eq!(own.fpsr, 0);
    assert_eq!((reciprocal(&mut own, f32::from_bits(1)), own.fpsr), (f32::INFINITY, OFC | IXC));
    let mut own = env(3, 0);
    assert_eq!((reciprocal(&mut own, -f32::from_bits(1)), own.fpsr), (-f32::MAX, OFC | IXC));
    let mut own = env(0, 0);
    assert_eq!((reciprocal(&mut own, -0.0_f64), own.fpsr), (f64::NEG_INFINITY, DZC));
    assert_eq!(reciprocal(&mut own, f32::MAX), f32::MIN_POSITIVE / 4.0);
    let mut own = Env { fpcr: FZ, fpsr: 0 };
    assert_eq!((reciprocal(&mut own, f32::MAX), own.fpsr), (0.0, UFC));
}
