//! Arithmetic against LLVM's APFloat, another implementation of the 80-bit format. What a NaN operand makes is
//! Intel's own and has its tests with the instructions.

use super::arith;
use super::float::{self, Env, F80, IE, PE, ZE};
use proptest::prelude::*;
use rustc_apfloat::ieee::{Double, Single, X87DoubleExtended};
use rustc_apfloat::{Float, FloatConvert, Round, Status, StatusAnd};

const INTEGER_BIT: u64 = 1 << 63;
/// By the RC field of the control word.
const MODES: [Round; 4] =
    [Round::NearestTiesToEven, Round::TowardNegative, Round::TowardPositive, Round::TowardZero];

/// Extended precision, all exceptions masked.
fn env(mode: u16) -> Env {
    Env::new(0x37F | mode << 10)
}

/// Any encoding of a number or an infinity, with exponents that often meet.
fn number() -> impl Strategy<Value = F80> {
    let exponent =
        prop_oneof![Just(0), Just(1), Just(0x7FFE), Just(0x7FFF), 0x3FA0..0x4060_u16, 0..0x8000_u16];
    let fraction = prop_oneof![
        any::<u64>(),
        Just(0),
        0..8_u64,
        (0..8_u64).prop_map(|n| !n),
        (0..64).prop_map(|n| 1_u64 << n)
    ];
    (any::<bool>(), exponent, fraction).prop_map(|(negative, exponent, fraction)| {
        let significand = match exponent {
            0 => fraction & !INTEGER_BIT,
            0x7FFF => INTEGER_BIT,
            _ => fraction | INTEGER_BIT,
        };
        F80 { high: u16::from(negative) << 15 | exponent, significand }
    })
}

fn wide(value: F80) -> X87DoubleExtended {
    X87DoubleExtended::from_bits(value.bits())
}

/// The exceptions that both report by the same rules. APFloat has no overflow that rounds to the largest number.
fn flags(status: Status) -> u16 {
    [(Status::INVALID_OP, IE), (Status::DIV_BY_ZERO, ZE), (Status::INEXACT, PE)]
        .into_iter()
        .map(|(bit, flag)| if status.contains(bit) { flag } else { 0 })
        .sum()
}

#[track_caller]
fn check<F: Float>(bits: u128, env: Env, expected: StatusAnd<F>) {
    let raised = env.raised & (IE | ZE | PE);
    assert_eq!(raised, flags(expected.status), "exceptions");
    if expected.value.is_nan() {
        assert!(F::from_bits(bits).is_nan(), "{bits:#x} is a number");
    } else {
        assert_eq!(bits, expected.value.to_bits(), "{:#x}", expected.value.to_bits());
    }
}

/// With UE not masked the exponent of a tiny remainder is adjusted, but not by an infinite divisor.
#[test]
fn an_infinite_divisor_leaves_a_denormal_dividend_alone() {
    const UE: u16 = 1 << 4;
    const DE: u16 = 1 << 1;
    let dividend = F80 { high: 0x8000, significand: INTEGER_BIT - 1 };
    let divisors =
        [F80 { high: 0x7FFF, significand: INTEGER_BIT }, F80 { high: 0x3FFF, significand: INTEGER_BIT }];
    for nearest in [false, true] {
        let [infinite, one] = divisors.map(|divisor| {
            let mut env = Env::new(0x37F & !UE);
            (arith::remainder(&mut env, dividend, divisor, nearest).value, env.raised)
        });
        assert_eq!(infinite, (dividend, DE), "FPREM{}", u8::from(nearest));
        assert_eq!(one.1, DE | UE, "FPREM{}", u8::from(nearest));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn results_are_those_of_apfloat(a in number(), b in number(), mode in 0..4_u16) {
        type Own = fn(&mut Env, F80, F80) -> F80;
        type Other = fn(X87DoubleExtended, X87DoubleExtended, Round) -> StatusAnd<X87DoubleExtended>;
        let operations: [(Own, Other); 4] = [
            (arith::add, X87DoubleExtended::add_r),
            (arith::sub, X87DoubleExtended::sub_r),
            (arith::mul, X87DoubleExtended::mul_r),
            (arith::div, X87DoubleExtended::div_r),
        ];
        for (own, other) in operations {
            let mut env = env(mode);
            let result = own(&mut env, a, b);
            check(result.bits(), env, other(wide(a), wide(b), MODES[usize::from(mode)]));
        }
    }

    #[test]
    fn roundings_are_those_of_apfloat(a in number(), mode in 0..4_u16) {
        let round = MODES[usize::from(mode)];
        let mut own = env(mode);
        let integer = arith::round_to_integer(&mut own, a);
        check(integer.bits(), own, wide(a).round_to_integral(round));

        let mut own = env(mode);
        let single = float::to_single(&mut own, a);
        let expected: StatusAnd<Single> = wide(a).convert_r(round, &mut false);
        check(single.into(), own, expected);

        let mut own = env(mode);
        let double = float::to_double(&mut own, a);
        let expected: StatusAnd<Double> = wide(a).convert_r(round, &mut false);
        check(double.into(), own, expected);
    }

    /// The root lies within one unit in the last place of the exact one, on the side of its rounding.
    #[test]
    fn roots_square_to_their_operand(a in number(), mode in 0..4_u16) {
        let a = a.magnitude();
        if wide(a).is_infinite() || wide(a).is_zero() {
            return Ok(());
        }
        let mut env = env(mode);
        let root = arith::sqrt(&mut env, a);
        let neighbour = |step: i64| F80 { significand: root.significand.wrapping_add_signed(step), ..root };
        let square = |x: F80, round| wide(x).mul_r(wide(x), round).value;
        // Next to a power of 2 the exponent is another.
        if root.significand != INTEGER_BIT && root.significand != u64::MAX {
            prop_assert!(square(neighbour(-1), Round::TowardNegative) < wide(a));
            prop_assert!(square(neighbour(1), Round::TowardPositive) > wide(a));
        }
        let exact = env.raised & PE == 0;
        match MODES[usize::from(mode)] {
            _ if exact => prop_assert!(square(root, Round::TowardZero) == wide(a)),
            Round::TowardPositive => prop_assert!(square(root, Round::TowardPositive) >= wide(a)),
            Round::NearestTiesToEven => {}
            _ => prop_assert!(square(root, Round::TowardNegative) <= wide(a)),
        }
    }
}
