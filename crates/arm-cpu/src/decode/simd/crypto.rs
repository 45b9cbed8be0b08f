//! AES, SHA-1 and SHA-256 (Arm ARM C4.1.96, "Cryptographic AES", "three-register SHA", "two-register SHA").

use super::Fields;
use crate::decode::fields::bits;
use crate::exec::{Apply, Operands};
use crate::simd::crypto::{self, Combine};

/// AES, and SHA with bit 28.
pub(super) fn two_registers(f: Fields, _o: &mut Operands) -> Option<Apply> {
    if f.size != 0 || f.u || !f.q {
        return None;
    }
    Some(match (f.scalar, bits(f.word, 12, 5)) {
        (false, 0b00100) => crypto::aes_round::<false>,
        (false, 0b00101) => crypto::aes_round::<true>,
        (false, 0b00110) => crypto::aes_mix::<false>,
        (false, 0b00111) => crypto::aes_mix::<true>,
        (true, 0b00000) => crypto::sha1_rotate,
        (true, 0b00001) => crypto::sha1_schedule_1,
        (true, 0b00010) => crypto::sha256_schedule_0,
        _ => return None,
    })
}

/// SHA with three registers.
pub(super) fn three_registers(f: Fields) -> Option<Apply> {
    if f.size != 0 || f.u {
        return None;
    }
    Some(match bits(f.word, 12, 3) {
        0b000 => crypto::sha1::<{ Combine::CHOOSE }>,
        0b001 => crypto::sha1::<{ Combine::PARITY }>,
        0b010 => crypto::sha1::<{ Combine::MAJORITY }>,
        0b011 => crypto::sha1_schedule_0,
        0b100 => crypto::sha256::<false>,
        0b101 => crypto::sha256::<true>,
        0b110 => crypto::sha256_schedule_1,
        _ => return None,
    })
}
