//! The steps of AES (FIPS 197) on a state of 16 bytes: byte n is in row n % 4 and column n / 4, and bits 7:0 of the
//! `u128` are byte 0.

use crate::polynomial::{INVERSES, field_product};

/// SubBytes (section 5.1.1), and its inverse.
const SUBSTITUTIONS: [[u8; 256]; 2] = {
    let mut tables = [[0; 256]; 2];
    let mut n = 0;
    while n < 256 {
        let b = INVERSES[n];
        let s = b ^ b.rotate_left(1) ^ b.rotate_left(2) ^ b.rotate_left(3) ^ b.rotate_left(4) ^ 0x63;
        tables[0][n] = s;
        tables[1][s as usize] = n as u8;
        n += 1;
    }
    tables
};

/// What a byte of row 0 adds to its column in MixColumns (section 5.1.3), and in its inverse. Those of the other rows
/// are rotated.
const COLUMNS: [[u32; 256]; 2] = {
    let factors = [[2, 1, 1, 3], [14, 9, 13, 11]];
    let mut tables = [[0; 256]; 2];
    let mut n = 0;
    while n < 512 {
        let (inverse, byte) = (n / 256, n % 256);
        let f: [u8; 4] = factors[inverse];
        let b = byte as u8;
        let column =
            [field_product(b, f[0]), field_product(b, f[1]), field_product(b, f[2]), field_product(b, f[3])];
        tables[inverse][byte] = u32::from_le_bytes(column);
        n += 1;
    }
    tables
};

/// SubBytes of one byte, with `INVERSE` InvSubBytes.
#[inline(always)]
#[must_use]
pub fn substitute<const INVERSE: bool>(byte: u8) -> u8 {
    SUBSTITUTIONS[usize::from(INVERSE)][usize::from(byte)]
}

/// SubBytes of the four bytes of a word (SubWord).
#[inline(always)]
#[must_use]
pub fn substitute_word(word: u32) -> u32 {
    u32::from_le_bytes(word.to_le_bytes().map(substitute::<false>))
}

/// ShiftRows and SubBytes, with `INVERSE` their inverses; the order of the two makes no difference.
#[inline(always)]
#[must_use]
pub fn shift_and_substitute<const INVERSE: bool>(state: u128) -> u128 {
    let state = state.to_le_bytes();
    u128::from_le_bytes(core::array::from_fn(|n| {
        let (row, column) = (n % 4, n / 4);
        // Row r moves by r columns.
        let from = if INVERSE { column + 4 - row } else { column + row };
        substitute::<INVERSE>(state[from % 4 * 4 + row])
    }))
}

/// MixColumns, with `INVERSE` InvMixColumns.
#[inline(always)]
#[must_use]
pub fn mix_columns<const INVERSE: bool>(state: u128) -> u128 {
    let table = &COLUMNS[usize::from(INVERSE)];
    let mut result = 0;
    for column in (0..128).step_by(32) {
        let bytes = ((state >> column) as u32).to_le_bytes();
        let mixed = table[usize::from(bytes[0])]
            ^ table[usize::from(bytes[1])].rotate_left(8)
            ^ table[usize::from(bytes[2])].rotate_left(16)
            ^ table[usize::from(bytes[3])].rotate_left(24);
        result |= u128::from(mixed) << column;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix B: the state at the start of round 1, after its steps, and its round key.
    #[test]
    fn the_first_round_of_the_example() {
        let state = |text: u128| text.swap_bytes();
        let start = state(0x193de3bea0f4e22b9ac68d2ae9f84808);
        let shifted = state(0xd4bf5d30e0b452aeb84111f11e2798e5);
        let mixed = state(0x046681e5e0cb199a48f8d37a2806264c);
        assert_eq!(shift_and_substitute::<false>(start), shifted);
        assert_eq!(mix_columns::<false>(shifted), mixed);
        assert_eq!(mix_columns::<true>(mixed), shifted);
        assert_eq!(shift_and_substitute::<true>(shifted), start);
        assert_eq!(substitute_word(0x0053_01FF), 0x63ED_7C16);
    }
}
