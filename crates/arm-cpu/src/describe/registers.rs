//! Registers that instructions read and write, by the kinds of their operands.

use super::{bits, memory};
use disarm64_defn::defn::{Insn, InsnOperand};
use disarm64_defn::{InsnClass as C, InsnOperandClass as O, InsnOperandKind as K};
use retire::RegisterSet;

const SP: u32 = 31;
const V: u32 = 32;
pub(super) const NZCV: u32 = 64;
/// FPCR, FPSR, and what else MSR writes and MRS reads.
pub(super) const SYSTEM: u32 = 65;
const LINK: RegisterSet = 1 << 30;

/// Those of an instruction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Registers {
    pub(super) address: RegisterSet,
    pub(super) sources: RegisterSet,
    pub(super) results: RegisterSet,
    /// What the address is written back to.
    pub(super) base: Option<u8>,
}

/// X0 to X30; nothing for XZR.
pub(super) fn general(number: u32) -> RegisterSet {
    if number == 31 { 0 } else { 1 << number }
}

fn or_stack_pointer(number: u32) -> RegisterSet {
    1 << if number == 31 { SP } else { number }
}

fn vectors(first: u32, count: u32) -> RegisterSet {
    (first..first + count).fold(0, |set, number| set | 1 << (V + number % 32))
}

pub(super) fn of(word: u32, definition: &Insn) -> Registers {
    let mut registers = Registers::default();
    let loads = memory::accesses(word, definition).loads;
    let first = writes_first(definition);
    for (position, operand) in definition.operands.iter().enumerate() {
        let set = operand_registers(word, definition, operand);
        let second = loads && matches!(operand.kind, K::Rt2 | K::Ft2);
        if operand.class == O::ADDRESS {
            registers.address |= set;
        } else if position == 0 && first || second {
            registers.results |= set;
            if keeps_destination(word, definition) {
                registers.sources |= set;
            }
        } else {
            registers.sources |= set;
        }
    }
    if matches!(memory::mode(word, definition), Some(memory::Mode::Post | memory::Mode::Pre)) {
        let number = bits(word, 5, 5);
        registers.base = u8::try_from(if number == 31 { SP } else { number }).ok();
    }
    if matches!(definition.mnemonic, "bl" | "blr") {
        registers.results |= LINK;
    }
    let (reads, writes) = flags(word, definition);
    registers.sources |= RegisterSet::from(reads) << NZCV;
    registers.results |= RegisterSet::from(writes) << NZCV;
    registers
}

fn operand_registers(word: u32, definition: &Insn, operand: &InsnOperand) -> RegisterSet {
    let number =
        || operand.bit_fields.first().map_or(31, |field| bits(word, field.lsb.into(), field.width.into()));
    let base = || or_stack_pointer(bits(word, 5, 5));
    match operand.kind {
        K::Rd_SP | K::Rn_SP => or_stack_pointer(number()),
        K::Rm_EXT | K::Rm_SFT => general(bits(word, 16, 5)),
        // Halfwords leave four bits for the number.
        K::Em16 if bits(word, 22, 2) == 1 => vectors(bits(word, 16, 4), 1),
        K::LVt | K::LVt_AL | K::LEt => vectors(bits(word, 0, 5), memory::list_length(word, definition)),
        K::LVn => vectors(bits(word, 5, 5), bits(word, 13, 2) + 1),
        K::ADDR_SIMPLE | K::ADDR_SIMM7 | K::ADDR_SIMM9 | K::ADDR_UIMM12 | K::SIMD_ADDR_SIMPLE => base(),
        K::ADDR_REGOFF | K::SIMD_ADDR_POST => base() | general(bits(word, 16, 5)),
        _ => match operand.class {
            O::INT_REG => general(number()),
            O::FP_REG | O::SISD_REG | O::SIMD_REG | O::SIMD_ELEMENT => vectors(number(), 1),
            _ => 0,
        },
    }
}

/// True if an operand is a vector register, or one of the FP registers that are parts of them.
pub(super) fn are_vectors(word: u32, definition: &Insn) -> bool {
    let mut operands = definition.operands.iter();
    operands.any(|operand| operand_registers(word, definition, operand) >> V != 0)
}

/// False if the first operand is read, or is no register.
fn writes_first(definition: &Insn) -> bool {
    let mnemonic = definition.mnemonic;
    match definition.class {
        C::COMPBRANCH
        | C::TESTBRANCH
        | C::BRANCH_REG
        | C::CONDCMP_IMM
        | C::CONDCMP_REG
        | C::FLOATCMP
        | C::FLOATCCMP => false,
        // The status of an exclusive store is its first operand.
        _ if mnemonic.starts_with("stx") || mnemonic.starts_with("stlx") => true,
        _ => !mnemonic.starts_with("st"),
    }
}

/// True if a part of the destination stays, or if the result is added to it.
fn keeps_destination(word: u32, definition: &Insn) -> bool {
    let mnemonic = definition.mnemonic;
    match definition.class {
        C::MOVEWIDE => mnemonic == "movk",
        C::BITFIELD => mnemonic == "bfm",
        C::ASIMDIMM => matches!(mnemonic, "orr" | "bic"),
        C::ASIMDINS => mnemonic == "ins",
        C::FLOAT2INT => definition.operands.first().is_some_and(|operand| operand.kind == K::VdD1),
        C::ASIMDTBL => mnemonic == "tbx",
        C::ASISDLSO | C::ASISDLSOP => bits(word, 14, 2) != 3,
        C::ASIMDSHF | C::ASISDSHF => {
            matches!(mnemonic, "sli" | "sri" | "ssra" | "usra" | "srsra" | "ursra") || is_upper_half(mnemonic)
        }
        C::ASIMDMISC | C::ASISDMISC => {
            matches!(mnemonic, "sadalp" | "uadalp" | "suqadd" | "usqadd") || is_upper_half(mnemonic)
        }
        C::ASIMDSAME => {
            matches!(mnemonic, "mla" | "mls" | "fmla" | "fmls" | "saba" | "uaba" | "bsl" | "bit" | "bif")
        }
        C::ASIMDDIFF | C::ASISDDIFF => accumulates_long(mnemonic) || is_upper_half(mnemonic),
        C::ASIMDELEM | C::ASISDELEM => {
            matches!(mnemonic, "mla" | "mls" | "fmla" | "fmls") || accumulates_long(mnemonic)
        }
        C::CRYPTOAES => matches!(mnemonic, "aese" | "aesd"),
        C::CRYPTOSHA2 => mnemonic != "sha1h",
        C::CRYPTOSHA3 => true,
        _ => false,
    }
}

/// True for those that narrow into the upper half of a register.
fn is_upper_half(mnemonic: &str) -> bool {
    mnemonic.ends_with("n2")
}

fn accumulates_long(mnemonic: &str) -> bool {
    let mnemonic = mnemonic.strip_suffix('2').unwrap_or(mnemonic);
    ["mlal", "mlsl", "abal"].iter().any(|ending| mnemonic.ends_with(ending))
}

/// Whether NZCV is read, and written.
fn flags(word: u32, definition: &Insn) -> (bool, bool) {
    let sets = || bits(word, 29, 1) == 1;
    match definition.class {
        C::ADDSUB_IMM | C::ADDSUB_SHIFT | C::ADDSUB_EXT => (false, sets()),
        C::LOG_IMM | C::LOG_SHIFT => (false, bits(word, 29, 2) == 3),
        C::ADDSUB_CARRY => (true, sets()),
        C::CONDSEL | C::CONDBRANCH | C::FLOATSEL => (true, false),
        C::CONDCMP_IMM | C::CONDCMP_REG | C::FLOATCCMP => (true, true),
        C::FLOATCMP => (false, true),
        _ => (false, false),
    }
}
