//! Approximate reciprocals and reciprocal square roots of AVX-512, to the bit as Intel has them.
//!
//! VRCP14xx and VRSQRT14xx are straight lines in 64 intervals, of which double precision uses no more bits; those of
//! half precision are the same, rounded to nearest and halves away from zero. The coefficients were worked out from
//! all results in single precision on a Granite Rapids: no others give them. What AMD's CPUs give is not known here.

use super::environment::{DAZ, Env};
use super::exact::{indefinite, round_to, unpack};
use crate::low::Low;
use soft_arithmetic::exact::Exact;
use soft_arithmetic::format::{Class, Format, HALF, Number};
use soft_arithmetic::rounding::Rounding;

/// Of 1 to 2 in 64 intervals: the value at its beginning less 1/2 in units of 2^-19, and the slope.
#[rustfmt::skip]
const RECIPROCAL: [(u32, u32); 64] = [
    (262130, 1009), (254060, 977), (246244, 949), (238656, 921), (231286, 893), (224142, 869), (217190, 843),
    (210444, 821), (203876, 797), (197496, 777), (191280, 755), (185236, 735), (179352, 717), (173622, 699),
    (168034, 681), (162584, 663), (157278, 647), (152098, 631), (147052, 617), (142118, 601), (137306, 587),
    (132606, 573), (128020, 561), (123530, 547), (119148, 535), (114864, 523), (110682, 513), (106580, 501),
    (102574, 491), (98650, 479), (94812, 469), (91054, 459), (87380, 451), (83774, 441), (80248, 433),
    (76784, 423), (73396, 415), (70074, 407), (66816, 399), (63622, 391), (60496, 385), (57418, 377),
    (54402, 369), (51446, 363), (48546, 357), (45690, 349), (42892, 343), (40144, 337), (37446, 331),
    (34794, 325), (32188, 319), (29636, 315), (27116, 309), (24642, 303), (22216, 299), (19822, 293),
    (17476, 289), (15166, 285), (12890, 279), (10662, 275), (8466, 271), (6302, 267), (4170, 263),
    (2070, 259),
];

/// Reciprocal square roots of 1 to 2, in 32 intervals.
#[rustfmt::skip]
const ROOT: [(u32, u32); 32] = [
    (262121, 1001), (254113, 955), (246469, 915), (239154, 877), (232142, 841), (225415, 807), (218957, 775),
    (212753, 747), (206778, 719), (201025, 693), (195479, 669), (190132, 647), (184962, 625), (179962, 603),
    (175135, 585), (170459, 567), (165927, 549), (161539, 533), (157279, 517), (153144, 501), (149133, 487),
    (145235, 473), (141448, 461), (137763, 449), (134175, 437), (130683, 425), (127286, 415), (123966, 403),
    (120735, 393), (117590, 385), (114511, 375), (111514, 367),
];

/// And of 2 to 4.
#[rustfmt::skip]
const ROOT_OF_DOUBLE: [(u32, u32); 32] = [
    (108565, 707), (102905, 675), (97500, 647), (92324, 619), (87372, 595), (82615, 571), (78049, 549),
    (73657, 527), (69437, 509), (65371, 491), (61445, 473), (57661, 457), (54005, 441), (50474, 427),
    (47057, 413), (43755, 401), (40551, 389), (37443, 377), (34431, 365), (31513, 355), (28675, 345),
    (25918, 335), (23236, 325), (20632, 317), (18098, 309), (15629, 301), (13223, 293), (10878, 285),
    (8597, 279), (6365, 271), (4192, 265), (2070, 259),
];

/// The line of an interval, at `low` of 1024 parts of it: a number of 1/2 to 1.
fn line(table: &[(u32, u32)], interval: u64, low: u64) -> Exact {
    let (start, slope) = table.get(interval.low_u32() as usize).copied().unwrap_or_default();
    let above_half = (start * 128).saturating_sub(slope * low.low_u32()) >> 9;
    Exact::fixed(false, (1 << 16) + u64::from(above_half), 17)
}

/// The significand's first `count` bits after the integer bit, as interval and place in it.
fn place(number: &Number, count: u32) -> (u64, u64) {
    let bits = number.significand << 1 >> (64 - count);
    (bits >> 10, bits & 1023)
}

const POWER_OF_2: u64 = 1 << 63;

fn reciprocal_of(number: &Number) -> Exact {
    let (interval, low) = place(number, 16);
    let estimate = match number.significand {
        POWER_OF_2 => Exact::fixed(false, 1, 0),
        _ => line(&RECIPROCAL, interval, low),
    };
    Exact { negative: number.negative, ..estimate.scaled(-number.exponent) }
}

fn root_of(number: &Number) -> Exact {
    let (interval, low) = place(number, 15);
    let odd = number.exponent & 1 != 0;
    let estimate = match number.significand {
        POWER_OF_2 if !odd => Exact::fixed(false, 1, 0),
        _ => line(if odd { &ROOT_OF_DOUBLE } else { &ROOT }, interval, low),
    };
    estimate.scaled(-number.exponent.div_euclid(2))
}

/// No exceptions are raised, but DAZ and FTZ hold.
fn finish(env: &Env, format: Format, value: Exact) -> u64 {
    let mode = if format == HALF { Rounding::NearestAway } else { Rounding::Nearest };
    let result = round_to(&mut Env::quiet(), format, value, mode);
    let subnormal = format.exponent_field(result) == 0;
    if subnormal && env.flushes_always(format) { format.zero(value.negative) } else { result }
}

fn operand(env: &Env, format: Format, a: u64) -> Number {
    unpack(&mut Env::new(env.mxcsr & DAZ), format, a, 0)
}

/// VRCP14xx, VRCPPH, VRCPSH.
pub(crate) fn reciprocal(env: &Env, format: Format, a: u64) -> u64 {
    let number = operand(env, format, a);
    match number.class {
        Class::QuietNan | Class::SignallingNan => a | format.quiet_bit(),
        Class::Zero => format.infinity(number.negative),
        Class::Infinity => format.zero(number.negative),
        Class::Finite => finish(env, format, reciprocal_of(&number)),
    }
}

/// VRSQRT14xx, VRSQRTPH, VRSQRTSH.
pub(crate) fn reciprocal_root(env: &Env, format: Format, a: u64) -> u64 {
    let number = operand(env, format, a);
    match number.class {
        Class::QuietNan | Class::SignallingNan => a | format.quiet_bit(),
        Class::Zero => format.infinity(number.negative),
        _ if number.negative => indefinite(format),
        Class::Infinity => format.zero(false),
        Class::Finite => finish(env, format, root_of(&number)),
    }
}
