//! FP and Advanced SIMD: data processing, and loads and stores of element structures.
//!
//! Most of these instructions share one handler, which calls the [`Apply`](crate::exec::Apply) in their operands.
//! Those that compilers and C libraries use all the time have one of their own.

use super::fields::{base_alignment, bit, bits, number, or_stack_pointer, source};
use super::{fp, simd};
use crate::bus::Bus;
use crate::context::Core;
use crate::exec::address::{Offset, PostIndex};
use crate::exec::{Code, Operands, VectorFunction, full, vector};
use crate::simd::condition::fcmp;
use crate::simd::float::{
    Fabs, Fadd, Fcvt, Fdiv, Fmov, Fmul, Fneg, Fsqrt, Fsub, from_general, multiply_add, to_general,
};
use crate::simd::form::{Immediate, Register, pairwise, same, scalar};
use crate::simd::integer::{
    Add, And, Bic, Bif, Bit, Bsl, Cmeq, Cmgt, Cmtst, Eor, Max, Min, Move, Mul, Orr, Sub,
};
use crate::simd::memory::{self, Multiple, PostRegister, Single};
use crate::simd::shift::{Shl, Shr};
use crate::simd::{general, permute};
use disarm64_defn::InsnFeatureSet;

/// The feature that such a word needs if it is an instruction; `None` for other words.
pub(super) fn feature(word: u32) -> Option<InsnFeatureSet> {
    use InsnFeatureSet as F;
    if is_structures(word) {
        return Some(F::SIMD);
    }
    if bits(word, 25, 3) != 0b111 {
        return None;
    }
    // AES, SHA with two registers, SHA with three, PMULL of 64 bits.
    Some(match bits(word, 24, 8) {
        0x4E if bits(word, 17, 5) == 0b10100 && bits(word, 10, 2) == 0b10 => F::AES,
        0x5E if bits(word, 17, 5) == 0b10100 && bits(word, 10, 2) == 0b10 => F::SHA2,
        0x5E if !bit(word, 21) && bits(word, 10, 2) == 0 => F::SHA2,
        0x0E | 0x4E if bits(word, 21, 3) == 0b111 && bits(word, 10, 6) == 0b11_1000 => F::AES,
        _ if bit(word, 28) && !bit(word, 30) => F::FP,
        _ => F::SIMD,
    })
}

/// What is neither in the base instruction set nor a load or store of single registers or pairs; `None` if UNDEFINED.
pub(super) fn select<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    if is_structures(word) {
        return structures(word, o);
    }
    if bits(word, 25, 3) != 0b111 {
        return None;
    }
    let is_scalar_fp = bit(word, 28) && !bit(word, 30);
    let apply = if is_scalar_fp { fp::select(word, o) } else { simd::select(word, o) }?;
    o.vector = VectorFunction(apply);
    let frequent = if is_scalar_fp { frequent_fp(word) } else { frequent_simd(word) };
    Some(frequent.unwrap_or_else(|| vector!(|c: &mut Core, i: &Operands| (i.vector.0)(c, i))))
}

/// Whether a word is a load or store of element structures.
fn is_structures(word: u32) -> bool {
    !bit(word, 31) && bits(word, 25, 5) == 0b00110
}

/// LD1 to LD4 and ST1 to ST4.
fn structures<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    let (single, post, load) = (bit(word, 24), bit(word, 23), bit(word, 22));
    // Bit 21 is a part of opcode for single structures; Rm is 0 where it is not used.
    if bit(word, 21) && !single || !post && bits(word, 16, 5) != 0 {
        return None;
    }
    let bytes = if single { Single::of(word)?.bytes() } else { Multiple::of(word)?.bytes() };
    o.rd = number(word, 0);
    o.rn = or_stack_pointer(word, 5);
    o.more = base_alignment(o.rn);
    let by_register = post && bits(word, 16, 5) != 31;
    if by_register {
        o.rm = source(word, 16);
    } else if post {
        o.imm = bytes as u64;
    }
    macro_rules! by_mode {
        ($f:ident) => {
            match (post, by_register) {
                (false, _) => full!(memory::$f::<Offset, B>),
                (true, false) => full!(memory::$f::<PostIndex, B>),
                (true, true) => full!(memory::$f::<PostRegister, B>),
            }
        };
    }
    let code = match (load, single) {
        (true, false) => by_mode!(load_multiple),
        (true, true) => by_mode!(load_single),
        (false, false) => by_mode!(store_multiple),
        (false, true) => by_mode!(store_single),
    };
    Some(if load { code.loads() } else { code.stores() }.vector())
}

/// Scalar FP: what compiled code has most. The operands are set.
fn frequent_fp<B: Bus>(word: u32) -> Option<Code<B>> {
    macro_rules! binary {
        ($op:ty, $t:ty) => {
            vector!(scalar::<$op, $t, $t, $t, Register>)
        };
    }
    macro_rules! unary {
        ($op:ty, $d:ty, $a:ty) => {
            vector!(scalar::<$op, $d, $a, $a, Immediate>)
        };
    }
    // Without Rm, Rn and Rd.
    let code = match word & 0xFFE0_FC00 {
        0x1E20_0800 => binary!(Fmul, f32),
        0x1E20_1800 => binary!(Fdiv, f32),
        0x1E20_2800 => binary!(Fadd, f32),
        0x1E20_3800 => binary!(Fsub, f32),
        0x1E60_0800 => binary!(Fmul, f64),
        0x1E60_1800 => binary!(Fdiv, f64),
        0x1E60_2800 => binary!(Fadd, f64),
        0x1E60_3800 => binary!(Fsub, f64),
        0x1F40_0000 => vector!(multiply_add::<f64, false, false>),
        0x1F40_8000 => vector!(multiply_add::<f64, true, false>),
        0x1F00_0000 => vector!(multiply_add::<f32, false, false>),
        _ => match word & 0xFFFF_FC00 {
            0x1E20_4000 => unary!(Fmov, f32, f32),
            0x1E60_4000 => unary!(Fmov, f64, f64),
            0x1E60_C000 => unary!(Fabs, f64, f64),
            0x1E61_4000 => unary!(Fneg, f64, f64),
            0x1E61_C000 => unary!(Fsqrt, f64, f64),
            0x1E22_C000 => unary!(Fcvt, f64, f32),
            0x1E62_4000 => unary!(Fcvt, f32, f64),
            0x9E66_0000 => vector!(general::umov::<u64>),
            0x1E26_0000 => vector!(general::umov::<u32>),
            0x9E67_0000 => vector!(general::fmov::<u64>),
            0x1E27_0000 => vector!(general::fmov::<u32>),
            0x1E78_0000 | 0x9E78_0000 => vector!(to_general::<f64, true>),
            0x1E62_0000 | 0x9E62_0000 => vector!(from_general::<f64, true>),
            _ => match word & 0xFFE0_FC1F {
                0x1E60_2000 => vector!(fcmp::<f64, false, false>),
                0x1E60_2008 => vector!(fcmp::<f64, false, true>),
                0x1E60_2010 => vector!(fcmp::<f64, true, false>),
                0x1E60_2018 => vector!(fcmp::<f64, true, true>),
                0x1E20_2000 => vector!(fcmp::<f32, false, false>),
                0x1E20_2010 => vector!(fcmp::<f32, true, false>),
                _ => return None,
            },
        },
    };
    Some(code)
}

/// Advanced SIMD: what compiled code and the C library's string functions have most. The operands are set.
fn frequent_simd<B: Bus>(word: u32) -> Option<Code<B>> {
    macro_rules! binary {
        ($op:ty, $t:ty) => {
            vector!(same::<$op, $t, $t, $t, Register>)
        };
    }
    macro_rules! immediate {
        ($op:ty, $t:ty) => {
            vector!(same::<$op, $t, $t, $t, Immediate>)
        };
    }
    // Three registers of the same type, without Q, Rm, Rn and Rd.
    if word & 0x9F20_0400 == 0x0E20_0400 {
        return Some(match word & 0xBFE0_FC00 {
            0x0E20_1C00 => binary!(And, u64),
            0x0E60_1C00 => binary!(Bic, u64),
            0x0EA0_1C00 => binary!(Orr, u64),
            0x2E20_1C00 => binary!(Eor, u64),
            0x2E60_1C00 => binary!(Bsl, u64),
            0x2EA0_1C00 => binary!(Bit, u64),
            0x2EE0_1C00 => binary!(Bif, u64),
            0x0E20_8400 => binary!(Add, u8),
            0x0E60_8400 => binary!(Add, u16),
            0x0EA0_8400 => binary!(Add, u32),
            0x0EE0_8400 => binary!(Add, u64),
            0x2E20_8400 => binary!(Sub, u8),
            0x2EA0_8400 => binary!(Sub, u32),
            0x2EE0_8400 => binary!(Sub, u64),
            0x0EA0_9C00 => binary!(Mul, u32),
            0x2E20_8C00 => binary!(Cmeq, u8),
            0x2EA0_8C00 => binary!(Cmeq, u32),
            0x0E20_8C00 => binary!(Cmtst, u8),
            0x2E20_3400 => binary!(Cmgt, u8),
            0x0EA0_3400 => binary!(Cmgt, i32),
            0x2E20_6400 => binary!(Max, u8),
            0x2E20_6C00 => binary!(Min, u8),
            0x2E20_A400 => vector!(pairwise::<Max, u8>),
            0x0E20_BC00 => vector!(pairwise::<Add, u8>),
            0x0E60_D400 => binary!(Fadd, f64),
            0x2E60_DC00 => binary!(Fmul, f64),
            0x0E20_D400 => binary!(Fadd, f32),
            0x2E20_DC00 => binary!(Fmul, f32),
            _ => return None,
        });
    }
    // CMEQ with 0.
    match word & 0xBFFF_FC00 {
        0x0E20_9800 => return Some(immediate!(Cmeq, u8)),
        // UMOV to W and X, DUP from W and X: by imm5.
        _ if word & 0xFFE7_FC00 == 0x0E04_3C00 => return Some(vector!(general::umov::<u32>)),
        _ if word & 0xFFEF_FC00 == 0x4E08_3C00 => return Some(vector!(general::umov::<u64>)),
        _ if word & 0xBFE1_FC00 == 0x0E01_0C00 => return Some(vector!(general::dup::<u8>)),
        _ if word & 0xBFE7_FC00 == 0x0E04_0C00 => return Some(vector!(general::dup::<u32>)),
        _ if word & 0xBFEF_FC00 == 0x0E08_0C00 => return Some(vector!(general::dup::<u64>)),
        // EXT.
        _ if word & 0xBFE0_8400 == 0x2E00_0000 => return Some(vector!(permute::ext)),
        _ => {}
    }
    // An immediate that replaces what was there: cmode with its lowest bit clear, or from 1100 on.
    if word & 0x9FF8_0C00 == 0x0F00_0400 {
        return (word >> 12 & 1 == 0 || word >> 14 & 3 == 3).then(|| immediate!(Move, u64));
    }
    // Shifts of words and double-words.
    match word & 0xBF60_FC00 {
        0x0F20_5400 => Some(immediate!(Shl, u32)),
        0x2F20_0400 => Some(immediate!(Shr, u32)),
        _ => match word & 0xBF40_FC00 {
            0x0F40_5400 => Some(immediate!(Shl, u64)),
            0x2F40_0400 => Some(immediate!(Shr, u64)),
            _ => None,
        },
    }
}
