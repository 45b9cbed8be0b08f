//! Instructions in the neutral form that observers of the retirement stream get.

use disarm64::{InsnOpcode, decoder};
use disarm64_defn::InsnClass;
use retire::{Class, FormId, Fusion, Instruction, RegisterFile, Renaming};

/// The instructions of a block.
pub(crate) fn block(words: impl Iterator<Item = u32>) -> Vec<Instruction> {
    words.zip((0..).step_by(4)).map(|(word, offset)| instruction(word, offset)).collect()
}

/// What is not an instruction has the form of UDF.
fn instruction(word: u32, offset: u16) -> Instruction {
    let opcode = decoder::decode(word);
    let form = FormId(opcode.map_or(u16::MAX, |opcode| opcode.id() as u16));
    let class = opcode.map_or(InsnClass::EXCEPTION, |opcode| opcode.definition().class);
    let memory = matches!(
        class,
        InsnClass::LDST_POS
            | InsnClass::LDST_UNSCALED
            | InsnClass::LDST_IMM9
            | InsnClass::LDST_REGOFF
            | InsnClass::LDST_UNPRIV
            | InsnClass::LOADLIT
            | InsnClass::LDSTPAIR_OFF
            | InsnClass::LDSTPAIR_INDEXED
            | InsnClass::LDSTNAPAIR_OFFS
            | InsnClass::LDSTEXCL
    );
    Instruction {
        form,
        offset,
        length: 4,
        memory_operand: memory,
        loads: memory && word & 1 << 22 != 0,
        stores: memory && word & 1 << 22 == 0,
        locked: class == InsnClass::LDSTEXCL,
        length_changing: false,
        address: 0,
        sources: 0,
        results: 0,
        class: Class::Plain,
        fusion: Fusion::None,
        renaming: Renaming::None,
        divider: None,
        arithmetic: None,
        register_file: RegisterFile::General,
    }
}
