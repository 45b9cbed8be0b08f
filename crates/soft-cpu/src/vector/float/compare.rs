//! Comparisons: into elements, mask registers and flags.

use super::{FloatElement, active, packed, scalar};
use crate::flags::{CF, PF, ZF};
use crate::vector::{Description, Operands, Vector};
use core::cmp::Ordering;
use iced_x86::{Instruction, Mnemonic as M};

/// The elements for which the predicate holds.
#[inline(always)]
fn holding<E: FloatElement>(o: &mut Operands<'_>) -> u64 {
    let mut bits = 0;
    for n in active(o, o.bytes / E::BYTES) {
        bits |= u64::from(E::compare(o.env, o.imm & 31, o.a.get(n), o.b.get(n))) << n;
    }
    bits
}

/// All ones where the predicate holds.
fn to_elements<E: FloatElement>(o: &mut Operands<'_>) {
    let bits = holding::<E>(o);
    for n in 0..o.bytes / E::BYTES {
        o.result.set(n, E::of(if bits >> n & 1 != 0 { u64::MAX } else { 0 }));
    }
}

fn to_mask<E: FloatElement>(o: &mut Operands<'_>) {
    *o.result = Vector::from_low(holding::<E>(o));
}

fn order<E: FloatElement, const SIGNALS: bool>(o: &mut Operands<'_>) {
    let order = E::order(o.env, SIGNALS, o.a.get(0), o.b.get(0));
    o.flags = Some(match order {
        Some(Ordering::Greater) => 0,
        Some(Ordering::Less) => CF,
        Some(Ordering::Equal) => ZF,
        None => ZF | PF | CF,
    });
}

const fn sources(operation: crate::vector::operands::Operation) -> Description {
    Description::sources(operation).floats()
}

pub(super) fn describe(ins: &Instruction) -> Option<Description> {
    let mask = ins.op0_register().is_k();
    Some(match ins.mnemonic() {
        M::Vcmpps if mask => packed(to_mask::<f32>, 4),
        M::Vcmppd if mask => packed(to_mask::<f64>, 8),
        M::Vcmpph => packed(to_mask::<u16>, 2),
        M::Vcmpss if mask => scalar(to_mask::<f32>, 4),
        M::Vcmpsd if mask => scalar(to_mask::<f64>, 8),
        M::Vcmpsh => scalar(to_mask::<u16>, 2),
        M::Vcmpps => packed(to_elements::<f32>, 4),
        M::Vcmppd => packed(to_elements::<f64>, 8),
        M::Vcmpss => scalar(to_elements::<f32>, 4),
        M::Vcmpsd => scalar(to_elements::<f64>, 8),
        M::Vcomiss => sources(order::<f32, true>),
        M::Vcomisd => sources(order::<f64, true>),
        M::Vcomish => sources(order::<u16, true>),
        M::Vucomiss => sources(order::<f32, false>),
        M::Vucomisd => sources(order::<f64, false>),
        M::Vucomish => sources(order::<u16, false>),
        _ => return None,
    })
}
