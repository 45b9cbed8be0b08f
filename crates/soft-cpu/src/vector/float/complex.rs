//! Complex numbers in half precision: a pair of elements, the real part first.

use super::{FloatElement, active};
use crate::float::Operation;
use crate::float::arithmetic::Signs;
use crate::vector::{Description, Operands};
use iced_x86::{Instruction, Mnemonic as M};

/// a * b, or with `CONJUGATE` a * conj(b); with `ADD` it is added to the destination. The products with b's real part
/// come first, and are rounded (SDM volume 2, VFMULCPH, VFMADDCPH). Exceptions that are not masked are
/// noted and raise nothing (seen: Granite Rapids).
fn multiply<const CONJUGATE: bool, const ADD: bool>(o: &mut Operands<'_>) {
    o.env.mask_all();
    let order = [0, 1, 2];
    let signs = |product| Signs { product, addend: false };
    let pairs = if o.bytes < 16 { 1 } else { o.bytes / 4 };
    let mut firsts = [[0_u16; 2]; 16];
    for n in active(o, pairs) {
        let [re, im] = [0, 1].map(|k| o.a.get::<u16>(2 * n + k));
        let real = o.b.get::<u16>(2 * n);
        let old = [0, 1].map(|k| o.result.get::<u16>(2 * n + k));
        firsts[n] = if ADD {
            [
                u16::fused(o.env, signs(false), [re, real, old[0]], order),
                u16::fused(o.env, signs(false), [im, real, old[1]], order),
            ]
        } else {
            [
                u16::arithmetic(o.env, Operation::Mul, re, real),
                u16::arithmetic(o.env, Operation::Mul, im, real),
            ]
        };
    }
    for n in active(o, pairs) {
        let [re, im] = [0, 1].map(|k| o.a.get::<u16>(2 * n + k));
        let imaginary = o.b.get::<u16>(2 * n + 1);
        let [first, second] = firsts[n];
        o.result.set(2 * n, u16::fused(o.env, signs(!CONJUGATE), [im, imaginary, first], order));
        o.result.set(2 * n + 1, u16::fused(o.env, signs(CONJUGATE), [re, imaginary, second], order));
    }
}

pub(super) fn describe(ins: &Instruction) -> Option<Description> {
    let packed = |operation| Description::packed(operation, 4).floats();
    let scalar = |operation| Description::scalar(operation, 4).floats();
    Some(match ins.mnemonic() {
        M::Vfmulcph => packed(multiply::<false, false>),
        M::Vfcmulcph => packed(multiply::<true, false>),
        M::Vfmaddcph => packed(multiply::<false, true>),
        M::Vfcmaddcph => packed(multiply::<true, true>),
        M::Vfmulcsh => scalar(multiply::<false, false>),
        M::Vfcmulcsh => scalar(multiply::<true, false>),
        M::Vfmaddcsh => scalar(multiply::<false, true>),
        M::Vfcmaddcsh => scalar(multiply::<true, true>),
        _ => return None,
    })
}
