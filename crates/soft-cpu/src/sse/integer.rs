//! SSE2 integer operations.

use super::lane::{Lane, build, get, set, zip};
use super::{Shuffle, Vector};
use crate::low::Low;

macro_rules! vector {
    ($($name:ident = |$a:ident, $b:ident| $body:expr;)*) => { $(
        pub(crate) struct $name;
        impl Vector for $name {
            #[inline(always)]
            fn apply($a: u128, $b: u128) -> u128 {
                $body
            }
        }
    )* };
}

macro_rules! lanes {
    ($($name:ident = $t:ty, |$a:ident, $b:ident| $body:expr;)*) => { $(
        pub(crate) struct $name;
        impl Vector for $name {
            #[inline(always)]
            fn apply(a: u128, b: u128) -> u128 {
                zip::<$t, $t>(a, b, |$a, $b| $body)
            }
        }
    )* };
}

vector! {
    Paddb = |a, b| add::<u8>(a, b);
    Paddw = |a, b| add::<u16>(a, b);
    Paddd = |a, b| add::<u32>(a, b);
    Paddq = |a, b| add::<u64>(a, b);
    Psubb = |a, b| subtract::<u8>(a, b);
    Psubw = |a, b| subtract::<u16>(a, b);
    Psubd = |a, b| subtract::<u32>(a, b);
    Psubq = |a, b| subtract::<u64>(a, b);
    Pcmpeqb = |a, b| equal::<u8>(a, b);
    Pcmpeqw = |a, b| equal::<u16>(a, b);
    Pcmpeqd = |a, b| equal::<u32>(a, b);
    Pand = |a, b| a & b;
    Pandn = |a, b| !a & b;
    Por = |a, b| a | b;
    Pxor = |a, b| a ^ b;
    Psllw = |a, b| shift::<u16>(a, b, |lane, n| lane << n);
    Pslld = |a, b| shift::<u32>(a, b, |lane, n| lane << n);
    Psllq = |a, b| shift::<u64>(a, b, |lane, n| lane << n);
    Psrlw = |a, b| shift::<u16>(a, b, |lane, n| lane >> n);
    Psrld = |a, b| shift::<u32>(a, b, |lane, n| lane >> n);
    Psrlq = |a, b| shift::<u64>(a, b, |lane, n| lane >> n);
    Psraw = |a, b| arithmetic::<i16>(a, b, |lane, n| lane >> n);
    Psrad = |a, b| arithmetic::<i32>(a, b, |lane, n| lane >> n);
    Pslldq = |a, b| if b.low_u8() > 15 { 0 } else { a << ((b.low_u32() & 15) * 8) };
    Psrldq = |a, b| if b.low_u8() > 15 { 0 } else { a >> ((b.low_u32() & 15) * 8) };
    Packsswb = |a, b| pack::<i16, i8>(a, b, |x| x.clamp(-128, 127).low_u8().cast_signed());
    Packssdw = |a, b| pack::<i32, i16>(a, b, |x| x.clamp(-32768, 32767).low_u16().cast_signed());
    Packuswb = |a, b| pack::<i16, u8>(a, b, |x| x.clamp(0, 255).low_u8());
    Punpcklbw = |a, b| interleave::<u8>(a, b, 0);
    Punpcklwd = |a, b| interleave::<u16>(a, b, 0);
    Punpckldq = |a, b| interleave::<u32>(a, b, 0);
    Punpcklqdq = |a, b| interleave::<u64>(a, b, 0);
    Punpckhbw = |a, b| interleave::<u8>(a, b, 8);
    Punpckhwd = |a, b| interleave::<u16>(a, b, 4);
    Punpckhdq = |a, b| interleave::<u32>(a, b, 2);
    Punpckhqdq = |a, b| interleave::<u64>(a, b, 1);
    Pmuludq = |a, b| build::<u64>(|n| u64::from(get::<u32>(a, 2 * n)) * u64::from(get::<u32>(b, 2 * n)));
    Pmaddwd = |a, b| build::<i32>(|n| {
        let product = |n| i32::from(get::<i16>(a, n)) * i32::from(get::<i16>(b, n));
        product(2 * n).wrapping_add(product(2 * n + 1))
    });
    Psadbw = |a, b| build::<u64>(|half| {
        (0..8).map(|n| u64::from(get::<u8>(a, 8 * half + n).abs_diff(get::<u8>(b, 8 * half + n)))).sum()
    });
}

lanes! {
    Paddsb = i8, |a, b| a.saturating_add(b);
    Paddsw = i16, |a, b| a.saturating_add(b);
    Paddusb = u8, |a, b| a.saturating_add(b);
    Paddusw = u16, |a, b| a.saturating_add(b);
    Psubsb = i8, |a, b| a.saturating_sub(b);
    Psubsw = i16, |a, b| a.saturating_sub(b);
    Psubusb = u8, |a, b| a.saturating_sub(b);
    Psubusw = u16, |a, b| a.saturating_sub(b);
    Pmullw = u16, |a, b| a.wrapping_mul(b);
    Pmulhw = i16, |a, b| ((i32::from(a) * i32::from(b)) >> 16) as i16;
    Pmulhuw = u16, |a, b| ((u32::from(a) * u32::from(b)) >> 16) as u16;
    Pavgb = u8, |a, b| (u16::from(a) + u16::from(b)).div_ceil(2).low_u8();
    Pavgw = u16, |a, b| (u32::from(a) + u32::from(b)).div_ceil(2).low_u16();
    Pminub = u8, |a, b| a.min(b);
    Pmaxub = u8, |a, b| a.max(b);
    Pminsw = i16, |a, b| a.min(b);
    Pmaxsw = i16, |a, b| a.max(b);
    Pcmpgtb = i8, |a, b| if a > b { -1 } else { 0 };
    Pcmpgtw = i16, |a, b| if a > b { -1 } else { 0 };
    Pcmpgtd = i32, |a, b| if a > b { -1 } else { 0 };
}

/// The top bit of each lane. What is frequent works on all lanes at once with it, because compilers do not
/// see the lanes in a `u128`.
const fn tops<L: Lane>() -> u128 {
    // All ones divided by the largest lane is a one in each lane.
    (u128::MAX / (u128::MAX >> (128 - L::BITS))) << (L::BITS - 1)
}

/// Adds all but the top bits, so that no carry leaves its lane, and then those.
#[inline(always)]
fn add<L: Lane>(a: u128, b: u128) -> u128 {
    let tops = const { tops::<L>() };
    (a & !tops).wrapping_add(b & !tops) ^ (a ^ b) & tops
}

/// The same with borrows, which the top bits of `a` keep in their lanes.
#[inline(always)]
fn subtract<L: Lane>(a: u128, b: u128) -> u128 {
    let tops = const { tops::<L>() };
    (a | tops).wrapping_sub(b & !tops) ^ (a ^ !b) & tops
}

/// All ones in the lanes that are equal.
#[inline(always)]
fn equal<L: Lane>(a: u128, b: u128) -> u128 {
    let tops = const { tops::<L>() };
    let different = a ^ b;
    // The top bit of each lane that has a bit set.
    let set = ((different & !tops).wrapping_add(!tops) | different) & tops;
    let ones = (set ^ tops) >> (L::BITS - 1);
    // A lane's one, taken from the bit above the lane, fills it.
    (ones << (L::BITS - 1) << 1).wrapping_sub(ones)
}

/// Logical shift of each lane by the low 64 bits of `count`.
#[inline(always)]
fn shift<L: Lane>(a: u128, count: u128, f: impl Fn(L, u32) -> L) -> u128 {
    let count = count.low_u64();
    if count >= u64::from(L::BITS) { 0 } else { build(|n| f(get(a, n), count.low_u32())) }
}

/// Arithmetic shift: large counts fill with the sign.
#[inline(always)]
fn arithmetic<L: Lane>(a: u128, count: u128, f: impl Fn(L, u32) -> L) -> u128 {
    let count = count.low_u64().min(u64::from(L::BITS) - 1).low_u32();
    build(|n| f(get(a, n), count))
}

/// Narrows the lanes of `a`, then of `b`.
#[inline(always)]
pub(super) fn pack<F: Lane, T: Lane>(a: u128, b: u128, f: impl Fn(F) -> T) -> u128 {
    let half = 128 / F::BITS;
    build(|n| f(if n < half { get(a, n) } else { get(b, n - half) }))
}

/// Alternates lanes of `a` and `b`, from lane `first` on.
#[inline(always)]
fn interleave<L: Lane>(a: u128, b: u128, first: u32) -> u128 {
    build::<L>(|n| get(if n & 1 == 0 { a } else { b }, first + n / 2))
}

macro_rules! shuffles {
    ($($name:ident = |$a:ident, $b:ident, $control:ident| $body:expr;)*) => { $(
        pub(crate) struct $name;
        impl Shuffle for $name {
            #[inline(always)]
            fn apply($a: u128, $b: u128, $control: u8) -> u128 {
                $body
            }
        }
    )* };
}

/// The two-bit field `n` of a shuffle control.
#[inline(always)]
fn field(control: u8, n: u32) -> u32 {
    u32::from(control) >> (2 * n) & 3
}

shuffles! {
    Pshufd = |_a, b, control| build::<u32>(|n| get(b, field(control, n)));
    Pshuflw = |_a, b, control| build::<u16>(|n| get(b, if n < 4 { field(control, n) } else { n }));
    Pshufhw = |_a, b, control| build::<u16>(|n| get(b, if n < 4 { n } else { 4 + field(control, n - 4) }));
    Shufps = |a, b, control| build::<u32>(|n| get(if n < 2 { a } else { b }, field(control, n)));
    Shufpd = |a, b, control| {
        let low = get::<u64>(a, u32::from(control & 1));
        set(u128::from(low), 1, get::<u64>(b, u32::from(control >> 1 & 1)))
    };
}

pub(super) use {lanes, shuffles, vector};
