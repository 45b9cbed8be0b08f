//! Floating-point operations of AVX, FMA, F16C, AVX-512 and AVX512-FP16: [`float`](crate::float)'s functions on all
//! elements. Half precision is an element of its own, for which nothing is left to the host.

/// The description of an instruction by its mnemonic: single, double and half precision, packed and scalar.
macro_rules! precisions {
    ($ins:expr; $($ps:ident $pd:ident $ph:ident $ss:ident $sd:ident $sh:ident = $f:ident;)*) => {
        match $ins.mnemonic() {
            $(
                M::$ps => packed($f::<f32>, 4),
                M::$pd => packed($f::<f64>, 8),
                M::$ph => packed($f::<u16>, 2),
                M::$ss => scalar($f::<f32>, 4),
                M::$sd => scalar($f::<f64>, 8),
                M::$sh => scalar($f::<u16>, 2),
            )*
            _ => return None,
        }
    };
}

mod arithmetic;
mod compare;
mod complex;
mod convert;
mod element;
mod fused;
mod kernel;
mod neighbours;
mod special;

use super::{Description, Operands};
use element::FloatElement;
use iced_x86::Instruction;
pub(crate) use kernel::Kernel;

pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
    let found = arithmetic::describe(ins)
        .or_else(|| fused::describe(ins))
        .or_else(|| compare::describe(ins))
        .or_else(|| convert::describe(ins))
        .or_else(|| neighbours::describe(ins))
        .or_else(|| special::describe(ins))
        .or_else(|| complex::describe(ins))?;
    Some(Description { kernel: kernel::of(ins), ..found })
}

/// Elements of a format, each of which has its exceptions.
const fn packed(operation: super::operands::Operation, bytes: u8) -> Description {
    Description::packed(operation, bytes).floats()
}

/// The lowest element of a format.
const fn scalar(operation: super::operands::Operation, bytes: u8) -> Description {
    Description::scalar(operation, bytes).floats()
}

/// The numbers of the elements to work on.
fn active(o: &Operands<'_>, count: usize) -> impl Iterator<Item = usize> + use<> {
    let active = o.active;
    (0..count).filter(move |n| active >> n & 1 != 0)
}

/// result = f(b), element by element.
#[inline(always)]
fn map<E: FloatElement>(o: &mut Operands<'_>, f: impl Fn(&mut crate::float::Env, E) -> E) {
    for n in active(o, o.bytes / E::BYTES) {
        o.result.set(n, f(o.env, o.b.get(n)));
    }
}

/// result = f(a, b), element by element.
#[inline(always)]
fn zip<E: FloatElement>(o: &mut Operands<'_>, f: impl Fn(&mut crate::float::Env, E, E) -> E) {
    for n in active(o, o.bytes / E::BYTES) {
        o.result.set(n, f(o.env, o.a.get(n), o.b.get(n)));
    }
}
