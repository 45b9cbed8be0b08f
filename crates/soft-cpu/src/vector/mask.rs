//! Mask registers: their own instructions, comparisons into them, and moves between them and vectors.

use super::lanes::mask_of;
use super::{Description, Element, Operands, Vector};
use crate::flags::{CF, ZF};
use iced_x86::{Instruction, Mnemonic as M};

/// Descriptions of mask instructions by mnemonic, for 8, 16, 32 and 64 bits.
macro_rules! widths {
    ($ins:expr; $($constructor:ident $f:ident: $b:ident $w:ident $d:ident $q:ident;)*) => {
        match $ins.mnemonic() {
            $(
                M::$b => widths!(@ $constructor $f::<8>),
                M::$w => widths!(@ $constructor $f::<16>),
                M::$d => widths!(@ $constructor $f::<32>),
                M::$q => widths!(@ $constructor $f::<64>),
            )*
            _ => return None,
        }
    };
    (@ packed $f:expr) => { Description::packed($f, 16) };
    (@ sources $f:expr) => { Description::sources($f) };
}

pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
    masks(ins).or_else(|| comparisons(ins)).or_else(|| vectors(ins))
}

fn masks(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Kunpckbw => Description::packed(unpack::<8>, 16),
        M::Kunpckwd => Description::packed(unpack::<16>, 16),
        M::Kunpckdq => Description::packed(unpack::<32>, 16),
        _ => widths! { ins;
            packed kmov: Kmovb Kmovw Kmovd Kmovq;
            packed knot: Knotb Knotw Knotd Knotq;
            packed kadd: Kaddb Kaddw Kaddd Kaddq;
            packed kand: Kandb Kandw Kandd Kandq;
            packed kandn: Kandnb Kandnw Kandnd Kandnq;
            packed kor: Korb Korw Kord Korq;
            packed kxor: Kxorb Kxorw Kxord Kxorq;
            packed kxnor: Kxnorb Kxnorw Kxnord Kxnorq;
            packed kshiftl: Kshiftlb Kshiftlw Kshiftld Kshiftlq;
            packed kshiftr: Kshiftrb Kshiftrw Kshiftrd Kshiftrq;
            sources kortest: Kortestb Kortestw Kortestd Kortestq;
            sources ktest: Ktestb Ktestw Ktestd Ktestq;
        },
    })
}

const fn all(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

macro_rules! operations {
    ($($name:ident = |$a:ident, $b:ident, $imm:ident| $body:expr;)*) => { $(
        fn $name<const BITS: u32>(o: &mut Operands<'_>) {
            #[allow(unused_variables, reason = "not every operation has all operands")]
            let ($a, $b, $imm) = (o.a.low() & all(BITS), o.b.low() & all(BITS), u32::from(o.imm));
            *o.result = Vector::from_low($body & all(BITS));
        }
    )* };
}
operations! {
    kmov = |a, b, imm| b;
    knot = |a, b, imm| !b;
    kadd = |a, b, imm| a.wrapping_add(b);
    kand = |a, b, imm| a & b;
    kandn = |a, b, imm| !a & b;
    kor = |a, b, imm| a | b;
    kxor = |a, b, imm| a ^ b;
    kxnor = |a, b, imm| !(a ^ b);
    kshiftl = |a, b, imm| b.checked_shl(imm).unwrap_or(0);
    kshiftr = |a, b, imm| b.checked_shr(imm).unwrap_or(0);
}

/// KUNPCKxx: the first source above the last.
fn unpack<const BITS: u32>(o: &mut Operands<'_>) {
    *o.result = Vector::from_low((o.a.low() & all(BITS)) << BITS | o.b.low() & all(BITS));
}

fn flags(zero: bool, carry: bool) -> Option<u64> {
    Some(if zero { ZF } else { 0 } | if carry { CF } else { 0 })
}

fn kortest<const BITS: u32>(o: &mut Operands<'_>) {
    let or = (o.a.low() | o.b.low()) & all(BITS);
    o.flags = flags(or == 0, or == all(BITS));
}

fn ktest<const BITS: u32>(o: &mut Operands<'_>) {
    let (a, b) = (o.a.low(), o.b.low());
    o.flags = flags(a & b & all(BITS) == 0, !a & b & all(BITS) == 0);
}

fn comparisons(ins: &Instruction) -> Option<Description> {
    if !ins.op0_register().is_k() {
        return None;
    }
    macro_rules! fixed {
        ($t:ty, $f:expr) => {
            Description::packed(|o| compare::<$t>(o, $f), size_of::<$t>() as u8)
        };
    }
    macro_rules! chosen {
        ($t:ty) => {
            Description::packed(by_predicate::<$t>, size_of::<$t>() as u8)
        };
    }
    Some(match ins.mnemonic() {
        M::Vpcmpeqb => fixed!(u8, |a, b| a == b),
        M::Vpcmpeqw => fixed!(u16, |a, b| a == b),
        M::Vpcmpeqd => fixed!(u32, |a, b| a == b),
        M::Vpcmpeqq => fixed!(u64, |a, b| a == b),
        M::Vpcmpgtb => fixed!(i8, |a, b| a > b),
        M::Vpcmpgtw => fixed!(i16, |a, b| a > b),
        M::Vpcmpgtd => fixed!(i32, |a, b| a > b),
        M::Vpcmpgtq => fixed!(i64, |a, b| a > b),
        M::Vptestmb => fixed!(u8, |a, b| a & b != 0),
        M::Vptestmw => fixed!(u16, |a, b| a & b != 0),
        M::Vptestmd => fixed!(u32, |a, b| a & b != 0),
        M::Vptestmq => fixed!(u64, |a, b| a & b != 0),
        M::Vptestnmb => fixed!(u8, |a, b| a & b == 0),
        M::Vptestnmw => fixed!(u16, |a, b| a & b == 0),
        M::Vptestnmd => fixed!(u32, |a, b| a & b == 0),
        M::Vptestnmq => fixed!(u64, |a, b| a & b == 0),
        M::Vpcmpub => chosen!(u8),
        M::Vpcmpuw => chosen!(u16),
        M::Vpcmpud => chosen!(u32),
        M::Vpcmpuq => chosen!(u64),
        M::Vpcmpb => chosen!(i8),
        M::Vpcmpw => chosen!(i16),
        M::Vpcmpd => chosen!(i32),
        M::Vpcmpq => chosen!(i64),
        _ => return None,
    })
}

/// The bits for whose elements `f` holds.
fn compare<E: Element>(o: &mut Operands<'_>, f: impl Fn(E, E) -> bool) {
    *o.result = mask_of(o.bytes, o.a, o.b, f);
}

/// VPCMPx, VPCMPUx: bits 2:0 of the immediate.
fn by_predicate<E: Element + PartialOrd>(o: &mut Operands<'_>) {
    match o.imm & 7 {
        0 => compare::<E>(o, |a, b| a == b),
        1 => compare::<E>(o, |a, b| a < b),
        2 => compare::<E>(o, |a, b| a <= b),
        3 => *o.result = Vector::ZERO,
        4 => compare::<E>(o, |a, b| a != b),
        5 => compare::<E>(o, |a, b| a >= b),
        6 => compare::<E>(o, |a, b| a > b),
        _ => compare::<E>(o, |_, _| true),
    }
}

fn vectors(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vpmovb2m => Description::packed(signs::<i8>, 1),
        M::Vpmovw2m => Description::packed(signs::<i16>, 2),
        M::Vpmovd2m => Description::packed(signs::<i32>, 4),
        M::Vpmovq2m => Description::packed(signs::<i64>, 8),
        // To general-purpose registers.
        M::Vpmovmskb => Description::packed(signs::<i8>, 1),
        M::Vmovmskps => Description::packed(signs::<i32>, 4),
        M::Vmovmskpd => Description::packed(signs::<i64>, 8),
        M::Vpmovm2b => Description::packed(spread::<i8>, 1),
        M::Vpmovm2w => Description::packed(spread::<i16>, 2),
        M::Vpmovm2d => Description::packed(spread::<i32>, 4),
        M::Vpmovm2q => Description::packed(spread::<i64>, 8),
        M::Vpbroadcastmb2q => {
            Description::packed(|o| *o.result = Vector::broadcast::<u64>(o.b.low() & 0xFF), 8)
        }
        M::Vpbroadcastmw2d => {
            Description::packed(|o| *o.result = Vector::broadcast::<u32>(o.b.get::<u16>(0).into()), 4)
        }
        _ => return None,
    })
}

/// The sign bits.
fn signs<E: Element + PartialOrd>(o: &mut Operands<'_>) {
    *o.result = mask_of(o.bytes, o.b, o.b, |b: E, _| b < E::default());
}

/// All ones where the mask has a bit.
fn spread<E: Element + From<i8>>(o: &mut Operands<'_>) {
    let bits = o.b.low();
    for n in 0..o.bytes / E::BYTES {
        o.result.set::<E>(n, if bits >> n & 1 != 0 { E::from(-1) } else { E::default() });
    }
}
