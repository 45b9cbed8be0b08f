//! Polynomials over GF(2): bit n of a number is the coefficient of x^n.

/// The product without carries of two polynomials of degree 63.
#[inline]
#[must_use]
pub fn product(a: u64, b: u64) -> u128 {
    // `a` times each polynomial of four terms, then Horner's rule over the digits of `b`.
    let mut multiples = [0_u128; 16];
    multiples[1] = u128::from(a);
    for n in 1..8 {
        multiples[2 * n] = multiples[n] << 1;
        multiples[2 * n + 1] = multiples[n] << 1 ^ u128::from(a);
    }
    (0..16).rev().fold(0, |sum, digit| sum << 4 ^ multiples[(b >> (4 * digit) & 15) as usize])
}

/// The product in GF(2^8) with the reduction polynomial x^8 + x^4 + x^3 + x + 1 (FIPS 197, section 4.2).
#[must_use]
pub const fn field_product(mut a: u8, mut b: u8) -> u8 {
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

/// The inverse of every element in that field; that of 0, which has none, is 0.
pub const INVERSES: [u8; 256] = {
    let mut inverses = [0; 256];
    // Powers of 3 and of its inverse reach all elements but 0 and keep beside each its inverse.
    let (mut power, mut inverse) = (1, 1);
    loop {
        inverses[power as usize] = inverse;
        power = field_product(power, 3);
        inverse = field_product(inverse, 0xF6);
        if power == 1 {
            break;
        }
    }
    inverses
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_definition() {
        let naive =
            |a: u64, b: u64| (0..64).filter(|n| b >> n & 1 != 0).fold(0, |sum, n| sum ^ u128::from(a) << n);
        let mut x = 0x9E37_79B9_7F4A_7C15_u64;
        for _ in 0..1000 {
            let y = x.wrapping_mul(0xD134_2543_DE82_EF95).rotate_left(17);
            assert_eq!(product(x, y), naive(x, y), "{x:#x} {y:#x}");
            x = y ^ x >> 7;
        }
        assert_eq!(product(u64::MAX, u64::MAX), 0x5555_5555_5555_5555_5555_5555_5555_5555);
    }

    #[test]
    fn a_number_times_its_inverse_is_one() {
        for (a, inverse) in (0..=u8::MAX).zip(INVERSES) {
            assert_eq!(field_product(a, inverse), u8::from(a != 0));
        }
        // FIPS 197, section 4.2.
        assert_eq!(field_product(0x57, 0x83), 0xC1);
    }
}
