//! Three registers of the same type (Arm ARM C4.1.96, "Advanced SIMD three same" and its scalar forms).

use super::{Fields, choose};
use crate::decode::fields::bits;
use crate::exec::{Apply, Operands};
use crate::simd::float::*;
use crate::simd::form::{self, Register};
use crate::simd::integer::*;
use crate::simd::saturating::*;
use crate::simd::shift::ShiftBy;

pub(super) fn select(f: Fields, o: &mut Operands) -> Option<Apply> {
    match bits(f.word, 11, 5) {
        opcode @ 0b11000..=0b11111 => float(f, opcode, o),
        opcode if f.scalar => scalar(f, opcode),
        0b00011 => Some(logic(f)),
        _ if f.is_one_doubleword(f.size) => None,
        opcode => vector(f, opcode),
    }
}

fn logic(f: Fields) -> Apply {
    macro_rules! same {
        ($op:ty) => {
            form::same::<$op, u64, u64, u64, Register>
        };
    }
    match (f.u, f.size) {
        (false, 0) => same!(And),
        (false, 1) => same!(Bic),
        (false, 2) => same!(Orr),
        (false, _) => same!(Orn),
        (true, 0) => same!(Eor),
        (true, 1) => same!(Bsl),
        (true, 2) => same!(Bit),
        (true, _) => same!(Bif),
    }
}

fn vector(f: Fields, opcode: u32) -> Option<Apply> {
    // Signed and unsigned, of all sizes or of up to 32 bits.
    macro_rules! all {
        ($op:ty) => {
            if f.u {
                choose!(f.size, 0, T in [u8, u16, u32, u64] => form::same::<$op, T, T, T, Register>)
            } else {
                choose!(f.size, 0, T in [i8, i16, i32, i64] => form::same::<$op, T, T, T, Register>)
            }
        };
    }
    macro_rules! up_to_32 {
        ($form:ident, $op:ty) => {
            if f.u {
                choose!(f.size, 0, T in [u8, u16, u32] => up_to_32!(@ $form, $op, T))
            } else {
                choose!(f.size, 0, T in [i8, i16, i32] => up_to_32!(@ $form, $op, T))
            }
        };
        (@ same, $op:ty, $T:ident) => { form::same::<$op, $T, $T, $T, Register> };
        (@ pairwise, $op:ty, $T:ident) => { form::pairwise::<$op, $T> };
    }
    // The sign does not matter, or the other sign is another operation.
    macro_rules! any {
        ([$($t:ty),*], $op:ty) => {
            choose!(f.size, 0, T in [$($t),*] => form::same::<$op, T, T, T, Register>)
        };
    }
    let apply: Apply = match (opcode, f.u) {
        (0b00000, _) => up_to_32!(same, Hadd),
        (0b00001, _) => all!(Qadd),
        (0b00010, _) => up_to_32!(same, Rhadd),
        (0b00100, _) => up_to_32!(same, Hsub),
        (0b00101, _) => all!(Qsub),
        (0b00110, _) => all!(Cmgt),
        (0b00111, _) => all!(Cmge),
        (0b01000, _) => all!(ShiftBy<false, false>),
        (0b01001, _) => all!(ShiftBy<false, true>),
        (0b01010, _) => all!(ShiftBy<true, false>),
        (0b01011, _) => all!(ShiftBy<true, true>),
        (0b01100, _) => up_to_32!(same, Max),
        (0b01101, _) => up_to_32!(same, Min),
        (0b01110, _) => up_to_32!(same, Abd),
        (0b01111, _) => up_to_32!(same, Aba),
        (0b10000, false) => any!([u8, u16, u32, u64], Add),
        (0b10000, true) => any!([u8, u16, u32, u64], Sub),
        (0b10001, false) => any!([u8, u16, u32, u64], Cmtst),
        (0b10001, true) => any!([u8, u16, u32, u64], Cmeq),
        (0b10010, false) => any!([u8, u16, u32], Mla),
        (0b10010, true) => any!([u8, u16, u32], Mls),
        (0b10011, false) => any!([u8, u16, u32], Mul),
        (0b10011, true) => any!([u8], Pmul),
        (0b10100, _) => up_to_32!(pairwise, Max),
        (0b10101, _) => up_to_32!(pairwise, Min),
        (0b10110, false) => {
            choose!(f.size, 1, T in [i16, i32] => form::same::<DoublingHigh<false>, T, T, T, Register>)
        }
        (0b10110, true) => {
            choose!(f.size, 1, T in [i16, i32] => form::same::<DoublingHigh<true>, T, T, T, Register>)
        }
        (0b10111, false) => {
            choose!(f.size, 0, T in [u8, u16, u32, u64] => form::pairwise::<Add, T>)
        }
        _ => return None,
    };
    Some(apply)
}

fn scalar(f: Fields, opcode: u32) -> Option<Apply> {
    macro_rules! all {
        ($op:ty) => {
            if f.u {
                choose!(f.size, 0, T in [u8, u16, u32, u64] => form::scalar::<$op, T, T, T, Register>)
            } else {
                choose!(f.size, 0, T in [i8, i16, i32, i64] => form::scalar::<$op, T, T, T, Register>)
            }
        };
    }
    macro_rules! double {
        ($op:ty) => {
            if f.u {
                choose!(f.size, 3, T in [u64] => form::scalar::<$op, T, T, T, Register>)
            } else {
                choose!(f.size, 3, T in [i64] => form::scalar::<$op, T, T, T, Register>)
            }
        };
    }
    macro_rules! bits {
        ($op:ty) => {
            choose!(f.size, 3, T in [u64] => form::scalar::<$op, T, T, T, Register>)
        };
    }
    let apply: Apply = match (opcode, f.u) {
        (0b00001, _) => all!(Qadd),
        (0b00101, _) => all!(Qsub),
        (0b00110, _) => double!(Cmgt),
        (0b00111, _) => double!(Cmge),
        (0b01000, _) => double!(ShiftBy<false, false>),
        (0b01001, _) => all!(ShiftBy<false, true>),
        (0b01010, _) => double!(ShiftBy<true, false>),
        (0b01011, _) => all!(ShiftBy<true, true>),
        (0b10000, false) => bits!(Add),
        (0b10000, true) => bits!(Sub),
        (0b10001, false) => bits!(Cmtst),
        (0b10001, true) => bits!(Cmeq),
        (0b10110, false) => {
            choose!(f.size, 1, T in [i16, i32] => form::scalar::<DoublingHigh<false>, T, T, T, Register>)
        }
        (0b10110, true) => {
            choose!(f.size, 1, T in [i16, i32] => form::scalar::<DoublingHigh<true>, T, T, T, Register>)
        }
        _ => return None,
    };
    Some(apply)
}

/// Single or double precision by bit 22; bit 23 tells operations apart.
fn float(f: Fields, opcode: u32, o: &mut Operands) -> Option<Apply> {
    let double = f.size & 1 != 0;
    let size = 2 + u32::from(double);
    if f.is_one_doubleword(size) {
        return None;
    }
    o.aux = f.count(size);
    macro_rules! either {
        ($op:ty) => {
            match (f.scalar, double) {
                (false, false) => form::same::<$op, f32, f32, f32, Register>,
                (false, true) => form::same::<$op, f64, f64, f64, Register>,
                (true, false) => form::scalar::<$op, f32, f32, f32, Register>,
                (true, true) => form::scalar::<$op, f64, f64, f64, Register>,
            }
        };
    }
    macro_rules! vector {
        ($form:ident, $op:ty) => {
            match (f.scalar, double) {
                (false, false) => vector!(@ $form, $op, f32),
                (false, true) => vector!(@ $form, $op, f64),
                _ => return None,
            }
        };
        (@ same, $op:ty, $T:ident) => { form::same::<$op, $T, $T, $T, Register> };
        (@ pairwise, $op:ty, $T:ident) => { form::pairwise::<$op, $T> };
    }
    macro_rules! comparison {
        ($op:ty) => {
            match (f.scalar, double) {
                (false, false) => form::same::<$op, u32, f32, f32, Register>,
                (false, true) => form::same::<$op, u64, f64, f64, Register>,
                (true, false) => form::scalar::<$op, u32, f32, f32, Register>,
                (true, true) => form::scalar::<$op, u64, f64, f64, Register>,
            }
        };
    }
    let apply: Apply = match (f.u, f.size >> 1, opcode) {
        (false, 0, 0b11000) => vector!(same, Fmaxnm),
        (false, 0, 0b11001) => vector!(same, Fmla),
        (false, 0, 0b11010) => vector!(same, Fadd),
        (false, 0, 0b11011) => either!(Fmulx),
        (false, 0, 0b11100) => comparison!(Fcmeq),
        (false, 0, 0b11110) => vector!(same, Fmax),
        (false, 0, 0b11111) => either!(Frecps),
        (false, _, 0b11000) => vector!(same, Fminnm),
        (false, _, 0b11001) => vector!(same, Fmls),
        (false, _, 0b11010) => vector!(same, Fsub),
        (false, _, 0b11110) => vector!(same, Fmin),
        (false, _, 0b11111) => either!(Frsqrts),
        (true, 0, 0b11000) => vector!(pairwise, Fmaxnm),
        (true, 0, 0b11010) => vector!(pairwise, Fadd),
        (true, 0, 0b11011) => vector!(same, Fmul),
        (true, 0, 0b11100) => comparison!(Fcmge),
        (true, 0, 0b11101) => comparison!(Facge),
        (true, 0, 0b11110) => vector!(pairwise, Fmax),
        (true, 0, 0b11111) => vector!(same, Fdiv),
        (true, _, 0b11000) => vector!(pairwise, Fminnm),
        (true, _, 0b11010) => either!(Fabd),
        (true, _, 0b11100) => comparison!(Fcmgt),
        (true, _, 0b11101) => comparison!(Facgt),
        (true, _, 0b11110) => vector!(pairwise, Fmin),
        _ => return None,
    };
    Some(apply)
}
