//! Arithmetic against LLVM's APFloat, another implementation of IEEE 754, and what silicon does beyond that.

use super::arithmetic::{Signs, slow, slow_fused, slow_square_root};
use super::convert::{Integer, between, reduce, round_scale, slow_to_integer};
use super::environment::{DAZ, FTZ};
use super::estimate::{reciprocal, reciprocal_root};
use super::order::{range, slow_compare};
use super::parts::{exponent, fix_up, is_of_class, scale, significand};
use super::*;
use proptest::prelude::*;
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float as ApFloat, FloatConvert, Round, Status, StatusAnd};

/// All exceptions masked.
const MASKED: u32 = 0x1F80;
/// By MXCSR.RC.
const MODES: [Round; 4] =
    [Round::NearestTiesToEven, Round::TowardNegative, Round::TowardPositive, Round::TowardZero];

fn env(mode: u32) -> Env {
    Env::new(MASKED | mode << 13)
}

/// Any number, with exponents that often meet.
fn number(format: Format) -> impl Strategy<Value = u64> {
    let ones = format.ones();
    let exponent =
        prop_oneof![Just(0), Just(1), Just(ones - 1), Just(ones), ones / 2 - 6..ones / 2 + 7, 0..=ones];
    let bits = prop_oneof![any::<u64>(), Just(0), 0..8_u64, (0..8_u64).prop_map(|n| !n)];
    (any::<bool>(), exponent, bits).prop_map(move |(negative, exponent, bits)| {
        format.sign(negative) | exponent << format.fraction | format.fraction_field(bits)
    })
}

/// What APFloat knows of them. It raises no overflow where the largest number is the result.
fn flags(status: Status) -> u32 {
    let pairs = [(Status::INVALID_OP, IE), (Status::DIV_BY_ZERO, ZE), (Status::INEXACT, PE)];
    pairs.iter().filter(|(bit, _)| status.contains(*bit)).fold(0, |all, (_, flag)| all | flag)
}

const COMPARED: u32 = IE | ZE | PE;

fn same<F: ApFloat>(
    format: Format,
    expected: StatusAnd<F>,
    found: u64,
    env: &Env,
) -> Result<(), TestCaseError> {
    let nan = format.unpack(found).is_nan();
    prop_assert_eq!(expected.value.is_nan(), nan);
    if !nan {
        prop_assert_eq!(expected.value.to_bits(), u128::from(found), "{:#x}", found);
    }
    prop_assert_eq!(env.raised & COMPARED, flags(expected.status));
    Ok(())
}

macro_rules! formats {
    ($($name:ident: $format:expr, $ap:ty;)*) => { $(
        mod $name {
            use super::*;

            fn ap(bits: u64) -> $ap {
                <$ap>::from_bits(bits.into())
            }

            proptest! {
                #[test]
                fn arithmetic(a in number($format), b in number($format), mode in 0..4_u32) {
                    for operation in [Operation::Add, Operation::Sub, Operation::Mul, Operation::Div] {
                        let mut env = env(mode);
                        let found = slow(&mut env, $format, operation, a, b);
                        let (x, y, round) = (ap(a), ap(b), MODES[mode as usize]);
                        let expected = match operation {
                            Operation::Add => x.add_r(y, round),
                            Operation::Sub => x.sub_r(y, round),
                            Operation::Mul => x.mul_r(y, round),
                            Operation::Div => x.div_r(y, round),
                        };
                        same($format, expected, found, &env)?;
                    }
                }

                #[test]
                fn multiply_add(
                    operands in [number($format), number($format), number($format)],
                    mode in 0..4_u32,
                ) {
                    let mut env = env(mode);
                    let signs = Signs { product: true, addend: false };
                    let found = slow_fused(&mut env, $format, signs, operands, [0, 1, 2]);
                    let [x, y, z] = operands.map(ap);
                    // With a NaN, APFloat raises what x86 does not.
                    prop_assume!(!(x.is_nan() || y.is_nan() || z.is_nan()));
                    same($format, (-x).mul_add_r(y, z, MODES[mode as usize]), found, &env)?;
                }

                #[test]
                fn integers(a in number($format), mode in 0..4_u32, wide: bool) {
                    let width = if wide { 64 } else { 32 };
                    let mut env = env(mode);
                    let to = Integer { width, signed: true };
                    let direction = env.rounding();
                    let found = slow_to_integer(&mut env, $format, a, to, direction);
                    let expected =
                        ap(a).to_i128_r(width as usize, MODES[mode as usize], &mut false);
                    if expected.status.contains(Status::INVALID_OP) {
                        prop_assert_eq!(found, 1 << (width - 1));
                    } else {
                        let mask = u128::from(u64::MAX >> (64 - width));
                        prop_assert_eq!(u128::from(found), expected.value.cast_unsigned() & mask);
                    }
                    prop_assert_eq!(env.raised & COMPARED, flags(expected.status));
                }

                #[test]
                fn roots(a in number($format)) {
                    let mut nearest = env(0);
                    let root = slow_square_root(&mut nearest, $format, a);
                    let (x, r) = (ap(a), ap(root));
                    prop_assume!(x.is_finite_non_zero() && !x.is_negative());
                    // The square of the neighbour on either side is on either side of the operand.
                    let mode = |mode| ap(slow_square_root(&mut env(mode), $format, a));
                    let (down, up) = (mode(1), mode(2));
                    prop_assert!(down == r || up == r);
                    let exact = nearest.raised & PE == 0;
                    prop_assert_eq!(exact, down == up);
                    prop_assert!(down.mul_r(down, Round::TowardNegative).value <= x);
                    prop_assert!(up.mul_r(up, Round::TowardPositive).value >= x);
                }
            }
        }
    )* };
}
formats! { half: HALF, Half; single: SINGLE, Single; double: DOUBLE, Double; }

proptest! {
    #[test]
    fn formats_convert_as_apfloat_says(a in number(DOUBLE), mode in 0..4_u32) {
        let (round, mut lost) = (MODES[mode as usize], false);
        let mut to_single = env(mode);
        let single = between(&mut to_single, DOUBLE, SINGLE, a, false);
        let expected: StatusAnd<Single> = Double::from_bits(a.into()).convert_r(round, &mut lost);
        same(SINGLE, expected, single, &to_single)?;
        let mut to_half = env(mode);
        let half = between(&mut to_half, SINGLE, HALF, single, false);
        let expected: StatusAnd<Half> = Single::from_bits(single.into()).convert_r(round, &mut lost);
        same(HALF, expected, half, &to_half)?;
    }

    /// The host's arithmetic, where it is used, gives what exact arithmetic gives, exceptions included.
    #[test]
    fn the_hosts_arithmetic_agrees(a in number(SINGLE), b in number(SINGLE), c in number(SINGLE), mxcsr: u32) {
        let mxcsr = MASKED | mxcsr & 0xE07F;
        let same = |fast: &Env, exact: &Env| (fast.raised | fast.mxcsr) & 0x3F == (exact.raised | exact.mxcsr) & 0x3F;
        let real = f32::from_pattern;
        for operation in [Operation::Add, Operation::Sub, Operation::Mul, Operation::Div] {
            let (mut fast, mut exact) = (Env::new(mxcsr), Env::new(mxcsr));
            let found = arithmetic(&mut fast, operation, real(a), real(b));
            prop_assert_eq!(found.pattern(), slow(&mut exact, SINGLE, operation, a, b));
            prop_assert!(same(&fast, &exact), "{:?} {:?}", fast, exact);
        }
        let (mut fast, mut exact) = (Env::new(mxcsr), Env::new(mxcsr));
        let signs = Signs { product: false, addend: true };
        let found = super::arithmetic::fused(&mut fast, signs, [a, b, c].map(real), [0, 1, 2]);
        prop_assert_eq!(found.pattern(), slow_fused(&mut exact, SINGLE, signs, [a, b, c], [0, 1, 2]));
        prop_assert!(same(&fast, &exact), "{:?} {:?}", fast, exact);
    }
}

const ONE: u64 = 0x3F80_0000;
const INFINITY: u64 = 0x7F80_0000;
const QUIET: u64 = 0x7FC0_0001;
const SIGNALLING: u64 = 0x7F80_0001;
const SUBNORMAL: u64 = 1;

/// What `f` gives and raises in an environment, without assists.
fn of<T>(mxcsr: u32, f: impl FnOnce(&mut Env) -> T) -> (T, u32) {
    let mut env = Env::new(mxcsr);
    let result = f(&mut env);
    (result, env.raised & 0x3F)
}

#[test]
fn all_32_predicates() {
    // By predicate modulo 16: less, equal, greater, unordered; then whether a quiet NaN is invalid for 0 to 15.
    const HOLDS: [u8; 16] = [
        0b0100, 0b1000, 0b1100, 0b0001, 0b1011, 0b0111, 0b0011, 0b1110, 0b0101, 0b1001, 0b1101, 0b0000,
        0b1010, 0b0110, 0b0010, 0b1111,
    ];
    for predicate in 0..32_u8 {
        let (row, high) = (HOLDS[usize::from(predicate & 15)], predicate & 16 != 0);
        let signals = matches!(predicate & 3, 1 | 2) != high;
        let operands = [(ONE, INFINITY), (ONE, ONE), (INFINITY, ONE), (QUIET, ONE)];
        for (n, (a, b)) in operands.into_iter().enumerate() {
            let found = of(MASKED, |env| slow_compare(env, SINGLE, predicate, a, b));
            let raised = if n == 3 && signals { IE } else { 0 };
            assert_eq!(found, (row >> (3 - n) & 1 != 0, raised), "predicate {predicate:#x}, case {n}");
        }
    }
}

#[test]
fn exponents_and_significands() {
    let exponents = [
        (0x4120_0000, 0x4040_0000, 0),
        (0, 0xFF80_0000, 0),
        (SUBNORMAL, 0xC315_0000, DE),
        (INFINITY | 1 << 31, INFINITY, 0),
        (SIGNALLING, QUIET, IE),
    ];
    for (a, expected, raised) in exponents {
        assert_eq!(of(MASKED, |env| exponent(env, SINGLE, a)), (expected, raised), "{a:#x}");
    }
    assert_eq!(of(MASKED | DAZ, |env| exponent(env, SINGLE, SUBNORMAL)), (0xFF80_0000, 0));
    // 12 as 1.5, 0.75 * 2^4, and so on; -12 with its sign, without, and as an invalid operand.
    let twelve = 0x4140_0000;
    for (control, expected) in [(0, 0x3FC0_0000), (1, 0x3F40_0000), (2, 0x3F40_0000), (3, 0x3F40_0000)] {
        assert_eq!(of(MASKED, |env| significand(env, SINGLE, twelve, control)), (expected, 0), "{control}");
    }
    let negative = twelve | 1 << 31;
    for (control, expected) in [(0, (0xBFC0_0000, 0)), (4, (0x3FC0_0000, 0)), (8, (0xFFC0_0000, IE))] {
        assert_eq!(of(MASKED, |env| significand(env, SINGLE, negative, control)), expected, "{control}");
    }
}

#[test]
fn scales_multiples_and_what_is_left_of_them() {
    let (two_and_a_half, minus_three) = (0x4020_0000, 0xC040_0000);
    assert_eq!(of(MASKED, |env| scale(env, SINGLE, ONE, two_and_a_half)), (0x4080_0000, 0));
    assert_eq!(of(MASKED, |env| scale(env, SINGLE, ONE, 0x4E80_0000)), (INFINITY, 1 << 3 | PE));
    assert_eq!(of(MASKED, |env| scale(env, SINGLE, 0, INFINITY)), (0xFFC0_0000, IE));
    assert_eq!(of(MASKED, |env| scale(env, SINGLE, QUIET, INFINITY | 1 << 31)), (0, 0));
    // 2.5 to a multiple of 1/2 is exact, to an integer it is not; bit 3 says nothing of that.
    assert_eq!(of(MASKED, |env| round_scale(env, SINGLE, two_and_a_half, 0, 1)), (two_and_a_half, 0));
    assert_eq!(of(MASKED, |env| round_scale(env, SINGLE, two_and_a_half, 0, 0)), (0x4000_0000, PE));
    assert_eq!(of(MASKED, |env| round_scale(env, SINGLE, two_and_a_half, 8, 0)), (0x4000_0000, 0));
    assert_eq!(of(MASKED, |env| reduce(env, SINGLE, two_and_a_half, 0, true)), (0x3F00_0000, 0));
    assert_eq!(of(MASKED, |env| reduce(env, SINGLE, INFINITY, 0, true)), (0, 0));
    // A subnormal rest is flushed even if UE is not masked, or only if it is.
    let unmasked = MASKED & !0x800 | FTZ;
    assert_eq!(of(unmasked, |env| reduce(env, SINGLE, SUBNORMAL, 0, true)), (0, PE));
    assert_eq!(of(unmasked, |env| reduce(env, SINGLE, SUBNORMAL, 0, false)), (SUBNORMAL, 0));
    assert_eq!(of(MASKED | FTZ, |env| reduce(env, SINGLE, SUBNORMAL, 0, false)), (0, PE));
    // The larger magnitude with the first one's sign.
    assert_eq!(of(MASKED, |env| range(env, SINGLE, 0b0011, ONE, minus_three)), (0x4040_0000, 0));
    assert_eq!(of(MASKED, |env| range(env, SINGLE, 0b0111, ONE, minus_three)), (minus_three, 0));
    assert_eq!(of(MASKED, |env| range(env, SINGLE, 0b0100, QUIET, ONE)), (ONE, 0));
}

#[test]
fn classes_and_the_table_of_fix_ups() {
    let numbers = [QUIET, 0, 1 << 31, INFINITY, INFINITY | 1 << 31, SUBNORMAL, ONE | 1 << 31, SIGNALLING];
    for (class, number) in numbers.into_iter().enumerate() {
        let env = Env::new(MASKED);
        assert!(is_of_class(&env, SINGLE, number, 1 << class), "{number:#x}");
        assert!(!is_of_class(&env, SINGLE, number, !(1 << class)), "{number:#x}");
    }
    assert!(is_of_class(&Env::new(MASKED | DAZ), SINGLE, SUBNORMAL, 2));
    let expected = [
        7,
        ONE | 1 << 31,
        0xFFC0_0000 | 1 << 31,
        0xFFC0_0000,
        0xFF80_0000,
        INFINITY,
        0xFF80_0000,
        1 << 31,
        0,
        0xBF80_0000,
        ONE,
        0x3F00_0000,
        0x42B4_0000,
        0x3FC9_0FDB,
        0x7F7F_FFFF,
        0xFF7F_FFFF,
    ];
    for (token, expected) in expected.into_iter().enumerate() {
        // Negative numbers are the class of bits 27:24.
        let found = of(MASKED, |env| fix_up(env, SINGLE, 7, ONE | 1 << 31, (token as u64) << 24, 0xFF));
        assert_eq!(found, (expected, IE), "token {token}");
    }
}

/// Results of a Granite Rapids.
#[test]
fn approximations_are_intels() {
    let singles = [
        (ONE, ONE, ONE),
        (0x3F80_0001, 0x3F7F_FE00, 0x3F7F_FD00),
        (0x4000_0000, 0x3F00_0000, 0x3F35_0280),
        (0x7F00_0001, 0x003F_FF80, 0x1FB5_0280),
        (SUBNORMAL, INFINITY, 0x64B5_0280),
        (0x7F7F_FFFF, 0x0020_0000, 0x1F80_0000),
        (1 << 31, 0xFF80_0000, 0xFF80_0000),
        (ONE | 1 << 31, ONE | 1 << 31, 0xFFC0_0000),
    ];
    let env = Env::new(MASKED);
    for (a, inverse, root) in singles {
        assert_eq!(
            (reciprocal(&env, SINGLE, a), reciprocal_root(&env, SINGLE, a)),
            (inverse, root),
            "{a:#x}"
        );
    }
    assert_eq!(reciprocal(&Env::new(MASKED | FTZ), SINGLE, 0x7F00_0001), 0);
    assert_eq!(reciprocal(&Env::new(MASKED | DAZ), SINGLE, SUBNORMAL), INFINITY);
    // Halves are rounded away from zero; DAZ and FTZ say nothing of half precision.
    let halves = [(0x3C11, 0x3BDF, None), (0x3C2D, 0x3BAA, Some(0x3BD5)), (0x7401, 0x03FF, Some(0x1FFF))];
    let env = Env::new(MASKED | DAZ | FTZ);
    for (a, inverse, root) in halves {
        assert_eq!(reciprocal(&env, HALF, a), inverse, "{a:#x}");
        if let Some(root) = root {
            assert_eq!(reciprocal_root(&env, HALF, a), root, "{a:#x}");
        }
    }
    assert_eq!(reciprocal_root(&env, HALF, 1), 0x6C00);
}

#[test]
fn bfloat16_rounds_to_the_nearest_even() {
    let numbers = [
        (0x3F80_8000, 0x3F80),
        (0x3F81_8000, 0x3F82),
        (0x3F80_8001, 0x3F81),
        (0x7F7F_FFFF, 0x7F80),
        (0x7F80_0001, 0x7FC0),
        (0x807F_FFFF, 0x8000),
    ];
    for (a, expected) in numbers {
        assert_eq!(bfloat::narrow(f32::from_bits(a)), expected, "{a:#x}");
    }
    let mut env = bfloat::environment();
    assert_eq!(bfloat::accumulate(&mut env, 1.0, 0x4040, 0xC000), -5.0);
    // A subnormal sum counts as zero.
    assert_eq!(bfloat::accumulate(&mut env, f32::from_bits(1), 0, 0).to_bits(), 0);
}
