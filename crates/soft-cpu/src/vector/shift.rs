//! Shifts and rotations.

use super::lanes::{by_lane, map, zip};
use super::{Description, Element, Operands};
use crate::sse::{Vector as _, integer};
use iced_x86::{Instruction, Mnemonic as M, OpKind};

/// An element as a number that is shifted: what is shifted out is lost, and counts may be too large.
trait Shifted: Element {
    fn left(self, count: u64) -> Self;
    fn right(self, count: u64) -> Self;
    fn arithmetic(self, count: u64) -> Self;
    fn rotate(self, count: u64) -> Self;
    fn count(self) -> u64;
}

macro_rules! shifted {
    ($($t:ty)*) => { $(
        impl Shifted for $t {
            #[inline(always)]
            fn left(self, count: u64) -> Self {
                if count < u64::from(<$t>::BITS) { self << count } else { 0 }
            }
            #[inline(always)]
            fn right(self, count: u64) -> Self {
                if count < u64::from(<$t>::BITS) { self >> count } else { 0 }
            }
            #[inline(always)]
            fn arithmetic(self, count: u64) -> Self {
                (self.cast_signed() >> count.min(u64::from(<$t>::BITS - 1))).cast_unsigned()
            }
            #[inline(always)]
            fn rotate(self, count: u64) -> Self {
                self.rotate_left(count as u32 % <$t>::BITS)
            }
            #[inline(always)]
            fn count(self) -> u64 {
                u64::from(self)
            }
        }
    )* };
}
shifted!(u16 u32 u64);

/// By a count that is an immediate or the lowest 64 bits of a register.
macro_rules! by_one_count {
    ($ins:expr, $t:ty, $f:ident) => {
        if $ins.op_kinds().last() == Some(OpKind::Immediate8) {
            Description::packed(|o| by_imm(o, <$t>::$f), size_of::<$t>() as u8)
        } else {
            Description::packed(|o| by_count(o, <$t>::$f), size_of::<$t>() as u8).whole()
        }
    };
}

/// By a count for each element.
macro_rules! by_each {
    ($t:ty, $f:expr) => {
        Description::packed(|o| zip::<$t>(o, $f), size_of::<$t>() as u8)
    };
}

fn by_imm<E: Shifted>(o: &mut Operands<'_>, f: impl Fn(E, u64) -> E) {
    let count = u64::from(o.imm);
    map::<E>(o, |x| f(x, count));
}

fn by_count<E: Shifted>(o: &mut Operands<'_>, f: impl Fn(E, u64) -> E) {
    let count = o.b.low();
    zip::<E>(o, |a, _| f(a, count));
}

pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vpsllw => by_one_count!(ins, u16, left),
        M::Vpslld => by_one_count!(ins, u32, left),
        M::Vpsllq => by_one_count!(ins, u64, left),
        M::Vpsrlw => by_one_count!(ins, u16, right),
        M::Vpsrld => by_one_count!(ins, u32, right),
        M::Vpsrlq => by_one_count!(ins, u64, right),
        M::Vpsraw => by_one_count!(ins, u16, arithmetic),
        M::Vpsrad => by_one_count!(ins, u32, arithmetic),
        M::Vpsraq => by_one_count!(ins, u64, arithmetic),
        M::Vprold => by_one_count!(ins, u32, rotate),
        M::Vprolq => by_one_count!(ins, u64, rotate),
        M::Vprord => Description::packed(|o| map::<u32>(o, rotate_right::<u32>(o.imm)), 4),
        M::Vprorq => Description::packed(|o| map::<u64>(o, rotate_right::<u64>(o.imm)), 8),
        M::Vpsllvw => by_each!(u16, |a, n| a.left(n.count())),
        M::Vpsllvd => by_each!(u32, |a, n| a.left(n.count())),
        M::Vpsllvq => by_each!(u64, |a, n| a.left(n.count())),
        M::Vpsrlvw => by_each!(u16, |a, n| a.right(n.count())),
        M::Vpsrlvd => by_each!(u32, |a, n| a.right(n.count())),
        M::Vpsrlvq => by_each!(u64, |a, n| a.right(n.count())),
        M::Vpsravw => by_each!(u16, |a, n| a.arithmetic(n.count())),
        M::Vpsravd => by_each!(u32, |a, n| a.arithmetic(n.count())),
        M::Vpsravq => by_each!(u64, |a, n| a.arithmetic(n.count())),
        M::Vprolvd => by_each!(u32, |a, n| a.rotate(n.count())),
        M::Vprolvq => by_each!(u64, |a, n| a.rotate(n.count())),
        M::Vprorvd => by_each!(u32, |a, n| a.rotate(u64::from(n.wrapping_neg()))),
        M::Vprorvq => by_each!(u64, |a, n| a.rotate(n.wrapping_neg())),
        M::Vpslldq => Description::packed(|o| bytes(o, integer::Pslldq::apply), 16),
        M::Vpsrldq => Description::packed(|o| bytes(o, integer::Psrldq::apply), 16),
        _ => return None,
    })
}

fn rotate_right<E: Shifted>(count: u8) -> impl Fn(E) -> E {
    let count = u64::from(count).wrapping_neg();
    move |x| x.rotate(count)
}

/// Each 128 bits by bytes.
fn bytes(o: &mut Operands<'_>, f: impl Fn(u128, u128) -> u128) {
    let count = u128::from(o.imm);
    by_lane(o, |_, b| f(b, count));
}
