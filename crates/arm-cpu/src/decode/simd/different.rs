//! Three registers of different types (Arm ARM C4.1.96, "Advanced SIMD three different" and its scalar forms).

use super::{Fields, choose};
use crate::decode::fields::bits;
use crate::exec::{Apply, Operands};
use crate::simd::crypto;
use crate::simd::form::{self, Register};
use crate::simd::integer::*;
use crate::simd::saturating::*;

pub(super) fn select(f: Fields, _o: &mut Operands) -> Option<Apply> {
    let opcode = bits(f.word, 12, 4);
    macro_rules! long {
        ($op:ty) => {
            if f.u {
                choose!(f.size, 0, T in [u8, u16, u32] => form::long::<$op, T, Register>)
            } else {
                choose!(f.size, 0, T in [i8, i16, i32] => form::long::<$op, T, Register>)
            }
        };
    }
    macro_rules! wide {
        ($op:ty) => {
            if f.u {
                choose!(f.size, 0, T in [u8, u16, u32] => form::wide::<$op, T>)
            } else {
                choose!(f.size, 0, T in [i8, i16, i32] => form::wide::<$op, T>)
            }
        };
    }
    macro_rules! high {
        ($op:ty) => {
            match f.size {
                0 => form::narrow::<$op, u8, u16, Register>,
                1 => form::narrow::<$op, u16, u32, Register>,
                2 => form::narrow::<$op, u32, u64, Register>,
                _ => return None,
            }
        };
    }
    macro_rules! doubling {
        ($op:ty) => {
            if f.scalar {
                choose!(f.size, 1, T in [i16, i32] => form::scalar_long::<$op, T, Register>)
            } else {
                choose!(f.size, 1, T in [i16, i32] => form::long::<$op, T, Register>)
            }
        };
    }
    let apply: Apply = match (opcode, f.u) {
        (0b1001, false) => doubling!(DoublingAccumulate<false>),
        (0b1011, false) => doubling!(DoublingAccumulate<true>),
        (0b1101, false) => doubling!(DoublingLong),
        _ if f.scalar => return None,
        (0b0000, _) => long!(Add),
        (0b0001, _) => wide!(Add),
        (0b0010, _) => long!(Sub),
        (0b0011, _) => wide!(Sub),
        (0b0100, false) => high!(High<false, false>),
        (0b0100, true) => high!(High<false, true>),
        (0b0101, _) => long!(Aba),
        (0b0110, false) => high!(High<true, false>),
        (0b0110, true) => high!(High<true, true>),
        (0b0111, _) => long!(Abd),
        (0b1000, _) => long!(Mla),
        (0b1010, _) => long!(Mls),
        (0b1100, _) => long!(Mul),
        (0b1110, false) => match f.size {
            0 => form::long::<Pmull, u8, Register>,
            3 => crypto::polynomial_product,
            _ => return None,
        },
        _ => return None,
    };
    Some(apply)
}
