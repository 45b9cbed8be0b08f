//! Handlers of VEX and EVEX encodings: the tables of the families in [`vector`] describe them.

use super::operands::Kind;
use super::select::{hot, place};
use super::vex_quick;
use crate::bus::Bus;
use crate::describe::arithmetic;
use crate::exec::{Handler, Insn};
use crate::low::Low;
use crate::sse::XmmSrc;
use crate::vector::description::{Description, Descriptions, Shape};
use crate::vector::encoded::{Class, Encoded, Fields, Rounding};
use crate::vector::{self, execute, gather, intersect, special};
use iced_x86::{EncodingKind, Instruction, Mnemonic as M, OpKind, Register, RoundingControl};

/// What the families say.
fn describe(ins: &Instruction) -> Option<Description> {
    vector::moves::describe(ins)
        .or_else(|| vector::integer::describe(ins))
        .or_else(|| vector::shift::describe(ins))
        .or_else(|| vector::shuffle::describe(ins))
        .or_else(|| vector::permute::describe(ins))
        .or_else(|| vector::narrow::describe(ins))
        .or_else(|| vector::mask::describe(ins))
        .or_else(|| vector::float::describe(ins))
        .or_else(|| vector::gather::describe(ins))
        .or_else(|| vector::crypto::describe(ins))
        .or_else(|| vector::dot::describe(ins))
        .or_else(|| vector::bits::describe(ins))
        .or_else(|| intersect::describe(ins))
}

pub(super) fn handler<B: Bus>(
    ins: &Instruction,
    insn: &mut Insn<B>,
    descriptions: &mut Descriptions,
) -> Option<Handler<B>> {
    if let Some(handler) = special(ins, insn) {
        return Some(handler);
    }
    let memory = (0..ins.op_count()).find(|n| Kind::of(ins, *n) == Kind::Memory);
    let number = descriptions.number((ins.code(), memory.is_some()), || {
        describe(ins).map(|found| Description { arithmetic: arithmetic(ins), ..found })
    })?;
    let shape = descriptions.get(number)?.shape;
    let (mut fields, [destination, a, b]) = operands(ins, number, shape);
    (insn.dst, insn.aux, insn.src) = (destination, a, b);
    let indexed = gather::indexed(ins);
    let masked = gather::masked_move(ins);
    let intersects = matches!(ins.mnemonic(), M::Vp2intersectd | M::Vp2intersectq);
    if let Some(indexed) = indexed {
        (fields.memory, fields.third) = (indexed.data.into(), indexed.index);
        // That of the longer one of data and indices.
        fields.bytes = fields.bytes.max(ins.memory_index().size());
    }
    fields.third = masked.unwrap_or(fields.third);
    insn.imm = Encoded::from(fields).0;
    if indexed.is_none()
        && masked.is_none()
        && !intersects
        && let Some(description) = descriptions.get(number)
        && let Some(chain) = vex_quick::chain(ins, memory, description, &fields)
    {
        insn.next = chain;
    }
    Some(match memory {
        Some(0) if indexed.is_some() => gather::scatter,
        Some(_) if indexed.is_some() && ins.encoding() == EncodingKind::VEX => gather::gather_by_vector,
        Some(_) if indexed.is_some() => gather::gather,
        Some(0) if masked.is_some() => gather::store_masked,
        Some(_) if masked.is_some() => gather::load_masked,
        None if intersects => intersect::registers,
        Some(_) if intersects => intersect::load,
        None => execute::registers,
        Some(0) if shape != Shape::Sources => execute::store,
        Some(_) => execute::load,
    })
}

/// What is no operation on vectors.
fn special<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let memory = Kind::of(ins, 1) == Kind::Memory;
    let handler: Handler<B> = match ins.mnemonic() {
        M::Vzeroupper => hot!(insn, special::zero[B, false]),
        M::Vzeroall => special::zero::<B, true>,
        M::Vldmxcsr => special::load_control::<B>,
        M::Vstmxcsr => special::store_control::<B>,
        M::Vmaskmovdqu => {
            // Operands are implicit memory, then the two registers.
            insn.dst = ins.op1_register().number().low_u8();
            insn.src = ins.op2_register().number().low_u8();
            special::store_bytes::<B>
        }
        M::Vpcmpistri => place!(memory, XmmSrc, S => special::compare::<B, false, false, false, S>),
        M::Vpcmpistrm => place!(memory, XmmSrc, S => special::compare::<B, false, false, true, S>),
        M::Vpcmpestri => place!(memory, XmmSrc, S => special::compare::<B, true, false, false, S>),
        M::Vpcmpestrm => place!(memory, XmmSrc, S => special::compare::<B, true, false, true, S>),
        M::Vpcmpestri64 => place!(memory, XmmSrc, S => special::compare::<B, true, true, false, S>),
        M::Vpcmpestrm64 => place!(memory, XmmSrc, S => special::compare::<B, true, true, true, S>),
        _ => return None,
    };
    Some(handler)
}

/// Kind of a register operand, and its number.
fn class(register: Register) -> (Class, u8) {
    let number = register.number().low_u8();
    if register.is_vector_register() {
        (Class::Vector, number)
    } else if register.is_k() {
        (Class::Mask, number)
    } else if register.is_gpr() {
        (Class::General, number)
    } else {
        (Class::None, 0)
    }
}

/// Bytes of the vector that memory stands for: more than those of a register where a conversion narrows it.
fn memory_length(ins: &Instruction) -> usize {
    if ins.is_broadcast() { 16 << (ins.op_code().l() & 3) } else { ins.memory_size().size().min(64) }
}

/// What the encoding says, and the numbers of destination, first and last source.
fn operands(ins: &Instruction, number: u16, shape: Shape) -> (Fields, [u8; 3]) {
    let count = ins.op_count();
    let registers = (0..count).filter(|n| ins.op_kind(*n) == OpKind::Register).map(|n| ins.op_register(n));
    let vectors = registers.clone().filter(|register| register.is_vector_register());
    let place = |n: u32| {
        if ins.op_kind(n) == OpKind::Register { class(ins.op_register(n)) } else { (Class::None, 0) }
    };
    let first = u32::from(shape != Shape::Sources);
    let destination = if first == 0 || count == 0 { (Class::None, 0) } else { place(0) };
    let is_source = |n: &u32| Kind::of(ins, *n) != Kind::Immediate;
    let mut sources = (first..count).filter(is_source).map(place);
    let (one, two, third) = (sources.next(), sources.next(), sources.next());
    let (a, b) = match (one, two) {
        (Some(a), Some(b)) => (a, b),
        (Some(b), None) => (destination, b),
        _ => (destination, destination),
    };
    let rounding = match ins.rounding_control() {
        RoundingControl::None if ins.suppress_all_exceptions() => Rounding::Quiet,
        RoundingControl::None => Rounding::Dynamic,
        RoundingControl::RoundToNearest => Rounding::Static(0),
        RoundingControl::RoundDown => Rounding::Static(1),
        RoundingControl::RoundUp => Rounding::Static(2),
        RoundingControl::RoundTowardZero => Rounding::Static(3),
    };
    let memory_size = ins.memory_size();
    let fields = Fields {
        imm: (0..count)
            .find(|n| Kind::of(ins, *n) == Kind::Immediate)
            .map_or(0, |n| ins.immediate(n).low_u8()),
        number,
        mask: ins.op_mask().number().low_u8() & if ins.has_op_mask() { 7 } else { 0 },
        zeroing: ins.zeroing_masking(),
        broadcast: ins.is_broadcast(),
        evex: ins.encoding() == EncodingKind::EVEX || registers.clone().any(Register::is_k),
        rounding,
        memory: if ins.is_broadcast() { memory_size.element_size() } else { memory_size.size() },
        bytes: vectors.map(Register::size).max().unwrap_or(16).max(memory_length(ins)),
        destination: if ins.op0_kind() == OpKind::Register { ins.op0_register().size() } else { 0 },
        classes: [destination.0, a.0, b.0],
        third: third.map_or(0, |(_, number)| number),
    };
    (fields, [destination.1, a.1, b.1])
}
