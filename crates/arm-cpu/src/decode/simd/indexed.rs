//! A vector and an element of another one (Arm ARM C4.1.96, "Advanced SIMD vector x indexed element" and its scalar
//! forms).

use super::{Fields, choose};
use crate::decode::fields::{bit, bits};
use crate::exec::{Apply, Operands};
use crate::simd::float::*;
use crate::simd::form::{self, Indexed};
use crate::simd::integer::*;
use crate::simd::saturating::*;

pub(super) fn select(f: Fields, o: &mut Operands) -> Option<Apply> {
    let opcode = bits(f.word, 12, 4);
    let [h, l, m] = [11, 21, 20].map(|n| u64::from(bit(f.word, n)));
    if matches!(opcode, 0b0001 | 0b0101 | 0b1001) {
        return float(f, opcode, [h, l], o);
    }
    match f.size {
        1 => {
            o.imm = h << 2 | l << 1 | m;
            o.rm &= 15;
        }
        2 => o.imm = h << 1 | l,
        _ => return None,
    }
    macro_rules! same {
        ($op:ty, $($t:ty),*) => {
            choose!(f.size, 1, T in [$($t),*] => form::same::<$op, T, T, T, Indexed>)
        };
    }
    macro_rules! long {
        ($op:ty) => {
            if f.u {
                choose!(f.size, 1, T in [u16, u32] => form::long::<$op, T, Indexed>)
            } else {
                choose!(f.size, 1, T in [i16, i32] => form::long::<$op, T, Indexed>)
            }
        };
    }
    macro_rules! doubling_long {
        ($op:ty) => {
            if f.scalar {
                choose!(f.size, 1, T in [i16, i32] => form::scalar_long::<$op, T, Indexed>)
            } else {
                choose!(f.size, 1, T in [i16, i32] => form::long::<$op, T, Indexed>)
            }
        };
    }
    macro_rules! doubling_high {
        ($op:ty) => {
            if f.scalar {
                choose!(f.size, 1, T in [i16, i32] => form::scalar::<$op, T, T, T, Indexed>)
            } else {
                same!($op, i16, i32)
            }
        };
    }
    let apply: Apply = match (opcode, f.u) {
        (0b0011, false) => doubling_long!(DoublingAccumulate<false>),
        (0b0111, false) => doubling_long!(DoublingAccumulate<true>),
        (0b1011, false) => doubling_long!(DoublingLong),
        (0b1100, false) => doubling_high!(DoublingHigh<false>),
        (0b1101, false) => doubling_high!(DoublingHigh<true>),
        _ if f.scalar => return None,
        (0b0000, true) => same!(Mla, u16, u32),
        (0b0100, true) => same!(Mls, u16, u32),
        (0b1000, false) => same!(Mul, u16, u32),
        (0b0010, _) => long!(Mla),
        (0b0110, _) => long!(Mls),
        (0b1010, _) => long!(Mul),
        _ => return None,
    };
    Some(apply)
}

/// Single precision has size 2, double precision 3.
fn float(f: Fields, opcode: u32, [h, l]: [u64; 2], o: &mut Operands) -> Option<Apply> {
    match (f.size, l) {
        (2, _) => o.imm = h << 1 | l,
        (3, 0) if !f.is_one_doubleword(3) => o.imm = h,
        _ => return None,
    }
    o.aux = f.count(f.size);
    macro_rules! either {
        ($op:ty) => {
            match (f.scalar, f.size) {
                (false, 2) => form::same::<$op, f32, f32, f32, Indexed>,
                (false, _) => form::same::<$op, f64, f64, f64, Indexed>,
                (true, 2) => form::scalar::<$op, f32, f32, f32, Indexed>,
                (true, _) => form::scalar::<$op, f64, f64, f64, Indexed>,
            }
        };
    }
    let apply: Apply = match (opcode, f.u) {
        (0b0001, false) => either!(Fmla),
        (0b0101, false) => either!(Fmls),
        (0b1001, false) => either!(Fmul),
        (0b1001, true) => either!(Fmulx),
        _ => return None,
    };
    Some(apply)
}
