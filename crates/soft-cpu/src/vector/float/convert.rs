//! Conversions between formats, to and from integers, and to integers in the same format.

use super::{FloatElement, active, packed, scalar};
use crate::float::convert::{Integer, between, round_scale, rounding_of, to_half_in};
use crate::float::{Env, HALF, SINGLE};
use crate::low::Low;
use crate::silicon::Rule;
use crate::vector::operands::Operation;
use crate::vector::{Description, Element, Operands, Vector};
use iced_x86::{Instruction, Mnemonic as M, OpKind};

/// An integer element.
trait IntegerElement: Element {
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

impl IntegerElement for u16 {
    fn of(bits: u64) -> Self {
        bits.low_u16()
    }
    fn bits(self) -> u64 {
        self.into()
    }
}

impl IntegerElement for u32 {
    fn of(bits: u64) -> Self {
        bits.low_u32()
    }
    fn bits(self) -> u64 {
        self.into()
    }
}

impl IntegerElement for u64 {
    fn of(bits: u64) -> Self {
        bits
    }
    fn bits(self) -> u64 {
        self
    }
}

const fn integer<I: Element>(signed: bool) -> Integer {
    Integer {
        width: if I::BYTES == 8 {
            64
        } else if I::BYTES == 4 {
            32
        } else {
            16
        },
        signed,
    }
}

/// result = f(b) where the sizes of elements differ: as many as there are of the wider.
#[inline(always)]
fn convert<S: Element, D: Element>(o: &mut Operands<'_>, f: impl Fn(&mut Env, S) -> D) {
    let mut result = Vector::ZERO;
    for n in active(o, o.bytes / S::BYTES.max(D::BYTES)) {
        result.set(n, f(o.env, o.b.get(n)));
    }
    *o.result = result;
}

/// The lowest element.
#[inline(always)]
fn convert_low<S: Element, D: Element>(o: &mut Operands<'_>, f: impl Fn(&mut Env, S) -> D) {
    if o.active & 1 != 0 {
        o.result.set(0, f(o.env, o.b.get(0)));
    }
}

fn reformat<S: FloatElement, D: FloatElement>(env: &mut Env, a: S) -> D {
    D::of(between(env, S::FORMAT, D::FORMAT, a.raw(), false))
}

fn format<S: FloatElement, D: FloatElement>(o: &mut Operands<'_>) {
    convert::<S, D>(o, reformat);
}

fn format_low<S: FloatElement, D: FloatElement>(o: &mut Operands<'_>) {
    convert_low::<S, D>(o, reformat);
}

/// VCVTPH2PS: subnormal operands are numbers like others, without DE.
fn from_half(o: &mut Operands<'_>) {
    convert::<u16, f32>(o, |env, a| f32::of(between(env, HALF, SINGLE, a.into(), true)));
}

/// VCVTPS2PH: bits 2:0 of the immediate are the rounding.
fn to_half(o: &mut Operands<'_>) {
    let (imm, subnormal_inexact) = (o.imm, o.rules.holds(Rule::HalfOfSubnormalInexact));
    convert::<f32, u16>(o, |env, a: f32| {
        let (mode, _) = rounding_of(env, imm);
        to_half_in(env, a.to_bits(), mode, subnormal_inexact).low_u16()
    });
}

fn to_integer<S: FloatElement, I: IntegerElement, const SIGNED: bool, const TRUNCATE: bool>(
    o: &mut Operands<'_>,
) {
    convert::<S, I>(o, |env, a| I::of(S::to_integer(env, a, integer::<I>(SIGNED), TRUNCATE)));
}

fn from_integer<I: IntegerElement, D: FloatElement, const SIGNED: bool>(o: &mut Operands<'_>) {
    convert::<I, D>(o, |env, a| D::from_integer(env, a.bits(), integer::<I>(SIGNED)));
}

/// To a general-purpose register.
fn to_general<S: FloatElement, I: IntegerElement, const SIGNED: bool, const TRUNCATE: bool>(
    o: &mut Operands<'_>,
) {
    let value = S::to_integer(o.env, o.b.get(0), integer::<I>(SIGNED), TRUNCATE);
    *o.result = Vector::from_low(value);
}

/// From a general-purpose register.
fn from_general<I: IntegerElement, D: FloatElement, const SIGNED: bool>(o: &mut Operands<'_>) {
    convert_low::<I, D>(o, |env, a| D::from_integer(env, a.bits(), integer::<I>(SIGNED)));
}

/// VROUNDxx.
fn round<E: FloatElement>(o: &mut Operands<'_>) {
    scale::<E>(o, 0);
}

/// VRNDSCALExx.
fn round_fraction<E: FloatElement>(o: &mut Operands<'_>) {
    scale::<E>(o, o.imm >> 4);
}

#[inline(always)]
fn scale<E: FloatElement>(o: &mut Operands<'_>, digits: u8) {
    for n in active(o, o.bytes / E::BYTES) {
        let value = o.b.get::<E>(n).raw();
        o.result.set(n, E::of(round_scale(o.env, E::FORMAT, value, o.imm, digits)));
    }
}

/// Single to half precision and the like: a bit of the mask for each of the wider elements.
const fn sized(operation: Operation, from: u8, to: u8) -> Description {
    packed(operation, to).per(if from > to { from } else { to })
}

/// To and from all integers of a size: source, destination.
macro_rules! integers {
    ($ins:expr; $($mnemonic:ident = $f:ident<$from:ty, $to:ty $(, $flag:literal)*>;)*) => {
        match $ins.mnemonic() {
            $(
                M::$mnemonic => sized(
                    $f::<$from, $to $(, $flag)*>,
                    const { size_of::<$from>() as u8 },
                    const { size_of::<$to>() as u8 },
                ),
            )*
            _ => return None,
        }
    };
}

#[allow(clippy::cast_possible_truncation, reason = "sizes of elements")]
fn to_integers(ins: &Instruction) -> Option<Description> {
    Some(integers! { ins;
        Vcvtps2dq = to_integer<f32, u32, true, false>;
        Vcvttps2dq = to_integer<f32, u32, true, true>;
        Vcvtps2udq = to_integer<f32, u32, false, false>;
        Vcvttps2udq = to_integer<f32, u32, false, true>;
        Vcvtps2qq = to_integer<f32, u64, true, false>;
        Vcvttps2qq = to_integer<f32, u64, true, true>;
        Vcvtps2uqq = to_integer<f32, u64, false, false>;
        Vcvttps2uqq = to_integer<f32, u64, false, true>;
        Vcvtpd2dq = to_integer<f64, u32, true, false>;
        Vcvttpd2dq = to_integer<f64, u32, true, true>;
        Vcvtpd2udq = to_integer<f64, u32, false, false>;
        Vcvttpd2udq = to_integer<f64, u32, false, true>;
        Vcvtpd2qq = to_integer<f64, u64, true, false>;
        Vcvttpd2qq = to_integer<f64, u64, true, true>;
        Vcvtpd2uqq = to_integer<f64, u64, false, false>;
        Vcvttpd2uqq = to_integer<f64, u64, false, true>;
        Vcvtph2w = to_integer<u16, u16, true, false>;
        Vcvttph2w = to_integer<u16, u16, true, true>;
        Vcvtph2uw = to_integer<u16, u16, false, false>;
        Vcvttph2uw = to_integer<u16, u16, false, true>;
        Vcvtph2dq = to_integer<u16, u32, true, false>;
        Vcvttph2dq = to_integer<u16, u32, true, true>;
        Vcvtph2udq = to_integer<u16, u32, false, false>;
        Vcvttph2udq = to_integer<u16, u32, false, true>;
        Vcvtph2qq = to_integer<u16, u64, true, false>;
        Vcvttph2qq = to_integer<u16, u64, true, true>;
        Vcvtph2uqq = to_integer<u16, u64, false, false>;
        Vcvttph2uqq = to_integer<u16, u64, false, true>;
    })
}

#[allow(clippy::cast_possible_truncation, reason = "sizes of elements")]
fn from_integers(ins: &Instruction) -> Option<Description> {
    Some(integers! { ins;
        Vcvtdq2ps = from_integer<u32, f32, true>;
        Vcvtudq2ps = from_integer<u32, f32, false>;
        Vcvtqq2ps = from_integer<u64, f32, true>;
        Vcvtuqq2ps = from_integer<u64, f32, false>;
        Vcvtdq2pd = from_integer<u32, f64, true>;
        Vcvtudq2pd = from_integer<u32, f64, false>;
        Vcvtqq2pd = from_integer<u64, f64, true>;
        Vcvtuqq2pd = from_integer<u64, f64, false>;
        Vcvtw2ph = from_integer<u16, u16, true>;
        Vcvtuw2ph = from_integer<u16, u16, false>;
        Vcvtdq2ph = from_integer<u32, u16, true>;
        Vcvtudq2ph = from_integer<u32, u16, false>;
        Vcvtqq2ph = from_integer<u64, u16, true>;
        Vcvtuqq2ph = from_integer<u64, u16, false>;
    })
}

#[allow(clippy::cast_possible_truncation, reason = "sizes of elements")]
fn formats(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vcvtph2ps => sized(from_half, 2, 4),
        M::Vcvtps2ph => sized(to_half, 4, 2),
        M::Vcvtss2sd => scalar(format_low::<f32, f64>, 8),
        M::Vcvtsd2ss => scalar(format_low::<f64, f32>, 4),
        M::Vcvtsh2ss => scalar(format_low::<u16, f32>, 4),
        M::Vcvtsh2sd => scalar(format_low::<u16, f64>, 8),
        M::Vcvtss2sh => scalar(format_low::<f32, u16>, 2),
        M::Vcvtsd2sh => scalar(format_low::<f64, u16>, 2),
        _ => integers! { ins;
            Vcvtps2pd = format<f32, f64>;
            Vcvtpd2ps = format<f64, f32>;
            Vcvtph2psx = format<u16, f32>;
            Vcvtps2phx = format<f32, u16>;
            Vcvtph2pd = format<u16, f64>;
            Vcvtpd2ph = format<f64, u16>;
        },
    })
}

/// To or from a general-purpose register of 32 or 64 bits.
macro_rules! general {
    ($wide:expr, $bytes:literal, $f:ident<$from:ty, _ $(, $flag:literal)*>) => {
        if $wide {
            scalar($f::<$from, u64 $(, $flag)*>, $bytes)
        } else {
            scalar($f::<$from, u32 $(, $flag)*>, $bytes)
        }
    };
    ($wide:expr, $bytes:literal, $f:ident<_, $to:ty $(, $flag:literal)*>) => {
        if $wide {
            scalar($f::<u64, $to $(, $flag)*>, $bytes)
        } else {
            scalar($f::<u32, $to $(, $flag)*>, $bytes)
        }
    };
}

fn generals(ins: &Instruction) -> Option<Description> {
    let to = ins.op0_register().size() == 8;
    let from = match ins.op2_kind() {
        OpKind::Memory => ins.memory_size().size() == 8,
        _ => ins.op2_register().size() == 8,
    };
    Some(match ins.mnemonic() {
        M::Vcvtss2si => general!(to, 4, to_general<f32, _, true, false>),
        M::Vcvttss2si => general!(to, 4, to_general<f32, _, true, true>),
        M::Vcvtsd2si => general!(to, 8, to_general<f64, _, true, false>),
        M::Vcvttsd2si => general!(to, 8, to_general<f64, _, true, true>),
        M::Vcvtsh2si => general!(to, 2, to_general<u16, _, true, false>),
        M::Vcvttsh2si => general!(to, 2, to_general<u16, _, true, true>),
        M::Vcvtss2usi => general!(to, 4, to_general<f32, _, false, false>),
        M::Vcvttss2usi => general!(to, 4, to_general<f32, _, false, true>),
        M::Vcvtsd2usi => general!(to, 8, to_general<f64, _, false, false>),
        M::Vcvttsd2usi => general!(to, 8, to_general<f64, _, false, true>),
        M::Vcvtsh2usi => general!(to, 2, to_general<u16, _, false, false>),
        M::Vcvttsh2usi => general!(to, 2, to_general<u16, _, false, true>),
        M::Vcvtsi2ss => general!(from, 4, from_general<_, f32, true>),
        M::Vcvtsi2sd => general!(from, 8, from_general<_, f64, true>),
        M::Vcvtsi2sh => general!(from, 2, from_general<_, u16, true>),
        M::Vcvtusi2ss => general!(from, 4, from_general<_, f32, false>),
        M::Vcvtusi2sd => general!(from, 8, from_general<_, f64, false>),
        M::Vcvtusi2sh => general!(from, 2, from_general<_, u16, false>),
        _ => return None,
    })
}

fn roundings(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vroundps => packed(round::<f32>, 4),
        M::Vroundpd => packed(round::<f64>, 8),
        M::Vroundss => scalar(round::<f32>, 4),
        M::Vroundsd => scalar(round::<f64>, 8),
        M::Vrndscaleps => packed(round_fraction::<f32>, 4),
        M::Vrndscalepd => packed(round_fraction::<f64>, 8),
        M::Vrndscaleph => packed(round_fraction::<u16>, 2),
        M::Vrndscaless => scalar(round_fraction::<f32>, 4),
        M::Vrndscalesd => scalar(round_fraction::<f64>, 8),
        M::Vrndscalesh => scalar(round_fraction::<u16>, 2),
        _ => return None,
    })
}

pub(super) fn describe(ins: &Instruction) -> Option<Description> {
    to_integers(ins)
        .or_else(|| from_integers(ins))
        .or_else(|| formats(ins))
        .or_else(|| generals(ins))
        .or_else(|| roundings(ins))
}
