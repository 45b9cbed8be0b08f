//! Sums, products, quotients, square roots, minima and maxima.

use super::{FloatElement, map, packed, scalar, zip};
use crate::float::Operation;
use crate::vector::{Description, Operands};
use iced_x86::{Instruction, Mnemonic as M};

#[inline(always)]
fn arithmetic<E: FloatElement>(o: &mut Operands<'_>, operation: Operation) {
    if !E::arithmetic_on_all(o, operation) {
        zip::<E>(o, |env, a, b| E::arithmetic(env, operation, a, b));
    }
}

fn add<E: FloatElement>(o: &mut Operands<'_>) {
    arithmetic::<E>(o, Operation::Add);
}

fn sub<E: FloatElement>(o: &mut Operands<'_>) {
    arithmetic::<E>(o, Operation::Sub);
}

fn mul<E: FloatElement>(o: &mut Operands<'_>) {
    arithmetic::<E>(o, Operation::Mul);
}

fn div<E: FloatElement>(o: &mut Operands<'_>) {
    arithmetic::<E>(o, Operation::Div);
}

fn min<E: FloatElement>(o: &mut Operands<'_>) {
    zip::<E>(o, |env, a, b| E::extreme(env, true, a, b));
}

fn max<E: FloatElement>(o: &mut Operands<'_>) {
    zip::<E>(o, |env, a, b| E::extreme(env, false, a, b));
}

fn square_root<E: FloatElement>(o: &mut Operands<'_>) {
    map::<E>(o, E::square_root);
}

pub(super) fn describe(ins: &Instruction) -> Option<Description> {
    Some(precisions! { ins;
        Vaddps Vaddpd Vaddph Vaddss Vaddsd Vaddsh = add;
        Vsubps Vsubpd Vsubph Vsubss Vsubsd Vsubsh = sub;
        Vmulps Vmulpd Vmulph Vmulss Vmulsd Vmulsh = mul;
        Vdivps Vdivpd Vdivph Vdivss Vdivsd Vdivsh = div;
        Vminps Vminpd Vminph Vminss Vminsd Vminsh = min;
        Vmaxps Vmaxpd Vmaxph Vmaxss Vmaxsd Vmaxsh = max;
        Vsqrtps Vsqrtpd Vsqrtph Vsqrtss Vsqrtsd Vsqrtsh = square_root;
    })
}
