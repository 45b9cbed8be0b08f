//! Two outcomes of a case, side by side.

use crate::case::{Case, Outcome};
use crate::layout::SCRATCH;
use crate::undefined;
use iced_x86::{Decoder, DecoderOptions, Formatter as _, Instruction, IntelFormatter, Mnemonic};
use std::fmt::Write as _;

const GPR: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15",
];

/// Vector of #UD.
const UNDEFINED_OPCODE: u8 = 6;
/// Vector of #GP.
const GENERAL_PROTECTION: u8 = 13;
/// Vector of #PF.
const PAGE_FAULT: u8 = 14;

/// The instructions of a case, up to the first that is none or is cut off.
#[must_use]
pub fn instructions(case: &Case) -> Vec<Instruction> {
    let mut decoder = Decoder::with_ip(64, &case.code, case.rip(), DecoderOptions::NONE);
    let mut list = Vec::new();
    while decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            break;
        }
        list.push(instruction);
    }
    list
}

/// How two outcomes relate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// They are equal.
    Same,
    /// Only what the architecture leaves undefined differs.
    Undefined,
    /// The interpreter raises #GP(0) or #SS(0), the native side #UD, all else is equal: para-virtual KVM hands what raises those
    /// in ring 3 to its instruction emulator, and raises #UD for what that does not know.
    Emulated,
    /// They differ; a line for each register or byte: native, then soft.
    Different(Vec<String>),
}

/// Compares what the CPU did with what the interpreter did.
#[must_use]
pub fn compare(case: &Case, native: &Outcome, soft: &Outcome) -> Verdict {
    if native == soft {
        return Verdict::Same;
    }
    if native.vector == UNDEFINED_OPCODE && matches!(soft.vector, 12 | GENERAL_PROTECTION) && soft.error == 0
    {
        let as_reported = Outcome { vector: UNDEFINED_OPCODE, ..soft.clone() };
        return match compare(case, native, &as_reported) {
            Verdict::Same | Verdict::Undefined => Verdict::Emulated,
            other => other,
        };
    }
    let list = instructions(case);
    let faulted = list.iter().find(|ins| ins.ip() == native.rip).map(Instruction::mnemonic);
    // Whether these fault for bytes that they do not store, and which byte they name, is up to the CPU (SDM
    // volume 2, MASKMOVDQU).
    let masked = matches!(faulted, Some(Mnemonic::Maskmovdqu | Mnemonic::Maskmovq));
    if masked && matches!(native.vector, UNDEFINED_OPCODE | PAGE_FAULT) {
        return Verdict::Undefined;
    }
    // A CALL that can neither push nor go where it should: AMD pushes first.
    if faulted == Some(Mnemonic::Call) && (native.vector, soft.vector) == (PAGE_FAULT, GENERAL_PROTECTION) {
        return Verdict::Undefined;
    }
    let mask = undefined::flags_after(&list);
    let mut lines = Vec::new();
    let mut value = |name: &str, native: u128, soft: u128| {
        if native != soft {
            lines.push(format!("{name}: CPU {native:#x}, soft-cpu {soft:#x}"));
        }
    };
    value("vector", native.vector.into(), soft.vector.into());
    value("error code", native.error.into(), soft.error.into());
    // Which byte of the operand MASKMOVDQU and MASKMOVQ report is not architectural.
    let faulted = list.iter().find(|ins| ins.ip() == native.rip);
    let masked =
        faulted.is_some_and(|ins| matches!(ins.mnemonic(), Mnemonic::Maskmovdqu | Mnemonic::Maskmovq));
    if !masked || native.cr2.abs_diff(soft.cr2) >= 16 {
        value("cr2", native.cr2.into(), soft.cr2.into());
    }
    value("rip", native.rip.into(), soft.rip.into());
    value("rflags", (native.rflags & !mask).into(), (soft.rflags & !mask).into());
    for (name, (native, soft)) in GPR.iter().zip(native.gpr.iter().zip(&soft.gpr)) {
        value(name, (*native).into(), (*soft).into());
    }
    for (n, (native, soft)) in native.xmm.iter().zip(&soft.xmm).enumerate() {
        value(&format!("xmm{n}"), *native, *soft);
    }
    value("mxcsr", native.mxcsr.into(), soft.mxcsr.into());
    value("fcw", native.fcw.into(), soft.fcw.into());
    value("fsw", native.fsw.into(), soft.fsw.into());
    value("ftw", native.ftw.into(), soft.ftw.into());
    for (n, (native, soft)) in native.st.iter().zip(&soft.st).enumerate() {
        value(&format!("st{n}"), *native, *soft);
    }
    if native.memory != soft.memory {
        lines.push(format!("memory: CPU {}, soft-cpu {}", bytes(&native.memory), bytes(&soft.memory)));
    }
    if lines.is_empty() { Verdict::Undefined } else { Verdict::Different(lines) }
}

/// Changed bytes, in runs of consecutive ones; no more than fit on a line.
fn bytes(memory: &[(u16, u8)]) -> String {
    let mut text = String::new();
    let mut next = None;
    for (at, value) in memory.iter().take(48) {
        if next != Some(*at) {
            let _ = write!(text, " {:#x}:", SCRATCH + u64::from(*at));
        }
        let _ = write!(text, " {value:02x}");
        next = at.checked_add(1);
    }
    if memory.is_empty() {
        text.push_str(" unchanged");
    }
    if memory.len() > 48 {
        text.push_str(" ...");
    }
    text.trim_start().to_owned()
}

/// A case as text: the instructions with their bytes.
#[must_use]
pub fn listing(case: &Case) -> String {
    let mut formatter = IntelFormatter::new();
    let mut text = String::new();
    let list = instructions(case);
    for instruction in &list {
        let at = (instruction.ip() - case.rip()) as usize;
        let hex: String =
            case.code[at..at + instruction.len()].iter().map(|byte| format!("{byte:02x}")).collect();
        let mut words = String::new();
        formatter.format(instruction, &mut words);
        let _ = writeln!(text, "  {:x}  {hex:<24}  {words}", instruction.ip());
    }
    let end = list.last().map_or(0, |last| (last.next_ip() - case.rip()) as usize);
    if end < case.code.len() {
        let hex: String = case.code[end..].iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(text, "  {:x}  {hex}", case.rip() + end as u64);
    }
    text
}
