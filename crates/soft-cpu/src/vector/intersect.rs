//! VP2INTERSECTx: which elements of two vectors occur in the other one, as a pair of masks. The only instructions with
//! two destinations, and without a write mask.

use super::execute::parts;
use super::{Description, Element, Vector, memory};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::Done;
use crate::exec::Insn;
use iced_x86::{Instruction, Mnemonic as M};

/// The description of those: nothing is computed by it.
pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vp2intersectd => Description::packed(super::moves::copy, 4).whole(),
        M::Vp2intersectq => Description::packed(super::moves::copy, 8).whole(),
        _ => return None,
    })
}

/// All operands in registers.
pub(crate) fn registers<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_vector(parts(i).code.needed())?;
    let last = *c.xmm.get(i.src);
    intersect(c, i, &last)
}

/// The last source in memory.
pub(crate) fn load<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let code = parts(i).code;
    c.require_vector(code.needed())?;
    let last = memory::load(c, b, i, code)?;
    intersect(c, i, &last)
}

/// The pair is that of the destination: its number without the lowest bit (SDM volume 2, VP2INTERSECTD).
fn intersect<B: Bus>(c: &mut Core, i: &Insn<B>, last: &Vector) -> Done {
    let code = parts(i).code;
    let Some(description) = c.descriptions.get(code.number()) else { return Err(c.ud()) };
    let first = c.xmm.get(i.aux);
    let masks = match description.element {
        4 => matches::<u32>(first, last, code.bytes()),
        _ => matches::<u64>(first, last, code.bytes()),
    };
    let pair = usize::from(i.dst & 6);
    [c.opmask[pair], c.opmask[pair + 1]] = masks;
    Ok(())
}

/// The elements of `a` that are in `b`, and those of `b` that are in `a`.
fn matches<E: Element + PartialEq>(a: &Vector, b: &Vector, bytes: usize) -> [u64; 2] {
    let count = bytes / E::BYTES;
    let (a, b) = (&a.elements::<E>()[..count], &b.elements::<E>()[..count]);
    let of = |own: &[E], other: &[E]| {
        own.iter().enumerate().fold(0, |mask, (n, element)| mask | u64::from(other.contains(element)) << n)
    };
    [of(a, b), of(b, a)]
}
