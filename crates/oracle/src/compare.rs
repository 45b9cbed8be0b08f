//! Two outcomes of a case, side by side.

use crate::case::{Case, Outcome};
use crate::changes;
use crate::layout::{DATA_LEN, HIGH, SCRATCH};
use crate::masks::{self, Effect};
use crate::start::Start;
use iced_x86::{Decoder, DecoderOptions, Formatter as _, Instruction, IntelFormatter, OpKind, Register};
use std::fmt::Write as _;

const GPR: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15",
];

/// Vector of #UD.
pub(crate) const UNDEFINED_OPCODE: u8 = 6;
/// Vector of #SS.
const STACK_FAULT: u8 = 12;
/// Vector of #GP.
pub(crate) const GENERAL_PROTECTION: u8 = 13;
/// Vector of #PF.
const PAGE_FAULT: u8 = 14;

/// Components of XCR0 that a host may have enabled and no case has: PKRU, and AMX's TILECFG and TILEDATA (SDM volume 1,
/// "XSAVE-Supported Features and State-Component Bitmaps").
const BEYOND_AVX512: u64 = 1 << 9 | 1 << 17 | 1 << 18;

/// Behind the lower half of the address space.
const LOWER_END: u64 = 0x8000_0000_0000;

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
    /// Only what is masked differs.
    Undefined,
    /// The interpreter raises #GP(0) or #SS(0), the native side #UD, all else is equal: para-virtual KVM hands what
    /// raises those in ring 3 to its instruction emulator, and raises #UD for what that does not know. Or that has
    /// done something of its own: [`Effect::LowerEnd`], [`Effect::EmulatedStack`], [`Effect::EmulatedOrder`],
    /// [`Effect::EmulatedTarget`], [`Effect::HostComponents`].
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
    let list = instructions(case);
    let at = |outcome: &Outcome| list.iter().find(|ins| ins.ip() == outcome.rip);
    if soft.vector == GENERAL_PROTECTION && masks::has(at(soft), Effect::Misaligned) {
        return Verdict::Undefined;
    }
    if native.vector == UNDEFINED_OPCODE
        && matches!(soft.vector, STACK_FAULT | GENERAL_PROTECTION)
        && soft.error == 0
    {
        let as_reported = Outcome { vector: UNDEFINED_OPCODE, ..soft.clone() };
        return match compare(case, native, &as_reported) {
            Verdict::Same | Verdict::Undefined => Verdict::Emulated,
            other => other,
        };
    }
    // Effect::HostComponents. Registers are as before the instruction, since it faults.
    let requested = native.gpr[2] << 32 | native.gpr[0] & 0xFFFF_FFFF;
    if native.vector == PAGE_FAULT
        && masks::has(at(native), Effect::HostComponents)
        && requested & !case.machine.xcr0() & BEYOND_AVX512 != 0
        && (soft.vector, soft.rip) != (PAGE_FAULT, native.rip)
    {
        return Verdict::Emulated;
    }
    // Effect::LowerEnd.
    if native.vector == PAGE_FAULT
        && LOWER_END.wrapping_sub(native.cr2).wrapping_sub(1) < operand_size(at(soft)) - 1
        && matches!(soft.vector, STACK_FAULT | GENERAL_PROTECTION)
        && soft.error == 0
    {
        let as_reported =
            Outcome { vector: PAGE_FAULT, error: native.error, cr2: native.cr2, ..soft.clone() };
        return match compare(case, native, &as_reported) {
            Verdict::Same | Verdict::Undefined => Verdict::Emulated,
            other => other,
        };
    }
    if soft.vector == GENERAL_PROTECTION
        && let Some(instruction) = at(soft)
    {
        // Effect::EmulatedOrder.
        let first_operand = native.rip == soft.rip
            && match native.vector {
                PAGE_FAULT => in_first_operand(instruction, soft, native.cr2),
                STACK_FAULT => instruction.memory_segment() == Register::SS,
                _ => false,
            };
        if masks::has(Some(instruction), Effect::EmulatedOrder) && first_operand {
            let as_reported =
                Outcome { vector: native.vector, error: native.error, cr2: native.cr2, ..soft.clone() };
            return match compare(case, native, &as_reported) {
                Verdict::Same | Verdict::Undefined => Verdict::Emulated,
                other => other,
            };
        }
        // Effect::EmulatedStack.
        if (native.vector, native.error, soft.error) == (STACK_FAULT, 0, 0)
            && instruction.memory_segment() == Register::SS
        {
            let as_reported = Outcome { vector: STACK_FAULT, ..soft.clone() };
            return match compare(case, native, &as_reported) {
                Verdict::Same | Verdict::Undefined => Verdict::Emulated,
                other => other,
            };
        }
        // Effect::EmulatedTarget.
        if masks::has(Some(instruction), Effect::EmulatedTarget) && overwrites_target(instruction, soft) {
            return Verdict::Emulated;
        }
    }
    let may_fault = |outcome: &Outcome| {
        matches!(outcome.vector, UNDEFINED_OPCODE | PAGE_FAULT) && masks::has(at(outcome), Effect::MayFault)
    };
    // The emulator of para-virtual KVM heeds prefixes that have no meaning in 64-bit mode.
    if (native.vector, soft.vector, native.error) == (GENERAL_PROTECTION, STACK_FAULT, 0)
        && prefixed(case, soft)
    {
        let as_reported = Outcome { vector: STACK_FAULT, ..native.clone() };
        return match compare(case, &as_reported, soft) {
            Verdict::Same | Verdict::Undefined => Verdict::Emulated,
            other => other,
        };
    }
    if masks::outside_domain(case, &list) {
        return Verdict::Undefined;
    }
    if may_fault(native) || may_fault(soft) {
        return Verdict::Undefined;
    }
    let (mut native, mut soft) = (native.clone(), soft.clone());
    masks::clear(case, &list, &mut native);
    masks::clear(case, &list, &mut soft);
    masks::clear_last_place(&list, &mut native, &mut soft);
    // Effect::AliasedMemory.
    if list.iter().any(|ins| ins.has_rep_prefix() && masks::has(Some(ins), Effect::AliasedMemory))
        && aliased(&soft)
    {
        native.memory.clone_from(&soft.memory);
    }
    if native == soft { Verdict::Undefined } else { Verdict::Different(differences(&native, &soft)) }
}

/// Bytes of an operand, 16 at least.
fn operand_size(instruction: Option<&Instruction>) -> u64 {
    instruction.map_or(16, |instruction| instruction.memory_size().size().clamp(16, 64) as u64)
}

/// Whether an address is in the memory operand at RSI.
fn in_first_operand(instruction: &Instruction, outcome: &Outcome, address: u64) -> bool {
    let narrow = instruction.op0_kind() == OpKind::MemorySegESI;
    let at = outcome.gpr[6] & if narrow { 0xFFFF_FFFF } else { u64::MAX };
    address.wrapping_sub(at) < instruction.memory_size().size() as u64
}

/// Whether RSI and RDI are addresses of different mappings, and of places in memory that may overlap.
fn aliased(outcome: &Outcome) -> bool {
    let [source, destination] = [outcome.gpr[6], outcome.gpr[7]];
    (source ^ destination) & HIGH != 0 && (source & !HIGH).abs_diff(destination & !HIGH) < DATA_LEN
}

/// Whether a CALL's return address goes where its target comes from.
fn overwrites_target(instruction: &Instruction, outcome: &Outcome) -> bool {
    let registers = Start { gpr: outcome.gpr, ..Start::from_seed(0) };
    let operand = (instruction.op0_kind() == OpKind::Memory)
        .then(|| instruction.virtual_address(0, 0, |register, _, _| Some(registers.register(register))));
    operand.flatten().is_some_and(|at| (at & !HIGH).abs_diff(outcome.gpr[4].wrapping_sub(8) & !HIGH) < 8)
}

/// Whether the instruction that raised the exception has a prefix for CS, DS, ES or SS first.
fn prefixed(case: &Case, outcome: &Outcome) -> bool {
    let at = outcome.rip.wrapping_sub(case.rip()) as usize;
    case.code.get(at).is_some_and(|byte| matches!(byte, 0x26 | 0x2E | 0x36 | 0x3E))
}

/// A line for each register that differs, and one for memory.
pub(crate) fn differences(native: &Outcome, soft: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    let mut value = |name: &str, native: u128, soft: u128| {
        if native != soft {
            lines.push(format!("{name}: CPU {native:#x}, soft-cpu {soft:#x}"));
        }
    };
    value("vector", native.vector.into(), soft.vector.into());
    value("error code", native.error.into(), soft.error.into());
    value("cr2", native.cr2.into(), soft.cr2.into());
    value("rip", native.rip.into(), soft.rip.into());
    value("rflags", native.rflags.into(), soft.rflags.into());
    for (name, (native, soft)) in GPR.iter().zip(native.gpr.iter().zip(&soft.gpr)) {
        value(name, (*native).into(), (*soft).into());
    }
    for (n, (native, soft)) in native.zmm.iter().zip(&soft.zmm).enumerate() {
        for (quarter, (native, soft)) in native.iter().zip(soft).enumerate() {
            let part = if quarter == 0 { format!("xmm{n}") } else { format!("zmm{n}[{quarter}]") };
            value(&part, *native, *soft);
        }
    }
    for (n, (native, soft)) in native.k.iter().zip(&soft.k).enumerate() {
        value(&format!("k{n}"), (*native).into(), (*soft).into());
    }
    value("mxcsr", native.mxcsr.into(), soft.mxcsr.into());
    value("fcw", native.fcw.into(), soft.fcw.into());
    value("fsw", native.fsw.into(), soft.fsw.into());
    value("ftw", native.ftw.into(), soft.ftw.into());
    for (n, (native, soft)) in native.st.iter().zip(&soft.st).enumerate() {
        value(&format!("st{n}"), *native, *soft);
    }
    if native.memory != soft.memory {
        let beside = |side: &Outcome, other: &Outcome| {
            let own: Vec<_> =
                side.memory.iter().filter(|byte| !other.memory.contains(byte)).copied().collect();
            changes::text(SCRATCH, &own)
        };
        let [native, soft] = [beside(native, soft), beside(soft, native)];
        lines.push(format!("memory: CPU {native}, soft-cpu {soft}"));
    }
    if !lines.is_empty() && native.vector == soft.vector {
        lines.push(format!("both end in exception {}", native.vector));
    }
    lines
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
