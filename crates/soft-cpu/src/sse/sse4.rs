//! Integer operations of SSE3 to SSE4.2.

use super::integer::{lanes, pack, shuffles, vector};
use super::lane::{Lane, build, get, set, zip};
use super::{Shuffle, Vector};
use crate::low::Low;

vector! {
    Movshdup = |_a, b| build::<u32>(|n| get(b, n | 1));
    Movsldup = |_a, b| build::<u32>(|n| get(b, n & !1));
    Movddup = |_a, b| build::<u64>(|_| get(b, 0));
    Phaddw = |a, b| pairs::<i16>(a, b, i16::wrapping_add);
    Phaddd = |a, b| pairs::<i32>(a, b, i32::wrapping_add);
    Phaddsw = |a, b| pairs::<i16>(a, b, i16::saturating_add);
    Phsubw = |a, b| pairs::<i16>(a, b, i16::wrapping_sub);
    Phsubd = |a, b| pairs::<i32>(a, b, i32::wrapping_sub);
    Phsubsw = |a, b| pairs::<i16>(a, b, i16::saturating_sub);
    Pmaddubsw = |a, b| build::<i16>(|n| {
        let product = |n| i32::from(get::<u8>(a, n)) * i32::from(get::<i8>(b, n));
        (product(2 * n) + product(2 * n + 1)).clamp(-32768, 32767).low_u16().cast_signed()
    });
    Pshufb = |a, b| build::<u8>(|n| {
        let index: u8 = get(b, n);
        if index & 0x80 != 0 { 0 } else { get(a, u32::from(index & 15)) }
    });
    Pmuldq = |a, b| build::<i64>(|n| i64::from(get::<i32>(a, 2 * n)) * i64::from(get::<i32>(b, 2 * n)));
    Packusdw = |a, b| pack::<i32, u16>(a, b, |x| x.clamp(0, 65535).low_u16());
    Phminposuw = |_a, b| {
        let least = (0..8_u32).map(|n| (get::<u16>(b, n), n)).min().unwrap_or_default();
        u128::from(least.0) | u128::from(least.1) << 16
    };
    Pmovsxbw = |_a, b| build::<i16>(|n| i16::from(get::<i8>(b, n)));
    Pmovsxbd = |_a, b| build::<i32>(|n| i32::from(get::<i8>(b, n)));
    Pmovsxbq = |_a, b| build::<i64>(|n| i64::from(get::<i8>(b, n)));
    Pmovsxwd = |_a, b| build::<i32>(|n| i32::from(get::<i16>(b, n)));
    Pmovsxwq = |_a, b| build::<i64>(|n| i64::from(get::<i16>(b, n)));
    Pmovsxdq = |_a, b| build::<i64>(|n| i64::from(get::<i32>(b, n)));
    Pmovzxbw = |_a, b| build::<u16>(|n| u16::from(get::<u8>(b, n)));
    Pmovzxbd = |_a, b| build::<u32>(|n| u32::from(get::<u8>(b, n)));
    Pmovzxbq = |_a, b| build::<u64>(|n| u64::from(get::<u8>(b, n)));
    Pmovzxwd = |_a, b| build::<u32>(|n| u32::from(get::<u16>(b, n)));
    Pmovzxwq = |_a, b| build::<u64>(|n| u64::from(get::<u16>(b, n)));
    Pmovzxdq = |_a, b| build::<u64>(|n| u64::from(get::<u32>(b, n)));
}

lanes! {
    Pabsb = i8, |_a, b| b.wrapping_abs();
    Pabsw = i16, |_a, b| b.wrapping_abs();
    Pabsd = i32, |_a, b| b.wrapping_abs();
    Psignb = i8, |a, b| a.wrapping_mul(b.signum());
    Psignw = i16, |a, b| a.wrapping_mul(b.signum());
    Psignd = i32, |a, b| a.wrapping_mul(b.signum());
    Pmulhrsw = i16, |a, b| ((((i32::from(a) * i32::from(b)) >> 14) + 1) >> 1).low_u16().cast_signed();
    Pmulld = i32, |a, b| a.wrapping_mul(b);
    Pcmpeqq = u64, |a, b| if a == b { u64::MAX } else { 0 };
    Pcmpgtq = i64, |a, b| if a > b { -1 } else { 0 };
    Pminsb = i8, |a, b| a.min(b);
    Pmaxsb = i8, |a, b| a.max(b);
    Pminuw = u16, |a, b| a.min(b);
    Pmaxuw = u16, |a, b| a.max(b);
    Pminsd = i32, |a, b| a.min(b);
    Pmaxsd = i32, |a, b| a.max(b);
    Pminud = u32, |a, b| a.min(b);
    Pmaxud = u32, |a, b| a.max(b);
}

shuffles! {
    // `b` above, `a` below it; the source is the low half of the concatenation.
    Palignr = |a, b, control| match u32::from(control) {
        0 => b,
        bytes @ 1..16 => b >> (8 * bytes) | a << (128 - 8 * bytes),
        bytes @ 16..32 => a >> (8 * (bytes - 16)),
        _ => 0,
    };
    Blendps = |a, b, control| build::<u32>(|n| get(if control >> n & 1 != 0 { b } else { a }, n));
    Blendpd = |a, b, control| build::<u64>(|n| get(if control >> n & 1 != 0 { b } else { a }, n));
    Pblendw = |a, b, control| build::<u16>(|n| get(if control >> n & 1 != 0 { b } else { a }, n));
    Mpsadbw = |a, b, control| {
        let (left, right) = (u32::from(control >> 2 & 1) * 4, u32::from(control & 3) * 4);
        let distance = |n, k| u16::from(get::<u8>(a, left + n + k).abs_diff(get(b, right + k)));
        build::<u16>(|n| (0..4).map(|k| distance(n, k)).sum())
    };
}

/// Combines neighbours: those of `a` become the low half, those of `b` the high half.
#[inline(always)]
fn pairs<L: Lane>(a: u128, b: u128, f: impl Fn(L, L) -> L) -> u128 {
    let half = 64 / L::BITS;
    build(|n| {
        let (from, n) = if n < half { (a, n) } else { (b, n - half) };
        f(get(from, 2 * n), get(from, 2 * n + 1))
    })
}

/// PBLENDVB, BLENDVPS, BLENDVPD: lanes of `b` where those of `mask` are negative.
#[inline(always)]
pub(crate) fn blend<L: Lane>(a: u128, b: u128, mask: u128) -> u128 {
    build::<L>(|n| {
        let negative = mask >> (n * L::BITS + L::BITS - 1) & 1 != 0;
        get(if negative { b } else { a }, n)
    })
}

/// INSERTPS: lane `from` into lane bits 5:4 of `control`, then the lanes of bits 3:0 become 0.
pub(crate) fn insert_single(a: u128, from: u32, control: u8) -> u128 {
    let inserted = set(a, u32::from(control >> 4 & 3), from);
    build::<u32>(|n| if control >> n & 1 != 0 { 0 } else { get(inserted, n) })
}
