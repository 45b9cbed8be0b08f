//! Moves of whole vectors.

use super::{Description, Element, Operands, Vector};
use iced_x86::{Instruction, Mnemonic as M, OpKind};

/// The result is the last source.
pub(super) fn copy(o: &mut Operands<'_>) {
    *o.result = *o.b;
}

/// Its lowest element.
fn copy_low<E: Element>(o: &mut Operands<'_>) {
    o.result.set::<E>(0, o.b.get(0));
}

fn memory(ins: &Instruction) -> bool {
    ins.op_kinds().any(|kind| kind == OpKind::Memory)
}

/// The lowest element; above it zeros.
fn low<E: Element>(o: &mut Operands<'_>) {
    let value = o.b.get::<E>(0);
    *o.result = Vector::ZERO;
    o.result.set(0, value);
}

/// The first source, but half `TO` of its 128 bits is half `FROM` of the last one.
fn half<const TO: usize, const FROM: usize>(o: &mut Operands<'_>) {
    let value = o.b.get::<u64>(FROM);
    *o.result = *o.a;
    o.result.set(TO, value);
}

/// The upper half of 128 bits.
fn high(o: &mut Operands<'_>) {
    *o.result = Vector::from_low(o.b.get(1));
}

pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
    whole(ins).or_else(|| parts(ins))
}

/// All of a register or memory is moved.
pub(crate) fn is_whole(ins: &Instruction) -> bool {
    whole(ins).is_some()
}

fn whole(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vmovaps | M::Vmovdqa32 => Description::packed(copy, 4).aligned(),
        M::Vmovapd | M::Vmovdqa64 => Description::packed(copy, 8).aligned(),
        M::Vmovdqa | M::Vmovntdq | M::Vmovntps | M::Vmovntpd | M::Vmovntdqa => {
            Description::packed(copy, 16).aligned()
        }
        M::Vmovdqu8 => Description::packed(copy, 1),
        M::Vmovdqu16 => Description::packed(copy, 2),
        M::Vmovups | M::Vmovdqu32 => Description::packed(copy, 4),
        M::Vmovupd | M::Vmovdqu64 => Description::packed(copy, 8),
        M::Vmovdqu | M::Vlddqu => Description::packed(copy, 16),
        _ => return None,
    })
}

fn parts(ins: &Instruction) -> Option<Description> {
    let stores = ins.op0_kind() == OpKind::Memory;
    Some(match ins.mnemonic() {
        M::Vmovsh if !memory(ins) => Description::scalar(copy_low::<u16>, 2),
        M::Vmovss if !memory(ins) => Description::scalar(copy_low::<u32>, 4),
        M::Vmovsd if !memory(ins) => Description::scalar(copy_low::<u64>, 8),
        // To and from memory there is one element, and what is above it in the register becomes 0.
        M::Vmovsh => Description::packed(low::<u16>, 2).per(16),
        M::Vmovss => Description::packed(low::<u32>, 4).per(16),
        M::Vmovsd => Description::packed(low::<u64>, 8).per(16),
        M::Vmovw => Description::packed(low::<u16>, 16),
        M::Vmovd => Description::packed(low::<u32>, 16),
        M::Vmovq => Description::packed(low::<u64>, 16),
        M::Vmovlps | M::Vmovlpd if stores => Description::packed(low::<u64>, 16),
        M::Vmovhps | M::Vmovhpd if stores => Description::packed(high, 16),
        M::Vmovlps | M::Vmovlpd => Description::packed(half::<0, 0>, 16),
        M::Vmovhps | M::Vmovhpd | M::Vmovlhps => Description::packed(half::<1, 0>, 16),
        M::Vmovhlps => Description::packed(half::<0, 1>, 16),
        _ => return None,
    })
}
