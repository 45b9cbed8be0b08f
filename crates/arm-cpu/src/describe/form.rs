//! Forms: what a core's costs depend on. Each has a name, and is numbered by it.
//!
//! A name is the mnemonic, and behind it what the operands are: `add_x_lsl5`, `ldr_x_post`, `fmul_v2d`. `w` and `x` are
//! the widths of general-purpose registers, `b` to `q` those of FP registers, `v4s` an arrangement of lanes.

use super::{bits, memory, system};
use disarm64::{InsnOpcode, decoder};
use disarm64_defn::defn::Insn;
use disarm64_defn::{InsnClass as C, InsnFeatureSet as F, InsnOperandKind as K};
use retire::FormId;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// A number for what is written: FNV-1a of 32 bits. A test checks that no two names have the same.
struct Number(u32);

impl Write for Number {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        Ok(())
    }
}

fn numbered(write: impl FnOnce(&mut Number) -> fmt::Result) -> FormId {
    let mut number = Number(0x811C_9DC5);
    // Nothing that is written fails.
    let _ = write(&mut number);
    FormId(number.0)
}

/// The form with a name.
#[expect(clippy::unnecessary_wraps, reason = "other instruction sets know their names")]
pub(super) fn named(name: &str) -> Option<FormId> {
    Some(numbered(|number| number.write_str(name)))
}

/// The form of a word.
pub(super) fn number(word: u32) -> FormId {
    numbered(|number| write_name(word, number))
}

/// The name of a word's form; `udf` if it is no instruction.
#[must_use]
pub fn name(word: u32) -> String {
    let mut name = String::new();
    let _ = write_name(word, &mut name);
    name
}

/// Each form of the instructions that Armv8.0 has, with one of its words; some of these words may be reserved.
#[must_use]
pub fn examples() -> BTreeMap<String, u32> {
    let mut examples = BTreeMap::new();
    for word in (0_u32..1 << 17).flat_map(words) {
        let known = decoder::decode(word).is_some_and(|opcode| is_base(opcode.definition()));
        if known || system::is_system(word) {
            examples.entry(name(word)).or_insert(word);
        }
    }
    examples
}

/// Words that differ in their registers, from the bits of an opcode: 31 to 21 and 15 to 10.
fn words(opcode: u32) -> impl Iterator<Item = u32> {
    let fixed = (opcode >> 6) << 21 | (opcode & 0x3F) << 10;
    // FP and Advanced SIMD have more of the opcode in the place of Rm.
    let second = if bits(fixed, 25, 3) == 7 { 32 } else { 5 };
    // Conditions, comparisons, exceptions and system instructions have it in the places of Rd and Rn.
    let low: &[u32] = match fixed >> 24 {
        0x1E | 0x9E | 0x54 | 0xD4..=0xD6 => {
            &[0x22, 0x20, 0x28, 0x30, 0x38, 0x01, 0x03, 0x3E0, 0x3E2, 0x1F, 0x3F, 0x5F, 0x9F, 0xBF, 0xDF]
        }
        _ => &[0x22, 0x02],
    };
    // 3 before others. 11 has op0 of SYS.
    let third = move |n: u32| if second == 32 { n ^ 3 } else { [3, 0, 31, 1, 11][n as usize % 5] };
    (0..second).flat_map(move |n| low.iter().map(move |low| fixed | third(n) << 16 | low))
}

/// True for what Armv8.0 has, with its optional parts.
fn is_base(definition: &Insn) -> bool {
    matches!(definition.feature_set, F::V8 | F::FP | F::SIMD | F::CRC | F::AES | F::SHA2)
}

fn write_name(word: u32, out: &mut impl Write) -> fmt::Result {
    if system::is_system(word) {
        return out.write_str(system::name(word));
    }
    let Some(definition) = super::definition(word) else { return out.write_str("udf") };
    let multiple =
        matches!(definition.class, C::ASISDLSE | C::ASISDLSEP).then(|| memory::multiple(word)).flatten();
    if let Some((elements, registers)) = multiple {
        let kind = if bits(word, 22, 1) == 1 { "ld" } else { "st" };
        write!(out, "{kind}{elements}")?;
        write_lanes(out, bits(word, 10, 2), bits(word, 30, 1))?;
        write!(out, "_{registers}")?;
    } else if definition.class == C::CONDBRANCH {
        out.write_str("b_cond")?;
    } else {
        out.write_str(definition.mnemonic)?;
        write_operands(word, definition, out)?;
    }
    out.write_str(match memory::mode(word, definition) {
        None => "",
        Some(memory::Mode::Immediate) => "_imm",
        Some(memory::Mode::Post) => "_post",
        Some(memory::Mode::Pre) => "_pre",
        Some(memory::Mode::Register) => "_reg",
        Some(memory::Mode::SignedRegister) => "_sxt",
        Some(memory::Mode::Literal) => "_lit",
    })
}

fn write_operands(word: u32, definition: &Insn, out: &mut impl Write) -> fmt::Result {
    let width = if bits(word, 31, 1) == 1 { "x" } else { "w" };
    match definition.class {
        C::ADDSUB_IMM | C::LOG_IMM | C::CONDCMP_IMM => write!(out, "_{width}_imm"),
        C::ADDSUB_SHIFT | C::LOG_SHIFT => write!(out, "_{width}_{}", shift(word)),
        C::ADDSUB_EXT => write!(out, "_{width}_{}", extension(word)),
        C::CONDCMP_REG => write!(out, "_{width}_reg"),
        C::MOVEWIDE if bits(word, 5, 16) == 0 => write!(out, "_{width}_zero"),
        C::MOVEWIDE
        | C::BITFIELD
        | C::EXTRACT
        | C::CONDSEL
        | C::ADDSUB_CARRY
        | C::DP_1SRC
        | C::DP_2SRC
        | C::DP_3SRC
        | C::COMPBRANCH => write!(out, "_{width}"),
        C::FLOATDP1 if definition.mnemonic == "fcvt" => {
            write!(out, "_{}_{}", fp_type(bits(word, 15, 2)), fp_type(bits(word, 22, 2)))
        }
        C::FLOATDP1 | C::FLOATDP2 | C::FLOATDP3 | C::FLOATSEL | C::FLOATCCMP => {
            write!(out, "_{}", fp_type(bits(word, 22, 2)))
        }
        C::FLOATCMP => {
            let zero = if bits(word, 3, 1) == 1 { "_zero" } else { "" };
            write!(out, "_{}{zero}", fp_type(bits(word, 22, 2)))
        }
        C::FLOATIMM => write!(out, "_{}_imm", fp_type(bits(word, 22, 2))),
        C::FLOAT2INT | C::FLOAT2FIX => write_conversion(word, definition, out),
        C::LDST_POS | C::LDST_UNSCALED | C::LDST_UNPRIV | C::LDST_IMM9 | C::LDST_REGOFF => {
            write_accessed(word, definition, out)
        }
        C::LDSTPAIR_OFF | C::LDSTPAIR_INDEXED | C::LDSTNAPAIR_OFFS | C::LOADLIT => {
            write_wide(word, definition, out)
        }
        C::LDSTEXCL if is_exclusive_pair(definition) => {
            out.write_str(if bits(word, 30, 1) == 1 { "_x" } else { "_w" })
        }
        C::LDSTEXCL => out.write_str(if bits(word, 30, 2) == 3 { "_x" } else { "_w" }),
        C::ASISDLSO | C::ASISDLSOP => write_element(word, out),
        _ => write_vector(word, definition, out),
    }
}

fn is_exclusive_pair(definition: &Insn) -> bool {
    definition.operands.iter().any(|operand| operand.kind == K::Rt2)
}

/// A shifted register: which shifts are quick differs from core to core, but a shift left by up to 5 bits and the
/// spread of the sign have been worth a case.
fn shift(word: u32) -> &'static str {
    let (kind, amount) = (bits(word, 22, 2), bits(word, 10, 6));
    let width = 32 << bits(word, 31, 1);
    match (kind, amount) {
        (_, 0) => "reg",
        (0, 1..=5) => "lsl5",
        (2, amount) if amount == width - 1 => "sign",
        _ => "shift",
    }
}

/// An extended register, and whether it is shifted.
fn extension(word: u32) -> &'static str {
    match (bits(word, 15, 1), bits(word, 10, 3)) {
        (0, 0) => "uxt",
        (0, _) => "uxt_lsl",
        (_, 0) => "sxt",
        _ => "sxt_lsl",
    }
}

fn fp_type(field: u32) -> &'static str {
    ["s", "d", "v1", "h"][field as usize & 3]
}

/// FMOV of WZR or XZR.
pub(super) fn is_from_zero(word: u32) -> bool {
    bits(word, 5, 5) == 31 && bits(word, 16, 3) == 7 && bits(word, 22, 2) < 2
}

/// Between general-purpose and FP registers.
fn write_conversion(word: u32, definition: &Insn, out: &mut impl Write) -> fmt::Result {
    let general = if bits(word, 31, 1) == 1 { "x" } else { "w" };
    let fp = fp_type(bits(word, 22, 2));
    // SCVTF, UCVTF and one direction of FMOV.
    let to_fp = matches!(bits(word, 16, 3), 2 | 3 | 7);
    if definition.mnemonic == "fmov" && is_from_zero(word) {
        return write!(out, "_{fp}_zero");
    }
    let fixed = if definition.class == C::FLOAT2FIX { "_fix" } else { "" };
    if to_fp { write!(out, "_{fp}_{general}{fixed}") } else { write!(out, "_{general}_{fp}{fixed}") }
}

/// The register of a load or store of one.
fn write_accessed(word: u32, definition: &Insn, out: &mut impl Write) -> fmt::Result {
    let (size, operation) = (bits(word, 30, 2), bits(word, 22, 2));
    if memory::is_prefetch(definition) {
        return Ok(());
    }
    let register = match (bits(word, 26, 1), operation) {
        (1, _) => ["b", "h", "s", "d", "q"][(size + 4 * (operation >> 1)).min(4) as usize],
        (_, 2) => "x",
        (_, 3) => "w",
        _ if size == 3 => "x",
        _ => "w",
    };
    write!(out, "_{register}")
}

/// Those of a pair, and of a literal, whose opcode is the size.
fn write_wide(word: u32, definition: &Insn, out: &mut impl Write) -> fmt::Result {
    let opcode = bits(word, 30, 2);
    let literal = definition.class == C::LOADLIT;
    if memory::is_prefetch(definition) {
        return Ok(());
    }
    let register = match (bits(word, 26, 1), opcode) {
        (1, opcode) => ["s", "d", "q", "q"][opcode as usize & 3],
        (_, 0) => "w",
        (_, 1 | 2) => "x",
        _ if literal => "w",
        _ => "x",
    };
    write!(out, "_{register}")
}

/// One element of each register, or all elements alike.
fn write_element(word: u32, out: &mut impl Write) -> fmt::Result {
    let (opcode, size) = (bits(word, 14, 2), bits(word, 10, 2));
    match opcode {
        3 => write_lanes(out, size, bits(word, 30, 1)),
        2 => write!(out, "_{}_lane", element(2 + (size & 1))),
        _ => write!(out, "_{}_lane", element(opcode)),
    }
}

fn element(log2: u32) -> char {
    ['b', 'h', 's', 'd'][log2 as usize & 3]
}

/// An arrangement of 64 or 128 bits.
fn write_lanes(out: &mut impl Write, log2: u32, full: u32) -> fmt::Result {
    write!(out, "_v{}{}", 8 << full >> (log2 & 3), element(log2))
}

/// Advanced SIMD. What has no operands that matter has its mnemonic only.
fn write_vector(word: u32, definition: &Insn, out: &mut impl Write) -> fmt::Result {
    let Some(log2) = element_size(word, definition) else { return Ok(()) };
    let full = bits(word, 30, 1);
    match definition.class {
        C::ASIMDINS if matches!(definition.mnemonic, "umov" | "smov") => {
            write!(out, "_{}_{}", if full == 1 { "x" } else { "w" }, element(log2))?;
        }
        C::ASIMDINS if definition.mnemonic == "ins" => write!(out, "_{}", element(log2))?,
        C::ASISDSAME
        | C::ASISDMISC
        | C::ASISDPAIR
        | C::ASISDDIFF
        | C::ASISDELEM
        | C::ASISDSHF
        | C::ASISDONE => {
            write!(out, "_{}", element(log2))?;
        }
        _ => write_lanes(out, log2, full)?,
    }
    let last = definition.operands.last().map(|operand| operand.kind);
    match (definition.class, last) {
        (C::ASIMDINS | C::ASISDONE, Some(K::Rn)) => out.write_str("_w"),
        (C::ASIMDELEM | C::ASISDELEM, _) | (_, Some(K::En)) => out.write_str("_lane"),
        (_, Some(K::IMM0 | K::FPIMM0)) => out.write_str("_zero"),
        (C::ASIMDIMM | C::ASIMDSHF | C::ASISDSHF, _) => out.write_str("_imm"),
        (C::ASIMDTBL, _) => write!(out, "_{}", bits(word, 13, 2) + 1),
        _ => Ok(()),
    }
}

/// Log2 of the bytes of the elements that an Advanced SIMD instruction reads; `None` for all others.
fn element_size(word: u32, definition: &Insn) -> Option<u32> {
    let size = bits(word, 22, 2);
    let float = 2 + (size & 1);
    let mnemonic = definition.mnemonic;
    let is_float = mnemonic.starts_with('f') || matches!(mnemonic, "scvtf" | "ucvtf" | "urecpe" | "ursqrte");
    Some(match definition.class {
        C::ASIMDSHF | C::ASISDSHF => bits(word, 19, 4).checked_ilog2().unwrap_or(0),
        C::ASIMDINS | C::ASISDONE => bits(word, 16, 5).trailing_zeros().min(3),
        C::ASIMDIMM => match (bits(word, 12, 4), bits(word, 29, 1)) {
            (0..8 | 12 | 13, _) | (15, 0) => 2,
            (8..12, _) => 1,
            (14, 0) => 0,
            _ => 3,
        },
        C::ASIMDEXT | C::ASIMDTBL => 0,
        // Logic has its operation in the place of the size.
        C::ASIMDSAME if bits(word, 11, 5) == 0b00011 => 0,
        C::ASIMDMISC if matches!(mnemonic, "not" | "rbit" | "cnt") => 0,
        // To and from wider elements.
        C::ASIMDMISC
            if mnemonic.starts_with("fcvtl") || mnemonic.starts_with("fcvtn2") || mnemonic == "fcvtn" =>
        {
            float - 1
        }
        C::ASIMDALL if is_float => 2,
        C::ASIMDSAME
        | C::ASIMDMISC
        | C::ASIMDELEM
        | C::ASISDSAME
        | C::ASISDMISC
        | C::ASISDPAIR
        | C::ASISDELEM
            if is_float =>
        {
            float
        }
        C::ASIMDSAME
        | C::ASIMDMISC
        | C::ASIMDALL
        | C::ASIMDDIFF
        | C::ASIMDELEM
        | C::ASIMDPERM
        | C::ASISDSAME
        | C::ASISDMISC
        | C::ASISDPAIR
        | C::ASISDDIFF
        | C::ASISDELEM => size,
        _ => return None,
    })
}
