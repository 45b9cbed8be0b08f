//! Which of AMD's types of operations an instruction is.
//!
//! The types are those of Linux `tools/perf/pmu-events/arch/x86/amdzen4/floating-point.json` and `amdzen5`, in both
//! halves of a unit mask. Their descriptions say little more than the name; where an instruction is none of them
//! by its name, the choice here is said in `docs/flops.md`.

use super::register_file;
use crate::operations::{Operation, OperationFile, OperationTypes};
use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use retire::{Domain, RegisterFile};

const ADD: u8 = 1;
const SUB: u8 = 2;
const MUL: u8 = 3;
const MAC: u8 = 4;
const DIV: u8 = 5;
const SQRT: u8 = 6;
const AES: u8 = 5;
const SHA: u8 = 6;
const COMPARE: u8 = 7;
/// Carry-less multiplications among integers; on Zen 5 also what packs.
const CONVERT: u8 = 8;
/// Shifts among integers.
const BLEND: u8 = 9;
const SHIFT: u8 = 9;
const MOVE: u8 = 10;
const SHUFFLE: u8 = 11;
/// On Zen 5 VNNI and bfloat16.
const PACK: u8 = 12;
const LOGICAL: u8 = 13;
const OTHER: u8 = 14;

/// The operation of an instruction, which may be none.
pub(crate) fn operation(instruction: &Instruction, types: OperationTypes) -> Operation {
    let file = register_file(instruction);
    match file {
        RegisterFile::General => return Operation::default(),
        RegisterFile::X87 => return Operation::new(OperationFile::X87, OTHER),
        RegisterFile::Mmx | RegisterFile::Vector => {}
    }
    let name = name(instruction.mnemonic());
    let shape = if file == RegisterFile::Mmx { None } else { shape(&name) };
    match shape {
        Some(Shape::Scalar) => Operation::new(OperationFile::ScalarFloat, float(&name, types)),
        Some(Shape::Packed) => {
            let file = match bytes(instruction) {
                64.. => OperationFile::Float512,
                32.. => OperationFile::Float256,
                _ => OperationFile::Float128,
            };
            Operation::new(file, float(&name, types))
        }
        None => {
            let file = match bytes(instruction) {
                _ if file == RegisterFile::Mmx => OperationFile::Mmx,
                64.. => OperationFile::Integer512,
                32.. => OperationFile::Integer256,
                _ => OperationFile::Integer128,
            };
            Operation::new(file, integer(&name, types))
        }
    }
}

/// The mnemonic in small letters, without the V of VEX and EVEX.
fn name(mnemonic: Mnemonic) -> String {
    let name = format!("{mnemonic:?}").to_lowercase();
    match name.strip_prefix('v') {
        Some(rest) => rest.to_owned(),
        None => name,
    }
}

/// The part of the vector unit in which an instruction executes; measured on Zen 3, by chains with ADDPS and PADDD.
pub(super) fn domain(instruction: &Instruction) -> Domain {
    if register_file(instruction) != RegisterFile::Vector {
        return Domain::None;
    }
    let name = name(instruction.mnemonic());
    let starts = |parts: &[&str]| parts.iter().any(|part| name.starts_with(part));
    let scalar_move = matches!(name.as_str(), "movss" | "movsd");
    let memory = instruction.op_kinds().any(|kind| kind == OpKind::Memory);
    let whole = starts(&["mova", "movu", "movdq", "movd", "movq", "movnt", "lddqu"]) && name != "movddup";
    if whole || scalar_move && memory {
        return Domain::None;
    }
    let elements = ["shuf", "unpck", "blend", "mov", "insert", "extract", "broadcast", "perm"];
    match shape(&name) {
        Some(_) if starts(&["add", "sub"]) => Domain::Sum,
        Some(_) if scalar_move || !starts(&elements) => Domain::Float,
        _ => Domain::Integer,
    }
}

/// Bytes of the longest vector among the operands.
fn bytes(instruction: &Instruction) -> usize {
    let registers = (0..instruction.op_count())
        .filter(|n| instruction.op_kind(*n) == OpKind::Register)
        .map(|n| instruction.op_register(n));
    let vectors = registers.filter(|register| register.is_vector_register());
    vectors.map(Register::size).max().unwrap_or(16)
}

enum Shape {
    Scalar,
    Packed,
}

/// How many elements it works on, if those are floating point.
fn shape(name: &str) -> Option<Shape> {
    let any = |parts: &[&str]| parts.iter().any(|part| name.starts_with(part));
    if name.starts_with("cvt") {
        // Of the operands of a conversion one names the shape.
        let scalar = ["ss", "sd", "sh", "si2", "2si", "2usi", "usi2"];
        return Some(if scalar.iter().any(|part| name.contains(part)) && !name.contains('p') {
            Shape::Scalar
        } else {
            Shape::Packed
        });
    }
    let whole = ["extractf", "insertf", "broadcastf", "shuff", "perm2f"];
    if any(&whole) || name == "dpbf16ps" {
        return Some(Shape::Packed);
    }
    // PABSD, PMAXSD: integers have a P before them, but for what goes between elements.
    if name.starts_with('p') && !name.starts_with("perm") || any(&["sha", "aes", "gf2p8", "mpsad", "dbpsad"])
    {
        return None;
    }
    match name.get(name.len().checked_sub(2)?..)? {
        "ss" | "sd" | "sh" => Some(Shape::Scalar),
        "ps" | "pd" | "ph" => Some(Shape::Packed),
        _ if any(&["movshdup", "movsldup", "movddup", "maskmovp"]) => Some(Shape::Packed),
        _ => None,
    }
}

fn float(name: &str, types: OperationTypes) -> u8 {
    let any = |parts: &[&str]| parts.iter().any(|part| name.starts_with(part));
    let zen5 = types == OperationTypes::Zen5;
    if name.contains("bf16") {
        return match (zen5, name.starts_with("dp")) {
            (true, _) => PACK,
            (false, true) => MAC,
            (false, false) => CONVERT,
        };
    }
    if any(&["fm", "fnm", "fcm"]) {
        // Products of complex numbers without a sum.
        return if any(&["fmulc", "fcmulc"]) { MUL } else { MAC };
    }
    if any(&["movlh", "movhl", "movs", "movd"]) && name.ends_with("dup") || any(&["movlhps", "movhlps"]) {
        return SHUFFLE;
    }
    if any(&["mov", "maskmov"]) {
        return if zen5 { MOVE } else { OTHER };
    }
    if any(&["cmp", "com", "ucom", "min", "max"]) && !any(&["compress"]) {
        return COMPARE;
    }
    if any(&[
        "shuf",
        "unpck",
        "perm",
        "hadd",
        "hsub",
        "dp",
        "insert",
        "extract",
        "broadcast",
        "compress",
        "expand",
    ]) {
        return SHUFFLE;
    }
    match name {
        _ if any(&["add"]) => ADD,
        _ if any(&["sub"]) => SUB,
        _ if any(&["mul"]) => MUL,
        _ if any(&["div"]) => DIV,
        _ if any(&["sqrt"]) => SQRT,
        _ if any(&["cvt"]) => CONVERT,
        _ if any(&["blend"]) => BLEND,
        _ if any(&["and", "or", "xor", "test"]) => LOGICAL,
        _ => OTHER,
    }
}

fn integer(name: &str, types: OperationTypes) -> u8 {
    let any = |parts: &[&str]| parts.iter().any(|part| name.starts_with(part));
    let zen5 = types == OperationTypes::Zen5;
    let truncates = name.starts_with("pmov") && name.len() <= 8 && !any(&["pmovsx", "pmovzx", "pmovmskb"]);
    match name {
        _ if any(&["aes"]) => AES,
        _ if any(&["sha1", "sha256", "sha512"]) => SHA,
        _ if any(&["pclmul"]) => CONVERT,
        _ if any(&["pdpb", "pdpw"]) => {
            if zen5 {
                PACK
            } else {
                MAC
            }
        }
        _ if any(&["packs", "packus"]) || truncates && !name.ends_with('m') && !name.starts_with("pmovm") => {
            if zen5 {
                CONVERT
            } else {
                PACK
            }
        }
        _ if any(&["padd"]) => ADD,
        _ if any(&["psub"]) => SUB,
        _ if any(&["pmadd"]) => MAC,
        _ if any(&["pmultishift"]) => SHUFFLE,
        _ if any(&["pmul"]) => MUL,
        _ if any(&["pcmpestr", "pcmpistr"]) => OTHER,
        _ if any(&["pcmp", "pmin", "pmax"]) => COMPARE,
        _ if any(&["psll", "psrl", "psra", "prol", "pror", "pshld", "pshrd"]) => SHIFT,
        _ if any(&["pand", "por", "pxor", "pternlog", "ptest"]) => LOGICAL,
        _ if any(&[
            "pshuf",
            "punpck",
            "palign",
            "perm",
            "pinsr",
            "pextr",
            "pbroadcast",
            "pmovsx",
            "pmovzx",
            "pblend",
            "broadcast",
            "extract",
            "insert",
            "shuf",
            "align",
            "pcompress",
            "pexpand",
            "phadd",
            "phsub",
        ]) =>
        {
            SHUFFLE
        }
        _ if any(&["mov", "lddqu", "maskmov", "pmaskmov", "pmovmskb"]) => MOVE,
        _ => OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn of(bytes: &[u8], types: OperationTypes) -> Operation {
        operation(&Decoder::new(64, bytes, DecoderOptions::NONE).decode(), types)
    }

    #[test]
    fn instructions_have_the_type_and_width_of_their_names() {
        use OperationFile as F;
        let rows: [(&[u8], &str, F, u8, u8); 31] = [
            (&[0xF3, 0x0F, 0x58, 0xC1], "addss xmm0, xmm1", F::ScalarFloat, ADD, ADD),
            (&[0xF2, 0x0F, 0x5C, 0xC1], "subsd xmm0, xmm1", F::ScalarFloat, SUB, SUB),
            (&[0xC5, 0xFC, 0x59, 0xC1], "vmulps ymm0, ymm0, ymm1", F::Float256, MUL, MUL),
            (&[0x62, 0xF1, 0xFD, 0x48, 0x5E, 0xC1], "vdivpd zmm0, zmm0, zmm1", F::Float512, DIV, DIV),
            (&[0x0F, 0x51, 0xC1], "sqrtps xmm0, xmm1", F::Float128, SQRT, SQRT),
            (&[0xC4, 0xE2, 0x75, 0xB8, 0xC2], "vfmadd231ps ymm0, ymm1, ymm2", F::Float256, MAC, MAC),
            (&[0xC4, 0xE2, 0xF1, 0xB9, 0xC2], "vfmadd231sd xmm0, xmm1, xmm2", F::ScalarFloat, MAC, MAC),
            (&[0x66, 0x0F, 0x2F, 0xC1], "comisd xmm0, xmm1", F::ScalarFloat, COMPARE, COMPARE),
            (&[0xF2, 0x48, 0x0F, 0x2A, 0xC0], "cvtsi2sd xmm0, rax", F::ScalarFloat, CONVERT, CONVERT),
            (&[0xF2, 0x0F, 0x5A, 0xC1], "cvtsd2ss xmm0, xmm1", F::ScalarFloat, CONVERT, CONVERT),
            (&[0xC5, 0xFC, 0x5B, 0xC1], "vcvtdq2ps ymm0, ymm1", F::Float256, CONVERT, CONVERT),
            (&[0xC4, 0xE3, 0x75, 0x0C, 0xC2, 1], "vblendps ymm0, ymm1, ymm2, 1", F::Float256, BLEND, BLEND),
            (&[0x0F, 0x28, 0xC1], "movaps xmm0, xmm1", F::Float128, OTHER, MOVE),
            (&[0xF2, 0x0F, 0x7C, 0xC1], "haddps xmm0, xmm1", F::Float128, SHUFFLE, SHUFFLE),
            (&[0xC4, 0xE3, 0x7D, 0x19, 0xC1, 1], "vextractf128 xmm1, ymm0, 1", F::Float256, SHUFFLE, SHUFFLE),
            (&[0x0F, 0x57, 0xC1], "xorps xmm0, xmm1", F::Float128, LOGICAL, LOGICAL),
            (&[0xC4, 0xE3, 0x7D, 0x08, 0xC1, 0], "vroundps ymm0, ymm1, 0", F::Float256, OTHER, OTHER),
            (&[0x62, 0xF2, 0x76, 0x48, 0x52, 0xC2], "vdpbf16ps zmm0, zmm1, zmm2", F::Float512, MAC, PACK),
            (&[0x0F, 0xFE, 0xC1], "paddd mm0, mm1", F::Mmx, ADD, ADD),
            (&[0x66, 0x0F, 0xFA, 0xC1], "psubd xmm0, xmm1", F::Integer128, SUB, SUB),
            (&[0xC5, 0xFD, 0xF5, 0xC1], "vpmaddwd ymm0, ymm0, ymm1", F::Integer256, MAC, MAC),
            (&[0x62, 0xF2, 0x75, 0x48, 0x50, 0xC2], "vpdpbusd zmm0, zmm1, zmm2", F::Integer512, MAC, PACK),
            (&[0x66, 0x0F, 0x38, 0xDC, 0xC1], "aesenc xmm0, xmm1", F::Integer128, AES, AES),
            (&[0x0F, 0x38, 0xCB, 0xC1], "sha256rnds2 xmm0, xmm1", F::Integer128, SHA, SHA),
            (&[0x66, 0x0F, 0x3A, 0x44, 0xC1, 0], "pclmulqdq xmm0, xmm1, 0", F::Integer128, CONVERT, CONVERT),
            (&[0xC5, 0xFD, 0x74, 0xC1], "vpcmpeqb ymm0, ymm0, ymm1", F::Integer256, COMPARE, COMPARE),
            (&[0xC5, 0xFD, 0xD2, 0xC1], "vpsrld ymm0, ymm0, xmm1", F::Integer256, SHIFT, SHIFT),
            (&[0xC5, 0xFE, 0x6F, 0x06], "vmovdqu ymm0, [rsi]", F::Integer256, MOVE, MOVE),
            (&[0xC5, 0xFD, 0x6B, 0xC1], "vpackssdw ymm0, ymm0, ymm1", F::Integer256, PACK, CONVERT),
            (&[0x66, 0x0F, 0xEF, 0xC1], "pxor xmm0, xmm1", F::Integer128, LOGICAL, LOGICAL),
            (&[0xD8, 0xC1], "fadd st0, st1", F::X87, OTHER, OTHER),
        ];
        for (bytes, text, file, zen4, zen5) in rows {
            assert_eq!(of(bytes, OperationTypes::Zen4), Operation::new(file, zen4), "{text} on Zen 4");
            assert_eq!(of(bytes, OperationTypes::Zen5), Operation::new(file, zen5), "{text} on Zen 5");
        }
        assert!(!of(&[0x48, 0x01, 0xC8], OperationTypes::Zen5).is_some(), "add rax, rcx");
        assert!(!of(&[0xA5], OperationTypes::Zen5).is_some(), "movsd of a string");
    }
}
