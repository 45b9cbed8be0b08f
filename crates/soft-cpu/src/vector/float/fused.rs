//! Fused multiply-add: of destination, first and last source, 132 says that the first and third are multiplied and the
//! second is added, and so on.

use super::{FloatElement, active, packed};
use crate::float::arithmetic::Signs;
use crate::vector::operands::Operation;
use crate::vector::{Description, Operands};
use iced_x86::{Instruction, Mnemonic as M};

/// What is added where.
#[derive(Clone, Copy)]
enum Alternate {
    Never,
    /// Even elements subtract, odd ones add: FMADDSUB.
    SubtractFirst,
    /// The other way round: FMSUBADD.
    AddFirst,
}

/// `FORM` is 132, 213 or 231. Which operand's NaN counts depends on it: the factors come before the addend, in the
/// order of their numbers (SDM volume 1, section 14.5.2).
#[inline(always)]
fn multiply_add<E: FloatElement, const FORM: u16>(o: &mut Operands<'_>, signs: Signs, alternate: Alternate) {
    if matches!(alternate, Alternate::Never) {
        let old = *o.result;
        let (first, second, third) = (&old, o.a, o.b);
        let sources = match FORM {
            132 => [first, third, second],
            213 => [second, first, third],
            _ => [second, third, first],
        };
        if E::fused_on_all(o, signs, sources) {
            return;
        }
    }
    for n in active(o, o.bytes / E::BYTES) {
        let (first, second, third) = (o.result.get::<E>(n), o.a.get::<E>(n), o.b.get::<E>(n));
        let operands = match FORM {
            132 => [first, third, second],
            213 => [second, first, third],
            _ => [second, third, first],
        };
        let order = [0, 1, 2];
        let signs = match alternate {
            Alternate::Never => signs,
            Alternate::SubtractFirst => Signs { addend: n & 1 == 0, ..signs },
            Alternate::AddFirst => Signs { addend: n & 1 != 0, ..signs },
        };
        o.result.set(n, E::fused(o.env, signs, operands, order));
    }
}

const fn signs(product: bool, addend: bool) -> Signs {
    Signs { product, addend }
}

fn madd<E: FloatElement, const FORM: u16>(o: &mut Operands<'_>) {
    multiply_add::<E, FORM>(o, signs(false, false), Alternate::Never);
}

fn msub<E: FloatElement, const FORM: u16>(o: &mut Operands<'_>) {
    multiply_add::<E, FORM>(o, signs(false, true), Alternate::Never);
}

fn nmadd<E: FloatElement, const FORM: u16>(o: &mut Operands<'_>) {
    multiply_add::<E, FORM>(o, signs(true, false), Alternate::Never);
}

fn nmsub<E: FloatElement, const FORM: u16>(o: &mut Operands<'_>) {
    multiply_add::<E, FORM>(o, signs(true, true), Alternate::Never);
}

fn maddsub<E: FloatElement, const FORM: u16>(o: &mut Operands<'_>) {
    multiply_add::<E, FORM>(o, signs(false, false), Alternate::SubtractFirst);
}

fn msubadd<E: FloatElement, const FORM: u16>(o: &mut Operands<'_>) {
    multiply_add::<E, FORM>(o, signs(false, false), Alternate::AddFirst);
}

const fn merge(operation: Operation, bytes: u8) -> Description {
    Description::merge(operation, bytes).floats()
}

macro_rules! table {
    ($ins:expr; $($ps:ident $pd:ident $ph:ident $ss:ident $sd:ident $sh:ident = $f:ident $form:literal;)*) => {
        match $ins.mnemonic() {
            $(
                M::$ps => packed($f::<f32, $form>, 4),
                M::$pd => packed($f::<f64, $form>, 8),
                M::$ph => packed($f::<u16, $form>, 2),
                M::$ss => merge($f::<f32, $form>, 4),
                M::$sd => merge($f::<f64, $form>, 8),
                M::$sh => merge($f::<u16, $form>, 2),
            )*
            _ => return None,
        }
    };
}

macro_rules! packed_table {
    ($ins:expr; $($ps:ident $pd:ident $ph:ident = $f:ident $form:literal;)*) => {
        match $ins.mnemonic() {
            $(
                M::$ps => packed($f::<f32, $form>, 4),
                M::$pd => packed($f::<f64, $form>, 8),
                M::$ph => packed($f::<u16, $form>, 2),
            )*
            _ => return None,
        }
    };
}

pub(super) fn describe(ins: &Instruction) -> Option<Description> {
    alternating(ins).or_else(|| alike(ins))
}

fn alternating(ins: &Instruction) -> Option<Description> {
    Some(packed_table! { ins;
        Vfmaddsub132ps Vfmaddsub132pd Vfmaddsub132ph = maddsub 132;
        Vfmaddsub213ps Vfmaddsub213pd Vfmaddsub213ph = maddsub 213;
        Vfmaddsub231ps Vfmaddsub231pd Vfmaddsub231ph = maddsub 231;
        Vfmsubadd132ps Vfmsubadd132pd Vfmsubadd132ph = msubadd 132;
        Vfmsubadd213ps Vfmsubadd213pd Vfmsubadd213ph = msubadd 213;
        Vfmsubadd231ps Vfmsubadd231pd Vfmsubadd231ph = msubadd 231;
    })
}

fn alike(ins: &Instruction) -> Option<Description> {
    Some(table! { ins;
        Vfmadd132ps Vfmadd132pd Vfmadd132ph Vfmadd132ss Vfmadd132sd Vfmadd132sh = madd 132;
        Vfmadd213ps Vfmadd213pd Vfmadd213ph Vfmadd213ss Vfmadd213sd Vfmadd213sh = madd 213;
        Vfmadd231ps Vfmadd231pd Vfmadd231ph Vfmadd231ss Vfmadd231sd Vfmadd231sh = madd 231;
        Vfmsub132ps Vfmsub132pd Vfmsub132ph Vfmsub132ss Vfmsub132sd Vfmsub132sh = msub 132;
        Vfmsub213ps Vfmsub213pd Vfmsub213ph Vfmsub213ss Vfmsub213sd Vfmsub213sh = msub 213;
        Vfmsub231ps Vfmsub231pd Vfmsub231ph Vfmsub231ss Vfmsub231sd Vfmsub231sh = msub 231;
        Vfnmadd132ps Vfnmadd132pd Vfnmadd132ph Vfnmadd132ss Vfnmadd132sd Vfnmadd132sh = nmadd 132;
        Vfnmadd213ps Vfnmadd213pd Vfnmadd213ph Vfnmadd213ss Vfnmadd213sd Vfnmadd213sh = nmadd 213;
        Vfnmadd231ps Vfnmadd231pd Vfnmadd231ph Vfnmadd231ss Vfnmadd231sd Vfnmadd231sh = nmadd 231;
        Vfnmsub132ps Vfnmsub132pd Vfnmsub132ph Vfnmsub132ss Vfnmsub132sd Vfnmsub132sh = nmsub 132;
        Vfnmsub213ps Vfnmsub213pd Vfnmsub213ph Vfnmsub213ss Vfnmsub213sd Vfnmsub213sh = nmsub 213;
        Vfnmsub231ps Vfnmsub231pd Vfnmsub231ph Vfnmsub231ss Vfnmsub231sd Vfnmsub231sh = nmsub 231;
    })
}
