//! Permutations across 128 bits, broadcasts, insertions and extractions.

use super::lanes::build;
use super::{Description, Element, Operands, Vector};
use crate::low::Low;
use iced_x86::{Instruction, Mnemonic as M, OpKind};

/// An element that says where another one is.
trait Number: Element {
    fn number(self) -> usize;
}

macro_rules! number {
    ($($t:ty)*) => { $(
        impl Number for $t {
            #[inline(always)]
            fn number(self) -> usize {
                self as usize
            }
        }
    )* };
}
number!(u8 u16 u32 u64);

pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
    permutations(ins).or_else(|| broadcasts(ins)).or_else(|| parts(ins)).or_else(|| elements(ins))
}

fn permutations(ins: &Instruction) -> Option<Description> {
    let by_imm = ins.op_kinds().last() == Some(OpKind::Immediate8);
    Some(match ins.mnemonic() {
        M::Vpermq | M::Vpermpd if by_imm => Description::packed(permute_by_imm, 8).whole(),
        M::Vpermb => Description::packed(permute::<u8>, 1).whole(),
        M::Vpermw => Description::packed(permute::<u16>, 2).whole(),
        M::Vpermd | M::Vpermps => Description::packed(permute::<u32>, 4).whole(),
        M::Vpermq | M::Vpermpd => Description::packed(permute::<u64>, 8).whole(),
        M::Vpermi2b => Description::packed(permute_over_index::<u8>, 1).whole(),
        M::Vpermi2w => Description::packed(permute_over_index::<u16>, 2).whole(),
        M::Vpermi2d | M::Vpermi2ps => Description::packed(permute_over_index::<u32>, 4).whole(),
        M::Vpermi2q | M::Vpermi2pd => Description::packed(permute_over_index::<u64>, 8).whole(),
        M::Vpermt2b => Description::packed(permute_over_table::<u8>, 1).whole(),
        M::Vpermt2w => Description::packed(permute_over_table::<u16>, 2).whole(),
        M::Vpermt2d | M::Vpermt2ps => Description::packed(permute_over_table::<u32>, 4).whole(),
        M::Vpermt2q | M::Vpermt2pd => Description::packed(permute_over_table::<u64>, 8).whole(),
        M::Vperm2f128 | M::Vperm2i128 => Description::packed(permute_quarters, 16),
        M::Vshuff32x4 | M::Vshufi32x4 => Description::packed(shuffle_quarters, 4).whole(),
        M::Vshuff64x2 | M::Vshufi64x2 => Description::packed(shuffle_quarters, 8).whole(),
        M::Valignd => Description::packed(align::<u32>, 4).whole(),
        M::Valignq => Description::packed(align::<u64>, 8).whole(),
        _ => return None,
    })
}

fn broadcasts(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vpbroadcastb => Description::packed(broadcast::<u8>, 1).repeat(),
        M::Vpbroadcastw => Description::packed(broadcast::<u16>, 2).repeat(),
        M::Vpbroadcastd | M::Vbroadcastss => Description::packed(broadcast::<u32>, 4).repeat(),
        M::Vpbroadcastq | M::Vbroadcastsd => Description::packed(broadcast::<u64>, 8).repeat(),
        M::Vbroadcastf32x2 | M::Vbroadcasti32x2 => Description::packed(broadcast::<u64>, 4).repeat(),
        M::Vbroadcastf128 | M::Vbroadcasti128 => Description::packed(broadcast::<u128>, 16).repeat(),
        M::Vbroadcastf32x4 | M::Vbroadcasti32x4 => Description::packed(broadcast::<u128>, 4).repeat(),
        M::Vbroadcastf64x2 | M::Vbroadcasti64x2 => Description::packed(broadcast::<u128>, 8).repeat(),
        M::Vbroadcastf32x8 | M::Vbroadcasti32x8 => Description::packed(broadcast_half, 4).repeat(),
        M::Vbroadcastf64x4 | M::Vbroadcasti64x4 => Description::packed(broadcast_half, 8).repeat(),
        _ => return None,
    })
}

/// Quarters and halves of vectors.
fn parts(ins: &Instruction) -> Option<Description> {
    let shorter = |operation, element: u8, size: usize| {
        // A bit of the mask goes with an element of the part, of which the vector has more.
        let whole = ins.op1_register().size();
        let per = usize::from(element) * whole / size;
        Description::packed(operation, element).per(per.low_u8()).whole()
    };
    Some(match ins.mnemonic() {
        M::Vinsertf128 | M::Vinserti128 => Description::packed(insert_part::<16>, 16).whole(),
        M::Vinsertf32x4 | M::Vinserti32x4 => Description::packed(insert_part::<16>, 4).whole(),
        M::Vinsertf64x2 | M::Vinserti64x2 => Description::packed(insert_part::<16>, 8).whole(),
        M::Vinsertf32x8 | M::Vinserti32x8 => Description::packed(insert_part::<32>, 4).whole(),
        M::Vinsertf64x4 | M::Vinserti64x4 => Description::packed(insert_part::<32>, 8).whole(),
        M::Vextractf128 | M::Vextracti128 => shorter(extract_part::<16>, 16, 16),
        M::Vextractf32x4 | M::Vextracti32x4 => shorter(extract_part::<16>, 4, 16).whole(),
        M::Vextractf64x2 | M::Vextracti64x2 => shorter(extract_part::<16>, 8, 16).whole(),
        M::Vextractf32x8 | M::Vextracti32x8 => shorter(extract_part::<32>, 4, 32).whole(),
        M::Vextractf64x4 | M::Vextracti64x4 => shorter(extract_part::<32>, 8, 32).whole(),
        _ => return None,
    })
}

/// Single elements, and those that a mask chooses.
fn elements(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vpinsrb => Description::packed(insert::<u8>, 1),
        M::Vpinsrw => Description::packed(insert::<u16>, 2),
        M::Vpinsrd => Description::packed(insert::<u32>, 4),
        M::Vpinsrq => Description::packed(insert::<u64>, 8),
        M::Vpextrb => Description::packed(extract::<u8>, 16),
        M::Vpextrw => Description::packed(extract::<u16>, 16),
        M::Vpextrd | M::Vextractps => Description::packed(extract::<u32>, 16),
        M::Vpextrq => Description::packed(extract::<u64>, 16),
        M::Vinsertps if ins.op2_kind() == OpKind::Memory => Description::packed(insert_single::<true>, 4),
        M::Vinsertps => Description::packed(insert_single::<false>, 4),
        M::Vpcompressb => Description::packed(compress::<u8>, 1).compress(),
        M::Vpcompressw => Description::packed(compress::<u16>, 2).compress(),
        M::Vpcompressd | M::Vcompressps => Description::packed(compress::<u32>, 4).compress(),
        M::Vpcompressq | M::Vcompresspd => Description::packed(compress::<u64>, 8).compress(),
        M::Vpexpandb => Description::packed(expand::<u8>, 1).expand(),
        M::Vpexpandw => Description::packed(expand::<u16>, 2).expand(),
        M::Vpexpandd | M::Vexpandps => Description::packed(expand::<u32>, 4).expand(),
        M::Vpexpandq | M::Vexpandpd => Description::packed(expand::<u64>, 8).expand(),
        _ => return None,
    })
}

/// VPERMQ, VPERMPD with an immediate: within each 256 bits.
fn permute_by_imm(o: &mut Operands<'_>) {
    for n in 0..o.bytes / 8 {
        let from = n & !3 | usize::from(o.imm >> (2 * (n & 3)) & 3);
        o.result.set::<u64>(n, o.b.get(from));
    }
}

/// The first source has indices into the last one.
fn permute<E: Number>(o: &mut Operands<'_>) {
    let count = o.bytes / E::BYTES;
    *o.result = build::<E>(o.bytes, |n| o.b.get(o.a.get::<E>(n).number() & (count - 1)));
}

/// Elements of two tables, one behind the other.
fn choose<E: Number>(index: &Vector, low: &Vector, high: &Vector, bytes: usize) -> Vector {
    let count = bytes / E::BYTES;
    build::<E>(bytes, |n| {
        let from = index.get::<E>(n).number();
        if from & count == 0 { low } else { high }.get(from & (count - 1))
    })
}

/// VPERMI2x: the destination has the indices.
fn permute_over_index<E: Number>(o: &mut Operands<'_>) {
    *o.result = choose::<E>(o.result, o.a, o.b, o.bytes);
}

/// VPERMT2x: the destination is the first table.
fn permute_over_table<E: Number>(o: &mut Operands<'_>) {
    *o.result = choose::<E>(o.a, o.result, o.b, o.bytes);
}

/// VPERM2F128, VPERM2I128.
fn permute_quarters(o: &mut Operands<'_>) {
    let choose = |control: u8| match control & 0b1011 {
        n @ 0..2 => o.a.0[usize::from(n)],
        n @ 2..4 => o.b.0[usize::from(n & 1)],
        _ => 0,
    };
    (o.result.0[0], o.result.0[1]) = (choose(o.imm), choose(o.imm >> 4));
}

/// VSHUFx32X4, VSHUFx64X2: the lower half from the first source, the upper one from the last.
fn shuffle_quarters(o: &mut Operands<'_>) {
    let count = o.bytes / 16;
    let bits = count / 2;
    for n in 0..count {
        let from = usize::from(o.imm) >> (bits * n) & (count - 1);
        let source = if n < count / 2 { o.a } else { o.b };
        o.result.0[n & 3] = source.0[from & 3];
    }
}

/// VALIGNx: the first source above the last one, moved down by the immediate.
fn align<E: Element>(o: &mut Operands<'_>) {
    let count = o.bytes / E::BYTES;
    let first = usize::from(o.imm) & (count - 1);
    *o.result = build::<E>(o.bytes, |n| {
        let from = first + n;
        if from < count { o.b.get(from) } else { o.a.get(from - count) }
    });
}

fn broadcast<E: Element>(o: &mut Operands<'_>) {
    *o.result = Vector::broadcast::<E>(o.b.get(0));
}

/// 256 bits twice.
fn broadcast_half(o: &mut Operands<'_>) {
    let [first, second, ..] = o.b.0;
    o.result.0 = [first, second, first, second];
}

/// The part of `SIZE` bytes that the immediate chooses: its first 128 bits.
fn chosen<const SIZE: usize>(o: &Operands<'_>) -> usize {
    usize::from(o.imm) & (o.bytes / SIZE - 1)
}

fn insert_part<const SIZE: usize>(o: &mut Operands<'_>) {
    let first = chosen::<SIZE>(o) * (SIZE / 16);
    *o.result = *o.a;
    o.result.0.iter_mut().skip(first).zip(&o.b.0).take(SIZE / 16).for_each(|(to, from)| *to = *from);
}

fn extract_part<const SIZE: usize>(o: &mut Operands<'_>) {
    let first = chosen::<SIZE>(o) * (SIZE / 16);
    *o.result = Vector::ZERO;
    o.result.0.iter_mut().zip(o.b.0.iter().skip(first)).take(SIZE / 16).for_each(|(to, from)| *to = *from);
}

fn insert<E: Element>(o: &mut Operands<'_>) {
    *o.result = *o.a;
    o.result.set::<E>(usize::from(o.imm) & (16 / E::BYTES - 1), o.b.get(0));
}

fn extract<E: Element>(o: &mut Operands<'_>) {
    let value = o.b.get::<E>(usize::from(o.imm) & (16 / E::BYTES - 1));
    *o.result = Vector::ZERO;
    o.result.set(0, value);
}

/// VINSERTPS: bits 7:6 of the immediate choose the element of a register.
fn insert_single<const MEMORY: bool>(o: &mut Operands<'_>) {
    let from = o.b.get(if MEMORY { 0 } else { usize::from(o.imm >> 6) });
    o.result.0[0] = crate::sse::sse4::insert_single(o.a.0[0], from, o.imm);
}

/// The active elements, one behind the other.
fn compress<E: Element>(o: &mut Operands<'_>) {
    let (mut active, mut to) = (o.active, 0);
    while active != 0 {
        o.result.set::<E>(to, o.b.get(active.trailing_zeros() as usize));
        active &= active - 1;
        to += 1;
    }
}

/// The first elements, in the places of the active ones.
fn expand<E: Element>(o: &mut Operands<'_>) {
    let (mut active, mut from) = (o.active, 0);
    while active != 0 {
        o.result.set::<E>(active.trailing_zeros() as usize, o.b.get(from));
        active &= active - 1;
        from += 1;
    }
}
