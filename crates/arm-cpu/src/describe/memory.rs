//! Which instructions access memory, and how.

use super::bits;
use disarm64_defn::InsnClass as C;
use disarm64_defn::defn::Insn;

/// What an instruction does to memory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Accesses {
    pub(super) loads: bool,
    pub(super) stores: bool,
}

/// The addressing mode of an instruction that accesses memory; `None` if it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// A base register, with or without a constant.
    Immediate,
    /// The same, and the sum is written back, after or before the access.
    Post,
    Pre,
    /// A base and an offset register, which is extended with zeros, or with its sign.
    Register,
    SignedRegister,
    Literal,
}

pub(super) fn mode(word: u32, definition: &Insn) -> Option<Mode> {
    Some(match definition.class {
        C::LDST_POS
        | C::LDST_UNSCALED
        | C::LDST_UNPRIV
        | C::LDSTPAIR_OFF
        | C::LDSTNAPAIR_OFFS
        | C::LDSTEXCL
        | C::ASISDLSE
        | C::ASISDLSO => Mode::Immediate,
        C::LDST_IMM9 if bits(word, 11, 1) == 0 => Mode::Post,
        C::LDST_IMM9 => Mode::Pre,
        C::LDSTPAIR_INDEXED if bits(word, 24, 1) == 0 => Mode::Post,
        C::LDSTPAIR_INDEXED => Mode::Pre,
        C::ASISDLSEP | C::ASISDLSOP => Mode::Post,
        C::LDST_REGOFF if bits(word, 15, 1) == 0 => Mode::Register,
        C::LDST_REGOFF => Mode::SignedRegister,
        C::LOADLIT => Mode::Literal,
        _ => return None,
    })
}

pub(super) fn is_prefetch(definition: &Insn) -> bool {
    matches!(definition.mnemonic, "prfm" | "prfum")
}

pub(super) fn accesses(word: u32, definition: &Insn) -> Accesses {
    if mode(word, definition).is_none() || is_prefetch(definition) {
        return Accesses::default();
    }
    let loads = definition.mnemonic.starts_with("ld");
    Accesses { loads, stores: !loads }
}

/// Registers of the list of LD1 to LD4 and their relatives (Arm ARM C4.1.94, Advanced SIMD load/store).
pub(super) fn list_length(word: u32, definition: &Insn) -> u32 {
    match definition.class {
        C::ASISDLSE | C::ASISDLSEP => multiple(word).map_or(0, |(_, registers)| registers),
        // R is the low bit of the number of registers, the low bit of opcode the high one.
        _ => (bits(word, 13, 1) << 1 | bits(word, 21, 1)) + 1,
    }
}

/// Elements of a structure, and registers, of LD1 to LD4 of whole registers; `None` if reserved.
pub(super) fn multiple(word: u32) -> Option<(u32, u32)> {
    Some(match bits(word, 12, 4) {
        0b0000 => (4, 4),
        0b0010 => (1, 4),
        0b0100 => (3, 3),
        0b0110 => (1, 3),
        0b1000 => (2, 2),
        0b1010 => (1, 2),
        0b0111 => (1, 1),
        _ => return None,
    })
}
