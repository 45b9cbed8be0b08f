//! Handlers of SSE3, SSSE3, SSE4.1 and SSE4.2, and of the reciprocals of SSE.

use super::operands::{is_memory, size};
use super::select::{place, source, width};
use crate::bus::Bus;
use crate::exec::operand::{Mem, Src};
use crate::exec::{Handler, Insn};
use crate::sse::sse4_moves::Part;
use crate::sse::{
    Aligned, XmmSrc, moves, reciprocal, scalar, shuffle, sse4, sse4_float, sse4_moves, strings, vector,
};
use iced_x86::{Instruction, Mnemonic as M};

pub(super) fn handler<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    integer(ins).or_else(|| moves_and_tests(ins)).or_else(|| float(ins, insn)).or_else(|| text(ins))
}

/// A register, or memory of the type's size.
macro_rules! part {
    ($ins:expr, $t:ty, $S:ident => $e:expr) => {
        if is_memory($ins, 1) {
            type $S = Part<$t>;
            $e
        } else {
            type $S = XmmSrc;
            $e
        }
    };
}

fn integer<B: Bus>(ins: &Instruction) -> Option<Handler<B>> {
    macro_rules! table {
        (vectors: $($v:ident)*; shuffles: $($s:ident)*; parts: $($p:ident($t:ty))*;) => {
            match ins.mnemonic() {
                $( M::$v => source!(ins, S => vector::<B, sse4::$v, S>), )*
                $( M::$s => source!(ins, S => shuffle::<B, sse4::$s, S>), )*
                $( M::$p => part!(ins, $t, S => vector::<B, sse4::$p, S>), )*
                _ => return None,
            }
        };
    }
    let handler: Handler<B> = table! {
        vectors:
            Movshdup Movsldup Phaddw Phaddd Phaddsw Phsubw Phsubd Phsubsw Pmaddubsw Pshufb Pmuldq Packusdw Phminposuw
            Pabsb Pabsw Pabsd Psignb Psignw Psignd Pmulhrsw Pmulld Pcmpeqq Pcmpgtq Pminsb Pmaxsb Pminuw Pmaxuw
            Pminsd Pmaxsd Pminud Pmaxud;
        shuffles: Palignr Blendps Blendpd Pblendw Mpsadbw;
        parts:
            Movddup(u64) Pmovsxbw(u64) Pmovsxbd(u32) Pmovsxbq(u16) Pmovsxwd(u64) Pmovsxwq(u32) Pmovsxdq(u64)
            Pmovzxbw(u64) Pmovzxbd(u32) Pmovzxbq(u16) Pmovzxwd(u64) Pmovzxwq(u32) Pmovzxdq(u64);
    };
    Some(handler)
}

fn moves_and_tests<B: Bus>(ins: &Instruction) -> Option<Handler<B>> {
    let memory = is_memory(ins, 1);
    macro_rules! extract {
        ($t:ty) => {
            if is_memory(ins, 0) { moves::extract_store::<B, $t> } else { moves::extract::<B, $t> }
        };
    }
    let handler: Handler<B> = match ins.mnemonic() {
        M::Movntdqa => moves::load::<B, Aligned>,
        M::Lddqu => moves::load::<B, Mem>,
        M::Pinsrb => place!(memory, Src, S => moves::insert::<B, u8, S>),
        M::Pinsrd => place!(memory, Src, S => moves::insert::<B, u32, S>),
        M::Pinsrq => place!(memory, Src, S => moves::insert::<B, u64, S>),
        M::Pextrb => extract!(u8),
        M::Pextrw => extract!(u16),
        M::Pextrd | M::Extractps => extract!(u32),
        M::Pextrq => extract!(u64),
        M::Insertps if memory => sse4_moves::insertps_memory::<B>,
        M::Insertps => sse4_moves::insertps::<B>,
        M::Pblendvb => source!(ins, S => sse4_moves::blend_variable::<B, u8, S>),
        M::Blendvps => source!(ins, S => sse4_moves::blend_variable::<B, u32, S>),
        M::Blendvpd => source!(ins, S => sse4_moves::blend_variable::<B, u64, S>),
        M::Ptest => source!(ins, S => sse4_moves::ptest::<B, S>),
        M::Crc32 => place!(memory, Src, S => width!(size(ins, 1), T => sse4_moves::crc32::<B, T, S>)),
        _ => return None,
    };
    Some(handler)
}

fn float<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let memory = is_memory(ins, 1);
    macro_rules! vectors {
        ($op:ident) => {
            source!(ins, S => sse4_float::float_vector::<B, sse4_float::$op, S>)
        };
    }
    let handler: Handler<B> = match ins.mnemonic() {
        M::Addsubps => vectors!(Addsubps),
        M::Addsubpd => vectors!(Addsubpd),
        M::Haddps => vectors!(Haddps),
        M::Haddpd => vectors!(Haddpd),
        M::Hsubps => vectors!(Hsubps),
        M::Hsubpd => vectors!(Hsubpd),
        M::Roundss => place!(memory, XmmSrc, S => scalar::scalar::<B, sse4_float::Round, f32, S>),
        M::Roundsd => place!(memory, XmmSrc, S => scalar::scalar::<B, sse4_float::Round, f64, S>),
        M::Roundps => source!(ins, S => scalar::packed::<B, sse4_float::Round, f32, S>),
        M::Roundpd => source!(ins, S => scalar::packed::<B, sse4_float::Round, f64, S>),
        M::Dpps => source!(ins, S => sse4_float::dot_product::<B, f32, S>),
        M::Dppd => source!(ins, S => sse4_float::dot_product::<B, f64, S>),
        M::Rcpss => place!(memory, XmmSrc, S => reciprocal::scalar::<B, reciprocal::Reciprocal, S>),
        M::Rcpps => source!(ins, S => reciprocal::packed::<B, reciprocal::Reciprocal, S>),
        M::Rsqrtss => place!(memory, XmmSrc, S => reciprocal::scalar::<B, reciprocal::ReciprocalRoot, S>),
        M::Rsqrtps => source!(ins, S => reciprocal::packed::<B, reciprocal::ReciprocalRoot, S>),
        _ => return None,
    };
    // The control is a byte; operands extends it.
    insn.imm &= 0xFF;
    Some(handler)
}

fn text<B: Bus>(ins: &Instruction) -> Option<Handler<B>> {
    let memory = is_memory(ins, 1);
    let handler: Handler<B> = match ins.mnemonic() {
        M::Pcmpistri => place!(memory, XmmSrc, S => strings::compare::<B, false, false, false, S>),
        M::Pcmpistrm => place!(memory, XmmSrc, S => strings::compare::<B, false, false, true, S>),
        M::Pcmpestri => place!(memory, XmmSrc, S => strings::compare::<B, true, false, false, S>),
        M::Pcmpestrm => place!(memory, XmmSrc, S => strings::compare::<B, true, false, true, S>),
        M::Pcmpestri64 => place!(memory, XmmSrc, S => strings::compare::<B, true, true, false, S>),
        M::Pcmpestrm64 => place!(memory, XmmSrc, S => strings::compare::<B, true, true, true, S>),
        _ => return None,
    };
    Some(handler)
}
