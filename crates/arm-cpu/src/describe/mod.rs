//! Instructions in the neutral form that observers of the retirement stream get: functions of the word alone.
//!
//! Registers of a [`retire::Instruction`] are X0 to X30, SP, V0 to V31, NZCV, and the system registers as one. XZR is
//! none.

mod arithmetic;
mod form;
mod memory;
mod registers;
mod system;

#[cfg(test)]
mod tests;

pub use form::{examples, name};

use disarm64::{InsnOpcode, decoder};
use disarm64_defn::InsnClass as C;
use disarm64_defn::defn::Insn;
use retire::{Class, Divider, Encoding, Fusion, InstructionSet, Prefetch, RegisterFile, Renaming};

/// How instructions are numbered. Names of forms are those of [`name`].
pub const A64: InstructionSet =
    InstructionSet { form: form::named, registers: registers::SYSTEM + 1, flags: 1 << registers::NZCV };

/// Some bits of an instruction, the lowest one first.
fn bits(word: u32, lowest: u32, count: u32) -> u32 {
    word >> lowest & ((1 << count) - 1)
}

/// What an instruction is that is not known by its fields as a system instruction; `None` for one, and for what is
/// none.
fn definition(word: u32) -> Option<&'static Insn> {
    let definition = decoder::decode(word)?.definition();
    (!system::is_system(word) && !is_reserved(word, definition)).then_some(definition)
}

/// True for fields that disarm64 leaves to those who read them, as far as forms depend on them.
fn is_reserved(word: u32, definition: &Insn) -> bool {
    let (wide, fp_type) = (bits(word, 31, 1), bits(word, 22, 2));
    match definition.class {
        // N is as sf.
        C::BITFIELD | C::EXTRACT => bits(word, 22, 1) != wide,
        // 64-bit offsets, or 32-bit ones that are extended.
        C::LDST_REGOFF => bits(word, 14, 1) == 0,
        // Between registers of the same size, and the upper half of a vector.
        C::FLOAT2INT if definition.mnemonic == "fmov" && bits(word, 19, 2) == 1 => (fp_type, wide) != (2, 1),
        C::FLOAT2INT if definition.mnemonic == "fmov" => fp_type != wide,
        // A fixed point within 32 bits.
        C::FLOAT2FIX if wide == 0 && bits(word, 15, 1) == 0 => true,
        // The lowest bit that is set is the size.
        C::ASIMDINS | C::ASISDONE => bits(word, 16, 4) == 0,
        C::ASIMDSHF | C::ASISDSHF => bits(word, 19, 4) == 0,
        C::ASISDLSE | C::ASISDLSEP => memory::multiple(word).is_none(),
        C::FLOAT2INT
        | C::FLOAT2FIX
        | C::FLOATDP1
        | C::FLOATDP2
        | C::FLOATDP3
        | C::FLOATSEL
        | C::FLOATCMP
        | C::FLOATCCMP
        | C::FLOATIMM => fp_type == 2,
        _ => false,
    }
}

/// The instructions of a block.
pub(crate) fn block(words: impl Iterator<Item = u32>) -> Vec<retire::Instruction> {
    words.zip((0..).step_by(4)).map(|(word, offset)| instruction(word, offset)).collect()
}

/// An instruction as observers get it, so many bytes behind the start of its block.
#[must_use]
pub fn instruction(word: u32, offset: u16) -> retire::Instruction {
    // A system instruction is known by its fields alone; what is no instruction is one without operands.
    let definition = definition(word);
    let accesses = definition.map_or_else(|| system::accesses(word), |of| memory::accesses(word, of));
    let registers = definition.map_or_else(|| system::registers(word), |of| registers::of(word, of));
    retire::Instruction {
        form: form::number(word),
        offset,
        length: 4,
        memory_operand: false,
        loads: accesses.loads,
        stores: accesses.stores,
        // Exclusive accesses are not locked: LDXR is a load, and STXR a store.
        locked: false,
        length_changing: false,
        address: registers.address,
        sources: registers.sources,
        distant: 0,
        results: registers.results,
        base: registers.base,
        class: definition.map_or_else(|| system::class(word), |of| class(word, of)),
        fusion: Fusion::None,
        renaming: definition.map_or(Renaming::None, |of| renaming(word, of)),
        divider: definition.and_then(|of| divider(word, of)),
        arithmetic: definition.and_then(|of| arithmetic::of(word, of)),
        register_file: definition.map_or(RegisterFile::General, |of| register_file(word, of)),
        domain: retire::Domain::None,
        encoding: Encoding::default(),
    }
}

fn class(word: u32, definition: &Insn) -> Class {
    match definition.class {
        C::BRANCH_IMM | C::CONDBRANCH | C::COMPBRANCH | C::TESTBRANCH => Class::DirectBranch,
        _ if memory::is_prefetch(definition) => prefetch(bits(word, 0, 5)),
        _ => Class::Plain,
    }
}

/// PRFM and PRFUM by their `prfop` (Arm ARM C6.2, PRFM).
fn prefetch(operation: u32) -> Class {
    let (kind, level, streaming) = (operation >> 3, operation >> 1 & 3, operation & 1 == 1);
    match (kind, level) {
        (0, 0) if streaming => Class::Prefetch(Prefetch::NonTemporal),
        (0, 0) => Class::Prefetch(Prefetch::First),
        (0, 1 | 2) => Class::Prefetch(Prefetch::Outer),
        (2, 0..3) => Class::Prefetch(Prefetch::Write),
        // PLI, which is a hint about code, and reserved ones.
        _ => Class::Nop,
    }
}

/// What needs no execution on some core: MOVZ of 0, FMOV from XZR, and MOV between general-purpose registers.
fn renaming(word: u32, definition: &Insn) -> Renaming {
    let (rd, rn, rm) = (bits(word, 0, 5), bits(word, 5, 5), bits(word, 16, 5));
    match (definition.class, definition.mnemonic) {
        (C::MOVEWIDE, "movz") if bits(word, 5, 16) == 0 => Renaming::Zero,
        (C::FLOAT2INT, "fmov") if form::is_from_zero(word) => Renaming::Zero,
        (C::LOG_SHIFT, "orr") if rn == 31 && bits(word, 10, 6) == 0 && rm != 31 && rd != rm && rd != 31 => {
            Renaming::Move
        }
        _ => Renaming::None,
    }
}

fn divider(word: u32, definition: &Insn) -> Option<Divider> {
    let double = || bits(word, 22, 1) == 1;
    Some(match definition.mnemonic {
        "sdiv" | "udiv" if bits(word, 31, 1) == 1 => Divider::WideInteger,
        "sdiv" | "udiv" => Divider::Integer,
        "fdiv" if double() => Divider::Double,
        "fdiv" => Divider::Single,
        "fsqrt" if double() => Divider::RootDouble,
        "fsqrt" => Divider::RootSingle,
        _ => return None,
    })
}

fn register_file(word: u32, definition: &Insn) -> RegisterFile {
    if registers::are_vectors(word, definition) { RegisterFile::Vector } else { RegisterFile::General }
}
