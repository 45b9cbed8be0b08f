//! AES, SHA-1, SHA-256 and the product of polynomials of 64 bits (FIPS 197 and FIPS 180-4; Arm ARM, shared functions
//! under "functions/crypto").

use super::form::number;
use crate::context::Core;
use crate::exec::Operands;
use soft_arithmetic::lane::{Element, Lane};

/// The product in the field of FIPS 197, section 4.2.
const fn field_product(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = a << 1 ^ if a & 0x80 != 0 { 0x1B } else { 0 };
        b >>= 1;
    }
    product
}

/// SubBytes (FIPS 197, section 5.1.1), and its inverse.
const SUBSTITUTIONS: [[u8; 256]; 2] = {
    let mut tables = [[0; 256]; 2];
    // Powers of 3 and of its inverse reach all elements but 0 and keep beside each its inverse.
    let (mut power, mut inverse) = (1, 1);
    loop {
        let s = inverse
            ^ u8::rotate_left(inverse, 1)
            ^ u8::rotate_left(inverse, 2)
            ^ u8::rotate_left(inverse, 3)
            ^ u8::rotate_left(inverse, 4)
            ^ 0x63;
        tables[0][power as usize] = s;
        tables[1][s as usize] = power;
        power = field_product(power, 3);
        inverse = field_product(inverse, 0xF6);
        if power == 1 {
            break;
        }
    }
    tables[0][0] = 0x63;
    tables[1][0x63] = 0;
    tables
};

/// AESE, and with `INVERSE` AESD: AddRoundKey, ShiftRows and SubBytes.
#[inline(always)]
pub(crate) fn aes_round<const INVERSE: bool>(c: &mut Core, i: &Operands) {
    let state = (c.v[number(i.rd)] ^ c.v[number(i.rn)]).to_le_bytes();
    // Byte n is in row n % 4 and column n / 4; row r moves by r columns.
    let step = if INVERSE { 13 } else { 5 };
    let table = &SUBSTITUTIONS[usize::from(INVERSE)];
    let result: [u8; 16] = core::array::from_fn(|n| {
        let (row, column) = (n % 4, n / 4);
        let from = if step == 5 { column + row } else { column + 4 - row };
        table[usize::from(state[from % 4 * 4 + row])]
    });
    c.v[number(i.rd)] = u128::from_le_bytes(result);
}

/// AESMC and AESIMC: MixColumns.
#[inline(always)]
pub(crate) fn aes_mix<const INVERSE: bool>(c: &mut Core, i: &Operands) {
    let state = c.v[number(i.rn)].to_le_bytes();
    let factors: [u8; 4] = if INVERSE { [14, 11, 13, 9] } else { [2, 3, 1, 1] };
    let result: [u8; 16] = core::array::from_fn(|n| {
        let column = n / 4 * 4;
        (0..4).fold(0, |sum, k| sum ^ field_product(state[column + (n + k) % 4], factors[k]))
    });
    c.v[number(i.rd)] = u128::from_le_bytes(result);
}

/// PMULL and PMULL2 of 64 bits.
#[inline(always)]
pub(crate) fn polynomial_product(c: &mut Core, i: &Operands) {
    let half = usize::from(i.more != 0);
    let [a, b] = [i.rn, i.rm].map(|register| u64::elements(&c.v[number(register)])[half]);
    let product = (0..64).filter(|n| b >> n & 1 != 0).fold(0, |sum, n| sum ^ u128::from(a) << n);
    c.v[number(i.rd)] = product;
}

/// How SHA-1 combines three words: SHA1C, SHA1P and SHA1M (FIPS 180-4, section 4.1.1).
pub(crate) enum Combine {}

impl Combine {
    pub(crate) const CHOOSE: u8 = 0;
    pub(crate) const PARITY: u8 = 1;
    pub(crate) const MAJORITY: u8 = 2;
}

fn choose(x: u32, y: u32, z: u32) -> u32 {
    (y ^ z) & x ^ z
}

fn majority(x: u32, y: u32, z: u32) -> u32 {
    x & y | (x | y) & z
}

/// SHA1C, SHA1P, SHA1M: four rounds.
#[inline(always)]
pub(crate) fn sha1<const COMBINE: u8>(c: &mut Core, i: &Operands) {
    let mut x = u32::elements(&c.v[number(i.rd)]);
    let mut y = u32::low(c.v[number(i.rn)]);
    for word in u32::elements(&c.v[number(i.rm)]) {
        let t = match COMBINE {
            Combine::CHOOSE => choose(x[1], x[2], x[3]),
            Combine::PARITY => x[1] ^ x[2] ^ x[3],
            _ => majority(x[1], x[2], x[3]),
        };
        let next = y.wrapping_add(x[0].rotate_left(5)).wrapping_add(t).wrapping_add(word);
        y = x[3];
        x = [next, x[0], x[1].rotate_left(30), x[2]];
    }
    *u32::elements_mut(&mut c.v[number(i.rd)]) = x;
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
    let (mut x, mut y) = if SECOND { (n, d) } else { (d, n) };
    for word in m {
        let sigma_1 = y[0].rotate_right(6) ^ y[0].rotate_right(11) ^ y[0].rotate_right(25);
        let sigma_0 = x[0].rotate_right(2) ^ x[0].rotate_right(13) ^ x[0].rotate_right(22);
        let t = y[3].wrapping_add(sigma_1).wrapping_add(choose(y[0], y[1], y[2])).wrapping_add(word);
        let first = t.wrapping_add(sigma_0).wrapping_add(majority(x[0], x[1], x[2]));
        y = [t.wrapping_add(x[3]), y[0], y[1], y[2]];
        x = [first, x[0], x[1], x[2]];
    }
    *u32::elements_mut(&mut c.v[number(i.rd)]) = if SECOND { y } else { x };
}

/// SHA256SU0.
#[inline(always)]
pub(crate) fn sha256_schedule_0(c: &mut Core, i: &Operands) {
    let [d, n] = [i.rd, i.rn].map(|register| u32::elements(&c.v[number(register)]));
    let next = [d[1], d[2], d[3], n[0]];
    let result = core::array::from_fn(|k| {
        let w: u32 = next[k];
        d[k].wrapping_add(w.rotate_right(7) ^ w.rotate_right(18) ^ w >> 3)
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
        let sigma = w.rotate_right(17) ^ w.rotate_right(19) ^ w >> 10;
        result[k] = sigma.wrapping_add(d[k]).wrapping_add(between[k]);
    }
    *u32::elements_mut(&mut c.v[number(i.rd)]) = result;
}
