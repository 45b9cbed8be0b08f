//! AES, SHA-1, SHA-256 and the product of polynomials of 64 bits (FIPS 197 and FIPS 180-4; Arm ARM, shared functions
//! under "functions/crypto").

use super::form::number;
use crate::context::Core;
use crate::exec::Operands;
use soft_arithmetic::lane::{Element, Lane};
use soft_arithmetic::{aes, polynomial, sha};

/// AESE, and with `INVERSE` AESD: AddRoundKey, ShiftRows and SubBytes.
#[inline(always)]
pub(crate) fn aes_round<const INVERSE: bool>(c: &mut Core, i: &Operands) {
    let state = c.v[number(i.rd)] ^ c.v[number(i.rn)];
    c.v[number(i.rd)] = aes::shift_and_substitute::<INVERSE>(state);
}

/// AESMC and AESIMC: MixColumns.
#[inline(always)]
pub(crate) fn aes_mix<const INVERSE: bool>(c: &mut Core, i: &Operands) {
    c.v[number(i.rd)] = aes::mix_columns::<INVERSE>(c.v[number(i.rn)]);
}

/// PMULL and PMULL2 of 64 bits.
#[inline(always)]
pub(crate) fn polynomial_product(c: &mut Core, i: &Operands) {
    let half = usize::from(i.more != 0);
    let [a, b] = [i.rn, i.rm].map(|register| u64::elements(&c.v[number(register)])[half]);
    c.v[number(i.rd)] = polynomial::product(a, b);
}

/// How SHA-1 combines three words: SHA1C, SHA1P and SHA1M (FIPS 180-4, section 4.1.1).
pub(crate) enum Combine {}

impl Combine {
    pub(crate) const CHOOSE: u8 = 0;
    pub(crate) const PARITY: u8 = 1;
    pub(crate) const MAJORITY: u8 = 2;
}

/// SHA1C, SHA1P, SHA1M: four rounds.
#[inline(always)]
pub(crate) fn sha1<const COMBINE: u8>(c: &mut Core, i: &Operands) {
    let [a, b, cc, d] = u32::elements(&c.v[number(i.rd)]);
    let mut x = [a, b, cc, d, u32::low(c.v[number(i.rn)])];
    for word in u32::elements(&c.v[number(i.rm)]) {
        x = match COMBINE {
            Combine::CHOOSE => sha::sha1_round(x, sha::choose, word),
            Combine::PARITY => sha::sha1_round(x, sha::parity, word),
            _ => sha::sha1_round(x, sha::majority, word),
        };
    }
    *u32::elements_mut(&mut c.v[number(i.rd)]) = [x[0], x[1], x[2], x[3]];
}

/// SHA1H.
#[inline(always)]
pub(crate) fn sha1_rotate(c: &mut Core, i: &Operands) {
    c.v[number(i.rd)] = u32::low(c.v[number(i.rn)]).rotate_left(30).bits();
}

/// SHA1SU0.
#[inline(always)]
pub(crate) fn sha1_schedule_0(c: &mut Core, i: &Operands) {
    let [d, n, m] = [i.rd, i.rn, i.rm].map(|register| c.v[number(register)]);
    c.v[number(i.rd)] = (d >> 64 | n << 64) ^ d ^ m;
}

/// SHA1SU1.
#[inline(always)]
pub(crate) fn sha1_schedule_1(c: &mut Core, i: &Operands) {
    let t = u32::elements(&(c.v[number(i.rd)] ^ c.v[number(i.rn)] >> 32));
    *u32::elements_mut(&mut c.v[number(i.rd)]) = [
        t[0].rotate_left(1),
        t[1].rotate_left(1),
        t[2].rotate_left(1),
        t[3].rotate_left(1) ^ t[0].rotate_left(2),
    ];
}

/// SHA256H, and with `SECOND` SHA256H2: four rounds.
#[inline(always)]
pub(crate) fn sha256<const SECOND: bool>(c: &mut Core, i: &Operands) {
    let [d, n, m] = [i.rd, i.rn, i.rm].map(|register| u32::elements(&c.v[number(register)]));
    let ([a, b, cc, dd], [e, f, g, h]) = if SECOND { (n, d) } else { (d, n) };
    let x = m.into_iter().fold([a, b, cc, dd, e, f, g, h], sha::sha256_round);
    *u32::elements_mut(&mut c.v[number(i.rd)]) =
        if SECOND { [x[4], x[5], x[6], x[7]] } else { [x[0], x[1], x[2], x[3]] };
}

/// SHA256SU0.
#[inline(always)]
pub(crate) fn sha256_schedule_0(c: &mut Core, i: &Operands) {
    let [d, n] = [i.rd, i.rn].map(|register| u32::elements(&c.v[number(register)]));
    let next = [d[1], d[2], d[3], n[0]];
    let result = core::array::from_fn(|k| {
        let w: u32 = next[k];
        d[k].wrapping_add(sha::sha256_sigma_0(w))
    });
    *u32::elements_mut(&mut c.v[number(i.rd)]) = result;
}

/// SHA256SU1.
#[inline(always)]
pub(crate) fn sha256_schedule_1(c: &mut Core, i: &Operands) {
    let [d, n, m] = [i.rd, i.rn, i.rm].map(|register| u32::elements(&c.v[number(register)]));
    let between = [n[1], n[2], n[3], m[0]];
    let mut result = [0_u32; 4];
    for k in 0..4 {
        let w = if k < 2 { m[k + 2] } else { result[k - 2] };
        result[k] = sha::sha256_sigma_1(w).wrapping_add(d[k]).wrapping_add(between[k]);
    }
    *u32::elements_mut(&mut c.v[number(i.rd)]) = result;
}
