//! AES, PCLMULQDQ, SHA and GFNI: what instructions with and without VEX and EVEX do to 128 bits (SDM volume 2).

use super::integer::{shuffles, vector};
use super::lane::{build, get, zip};
use super::{Shuffle, Vector};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::Done;
use crate::exec::Insn;
use crate::exec::operand::Get;
use crate::low::Low;
use soft_arithmetic::polynomial::{self, INVERSES};
use soft_arithmetic::{aes, sha};

vector! {
    Aesenc = |a, b| aes::mix_columns::<false>(aes::shift_and_substitute::<false>(a)) ^ b;
    Aesenclast = |a, b| aes::shift_and_substitute::<false>(a) ^ b;
    Aesdec = |a, b| aes::mix_columns::<true>(aes::shift_and_substitute::<true>(a)) ^ b;
    Aesdeclast = |a, b| aes::shift_and_substitute::<true>(a) ^ b;
    Aesimc = |_a, b| aes::mix_columns::<true>(b);
    Gf2p8mulb = |a, b| zip::<u8, u8>(a, b, polynomial::field_product);
    Sha1nexte = |a, b| {
        let [low, second, third, high] = words(b);
        vector_of([low, second, third, high.wrapping_add(words(a)[3].rotate_left(30))])
    };
    Sha1msg1 = |a, b| {
        let ([a0, a1, a2, a3], [_, _, b2, b3]) = (words(a), words(b));
        vector_of([a0 ^ b2, a1 ^ b3, a2 ^ a0, a3 ^ a1])
    };
    Sha1msg2 = |a, b| {
        let ([a0, a1, a2, a3], [b0, b1, b2, _]) = (words(a), words(b));
        let w16 = (a3 ^ b2).rotate_left(1);
        vector_of([(a0 ^ w16).rotate_left(1), (a1 ^ b0).rotate_left(1), (a2 ^ b1).rotate_left(1), w16])
    };
    Sha256msg1 = |a, b| {
        let ([a0, a1, a2, a3], [b0, ..]) = (words(a), words(b));
        let add = |w: u32, next| w.wrapping_add(sha::sha256_sigma_0(next));
        vector_of([add(a0, a1), add(a1, a2), add(a2, a3), add(a3, b0)])
    };
    Sha256msg2 = |a, b| {
        let ([a0, a1, a2, a3], [_, _, b2, b3]) = (words(a), words(b));
        let add = |w: u32, before| w.wrapping_add(sha::sha256_sigma_1(before));
        let (w16, w17) = (add(a0, b2), add(a1, b3));
        vector_of([w16, w17, add(a2, w16), add(a3, w17)])
    };
}

shuffles! {
    Aeskeygenassist = |_a, b, control| {
        let [_, x1, _, x3] = words(b).map(aes::substitute_word);
        let rotated = |word: u32| word.rotate_right(8) ^ u32::from(control);
        vector_of([x1, rotated(x1), x3, rotated(x3)])
    };
    Pclmulqdq = |a, b, control| {
        let half = |operand, bit: u32| get::<u64>(operand, u32::from(control >> bit & 1));
        polynomial::product(half(a, 0), half(b, 4))
    };
    Sha1rnds4 = |a, b, control| {
        let (f, constant): (fn(u32, u32, u32) -> u32, u32) = match control & 3 {
            0 => (sha::choose, 0x5A82_7999),
            1 => (sha::parity, 0x6ED9_EBA1),
            2 => (sha::majority, 0x8F1B_BCDC),
            _ => (sha::parity, 0xCA62_C1D6),
        };
        let [d, c, b1, a1] = words(a);
        // E of the first round is in its word (SHA1NEXTE).
        let schedule = words(b).into_iter().rev();
        let [a, b, c, d, _] = schedule.fold([a1, b1, c, d, 0], |state, word| {
            sha::sha1_round(state, f, word.wrapping_add(constant))
        });
        vector_of([d, c, b, a])
    };
    Gf2p8affineqb = |a, b, control| affine(a, b, control, |byte| byte);
    Gf2p8affineinvqb = |a, b, control| affine(a, b, control, |byte| INVERSES[usize::from(byte)]);
}

fn words(vector: u128) -> [u32; 4] {
    core::array::from_fn(|n| (vector >> (32 * n)).low_u32())
}

fn vector_of(words: [u32; 4]) -> u128 {
    words.into_iter().rev().fold(0, |vector, word| vector << 32 | u128::from(word))
}

/// Each byte of `a`, after `f`, times the matrix of its half in `b`, plus the immediate: bit i of the product is the
/// parity of byte 7 - i of the matrix and the byte.
fn affine(a: u128, b: u128, add: u8, f: impl Fn(u8) -> u8) -> u128 {
    build::<u8>(|n| {
        let byte = f(get(a, n));
        let row = |i: u32| get::<u8>(b, n / 8 * 8 + 7 - i) & byte;
        (0..8).fold(add, |sum, i| sum ^ ((row(i).count_ones() & 1) << i).low_u8())
    })
}

/// SHA256RNDS2: two rounds; XMM0 has their words.
pub(crate) fn sha256rnds2<B: Bus, S: Get<u128>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let [f, e, b1, a] = words(S::get(c, b, i)?);
    let [first, second, ..] = words(c.xmm[0]);
    let register = &mut c.xmm[usize::from(i.dst & 15)];
    let [h, g, d, c1] = words(*register);
    let state = sha::sha256_round([a, b1, c1, d, e, f, g, h], first);
    let [a, b, _, _, e, f, ..] = sha::sha256_round(state, second);
    *register = vector_of([f, e, b, a]);
    Ok(())
}
