//! What the architecture leaves undefined, so that two CPUs may differ.

use iced_x86::{Code, Instruction, Mnemonic as M, OpCodeOperandKind};

const CF: u64 = 1;
const PF: u64 = 1 << 2;
const AF: u64 = 1 << 4;
const ZF: u64 = 1 << 6;
const SF: u64 = 1 << 7;
const OF: u64 = 1 << 11;

/// Flags that an instruction leaves undefined.
#[derive(Debug, Clone, Copy)]
pub struct Undefined {
    /// The instructions.
    pub mnemonics: &'static [M],
    /// RFLAGS bits.
    pub flags: u64,
    /// When.
    pub when: When,
    /// Where the SDM (order number 253665 to 253668) says so.
    pub source: &'static str,
}

/// A condition that shows in the encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// Unless the encoding shifts by one: D0 and D1.
    NotByOne,
}

/// The table.
pub const UNDEFINED: &[Undefined] = &[
    Undefined {
        mnemonics: &[M::And, M::Or, M::Xor, M::Test],
        flags: AF,
        when: When::Always,
        source: "volume 2, AND, OR, XOR, TEST: \"The state of the AF flag is undefined\"",
    },
    Undefined {
        mnemonics: &[M::Shl, M::Sal, M::Shr, M::Sar, M::Shld, M::Shrd],
        flags: AF,
        when: When::Always,
        source: "volume 2, SAL/SAR/SHL/SHR, SHLD, SHRD: AF is undefined for a count other than 0",
    },
    Undefined {
        mnemonics: &[M::Shl, M::Sal, M::Shr, M::Sar, M::Shld, M::Shrd, M::Rol, M::Ror, M::Rcl, M::Rcr],
        flags: OF,
        when: When::NotByOne,
        source: "volume 2, SAL/SAR/SHL/SHR, RCL/RCR/ROL/ROR, SHLD, SHRD: OF is undefined for a count greater than 1",
    },
    Undefined {
        mnemonics: &[M::Shl, M::Sal, M::Shr, M::Sar, M::Shld, M::Shrd],
        flags: CF,
        when: When::NotByOne,
        source: "volume 2, SHL/SHR: CF is undefined for a count of the operand size or more; SHLD, SHRD likewise",
    },
    Undefined {
        mnemonics: &[M::Shld, M::Shrd],
        flags: SF | ZF | PF,
        when: When::Always,
        source: "volume 2, SHLD, SHRD: everything is undefined for a count greater than the operand size",
    },
    Undefined {
        mnemonics: &[M::Mul, M::Imul],
        flags: SF | ZF | AF | PF,
        when: When::Always,
        source: "volume 2, MUL, IMUL: SF, ZF, AF and PF are undefined",
    },
    Undefined {
        mnemonics: &[M::Div, M::Idiv],
        flags: CF | OF | SF | ZF | AF | PF,
        when: When::Always,
        source: "volume 2, DIV, IDIV: all status flags are undefined",
    },
    Undefined {
        mnemonics: &[M::Bsf, M::Bsr],
        flags: CF | OF | SF | AF | PF,
        when: When::Always,
        source: "volume 2, BSF, BSR: CF, OF, SF, AF and PF are undefined",
    },
    Undefined {
        mnemonics: &[M::Bt, M::Bts, M::Btr, M::Btc],
        flags: OF | SF | AF | PF,
        when: When::Always,
        source: "volume 2, BT, BTC, BTR, BTS: OF, SF, AF and PF are undefined",
    },
    Undefined {
        mnemonics: &[M::Andn, M::Blsi, M::Blsmsk, M::Blsr, M::Bzhi],
        flags: AF | PF,
        when: When::Always,
        source: "volume 2, ANDN, BLSI, BLSMSK, BLSR, BZHI: AF and PF are undefined",
    },
    Undefined {
        mnemonics: &[M::Bextr],
        flags: AF | SF | PF,
        when: When::Always,
        source: "volume 2, BEXTR: AF, SF and PF are undefined",
    },
    Undefined {
        mnemonics: &[M::Lzcnt, M::Tzcnt],
        flags: OF | SF | AF | PF,
        when: When::Always,
        source: "volume 2, LZCNT, TZCNT: OF, SF, AF and PF are undefined",
    },
];

/// RFLAGS bits that an instruction leaves undefined.
#[must_use]
pub fn flags(instruction: &Instruction) -> u64 {
    let mnemonic = instruction.mnemonic();
    let by_one = shifts_by_one(instruction.code());
    UNDEFINED
        .iter()
        .filter(|entry| entry.mnemonics.contains(&mnemonic) && (entry.when == When::Always || !by_one))
        .map(|entry| entry.flags)
        .fold(0, |all, flags| all | flags)
}

fn shifts_by_one(code: Code) -> bool {
    let info = code.op_code();
    info.op_count() == 2 && info.op_kind(1) == OpCodeOperandKind::imm8_const_1
}

/// Status flags that are undefined after a sequence without branches.
#[must_use]
pub fn flags_after(instructions: &[Instruction]) -> u64 {
    instructions.iter().fold(0, |undefined, instruction| {
        let all = flags(instruction);
        if all == 0 && defines_all(instruction.mnemonic()) { 0 } else { undefined | all }
    })
}

/// Instructions that write every status flag, whatever the operands.
fn defines_all(mnemonic: M) -> bool {
    matches!(
        mnemonic,
        M::Add
            | M::Sub
            | M::Cmp
            | M::Neg
            | M::Xadd
            | M::Cmpxchg
            | M::Popcnt
            | M::Comiss
            | M::Comisd
            | M::Ucomiss
            | M::Ucomisd
    )
}
