//! Operations on parts of numbers, of AVX512DQ and AVX512-FP16.

use super::{FloatElement, packed, scalar, zip};
use crate::float::convert::reduce;
use crate::float::order::range;
use crate::vector::{Description, Operands};
use iced_x86::{Instruction, Mnemonic as M};

/// VRANGExx.
fn range_of<E: FloatElement>(o: &mut Operands<'_>) {
    let imm = o.imm;
    zip::<E>(o, |env, a, b| E::of(range(env, E::FORMAT, imm, a.raw(), b.raw())));
}

/// VREDUCExx.
fn reduced<E: FloatElement>(o: &mut Operands<'_>) {
    let imm = o.imm;
    zip::<E>(o, |env, _a, b| E::of(reduce(env, E::FORMAT, b.raw(), imm)));
}

pub(super) fn describe(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vrangeps => packed(range_of::<f32>, 4),
        M::Vrangepd => packed(range_of::<f64>, 8),
        M::Vrangess => scalar(range_of::<f32>, 4),
        M::Vrangesd => scalar(range_of::<f64>, 8),
        M::Vreduceps => packed(reduced::<f32>, 4),
        M::Vreducepd => packed(reduced::<f64>, 8),
        M::Vreduceph => packed(reduced::<u16>, 2),
        M::Vreducess => scalar(reduced::<f32>, 4),
        M::Vreducesd => scalar(reduced::<f64>, 8),
        M::Vreducesh => scalar(reduced::<u16>, 2),
        _ => return None,
    })
}
