//! Integer arithmetic, logic and comparisons of elements, and what AVX defines as SSE's operation on each 128 bits.

use super::lanes::{by_lane, map, zip};
use super::{Description, Operands};
use crate::flags::{CF, ZF};
use crate::sse::{Shuffle as _, Vector as _, integer, sse4};
use iced_x86::{Instruction, Mnemonic as M};

/// Descriptions by mnemonic.
macro_rules! table {
    (
        $ins:expr;
        one: $($o:ident($ot:ty, $osize:literal, $of:expr))*;
        two: $($e:ident($t:ty, $size:literal, $f:expr))*;
        lanes: $($l:ident = $module:ident $s:ident $width:literal $whole:ident)*;
    ) => {
        match $ins.mnemonic() {
            $( M::$o => Description::packed(|o| map::<$ot>(o, $of), $osize), )*
            $( M::$e => Description::packed(|o| zip::<$t>(o, $f), $size), )*
            $( M::$l => table!(@ $whole Description::packed(|o| by_lane(o, $module::$s::apply), $width)), )*
            _ => return None,
        }
    };
    (@ whole $e:expr) => { $e.whole() };
    (@ each $e:expr) => { $e };
}

/// All ones or zeros.
macro_rules! truth {
    ($t:ty, $op:tt) => { |a, b| if a $op b { !0 } else { 0 } };
}

pub(crate) fn describe(ins: &Instruction) -> Option<Description> {
    // Comparisons into mask registers are elsewhere.
    if ins.op0_register().is_k() {
        return None;
    }
    arithmetic(ins).or_else(|| by_lanes(ins))
}

fn arithmetic(ins: &Instruction) -> Option<Description> {
    Some(table! { ins;
        one:
            Vpabsb(i8, 1, i8::wrapping_abs) Vpabsw(i16, 2, i16::wrapping_abs) Vpabsd(i32, 4, i32::wrapping_abs)
            Vpabsq(i64, 8, i64::wrapping_abs) Vplzcntd(u32, 4, u32::leading_zeros)
            Vplzcntq(u64, 8, |x| u64::from(x.leading_zeros()));
        two:
            Vpaddb(u8, 1, u8::wrapping_add) Vpaddw(u16, 2, u16::wrapping_add) Vpaddd(u32, 4, u32::wrapping_add)
            Vpaddq(u64, 8, u64::wrapping_add) Vpsubb(u8, 1, u8::wrapping_sub) Vpsubw(u16, 2, u16::wrapping_sub)
            Vpsubd(u32, 4, u32::wrapping_sub) Vpsubq(u64, 8, u64::wrapping_sub)
            Vpaddsb(i8, 1, i8::saturating_add) Vpaddsw(i16, 2, i16::saturating_add)
            Vpaddusb(u8, 1, u8::saturating_add) Vpaddusw(u16, 2, u16::saturating_add)
            Vpsubsb(i8, 1, i8::saturating_sub) Vpsubsw(i16, 2, i16::saturating_sub)
            Vpsubusb(u8, 1, u8::saturating_sub) Vpsubusw(u16, 2, u16::saturating_sub)
            Vpavgb(u8, 1, |a, b| (u16::from(a) + u16::from(b)).div_ceil(2) as u8)
            Vpavgw(u16, 2, |a, b| (u32::from(a) + u32::from(b)).div_ceil(2) as u16)
            Vpmullw(u16, 2, u16::wrapping_mul) Vpmulld(u32, 4, u32::wrapping_mul) Vpmullq(u64, 8, u64::wrapping_mul)
            Vpmulhw(i16, 2, |a, b| ((i32::from(a) * i32::from(b)) >> 16) as i16)
            Vpmulhuw(u16, 2, |a, b| ((u32::from(a) * u32::from(b)) >> 16) as u16)
            Vpmulhrsw(i16, 2, |a, b| ((((i32::from(a) * i32::from(b)) >> 14) + 1) >> 1) as i16)
            Vpmuludq(u64, 8, |a, b| (a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF))
            Vpmuldq(i64, 8, |a, b| i64::from(a as i32) * i64::from(b as i32))
            Vpminub(u8, 1, u8::min) Vpminuw(u16, 2, u16::min) Vpminud(u32, 4, u32::min) Vpminuq(u64, 8, u64::min)
            Vpminsb(i8, 1, i8::min) Vpminsw(i16, 2, i16::min) Vpminsd(i32, 4, i32::min) Vpminsq(i64, 8, i64::min)
            Vpmaxub(u8, 1, u8::max) Vpmaxuw(u16, 2, u16::max) Vpmaxud(u32, 4, u32::max) Vpmaxuq(u64, 8, u64::max)
            Vpmaxsb(i8, 1, i8::max) Vpmaxsw(i16, 2, i16::max) Vpmaxsd(i32, 4, i32::max) Vpmaxsq(i64, 8, i64::max)
            Vpcmpeqb(u8, 1, truth!(u8, ==)) Vpcmpeqw(u16, 2, truth!(u16, ==)) Vpcmpeqd(u32, 4, truth!(u32, ==))
            Vpcmpeqq(u64, 8, truth!(u64, ==)) Vpcmpgtb(i8, 1, truth!(i8, >)) Vpcmpgtw(i16, 2, truth!(i16, >))
            Vpcmpgtd(i32, 4, truth!(i32, >)) Vpcmpgtq(i64, 8, truth!(i64, >))
            Vpsignb(i8, 1, |a, b| a.wrapping_mul(b.signum())) Vpsignw(i16, 2, |a, b| a.wrapping_mul(b.signum()))
            Vpsignd(i32, 4, |a, b| a.wrapping_mul(b.signum()))
            Vpand(u64, 8, |a, b| a & b) Vpandd(u64, 4, |a, b| a & b) Vpandq(u64, 8, |a, b| a & b)
            Vandps(u64, 4, |a, b| a & b) Vandpd(u64, 8, |a, b| a & b)
            Vpandn(u64, 8, |a, b| !a & b) Vpandnd(u64, 4, |a, b| !a & b) Vpandnq(u64, 8, |a, b| !a & b)
            Vandnps(u64, 4, |a, b| !a & b) Vandnpd(u64, 8, |a, b| !a & b)
            Vpor(u64, 8, |a, b| a | b) Vpord(u64, 4, |a, b| a | b) Vporq(u64, 8, |a, b| a | b)
            Vorps(u64, 4, |a, b| a | b) Vorpd(u64, 8, |a, b| a | b)
            Vpxor(u64, 8, |a, b| a ^ b) Vpxord(u64, 4, |a, b| a ^ b) Vpxorq(u64, 8, |a, b| a ^ b)
            Vxorps(u64, 4, |a, b| a ^ b) Vxorpd(u64, 8, |a, b| a ^ b);
        lanes:;
    })
}

fn by_lanes(ins: &Instruction) -> Option<Description> {
    Some(match ins.mnemonic() {
        M::Vptest => Description::sources(test),
        M::Vtestps => Description::sources(test_signs::<0x8000_0000_8000_0000>),
        M::Vtestpd => Description::sources(test_signs::<0x8000_0000_0000_0000>),
        M::Vmpsadbw => Description::packed(distances, 2),
        M::Vdbpsadbw => Description::packed(double_block_distances, 2).whole(),
        M::Vpternlogd => Description::packed(ternary, 4),
        M::Vpternlogq => Description::packed(ternary, 8),
        M::Vpconflictd => Description::packed(conflicts::<u32>, 4).whole(),
        M::Vpconflictq => Description::packed(conflicts::<u64>, 8).whole(),
        _ => table! { ins;
            one:;
            two:;
            lanes:
                Vpacksswb = integer Packsswb 1 whole Vpackuswb = integer Packuswb 1 whole
                Vpackssdw = integer Packssdw 2 whole Vpackusdw = sse4 Packusdw 2 whole
                Vpmaddwd = integer Pmaddwd 4 whole Vpmaddubsw = sse4 Pmaddubsw 2 whole
                Vpsadbw = integer Psadbw 8 whole
                Vphaddw = sse4 Phaddw 2 each Vphaddd = sse4 Phaddd 4 each Vphaddsw = sse4 Phaddsw 2 each
                Vphsubw = sse4 Phsubw 2 each Vphsubd = sse4 Phsubd 4 each Vphsubsw = sse4 Phsubsw 2 each
                Vphminposuw = sse4 Phminposuw 2 each;
        },
    })
}

fn flags(zero: bool, carry: bool) -> Option<u64> {
    Some(if zero { ZF } else { 0 } | if carry { CF } else { 0 })
}

/// VPTEST.
fn test(o: &mut Operands<'_>) {
    let pairs = || o.a.0.iter().zip(&o.b.0).take(o.bytes / 16);
    o.flags = flags(pairs().all(|(a, b)| a & b == 0), pairs().all(|(a, b)| !a & b == 0));
}

/// VTESTPS, VTESTPD: the sign bits, which `SIGNS` has.
fn test_signs<const SIGNS: u64>(o: &mut Operands<'_>) {
    let pairs = || o.a.elements::<u64>().iter().zip(o.b.elements::<u64>()).take(o.bytes / 8);
    let zero = pairs().all(|(a, b)| a & b & SIGNS == 0);
    o.flags = flags(zero, pairs().all(|(a, b)| !a & b & SIGNS == 0));
}

/// VMPSADBW: each 128 bits have three bits of the immediate.
fn distances(o: &mut Operands<'_>) {
    let lanes = o.result.0.iter_mut().zip(o.a.0.iter().zip(&o.b.0)).take(o.bytes / 16);
    for (lane, (result, (a, b))) in (0..).zip(lanes) {
        *result = sse4::Mpsadbw::apply(*a, *b, o.imm >> (3 * lane));
    }
}

/// VDBPSADBW: distances of groups of four bytes of the first source from those that the immediate selects of the
/// last one, at two offsets each.
fn double_block_distances(o: &mut Operands<'_>) {
    for lane in 0..o.bytes / 16 {
        let from = |n: usize| usize::from(o.imm >> (2 * n) & 3);
        let selected: [u8; 16] = core::array::from_fn(|n| o.b.get(16 * lane + 4 * from(n / 4) + n % 4));
        let first: [u8; 16] = core::array::from_fn(|n| o.a.get(16 * lane + n));
        for word in 0..8 {
            // Words 0 and 1, 2 and 3 … of a quarter; the odd ones are a byte further in what is selected.
            let (a, b) = (word / 2 * 4, word / 4 * 8 + word % 4);
            let sum = (0..4).map(|n| u16::from(first[(a + n) & 15].abs_diff(selected[(b + n) & 15]))).sum();
            o.result.set::<u16>(8 * lane + word, sum);
        }
    }
}

/// VPTERNLOGx: the immediate is the table of a function of three bits, the destination's the highest.
fn ternary(o: &mut Operands<'_>) {
    let imm = o.imm;
    let all = o.result.0.iter_mut().zip(o.a.0.iter().zip(&o.b.0)).take(o.bytes / 16);
    for (result, (b, c)) in all {
        let (a, mut value) = (*result, 0);
        for row in (0..8_u8).filter(|row| imm >> row & 1 != 0) {
            let pick = |bit: u8, operand: u128| if row >> bit & 1 != 0 { operand } else { !operand };
            value |= pick(2, a) & pick(1, *b) & pick(0, *c);
        }
        *result = value;
    }
}

/// VPCONFLICTx: for each element a bit for each equal one before it.
fn conflicts<E: super::Element + PartialEq + From<u16>>(o: &mut Operands<'_>) {
    for n in 0..o.bytes / E::BYTES {
        let this: E = o.b.get(n);
        let bits = (0..n).fold(0, |bits, m| bits | u16::from(o.b.get::<E>(m) == this) << m);
        o.result.set::<E>(n, bits.into());
    }
}
