//! Floating-point arithmetic.

use super::bits;
use disarm64_defn::InsnClass as C;
use disarm64_defn::defn::Insn;
use retire::Arithmetic;

/// Of an instruction that has some.
pub(super) fn of(word: u32, definition: &Insn) -> Option<Arithmetic> {
    let double = bits(word, 22, 1) == 1;
    let lanes = match definition.class {
        C::FLOATDP1
        | C::FLOATDP2
        | C::FLOATDP3
        | C::ASISDSAME
        | C::ASISDELEM
        | C::ASISDMISC
        | C::ASISDPAIR => 1,
        C::ASIMDSAME | C::ASIMDELEM | C::ASIMDMISC => {
            let bytes = 8 << bits(word, 30, 1);
            bytes / if double { 8 } else { 4 }
        }
        _ => return None,
    };
    let (count, operations) = match definition.mnemonic {
        "fadd" | "fsub" | "fabd" | "faddp" => (1, [lanes, 0, 0, 0]),
        "fmul" | "fnmul" | "fmulx" => (1, [0, lanes, 0, 0]),
        "fdiv" | "fsqrt" => (1, [0, 0, lanes, 0]),
        "fmadd" | "fmsub" | "fnmadd" | "fnmsub" | "fmla" | "fmls" | "frecps" | "frsqrts" => {
            (2, [lanes, lanes, 0, 0])
        }
        "fmax" | "fmin" | "fmaxnm" | "fminnm" | "fmaxp" | "fminp" | "fmaxnmp" | "fminnmp" | "frecpe"
        | "frsqrte" | "frecpx" => (1, [0; 4]),
        _ => return None,
    };
    Some(Arithmetic { double, packed: lanes > 1, width: 16, count, operations })
}
