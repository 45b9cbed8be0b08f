//! Operations on parts of numbers, of AVX512F, AVX512DQ and AVX512-FP16, and bfloat16.

use super::{FloatElement, active, map, packed, scalar, zip};
use crate::float::bfloat;
use crate::float::convert::reduce;
use crate::float::estimate::{reciprocal, reciprocal_root};
use crate::float::order::range;
use crate::float::parts::{exponent, fix_up, is_of_class, scale, significand};
use crate::silicon::Rule;
use crate::vector::{Description, Operands, Vector};
use iced_x86::{Instruction, Mnemonic as M};

/// VRANGExx.
fn range_of<E: FloatElement>(o: &mut Operands<'_>) {
    let imm = o.imm;
    zip::<E>(o, |env, a, b| E::of(range(env, E::FORMAT, imm, a.raw(), b.raw())));
}

/// VREDUCExx.
fn reduced<E: FloatElement>(o: &mut Operands<'_>) {
    let (imm, flushes_always) = (o.imm, o.rules.holds(Rule::ReduceFlushesAlways));
    map::<E>(o, |env, b| E::of(reduce(env, E::FORMAT, b.raw(), imm, flushes_always)));
}

/// VGETEXPxx.
fn get_exponent<E: FloatElement>(o: &mut Operands<'_>) {
    map::<E>(o, |env, b| E::of(exponent(env, E::FORMAT, b.raw())));
}

/// VGETMANTxx.
fn get_significand<E: FloatElement>(o: &mut Operands<'_>) {
    let imm = o.imm;
    map::<E>(o, |env, b| E::of(significand(env, E::FORMAT, b.raw(), imm)));
}

/// VSCALEFxx.
fn scaled<E: FloatElement>(o: &mut Operands<'_>) {
    zip::<E>(o, |env, a, b| E::of(scale(env, E::FORMAT, a.raw(), b.raw())));
}

/// VFIXUPIMMxx.
fn fixed_up<E: FloatElement>(o: &mut Operands<'_>) {
    for n in active(o, o.bytes / E::BYTES) {
        let [old, a, b] = [o.result.get::<E>(n), o.a.get(n), o.b.get(n)].map(E::raw);
        o.result.set(n, E::of(fix_up(o.env, E::FORMAT, old, a, b, o.imm)));
    }
}

/// VFPCLASSxx.
fn classes<E: FloatElement>(o: &mut Operands<'_>) {
    let mut bits = 0;
    for n in active(o, o.bytes / E::BYTES) {
        bits |= u64::from(is_of_class(o.env, E::FORMAT, o.b.get::<E>(n).raw(), o.imm)) << n;
    }
    *o.result = Vector::from_low(bits);
}

/// VRCP14xx, VRCPPH.
fn approximate<E: FloatElement>(o: &mut Operands<'_>) {
    map::<E>(o, |env, b| E::of(reciprocal(env, E::FORMAT, b.raw())));
}

/// VRSQRT14xx, VRSQRTPH.
fn approximate_root<E: FloatElement>(o: &mut Operands<'_>) {
    map::<E>(o, |env, b| E::of(reciprocal_root(env, E::FORMAT, b.raw())));
}

/// VCVTNEPS2BF16.
fn to_bfloat(o: &mut Operands<'_>) {
    let mut result = Vector::ZERO;
    for n in 0..o.bytes / 4 {
        result.set(n, bfloat::narrow(o.b.get(n)));
    }
    *o.result = result;
}

/// VCVTNE2PS2BF16: the last source's elements below those of the first.
fn two_to_bfloat(o: &mut Operands<'_>) {
    let count = o.bytes / 4;
    for n in 0..count {
        o.result.set(n, bfloat::narrow(o.b.get(n)));
        o.result.set(count + n, bfloat::narrow(o.a.get(n)));
    }
}

/// VDPBF16PS: the odd elements' products are added first.
fn dot_bfloat(o: &mut Operands<'_>) {
    let env = &mut bfloat::environment();
    for n in active(o, o.bytes / 4) {
        let mut sum = o.result.get(n);
        for n in [2 * n + 1, 2 * n] {
            sum = bfloat::accumulate(env, sum, o.a.get(n), o.b.get(n));
        }
        o.result.set(n, sum);
    }
}

fn all_formats(ins: &Instruction) -> Option<Description> {
    Some(precisions! { ins;
        Vreduceps Vreducepd Vreduceph Vreducess Vreducesd Vreducesh = reduced;
        Vgetexpps Vgetexppd Vgetexpph Vgetexpss Vgetexpsd Vgetexpsh = get_exponent;
        Vgetmantps Vgetmantpd Vgetmantph Vgetmantss Vgetmantsd Vgetmantsh = get_significand;
        Vscalefps Vscalefpd Vscalefph Vscalefss Vscalefsd Vscalefsh = scaled;
        Vrcp14ps Vrcp14pd Vrcpph Vrcp14ss Vrcp14sd Vrcpsh = approximate;
        Vrsqrt14ps Vrsqrt14pd Vrsqrtph Vrsqrt14ss Vrsqrt14sd Vrsqrtsh = approximate_root;
        Vfpclassps Vfpclasspd Vfpclassph Vfpclassss Vfpclasssd Vfpclasssh = classes;
    })
}

pub(super) fn describe(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vrangeps => packed(range_of::<f32>, 4),
        M::Vrangepd => packed(range_of::<f64>, 8),
        M::Vrangess => scalar(range_of::<f32>, 4),
        M::Vrangesd => scalar(range_of::<f64>, 8),
        M::Vfixupimmps => packed(fixed_up::<f32>, 4),
        M::Vfixupimmpd => packed(fixed_up::<f64>, 8),
        M::Vfixupimmss => scalar(fixed_up::<f32>, 4),
        M::Vfixupimmsd => scalar(fixed_up::<f64>, 8),
        M::Vcvtneps2bf16 => Description::packed(to_bfloat, 2).per(4),
        M::Vcvtne2ps2bf16 => Description::packed(two_to_bfloat, 2).whole(),
        M::Vdpbf16ps => Description::packed(dot_bfloat, 4),
        _ => return all_formats(ins),
    })
}
