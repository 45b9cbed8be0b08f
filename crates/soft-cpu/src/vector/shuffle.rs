//! Shuffles within 128 bits, as SSE has them, and blends.

use super::lanes::by_lane;
use super::{Description, Element, Operands};
use crate::sse::{Shuffle as _, sse4};
use iced_x86::{Instruction, Mnemonic as M, OpKind};

pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
    within(ins).or_else(|| blends(ins))
}

fn within(ins: &Instruction) -> Option<Description> {
    let variable = ins.op_kinds().last() != Some(OpKind::Immediate8);
    Some(match ins.mnemonic() {
        M::Vpunpcklbw => Description::packed(interleave::<u8, 0>, 1).whole(),
        M::Vpunpcklwd => Description::packed(interleave::<u16, 0>, 2).whole(),
        M::Vpunpckldq | M::Vunpcklps => Description::packed(interleave::<u32, 0>, 4).whole(),
        M::Vpunpcklqdq | M::Vunpcklpd => Description::packed(interleave::<u64, 0>, 8).whole(),
        M::Vpunpckhbw => Description::packed(interleave::<u8, 1>, 1).whole(),
        M::Vpunpckhwd => Description::packed(interleave::<u16, 1>, 2).whole(),
        M::Vpunpckhdq | M::Vunpckhps => Description::packed(interleave::<u32, 1>, 4).whole(),
        M::Vpunpckhqdq | M::Vunpckhpd => Description::packed(interleave::<u64, 1>, 8).whole(),
        M::Vpshufb => Description::packed(bytes, 1).whole(),
        M::Vpshufd => Description::packed(|o| doublewords(o, |_, b, n, field| b(field(n))), 4).whole(),
        M::Vshufps => Description::packed(
            |o| doublewords(o, |a, b, n, field| if n < 2 { a(field(n)) } else { b(field(n)) }),
            4,
        )
        .whole(),
        M::Vshufpd => Description::packed(shuffle_doubles, 8).whole(),
        M::Vpshuflw => Description::packed(shuffle_words::<0>, 2).whole(),
        M::Vpshufhw => Description::packed(shuffle_words::<4>, 2).whole(),
        M::Vpermilps if variable => Description::packed(permute_singles, 4).whole(),
        M::Vpermilps => Description::packed(|o| doublewords(o, |_, b, n, field| b(field(n))), 4).whole(),
        M::Vpermilpd if variable => Description::packed(permute_doubles, 8).whole(),
        M::Vpermilpd => Description::packed(permute_doubles_by_imm, 8).whole(),
        M::Vmovshdup => Description::packed(|o| doublewords(o, |_, b, n, _| b(n | 1)), 4).whole(),
        M::Vmovsldup => Description::packed(|o| doublewords(o, |_, b, n, _| b(n & !1)), 4).whole(),
        M::Vmovddup => Description::packed(duplicate, 8).whole(),
        M::Vpalignr => Description::packed(align_bytes, 1).whole(),
        _ => return None,
    })
}

fn blends(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vblendps | M::Vpblendd => Description::packed(blend_by_imm::<u32>, 4),
        M::Vblendpd => Description::packed(blend_by_imm::<u64>, 8),
        M::Vpblendw => Description::packed(|o| by_lane_imm(o, sse4::Pblendw::apply), 2),
        M::Vblendvps => Description::packed(blend_by_sign::<i32>, 4),
        M::Vblendvpd => Description::packed(blend_by_sign::<i64>, 8),
        M::Vpblendvb => Description::packed(blend_by_sign::<i8>, 1),
        M::Vpblendmb => Description::packed(super::moves::copy, 1).blend(),
        M::Vpblendmw => Description::packed(super::moves::copy, 2).blend(),
        M::Vpblendmd | M::Vblendmps => Description::packed(super::moves::copy, 4).blend(),
        M::Vpblendmq | M::Vblendmpd => Description::packed(super::moves::copy, 8).blend(),
        _ => return None,
    })
}

/// The same with the immediate for each 128 bits.
fn by_lane_imm(o: &mut Operands<'_>, f: impl Fn(u128, u128, u8) -> u128) {
    let imm = o.imm;
    by_lane(o, |a, b| f(a, b, imm));
}

/// Element `n` of 16 bytes, `f` of the two sources' there.
#[inline(always)]
fn quarters<E: Element>(o: &mut Operands<'_>, f: impl Fn(&[E], &[E], usize) -> E) {
    let sources = E::quarters(o.a).iter().zip(E::quarters(o.b));
    for (result, (a, b)) in E::quarters_mut(o.result).iter_mut().zip(sources).take(o.bytes / 16) {
        for (n, result) in result.as_mut().iter_mut().enumerate() {
            *result = f(a.as_ref(), b.as_ref(), n);
        }
    }
}

/// Elements of a quarter's low (`HIGH` 0) or high half in turn.
fn interleave<E: Element, const HIGH: usize>(o: &mut Operands<'_>) {
    let half = 8 / E::BYTES;
    quarters::<E>(o, |a, b, n| if n & 1 == 0 { a } else { b }[(HIGH * half + n / 2) & (2 * half - 1)]);
}

/// VPSHUFB: an index with its top bit set gives 0.
fn bytes(o: &mut Operands<'_>) {
    quarters::<u8>(o, |a, b, n| if b[n & 15] & 0x80 != 0 { 0 } else { a[usize::from(b[n & 15] & 15)] });
}

/// Element `n` of each quarter by `f`, which gets the sources' elements and the two-bit fields of the immediate.
#[inline(always)]
fn doublewords(
    o: &mut Operands<'_>,
    f: impl Fn(&dyn Fn(usize) -> u32, &dyn Fn(usize) -> u32, usize, &dyn Fn(usize) -> usize) -> u32,
) {
    let imm = o.imm;
    let field = |n: usize| usize::from(imm >> (2 * (n & 3)) & 3);
    quarters::<u32>(o, |a, b, n| f(&|n| a[n & 3], &|n| b[n & 3], n, &field));
}

/// VSHUFPD: a bit of the immediate for each element.
fn shuffle_doubles(o: &mut Operands<'_>) {
    for n in 0..o.bytes / 8 {
        let from = n & !1 | usize::from(o.imm >> n & 1);
        let value = if n & 1 == 0 { o.a.get::<u64>(from) } else { o.b.get(from) };
        o.result.set(n, value);
    }
}

/// VPERMILPD with an immediate: a bit for each element.
fn permute_doubles_by_imm(o: &mut Operands<'_>) {
    for n in 0..o.bytes / 8 {
        o.result.set::<u64>(n, o.b.get(n & !1 | usize::from(o.imm >> n & 1)));
    }
}

/// VPSHUFLW (`FIRST` 0) and VPSHUFHW (4): four words of each quarter are shuffled.
fn shuffle_words<const FIRST: usize>(o: &mut Operands<'_>) {
    let imm = o.imm;
    quarters::<u16>(o, |_, b, n| {
        let shuffled = FIRST + usize::from(imm >> (2 * (n & 3)) & 3);
        b[if n & 4 == FIRST { shuffled } else { n } & 7]
    });
}

/// VPERMILPS by a register: bits 1:0 of each element.
fn permute_singles(o: &mut Operands<'_>) {
    quarters::<u32>(o, |a, b, n| a[b[n & 3] as usize & 3]);
}

/// VPERMILPD by a register: bit 1 of each element.
fn permute_doubles(o: &mut Operands<'_>) {
    quarters::<u64>(o, |a, b, n| a[(b[n & 1] >> 1) as usize & 1]);
}

/// VMOVDDUP. Of a short memory operand there is one double.
fn duplicate(o: &mut Operands<'_>) {
    quarters::<u64>(o, |_, b, _| b[0]);
}

/// VPALIGNR.
fn align_bytes(o: &mut Operands<'_>) {
    by_lane_imm(o, sse4::Palignr::apply);
}

/// Element `n` of the last source if bit `n` of the immediate says so.
fn blend_by_imm<E: Element>(o: &mut Operands<'_>) {
    for n in 0..o.bytes / E::BYTES {
        let value = if o.imm >> n & 1 != 0 { o.b.get::<E>(n) } else { o.a.get(n) };
        o.result.set(n, value);
    }
}

/// Those of the last source where those of the third are negative.
fn blend_by_sign<E: Element + PartialOrd>(o: &mut Operands<'_>) {
    for n in 0..o.bytes / E::BYTES {
        let negative = o.third.get::<E>(n) < E::default();
        o.result.set(n, if negative { o.b.get::<E>(n) } else { o.a.get(n) });
    }
}
