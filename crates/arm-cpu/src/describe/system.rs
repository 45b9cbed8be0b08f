//! System instructions (Arm ARM C4.1.66): hints, barriers, MSR, MRS, SYS, and what is known by its name as SYS.

use super::bits;
use super::memory::Accesses;
use super::registers::{NZCV, Registers, SYSTEM, general};
use retire::{Class, RegisterSet};

/// NZCV as a system register: op0, op1, CRn and CRm; op2 is 0.
const FLAGS_REGISTER: u32 = 3 << 14 | 3 << 11 | 4 << 7 | 2 << 3;

pub(super) fn is_system(word: u32) -> bool {
    bits(word, 22, 10) == 0b11_0101_0100
}

/// The name of the form.
pub(super) fn name(word: u32) -> &'static str {
    let (read, op0) = (bits(word, 21, 1) == 1, bits(word, 19, 2));
    // Hints and barriers have no operand: the field is that of XZR.
    let alone = bits(word, 16, 3) == 3 && bits(word, 0, 5) == 31;
    let (crn, crm, op2) = (bits(word, 12, 4), bits(word, 8, 4), bits(word, 5, 3));
    match (op0, crn) {
        (0, 2) if alone => "hint",
        (0, 3) if alone => match op2 {
            2 => "clrex",
            4 => "dsb",
            5 => "dmb",
            6 => "isb",
            _ => "udf",
        },
        (0, 4) => "msr_imm",
        (0, _) => "udf",
        (1, 7) if !read => match crm {
            1 | 5 => "ic",
            8 | 9 => "at",
            _ => "dc",
        },
        (1, 8) if !read => "tlbi",
        (1, _) if read => "sysl",
        (1, _) => "sys",
        (_, _) if read => "mrs",
        _ => "msr",
    }
}

/// The operation of a hint; `None` if it is none.
fn hint(word: u32) -> Option<u32> {
    (bits(word, 12, 10) == 0b00_0011_0010).then(|| bits(word, 5, 7))
}

pub(super) fn class(word: u32) -> Class {
    // Hints that wait are executed: WFE, WFI.
    match hint(word) {
        Some(1) => Class::Pause,
        Some(2 | 3) => Class::Plain,
        Some(_) => Class::Nop,
        None if is_flush(word) => Class::LineFlush,
        None => Class::Plain,
    }
}

fn is_cache_operation(word: u32) -> bool {
    is_system(word) && name(word) == "dc"
}

/// DC ZVA.
fn is_zeroing(word: u32) -> bool {
    is_cache_operation(word) && bits(word, 5, 14) == 3 << 11 | 7 << 7 | 4 << 3 | 1
}

/// DC CIVAC and DC IVAC: the line leaves the caches.
fn is_flush(word: u32) -> bool {
    is_cache_operation(word) && matches!((bits(word, 8, 4), bits(word, 5, 3)), (14 | 6, 1))
}

pub(super) fn accesses(word: u32) -> Accesses {
    Accesses { loads: false, stores: is_zeroing(word) }
}

pub(super) fn registers(word: u32) -> Registers {
    let mut registers = Registers::default();
    if !is_system(word) {
        return registers;
    }
    let operand = general(bits(word, 0, 5));
    let flags = bits(word, 5, 16) == FLAGS_REGISTER;
    let state: RegisterSet = 1 << if flags { NZCV } else { SYSTEM };
    match name(word) {
        "mrs" | "sysl" => (registers.sources, registers.results) = (state, operand),
        "msr" => (registers.sources, registers.results) = (operand, state),
        "dc" => registers.address = operand,
        "sys" | "ic" | "at" | "tlbi" => registers.sources = operand,
        "msr_imm" => registers.results = 1 << SYSTEM,
        _ => {}
    }
    registers
}
