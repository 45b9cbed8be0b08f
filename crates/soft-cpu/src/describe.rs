//! Instructions in the neutral form that observers of the retirement stream get.

mod encoding;
pub(crate) mod operation;

use iced_x86::{
    Code, CodeSize, ConditionCode, CpuidFeature, FlowControl, Instruction, InstructionInfo,
    InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, RflagsBits,
};
use retire::{
    Arithmetic, Class, Divider, FormId, Fusion, InstructionSet, JumpFlags, Prefetch, RegisterFile,
    RegisterSet, Renaming,
};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Numbers of registers in the sets of a [`retire::Instruction`], behind the 16 general-purpose ones: XMM0 to XMM15,
/// whatever their width.
const XMM: u8 = 16;
/// CF apart from the other flags, because INC, DEC and rotates treat it apart.
const CARRY: u8 = 32;
const OTHER_FLAGS: u8 = 33;
/// The x87 stack and the MMX registers, as one.
const X87: u8 = 34;
/// ZMM16 to ZMM31.
const UPPER: u8 = 35;
/// k0 to k7.
const MASKS: u8 = 51;
/// MXCSR, control registers, and whatever else is written rarely.
const SYSTEM: u8 = 59;
const STACK_POINTER: RegisterSet = 1 << 4;
/// General-purpose registers.
const GENERAL: RegisterSet = 0xFFFF;

/// How instructions are numbered. Names of forms are those of iced-x86's `Code`, such as `Add_r64_rm64`.
pub const X86: InstructionSet =
    InstructionSet { form, registers: SYSTEM as u32 + 1, flags: 1 << CARRY | 1 << OTHER_FLAGS };

fn form(name: &str) -> Option<FormId> {
    static FORMS: LazyLock<HashMap<String, FormId>> =
        LazyLock::new(|| Code::values().map(|code| (format!("{code:?}"), form_of(code))).collect());
    FORMS.get(name).copied()
}

fn form_of(code: Code) -> FormId {
    FormId(code as u32)
}

/// An instruction, of which `code` is the encoding if there is one, as observers get it. Its
/// [`offset`](retire::Instruction::offset) is the low 16 bits of its address, so it is decoded as if its block were at
/// address 0.
#[must_use]
pub fn instruction(
    instruction: &Instruction,
    code: &[u8],
    info: &mut InstructionInfoFactory,
) -> retire::Instruction {
    let info = info.info(instruction);
    let Registers { address, sources, results } = registers(instruction, info);
    let memory_operand = has_memory(instruction);
    let accesses =
        |wanted: fn(OpAccess) -> bool| info.used_memory().iter().any(|memory| wanted(memory.access()));
    let loads =
        accesses(|access| !matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::NoMemAccess));
    let stores =
        accesses(|access| !matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess));
    let exchanges = memory_operand && instruction.mnemonic() == Mnemonic::Xchg;
    retire::Instruction {
        form: form_of(instruction.code()),
        offset: instruction.ip() as u16,
        length: instruction.len() as u8,
        memory_operand,
        loads,
        stores,
        locked: instruction.has_lock_prefix() || exchanges,
        length_changing: changes_length(instruction),
        address,
        sources,
        distant: distant(instruction, sources),
        results,
        base: None,
        class: class(instruction),
        fusion: fusion(instruction, stores),
        renaming: renaming(instruction),
        divider: divider(instruction),
        arithmetic: arithmetic(instruction),
        register_file: register_file(instruction),
        domain: operation::domain(instruction),
        encoding: encoding::encoding(instruction, code, info, results),
    }
}

/// The registers that an instruction works on.
pub(crate) fn register_file(instruction: &Instruction) -> RegisterFile {
    let registers = || {
        let operands = 0..instruction.op_count();
        operands.filter(|n| instruction.op_kind(*n) == OpKind::Register).map(|n| instruction.op_register(n))
    };
    if registers().any(|register| register.is_vector_register() || register.is_k()) {
        RegisterFile::Vector
    } else if registers().any(Register::is_mm) || instruction.mnemonic() == Mnemonic::Emms {
        RegisterFile::Mmx
    } else if instruction.code().cpuid_features().contains(&CpuidFeature::FPU) {
        RegisterFile::X87
    } else {
        RegisterFile::General
    }
}

/// Sets of registers.
struct Registers {
    address: RegisterSet,
    sources: RegisterSet,
    results: RegisterSet,
}

fn registers(instruction: &Instruction, info: &InstructionInfo) -> Registers {
    let mut address = 0;
    if has_memory(instruction) {
        for register in [instruction.memory_base(), instruction.memory_index()] {
            address |= bit(register);
        }
    }
    let (mut sources, mut results) = (0, 0);
    for used in info.used_registers() {
        let register = bit(used.register());
        let access = used.access();
        let reads = matches!(
            access,
            OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        );
        let writes = !matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
        // A write of part of a register keeps the rest of it.
        let merges = writes && (used.register().is_gpr8() || used.register().is_gpr16());
        let only_address = reads && address & register != 0 && !is_operand(instruction, register);
        if (reads || merges || access == OpAccess::CondWrite) && !only_address {
            sources |= register;
        }
        if writes {
            results |= register;
        }
    }
    sources |= flags(instruction.rflags_read());
    results |= flags(instruction.rflags_modified());
    if instruction.is_stack_instruction() && results & STACK_POINTER != 0 {
        // The stack engine adds to RSP at decoding: its users do not wait.
        results &= !STACK_POINTER;
        address |= sources & STACK_POINTER;
        sources &= !STACK_POINTER;
    }
    Registers { address, sources, results }
}

/// See [`retire::Instruction::distant`].
fn distant(instruction: &Instruction, sources: RegisterSet) -> RegisterSet {
    match (instruction.mnemonic(), register_file(instruction)) {
        (Mnemonic::Lea, _) => bit(instruction.memory_base()),
        (_, RegisterFile::Vector) => sources & GENERAL,
        _ if instruction.condition_code() != ConditionCode::None => flags(instruction.rflags_read()),
        _ => 0,
    }
}

fn class(instruction: &Instruction) -> Class {
    use Mnemonic as M;
    let repeats = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    match instruction.mnemonic() {
        M::Nop | M::Fnop => Class::Nop,
        M::Pause => Class::Pause,
        M::Prefetchnta => Class::Prefetch(Prefetch::NonTemporal),
        M::Prefetcht0 => Class::Prefetch(Prefetch::First),
        M::Prefetcht1 | M::Prefetcht2 => Class::Prefetch(Prefetch::Outer),
        M::Prefetchw => Class::Prefetch(Prefetch::Write),
        M::Clflush | M::Clflushopt => Class::LineFlush,
        mnemonic if repeats && instruction.is_string_instruction() => {
            let moves = matches!(
                mnemonic,
                M::Movsb | M::Movsw | M::Movsd | M::Movsq | M::Stosb | M::Stosw | M::Stosd | M::Stosq
            );
            Class::Repeated { compares: !moves }
        }
        _ if is_direct_branch(instruction) => Class::DirectBranch,
        _ => Class::Plain,
    }
}

/// LOOP and JRCXZ, which are more than a branch, are none.
fn is_direct_branch(instruction: &Instruction) -> bool {
    instruction.is_jcc_short_or_near() || instruction.is_jmp_short_or_near() || instruction.is_call_near()
}

fn fusion(instruction: &Instruction, stores: bool) -> Fusion {
    use ConditionCode as C;
    if instruction.flow_control() == FlowControl::ConditionalBranch && instruction.is_jcc_short_or_near() {
        let read = instruction.rflags_read();
        let sign = matches!(instruction.condition_code(), C::s | C::ns | C::o | C::no | C::p | C::np);
        return Fusion::Jump { carry: read & RflagsBits::CF != 0, sign };
    }
    let immediate = (0..instruction.op_count())
        .any(|n| instruction.op_kind(n) != OpKind::Register && instruction.op_kind(n) != OpKind::Memory);
    // A compare of memory with a constant does not fuse with the jump behind it; no RIP-relative one does.
    let memory = has_memory(instruction) && (immediate || instruction.is_ip_rel_memory_operand());
    if memory || stores {
        return Fusion::None;
    }
    match instruction.mnemonic() {
        Mnemonic::Test | Mnemonic::And => Fusion::First(JumpFlags::Any),
        Mnemonic::Cmp | Mnemonic::Add | Mnemonic::Sub => Fusion::First(JumpFlags::NoSign),
        Mnemonic::Inc | Mnemonic::Dec => Fusion::First(JumpFlags::NoSignOrCarry),
        _ => Fusion::None,
    }
}

/// Zeroing idioms with three operands, of registers up to 256 bits (Intel's Optimization Reference Manual, "Dependency
/// Breaking Idioms").
fn vector_zero(instruction: &Instruction) -> Option<Renaming> {
    use Mnemonic as M;
    let (first, second) = (instruction.op1_register(), instruction.op2_register());
    let short = first.is_xmm() || first.is_ymm();
    if instruction.op_count() != 3 || first != second || !short || instruction.has_op_mask() {
        return None;
    }
    match instruction.mnemonic() {
        M::Vpxor | M::Vxorps | M::Vxorpd | M::Vpsubb | M::Vpsubw | M::Vpsubd | M::Vpsubq => {
            Some(Renaming::Zero)
        }
        M::Vpcmpgtb | M::Vpcmpgtw | M::Vpcmpgtd if instruction.op0_register().is_vector_register() => {
            Some(Renaming::Zero)
        }
        _ => None,
    }
}

/// A byte that is not the second one of its register.
fn is_low_byte(register: Register) -> bool {
    use Register as R;
    register.is_gpr8() && !matches!(register, R::AH | R::BH | R::CH | R::DH)
}

/// Constants that renaming adds on cores that do: measured on Redwood Cove, 11 bits with the sign.
const OFFSETS: std::ops::Range<i64> = -1024..1024;

/// The constant that an instruction adds to a general-purpose register of 64 bits, whatever flags it sets besides.
fn offset(instruction: &Instruction) -> Option<i64> {
    use Mnemonic as M;
    if instruction.op0_kind() != OpKind::Register || !instruction.op0_register().is_gpr64() {
        return None;
    }
    let constant = || match instruction.op1_kind() {
        OpKind::Immediate8to64 | OpKind::Immediate32to64 => Some(instruction.immediate(1).cast_signed()),
        _ => None,
    };
    match instruction.mnemonic() {
        M::Inc => Some(1),
        M::Dec => Some(-1),
        M::Add => constant(),
        M::Sub => constant().map(i64::wrapping_neg),
        M::Lea if instruction.memory_base().is_gpr64() && instruction.memory_index() == Register::None => {
            Some(instruction.memory_displacement64().cast_signed())
        }
        _ => None,
    }
}

/// Zeroing idioms, moves, and other things that renaming can do.
fn renaming(instruction: &Instruction) -> Renaming {
    if let Some(renaming) = vector_zero(instruction) {
        return renaming;
    }
    if offset(instruction).is_some_and(|offset| OFFSETS.contains(&offset)) {
        return Renaming::Offset;
    }
    if instruction.op_count() != 2
        || instruction.op0_kind() != OpKind::Register
        || instruction.op1_kind() != OpKind::Register
    {
        return Renaming::None;
    }
    use Mnemonic as M;
    let (to, from) = (instruction.op0_register(), instruction.op1_register());
    let general = to.is_gpr32() || to.is_gpr64();
    match instruction.mnemonic() {
        M::Xor | M::Sub if general && to == from => Renaming::Zero,
        M::Sbb if general && to == from => Renaming::Borrow(to.full_register().number() as u8),
        M::Pxor | M::Xorps | M::Xorpd | M::Psubb | M::Psubw | M::Psubd | M::Psubq
            if to.is_xmm() && to == from =>
        {
            Renaming::Zero
        }
        M::Pcmpgtb | M::Pcmpgtw | M::Pcmpgtd | M::Pcmpgtq if to.is_xmm() && to == from => Renaming::Zero,
        M::Pcmpeqb | M::Pcmpeqw | M::Pcmpeqd | M::Pcmpeqq if to.is_xmm() && to == from => {
            Renaming::Independent
        }
        M::Movzx if general && is_low_byte(from) && to.full_register() != from.full_register() => {
            Renaming::Extension
        }
        M::Mov if general && !from.is_segment_register() && to != from => Renaming::Move,
        M::Mov if (to.is_gpr32() || to.is_gpr64()) && to == from => Renaming::OwnMove,
        M::Movaps | M::Movapd | M::Movups | M::Movdqa | M::Movdqu
            if to.is_xmm() && from.is_xmm() && to != from =>
        {
            Renaming::VectorMove
        }
        M::Vmovaps
        | M::Vmovapd
        | M::Vmovups
        | M::Vmovupd
        | M::Vmovdqa
        | M::Vmovdqu
        | M::Vmovdqa32
        | M::Vmovdqa64
        | M::Vmovdqu32
        | M::Vmovdqu64
            if to != from && !instruction.has_op_mask() =>
        {
            Renaming::VectorMove
        }
        _ => Renaming::None,
    }
}

fn divider(instruction: &Instruction) -> Option<Divider> {
    use Mnemonic as M;
    Some(match instruction.mnemonic() {
        M::Div | M::Idiv => match instruction.code() {
            Code::Div_rm64 | Code::Idiv_rm64 => Divider::WideInteger,
            _ => Divider::Integer,
        },
        M::Divss | M::Divps | M::Vdivss | M::Vdivps => Divider::Single,
        M::Divsd | M::Divpd | M::Vdivsd | M::Vdivpd => Divider::Double,
        M::Sqrtss | M::Sqrtps | M::Vsqrtss | M::Vsqrtps => Divider::RootSingle,
        M::Sqrtsd | M::Sqrtpd | M::Vsqrtsd | M::Vsqrtpd => Divider::RootDouble,
        M::Fdiv | M::Fdivp | M::Fdivr | M::Fdivrp | M::Fidiv | M::Fidivr => Divider::Double,
        M::Fsqrt => Divider::RootDouble,
        _ => return None,
    })
}

/// Floating-point arithmetic of SSE, AVX, FMA and AVX-512, by the parts of its name; that on half precision has events
/// of its own, which are not counted.
pub(crate) fn arithmetic(instruction: &Instruction) -> Option<Arithmetic> {
    if register_file(instruction) != RegisterFile::Vector {
        return None;
    }
    let name = format!("{:?}", instruction.mnemonic());
    let legacy = name.strip_prefix('V').map(|rest| rest[..1].to_uppercase() + &rest[1..]);
    let name = legacy.as_deref().unwrap_or(&name);
    let (operation, suffix) = name.split_at_checked(name.len().checked_sub(2)?)?;
    let (double, packed) = match suffix {
        "ss" => (false, false),
        "sd" => (true, false),
        "ps" => (false, true),
        "pd" => (true, true),
        _ => return None,
    };
    let to = instruction.op0_register();
    let width = if packed && to.is_vector_register() { to.size() as u8 } else { 16 };
    let lanes = if !packed { 1 } else { width / if double { 8 } else { 4 } };
    let (count, operations) = match operation {
        "Add" | "Sub" | "Addsub" | "Hadd" | "Hsub" => (1, [lanes, 0, 0, 0]),
        "Mul" => (1, [0, lanes, 0, 0]),
        "Div" | "Sqrt" => (1, [0, 0, lanes, 0]),
        "Min" | "Max" | "Rcp" | "Rsqrt" | "Rcp14" | "Rsqrt14" | "Range" => (1, [0; 4]),
        "Dp" => (2, dot_product(instruction.immediate8(), double, width)),
        _ if ["Fmadd", "Fmsub", "Fnmadd", "Fnmsub"].iter().any(|fused| operation.starts_with(fused)) => {
            (2, [0, 0, 0, 2 * lanes])
        }
        _ => return None,
    };
    Some(Arithmetic { double, packed, width, count, operations })
}

/// See [`Arithmetic::operations`] (AMD's event FP_RET_SSE_AVX_OPS): the sums and the products that bits 7:4 of the
/// immediate choose, in each 128 bits.
pub(crate) fn dot_product(control: u8, double: bool, width: u8) -> [u8; 4] {
    let lanes: u8 = if double { 2 } else { 4 };
    let products = (control >> 4 & ((1 << lanes) - 1)).count_ones() as u8;
    let times = width / 16;
    [(lanes - 1) * times, products * times, 0, 0]
}

/// An operand-size prefix that changes the length of an immediate.
fn changes_length(instruction: &Instruction) -> bool {
    let immediate = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == OpKind::Immediate16);
    let natural = instruction.code_size() == CodeSize::Code16;
    immediate && !natural && instruction.op_count() > 1
}

fn has_memory(instruction: &Instruction) -> bool {
    instruction.op_kinds().any(|kind| kind == OpKind::Memory)
}

fn flags(bits: u32) -> RegisterSet {
    let others = RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::PF;
    RegisterSet::from(bits & RflagsBits::CF != 0) << CARRY
        | RegisterSet::from(bits & others != 0) << OTHER_FLAGS
}

/// True if the register is an operand itself, not only part of an address.
fn is_operand(instruction: &Instruction, register: RegisterSet) -> bool {
    (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register && bit(instruction.op_register(operand)) == register
    }) || instruction.is_stack_instruction()
        || instruction.is_string_instruction()
}

/// The register's bit; 0 for those that no instruction waits for.
fn bit(register: Register) -> RegisterSet {
    let full = register.full_register();
    if full.is_gpr64() {
        1 << full.number()
    } else if register.is_vector_register() {
        let number = register.number() as u8;
        1 << if number < 16 { XMM + number } else { UPPER + number - 16 }
    } else if register.is_k() {
        1 << (MASKS + register.number() as u8)
    } else if register.is_st() || register.is_mm() {
        1 << X87
    } else if register.is_cr() || register.is_segment_register() {
        // Reads of segments come with every memory access, and do not wait.
        0
    } else if register == Register::None || register.is_ip() {
        0
    } else {
        1 << SYSTEM
    }
}
