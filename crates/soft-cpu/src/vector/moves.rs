//! Moves of whole vectors.

use super::{Description, Element, Operands};
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

pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
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
        M::Vmovss if !memory(ins) => Description::scalar(copy_low::<u32>, 4),
        M::Vmovsd if !memory(ins) => Description::scalar(copy_low::<u64>, 8),
        // To and from memory there is one element, and what is above it in the register becomes 0.
        M::Vmovss => Description::packed(copy, 4).per(16),
        M::Vmovsd => Description::packed(copy, 8).per(16),
        M::Vmovdqu | M::Vlddqu => Description::packed(copy, 16),
        _ => return None,
    })
}
