//! Copies of elements, permutations, extraction and table look-up, and SHA with three registers: what has bit 21 clear
//! (Arm ARM C4.1.96, "Advanced SIMD copy", "permute", "extract", "table lookup").

use super::{Fields, choose, crypto};
use crate::decode::fields::{bit, bits, source, target};
use crate::exec::{Apply, Operands};
use crate::simd::permute::{Transpose, Unzip, Zip};
use crate::simd::{general, permute};
use soft_base::Low;

pub(super) fn select(f: Fields, o: &mut Operands) -> Option<Apply> {
    // What is not in these groups has bit 15 set, or is of a later version.
    if bit(f.word, 15) {
        return None;
    }
    match (bits(f.word, 10, 2), f.scalar, f.u) {
        (0b01 | 0b11, ..) if f.size == 0 => copy(f, o),
        (0b00, true, false) => crypto::three_registers(f),
        (0b10, false, false) => permutation(f),
        (0b00, false, false) if f.size == 0 => {
            o.aux = bits(f.word, 13, 2).low_u8() + 1;
            Some(if bit(f.word, 12) { permute::table::<true> } else { permute::table::<false> })
        }
        // Bit 10 alone is clear.
        (0b00 | 0b10, false, true) if f.size == 0 => {
            o.imm = bits(f.word, 11, 4).into();
            (f.q || o.imm < 8).then_some(permute::ext)
        }
        _ => None,
    }
}

fn permutation(f: Fields) -> Option<Apply> {
    if f.is_one_doubleword(f.size) {
        return None;
    }
    macro_rules! all {
        ($p:ty) => {
            choose!(f.size, 0, T in [u8, u16, u32, u64] => permute::permute::<$p, T>)
        };
    }
    let apply: Apply = match bits(f.word, 12, 3) {
        0b001 => all!(Unzip<false>),
        0b010 => all!(Transpose<false>),
        0b011 => all!(Zip<false>),
        0b101 => all!(Unzip<true>),
        0b110 => all!(Transpose<true>),
        0b111 => all!(Zip<true>),
        _ => return None,
    };
    Some(apply)
}

fn copy(f: Fields, o: &mut Operands) -> Option<Apply> {
    // imm5: its lowest set bit says how wide elements are, those above it which one is meant.
    let imm5 = bits(f.word, 16, 5);
    let imm4 = bits(f.word, 11, 4);
    let size = imm5.trailing_zeros();
    o.imm = (imm5 >> 1 >> size.min(31)).into();
    macro_rules! all {
        ($f:path) => {{
            use $f as function;
            choose!(size, 0, T in [u8, u16, u32, u64] => function::<T>)
        }};
    }
    if size > 3 {
        return None;
    }
    let apply: Apply = match (f.scalar, f.u, imm4) {
        (true, false, 0b0000) => all!(permute::dup_scalar),
        (true, ..) => return None,
        (false, true, _) if f.q => {
            (o.aux, o.imm) = (o.imm.low_u8(), (imm4 >> size).into());
            all!(permute::ins)
        }
        (false, false, 0b0000) if !f.is_one_doubleword(size) => all!(permute::dup),
        (false, false, 0b0001) if !f.is_one_doubleword(size) => {
            o.rn = source(f.word, 5);
            all!(general::dup)
        }
        (false, false, 0b0011) if f.q => {
            o.rn = source(f.word, 5);
            all!(general::ins)
        }
        (false, false, 0b0101) => {
            o.rd = target(f.word, 0);
            match (size, f.q) {
                (0, false) => general::smov::<u8, false>,
                (0, true) => general::smov::<u8, true>,
                (1, false) => general::smov::<u16, false>,
                (1, true) => general::smov::<u16, true>,
                (2, true) => general::smov::<u32, true>,
                _ => return None,
            }
        }
        (false, false, 0b0111) if f.q == (size == 3) => {
            o.rd = target(f.word, 0);
            all!(general::umov)
        }
        _ => return None,
    };
    Some(apply)
}
