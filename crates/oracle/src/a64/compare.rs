//! Two outcomes of a case, side by side.

use super::case::{Case, Outcome};
use super::rules;
use crate::changes;
use crate::compare::Verdict;
use a64_runner::CONSTANTS;
use disarm64::{InsnOpcode as _, decoder};
use std::fmt::Write as _;

/// Compares what QEMU did with what the interpreter did.
#[must_use]
pub fn compare(case: &Case, native: &Outcome, soft: &Outcome) -> Verdict {
    if native == soft {
        return Verdict::Same;
    }
    let (mut native, mut soft) = (native.clone(), soft.clone());
    rules::clear(case, &mut native, &mut soft);
    if native == soft { Verdict::Undefined } else { Verdict::Different(differences(&native, &soft)) }
}

/// A line for each register that differs, and one for memory.
fn differences(native: &Outcome, soft: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    let mut value = |name: &str, native: u128, soft: u128| {
        if native != soft {
            lines.push(format!("{name}: QEMU {native:#x}, arm-cpu {soft:#x}"));
        }
    };
    let (n, s) = (&native.state, &soft.state);
    value("address", native.address.into(), soft.address.into());
    value("pc", n.pc.into(), s.pc.into());
    for (number, (native, soft)) in n.x.iter().zip(&s.x).enumerate() {
        value(&format!("x{number}"), (*native).into(), (*soft).into());
    }
    value("sp", n.sp.into(), s.sp.into());
    value("nzcv", n.nzcv.into(), s.nzcv.into());
    value("tpidr_el0", n.tpidr.into(), s.tpidr.into());
    for (number, (native, soft)) in n.v.iter().zip(&s.v).enumerate() {
        let [native, soft] = [native, soft].map(|[low, high]| u128::from(*low) | u128::from(*high) << 64);
        value(&format!("v{number}"), native, soft);
    }
    value("fpcr", n.fpcr.into(), s.fpcr.into());
    value("fpsr", n.fpsr.into(), s.fpsr.into());
    if native.memory != soft.memory {
        let [native, soft] = [native, soft].map(|side| changes::text(CONSTANTS, &side.memory));
        lines.push(format!("memory: QEMU {native}, arm-cpu {soft}"));
    }
    if native.signal != soft.signal {
        lines.push(format!("end: QEMU {}, arm-cpu {}", native.signal.name(), soft.signal.name()));
    } else if !lines.is_empty() {
        lines.push(format!("both end in {}", native.signal.name()));
    }
    lines
}

/// What disarm64 calls an instruction. Its text is not asked for: that panics on some reserved words.
#[must_use]
pub fn mnemonic(word: u32) -> &'static str {
    decoder::decode(word).map_or("?", |opcode| opcode.definition().mnemonic)
}

/// A case as text: words, what they are, and their operands by register numbers.
#[must_use]
pub fn listing(case: &Case) -> String {
    let mut text = String::new();
    for (n, word) in case.code.iter().enumerate() {
        let [d, n5, m, a] = [0, 5, 16, 10].map(|lowest| word >> lowest & 31);
        let name = decoder::decode(*word).map_or_else(String::new, |opcode| format!("{:?}", opcode.id()));
        let at = case.pc() + 4 * n as u64;
        let _ = writeln!(text, "  {at:x}  {word:08x}  {name} (d {d}, n {n5}, m {m}, a {a})");
    }
    text
}
