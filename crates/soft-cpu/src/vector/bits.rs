//! Bits and bytes of AVX-512 VBMI, VBMI2, BITALG and VPOPCNTDQ: permutations of bytes, concatenated shifts, counts.

use super::lanes::{build, map, mask};
use super::{Description, Element, Operands};
use iced_x86::{Instruction, Mnemonic as M};

pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vpmultishiftqb => Description::packed(multishift, 1).whole(),
        M::Vpshufbitqmb => Description::packed(shuffle_bits, 1),
        M::Vpopcntb => Description::packed(|o| map::<u8>(o, |b| b.count_ones() as u8), 1),
        M::Vpopcntw => Description::packed(|o| map::<u16>(o, |b| b.count_ones() as u16), 2),
        M::Vpopcntd => Description::packed(|o| map::<u32>(o, u32::count_ones), 4),
        M::Vpopcntq => Description::packed(|o| map::<u64>(o, |b| u64::from(b.count_ones())), 8),
        M::Vpshldw => Description::packed(|o| immediate::<u16>(o, true), 2),
        M::Vpshldd => Description::packed(|o| immediate::<u32>(o, true), 4),
        M::Vpshldq => Description::packed(|o| immediate::<u64>(o, true), 8),
        M::Vpshrdw => Description::packed(|o| immediate::<u16>(o, false), 2),
        M::Vpshrdd => Description::packed(|o| immediate::<u32>(o, false), 4),
        M::Vpshrdq => Description::packed(|o| immediate::<u64>(o, false), 8),
        M::Vpshldvw => Description::packed(|o| variable::<u16>(o, true), 2),
        M::Vpshldvd => Description::packed(|o| variable::<u32>(o, true), 4),
        M::Vpshldvq => Description::packed(|o| variable::<u64>(o, true), 8),
        M::Vpshrdvw => Description::packed(|o| variable::<u16>(o, false), 2),
        M::Vpshrdvd => Description::packed(|o| variable::<u32>(o, false), 4),
        M::Vpshrdvq => Description::packed(|o| variable::<u64>(o, false), 8),
        _ => return None,
    })
}

/// An element as the two halves of a shift.
trait Shifted: Element + Into<u64> {
    /// The low bits.
    fn low(value: u128) -> Self;
}

macro_rules! shifted {
    ($($t:ty)*) => { $(
        impl Shifted for $t {
            fn low(value: u128) -> Self {
                value as $t
            }
        }
    )* };
}
shifted!(u16 u32 u64);

/// `high` above `low`, shifted by `count` modulo their width: to the left its upper half, to the right its lower one.
#[inline(always)]
fn concatenated<E: Shifted>(high: E, low: E, count: u64, left: bool) -> E {
    let bits = 8 * E::BYTES as u32;
    let count = count as u32 % bits;
    let both = u128::from(high.into()) << bits | u128::from(low.into());
    E::low(if left { both << count >> bits } else { both >> count })
}

/// VPSHLD and VPSHRD.
#[inline(always)]
fn immediate<E: Shifted>(o: &mut Operands<'_>, left: bool) {
    let (a, b, count) = (o.a, o.b, u64::from(o.imm));
    *o.result = build::<E>(o.bytes, |n| {
        let (a, b) = (a.get(n), b.get(n));
        if left { concatenated::<E>(a, b, count, true) } else { concatenated::<E>(b, a, count, false) }
    });
}

/// VPSHLDV and VPSHRDV: the destination is one half.
#[inline(always)]
fn variable<E: Shifted>(o: &mut Operands<'_>, left: bool) {
    let (old, a, b) = (*o.result, o.a, o.b);
    *o.result = build::<E>(o.bytes, |n| {
        let (old, a, count) = (old.get(n), a.get(n), b.get::<E>(n).into());
        if left { concatenated::<E>(old, a, count, true) } else { concatenated::<E>(a, old, count, false) }
    });
}

/// VPMULTISHIFTQB: each byte is eight bits of the quadword in `b`, from the bit that the byte of `a` says.
fn multishift(o: &mut Operands<'_>) {
    let (a, b) = (o.a, o.b);
    *o.result =
        build::<u8>(o.bytes, |n| b.get::<u64>(n / 8).rotate_right(u32::from(a.get::<u8>(n) & 63)) as u8);
}

/// VPSHUFBITQMB: the bits of each quadword in `a` that the bytes in `b` choose.
fn shuffle_bits(o: &mut Operands<'_>) {
    *o.result = mask(o.bytes, |n| o.a.get::<u64>(n / 8) >> (o.b.get::<u8>(n) & 63) & 1 != 0);
}
