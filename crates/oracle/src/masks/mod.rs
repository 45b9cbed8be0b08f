//! What is not compared, and why: one table, which `docs/oracle.md` shows. Its rows are about what the SDM (order
//! numbers 253665 to 253668) leaves undefined, about what Intel and AMD do differently and `soft-cpu` does in one way
//! (`soft_cpu::silicon` has the rest), and about what para-virtual KVM does not let ring 3 see.

mod area;
mod table;

pub use table::MASKS;

use crate::case::{Case, Outcome};
use crate::start::Start;
use iced_x86::{
    Code, CpuidFeature, EncodingKind, Instruction, Mnemonic, OpCodeOperandKind as Kind, OpKind, Register,
};
use std::fmt::Write as _;

/// A row.
#[derive(Debug, Clone, Copy)]
pub struct Mask {
    /// The instructions.
    pub which: Which,
    /// When it applies.
    pub when: When,
    /// What is not compared.
    pub effect: Effect,
    /// The reason, and where the manuals say so.
    pub why: &'static str,
}

/// The instructions of a row.
#[derive(Debug, Clone, Copy)]
pub enum Which {
    /// All forms of some mnemonics.
    Mnemonics(&'static [Mnemonic]),
    /// Single forms.
    Codes(&'static [Code]),
    /// Those with a segment register as an operand.
    SegmentRegister,
    /// All.
    Any,
}

/// A condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// Unless the encoding shifts by one: D0 and D1.
    NotByOne,
    /// The x87 status word has an invalid operation or a denormal operand that the control word does not mask.
    Unmasked,
    /// The instruction raises this exception.
    Vector(u8),
    /// The instruction raises #GP or #SS.
    Protection,
    /// The instruction raises #PF, #GP or #SS, which para-virtual KVM makes an #UD of.
    Memory,
}

/// What is not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Bits of RFLAGS, from the instruction on.
    Flags(u64),
    /// Bits of the x87 status word, from the instruction on.
    Status(u16),
    /// The bytes with the x87 pointers and the opcode, and those with MXCSR_MASK, in what it stores.
    Pointers,
    /// One unit in the last place of x87 registers, and C1.
    LastPlace,
    /// Anything, if ST(0) is beyond this magnitude.
    Domain(u128),
    /// TOP and the tags.
    MmxState,
    /// CR2, and bit 0 of the error code.
    FaultAddress,
    /// Anything, if one side raises #PF.
    MayFault,
    /// Anything, if the interpreter raises #GP.
    Misaligned,
    /// #UD on the native side, #GP(0) or #SS(0) on the other.
    Emulated,
    /// #PF on the native side, #GP(0) or #SS(0) on the other, of an operand across the end of the lower half of the
    /// address space.
    LowerEnd,
    /// #PF or #SS of the operand at RSI on the native side, #GP(0) of the one at RDI on the other.
    EmulatedOrder,
    /// #SS on the native side, #GP(0) on the other, of an operand in the stack segment.
    EmulatedStack,
    /// Memory, if a repeated instruction reads through one address what it writes through another.
    AliasedMemory,
    /// Anything at the #GP of a CALL whose return address is stored over its target.
    EmulatedTarget,
    /// P and RSVD in the error code of a #PF in the upper half of the address space.
    UpperHalf,
    /// The destination beyond the elements, and of elements of a mask in a vector register all but the sign.
    GatherRest,
    /// What is saved of components in their initial state.
    InitialState,
    /// Anything at a #PF on the native side, if EDX:EAX names components that the case does not enable.
    HostComponents,
    /// The case is left out once that happens.
    Unsupported,
    /// The instruction is not generated.
    Omit,
}

impl Which {
    fn contains(&self, code: Code) -> bool {
        match self {
            Self::Mnemonics(list) => list.contains(&code.mnemonic()),
            Self::Codes(list) => list.contains(&code),
            Self::SegmentRegister => code.op_code().op_kinds().iter().any(|kind| {
                matches!(
                    kind,
                    Kind::seg_reg | Kind::es | Kind::cs | Kind::ss | Kind::ds | Kind::fs | Kind::gs
                )
            }),
            Self::Any => false,
        }
    }
}

impl When {
    /// Whether it holds at the end of a case, for an instruction that is executed.
    fn holds(self, instruction: &Instruction, outcome: &Outcome) -> bool {
        match self {
            Self::Always => true,
            Self::NotByOne => !shifts_by_one(instruction.code()),
            Self::Unmasked => outcome.fsw & !outcome.fcw & 3 != 0,
            Self::Vector(vector) => outcome.vector == vector && outcome.rip == instruction.ip(),
            Self::Memory => matches!(outcome.vector, 6 | 12..=14) && outcome.rip == instruction.ip(),
            Self::Protection => matches!(outcome.vector, 12 | 13) && outcome.rip == instruction.ip(),
        }
    }
}

fn shifts_by_one(code: Code) -> bool {
    let info = code.op_code();
    info.op_count() == 2 && info.op_kind(1) == Kind::imm8_const_1
}

/// C1 in the x87 status word.
pub(crate) const C1: u16 = 1 << 9;
/// P in the error code of #PF.
const PRESENT: u64 = 1;
/// RSVD in it.
const RESERVED: u64 = 1 << 3;

/// Why an instruction is not generated; `None` when it is compared.
#[must_use]
pub fn omitted(code: Code) -> Option<&'static str> {
    let info = code.op_code();
    if !info.is_instruction() || !info.mode64() || !info.intel_decoder64() {
        return Some("does not exist in 64-bit mode");
    }
    if !matches!(info.encoding(), EncodingKind::Legacy | EncodingKind::VEX | EncodingKind::EVEX) {
        return Some("XOP and MVEX encodings are not implemented");
    }
    if info.is_privileged() {
        return Some("belongs to ring 0");
    }
    if code.cpuid_features().iter().any(of_one_vendor) {
        return Some("neither Intel's nor today's");
    }
    MASKS.iter().find(|mask| mask.effect == Effect::Omit && mask.which.contains(code)).map(|mask| mask.why)
}

fn of_one_vendor(feature: &CpuidFeature) -> bool {
    use CpuidFeature as F;
    let name = format!("{feature:?}");
    name.starts_with("CYRIX") || matches!(feature, F::D3NOW | F::D3NOWEXT)
}

/// Whether an effect other than [`Omit`](Effect::Omit) applies to an instruction at all.
pub(crate) fn has(instruction: Option<&Instruction>, effect: Effect) -> bool {
    instruction.is_some_and(|instruction| {
        MASKS.iter().any(|mask| mask.effect == effect && mask.which.contains(instruction.code()))
    })
}

/// What an instruction leaves undefined and later ones may use.
pub(crate) struct Undefined {
    /// Bits of RFLAGS.
    pub(crate) flags: u64,
    /// Bits of the x87 status word.
    pub(crate) status: u16,
    /// The last place of x87 results, and C1.
    pub(crate) last_place: bool,
}

/// What an instruction may leave undefined.
pub(crate) fn undefined(instruction: &Instruction) -> Undefined {
    let mut undefined = Undefined { flags: 0, status: 0, last_place: false };
    for mask in MASKS.iter().filter(|mask| mask.which.contains(instruction.code())) {
        match mask.effect {
            Effect::Flags(_) if mask.when == When::NotByOne && shifts_by_one(instruction.code()) => {}
            Effect::Flags(bits) => undefined.flags |= bits,
            Effect::Status(bits) => undefined.status |= bits,
            Effect::LastPlace => undefined.last_place = true,
            _ => {}
        }
    }
    undefined
}

/// Whether an instruction is only generated as the first of a case: what is masked in it depends on the registers.
pub(crate) fn only_first(code: Code) -> bool {
    let domain = |mask: &Mask| matches!(mask.effect, Effect::Domain(_)) && mask.which.contains(code);
    table::POINTERS.iter().any(|(codes, _)| codes.contains(&code)) || alone(code) || MASKS.iter().any(domain)
}

/// Whether nothing comes behind an instruction: what is masked of it is in memory, which others could change.
pub(crate) fn alone(code: Code) -> bool {
    area::saves(code.mnemonic())
}

/// Whether the operand of the first instruction is one for which nothing is defined.
pub(crate) fn outside_domain(case: &Case, instructions: &[Instruction]) -> bool {
    let Some(first) = instructions.first() else { return false };
    MASKS.iter().filter(|mask| mask.which.contains(first.code())).any(|mask| match mask.effect {
        Effect::Domain(limit) => Start::from_seed(case.seed).st[0] & !(1 << 79) > limit,
        _ => false,
    })
}

/// Clears what is masked in one side's outcome of a case with these instructions.
pub(crate) fn clear(case: &Case, instructions: &[Instruction], outcome: &mut Outcome) {
    // Effect::UpperHalf.
    if outcome.vector == 14 && outcome.cr2 >> 63 != 0 {
        outcome.error &= !(PRESENT | RESERVED);
    }
    let last = instructions.iter().position(|ins| ins.ip() == outcome.rip).unwrap_or(instructions.len());
    let mut flags = 0;
    for instruction in instructions.iter().take(last + 1) {
        let mut here = 0;
        for mask in MASKS.iter().filter(|mask| mask.which.contains(instruction.code())) {
            if !mask.when.holds(instruction, outcome) {
                continue;
            }
            match mask.effect {
                Effect::Flags(bits) => here |= bits,
                Effect::Status(bits) => outcome.fsw &= !bits,
                Effect::GatherRest => clear_gather_rest(instruction, outcome),
                Effect::FaultAddress => {
                    outcome.cr2 = 0;
                    outcome.error &= !PRESENT;
                }
                Effect::MmxState => {
                    let top = usize::from(outcome.fsw >> 11 & 7);
                    outcome.st.rotate_right(top);
                    outcome.fsw &= !0x3800;
                    outcome.ftw = 0xFF;
                }
                _ => {}
            }
        }
        flags = if here == 0 && defines_all(instruction.mnemonic()) { 0 } else { flags | here };
    }
    outcome.rflags &= !flags;
    if let Some(first) = instructions.first() {
        clear_pointers(case, first, outcome);
    }
    area::clear(case, instructions, outcome);
}

/// Clears what [`Effect::GatherRest`] masks.
fn clear_gather_rest(instruction: &Instruction, outcome: &mut Outcome) {
    let number = |register: Register| register.number() & 31;
    let destination = instruction.op0_register();
    outcome.zmm[number(destination)][destination.size() / 16..].fill(0);
    if instruction.op2_kind() == OpKind::Register && instruction.op2_register().is_vector_register() {
        let signs = match instruction.memory_size().size() {
            4 => 0x8000_0000_8000_0000_8000_0000_8000_0000,
            _ => 0x8000_0000_0000_0000_8000_0000_0000_0000,
        };
        let mask = instruction.op2_register();
        for (n, quarter) in outcome.zmm[number(mask)].iter_mut().enumerate() {
            *quarter &= if n < mask.size() / 16 { signs } else { 0 };
        }
    }
}

/// Clears what [`Effect::LastPlace`] masks, which takes both sides.
pub(crate) fn clear_last_place(instructions: &[Instruction], native: &mut Outcome, soft: &mut Outcome) {
    if !instructions.iter().any(|instruction| has(Some(instruction), Effect::LastPlace)) {
        return;
    }
    native.fsw &= !C1;
    soft.fsw &= !C1;
    // Without the integer bit the encodings of one sign are consecutive numbers.
    let place = |bits: u128| bits >> 64 << 63 | bits & ((1 << 63) - 1);
    for (native, soft) in native.st.iter_mut().zip(&soft.st) {
        if place(*native).abs_diff(place(*soft)) == 1 {
            *native = *soft;
        }
    }
}

fn clear_pointers(case: &Case, first: &Instruction, outcome: &mut Outcome) {
    let Some((_, bytes)) = table::POINTERS.iter().find(|(codes, _)| codes.contains(&first.code())) else {
        return;
    };
    let start = Start::from_seed(case.seed);
    let register = |register: Register, _, _| Some(start.register(register));
    if let Some(address) = first.virtual_address(0, 0, register) {
        let offset = |byte: u64| {
            (address.wrapping_add(byte) & !crate::layout::HIGH).wrapping_sub(crate::layout::SCRATCH)
        };
        for (first, end) in *bytes {
            let masked = offset(*first)..offset(*end);
            outcome.memory.retain(|(at, _)| !masked.contains(&u64::from(*at)));
        }
    }
}

/// Instructions that write every status flag, whatever the operands.
fn defines_all(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
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

/// The table for `docs/oracle.md`.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from("| instructions | not compared | when | why |\n| --- | --- | --- | --- |\n");
    for mask in MASKS {
        let names = |list: &[String]| list.join(", ");
        let which = match mask.which {
            Which::Mnemonics(list) => {
                names(&list.iter().map(|m| format!("{m:?}").to_uppercase()).collect::<Vec<_>>())
            }
            Which::Codes(list) => names(
                &list.iter().map(|code| code.op_code().instruction_string().to_owned()).collect::<Vec<_>>(),
            ),
            Which::SegmentRegister => "with a segment register as an operand".to_owned(),
            Which::Any => "any".to_owned(),
        };
        let when = match mask.when {
            When::Always => String::new(),
            When::NotByOne => "not the form that shifts by 1".to_owned(),
            When::Unmasked => "IE or DE, not masked".to_owned(),
            When::Memory => "at #PF, #GP and #SS".to_owned(),
            When::Protection => "at #GP and #SS".to_owned(),
            When::Vector(13) => "at #GP".to_owned(),
            When::Vector(14) => "at #PF".to_owned(),
            When::Vector(19) => "at #XM".to_owned(),
            When::Vector(vector) => format!("at exception {vector}"),
        };
        let effect = match mask.effect {
            Effect::Flags(bits) => names(&bit_names(bits, &FLAG_NAMES)),
            Effect::Status(bits) => names(&bit_names(bits.into(), &STATUS_NAMES)),
            Effect::Pointers => "x87 pointers, opcode and MXCSR_MASK in memory".to_owned(),
            Effect::Domain(_) => "the result and its exceptions".to_owned(),
            Effect::LastPlace => "the last place, C1".to_owned(),
            Effect::MmxState => "TOP, tags".to_owned(),
            Effect::FaultAddress => "CR2, and P in the error code".to_owned(),
            Effect::MayFault => "whether it raises #PF".to_owned(),
            Effect::GatherRest => {
                "the destination beyond the elements, the mask but for its signs".to_owned()
            }
            Effect::InitialState => {
                "XSTATE_BV of components in their initial state, and whether XSAVEOPT and XSAVEC \
                                     write those"
                    .to_owned()
            }
            Effect::Misaligned => "whether it raises #GP".to_owned(),
            Effect::Emulated => "#UD or #GP, #SS".to_owned(),
            Effect::LowerEnd => "#PF or #GP, #SS".to_owned(),
            Effect::EmulatedStack => "#SS or #GP".to_owned(),
            Effect::EmulatedOrder => "#PF or #SS, or #GP".to_owned(),
            Effect::AliasedMemory => "memory".to_owned(),
            Effect::EmulatedTarget => "all".to_owned(),
            Effect::UpperHalf => "P and RSVD in the error code".to_owned(),
            Effect::HostComponents => "whether it raises #PF".to_owned(),
            Effect::Unsupported => "the case is left out".to_owned(),
            Effect::Omit => "all".to_owned(),
        };
        let _ = writeln!(text, "| {which} | {effect} | {when} | {} |", mask.why);
    }
    text
}

const FLAG_NAMES: [(u64, &str); 6] =
    [(1, "CF"), (1 << 2, "PF"), (1 << 4, "AF"), (1 << 6, "ZF"), (1 << 7, "SF"), (1 << 11, "OF")];
const STATUS_NAMES: [(u64, &str); 4] = [(1 << 8, "C0"), (1 << 9, "C1"), (1 << 10, "C2"), (1 << 14, "C3")];

fn bit_names(bits: u64, names: &[(u64, &str)]) -> Vec<String> {
    names.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests;
