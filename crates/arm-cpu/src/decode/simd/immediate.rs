//! MOVI, MVNI, ORR, BIC and FMOV of vectors with an immediate (Arm ARM C4.1.96, "Advanced SIMD modified immediate").

use super::Fields;
use crate::decode::fields::{bit, bits};
use crate::exec::{Apply, Operands};
use crate::fp::format::{DOUBLE, Format, SINGLE};
use crate::simd::form::{self, Immediate};
use crate::simd::integer::{BicImmediate, Move, OrrImmediate};

pub(super) fn select(f: Fields, o: &mut Operands) -> Option<Apply> {
    let imm8 = bits(f.word, 16, 3) << 5 | bits(f.word, 5, 5);
    let cmode = bits(f.word, 12, 4);
    // o2 is FMOV of half precision.
    if bit(f.word, 11) || cmode == 0b1111 && f.u && !f.q {
        return None;
    }
    let value = expand(imm8, cmode, f.u);
    o.imm = value;
    let combines = cmode & 1 != 0 && cmode < 0b1100;
    let inverts = f.u && cmode < 0b1110;
    Some(match (combines, f.u) {
        (true, false) => form::same::<OrrImmediate, u64, u64, u64, Immediate>,
        (true, true) => form::same::<BicImmediate, u64, u64, u64, Immediate>,
        (false, _) => {
            if inverts {
                o.imm = !value;
            }
            form::same::<Move, u64, u64, u64, Immediate>
        }
    })
}

/// Arm ARM, AdvSIMDExpandImm.
fn expand(imm8: u32, cmode: u32, op: bool) -> u64 {
    let byte = u64::from(imm8);
    let words = |word: u64| word << 32 | word;
    match cmode >> 1 {
        shift @ 0..=3 => words(byte << (8 * shift)),
        shift @ 4..=5 => words((byte << (8 * (shift - 4))) * 0x1_0001),
        6 if cmode & 1 == 0 => words(byte << 8 | 0xFF),
        6 => words(byte << 16 | 0xFFFF),
        _ => match (cmode & 1 != 0, op) {
            (false, false) => byte * 0x0101_0101_0101_0101,
            // A byte of ones for each bit.
            (false, true) => (0..8).map(|n| ((byte >> n & 1) * 0xFF) << (8 * n)).sum(),
            (true, false) => words(float(SINGLE, imm8)),
            (true, true) => float(DOUBLE, imm8),
        },
    }
}

/// Arm ARM, VFPExpandImm: a sign, three bits of exponent, four of the fraction.
pub(in crate::decode) fn float(format: Format, imm8: u32) -> u64 {
    let exponent = ((imm8 >> 4 & 7) ^ 4).cast_signed() - 3;
    let fraction = u64::from(imm8 & 15) << (format.fraction - 4);
    format.power_of_2(imm8 & 0x80 != 0, exponent) | fraction
}
