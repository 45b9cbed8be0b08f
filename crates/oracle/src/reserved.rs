//! Encodings that have #UD by the SDM, and in the interpreter, and that AMD's CPUs execute.
//!
//! Reserved bits of VEX and EVEX (volume 2, "Instruction Format") Zen 4 (family 25, model 17, stepping 1) does not look
//! at: it executes the instruction without them. Intel's CPUs and Zen 5 that were seen raise #UD.

use crate::case::{Case, Failure, Outcome};
use crate::compare::UNDEFINED_OPCODE;
use iced_x86::{Decoder, DecoderOptions, Instruction};

/// Prefixes in front of VEX and EVEX that are allowed.
const PREFIXES: [u8; 7] = [0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x67];
/// In the first byte of VEX: R, inverted, and in C5 the uppermost bit of vvvv too, inverted; that in the second of C4.
const R: u8 = 0x80;
const VVVV: u8 = 0x40;
/// In the third byte of EVEX: b, and z and the number of the mask register.
const B: u8 = 0x10;
const Z: u8 = 0x80;
const MASK: u8 = 7;

/// Whether a case ends in the #UD of bits that Zen 4 ignores.
pub(crate) fn ends_in_ignored_bits(case: &Case, soft: &Result<Outcome, Failure>) -> bool {
    undefined(case, soft).is_some_and(has_ignored_bits)
}

/// Whether the #UD is that of VPERMQ or VPERMPD (C4, map 3, 256 bits, 66) whose VEX.W is 0, which Zen 3 and Zen 5
/// execute.
pub(crate) fn ends_in_permutation_without_w(case: &Case, soft: &Result<Outcome, Failure>) -> bool {
    let code = undefined(case, soft).map(behind_prefixes);
    matches!(code, Some([0xC4, map, 0x7D, 0 | 1, ..]) if map & 0x1F == 3)
}

/// The code of a case from the instruction on that ends it by #UD, if one does.
fn undefined<'a>(case: &'a Case, soft: &Result<Outcome, Failure>) -> Option<&'a [u8]> {
    let end = soft.as_ref().ok().filter(|end| end.vector == UNDEFINED_OPCODE)?;
    let at = end.rip.wrapping_sub(case.rip()) as usize;
    Some(case.code.get(at..).unwrap_or_default())
}

fn behind_prefixes(code: &[u8]) -> &[u8] {
    &code[code.iter().take_while(|byte| PREFIXES.contains(byte)).count()..]
}

/// True if code begins with an encoding that is one of an instruction without these bits, and of none with them.
fn has_ignored_bits(code: &[u8]) -> bool {
    let code = behind_prefixes(code);
    if decode(code).is_some() {
        return false;
    }
    let mut code = code.to_vec();
    match &mut code[..] {
        &mut [0x62, _, _, third, _, modrm, ..] => {
            let b = if modrm >> 6 == 3 { B } else { 0 };
            let z = if third & MASK == 0 { Z } else { 0 };
            // What is rounded keeps b.
            [z, z | b].iter().any(|ignored| {
                let mut code = code.clone();
                code[3] &= !ignored;
                decode(&code).is_some()
            })
        }
        [0xC5, first, ..] => {
            *first |= R | VVVV;
            decode(&code).is_some_and(names_masks)
        }
        [0xC4, first, second, ..] => {
            *first |= R;
            *second |= VVVV;
            decode(&code).is_some_and(names_masks)
        }
        _ => false,
    }
}

fn decode(code: &[u8]) -> Option<Instruction> {
    let instruction = Decoder::new(64, code, DecoderOptions::NONE).decode();
    (!instruction.is_invalid()).then_some(instruction)
}

/// True if an operand is a mask register.
fn names_masks(instruction: Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| instruction.op_register(operand).is_k())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_that_zen_4_ignores() {
        // KADDW K3, K13, K2; KORTESTD K11, K5; KANDW behind CS.
        assert!(has_ignored_bits(&[0xC4, 0xE1, 0x14, 0x4A, 0xDA]));
        assert!(has_ignored_bits(&[0xC4, 0x61, 0xF9, 0x98, 0xDD]));
        assert!(has_ignored_bits(&[0x2E, 0xC5, 0x94, 0x41, 0xD8]));
        // VPCMPGTD with b and two registers, VCVTTSS2USI with z and no mask.
        assert!(has_ignored_bits(&[0x62, 0xD1, 0x0D, 0x58, 0x66, 0xE8]));
        assert!(has_ignored_bits(&[0x62, 0xF1, 0x7E, 0x88, 0x78, 0xE1]));
        // VCVTSS2USI with rounding and z.
        assert!(has_ignored_bits(&[0x62, 0xB1, 0x7E, 0xF8, 0x79, 0xC3]));
    }

    #[test]
    fn other_encodings_are_undefined_on_zen_4_too() {
        // Valid; an unknown opcode; VADDPS of C5, whose vvvv has all bits.
        assert!(!has_ignored_bits(&[0xC5, 0xDC, 0x4A, 0xDA]));
        assert!(!has_ignored_bits(&[0x62, 0xF1, 0x7E, 0x88, 0xFF, 0xE1]));
        assert!(!has_ignored_bits(&[0xC5, 0x14, 0x58, 0xDA]));
        assert!(!has_ignored_bits(&[0xC4]) && !has_ignored_bits(&[]));
    }
}
