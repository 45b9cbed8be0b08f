//! Handlers of MMX instructions, and of those of SSE to SSSE3 that have MMX operands.

use super::operands::is_memory;
use super::select::place;
use crate::bus::Bus;
use crate::exec::operand::{Dst, Imm, Mem, Src};
use crate::exec::{Handler, Insn};
use crate::low::Low;
use crate::mmx::{self, Half, Joined, Lanes, MmSrc, Upper, convert, moves};
use crate::sse::{Aligned, XmmSrc, integer, scalar, sse4};
use iced_x86::{Instruction, Mnemonic as M};

pub(super) fn handler<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    if ins.mnemonic() == M::Emms {
        return Some(mmx::emms::<B>);
    }
    // From memory these two have no MMX operand.
    let conversion_to_xmm = matches!(ins.mnemonic(), M::Cvtpi2ps | M::Cvtpi2pd);
    if !conversion_to_xmm && !(0..ins.op_count()).any(|n| ins.op_register(n).is_mm()) {
        return None;
    }
    moves_handler(ins, insn).or_else(|| conversion(ins)).or_else(|| operation(ins))
}

fn moves_handler<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let to_memory = is_memory(ins, 0);
    let memory = is_memory(ins, 1);
    let handler: Handler<B> = match ins.mnemonic() {
        M::Movd if to_memory => moves::store::<B, u32, Mem>,
        M::Movd if ins.op0_register().is_mm() => place!(memory, Src, S => moves::load::<B, u32, S>),
        M::Movd => moves::store::<B, u32, Dst>,
        M::Movq | M::Movntq if to_memory => moves::store::<B, u64, Mem>,
        M::Movq if memory => moves::load::<B, u64, Mem>,
        M::Movq if ins.op1_register().is_gpr() => moves::load::<B, u64, Src>,
        M::Movq if ins.op0_register().is_gpr() => moves::store::<B, u64, Dst>,
        M::Movq => moves::load::<B, u64, MmSrc>,
        M::Movq2dq => moves::movq2dq::<B>,
        M::Movdq2q => moves::movdq2q::<B>,
        M::Maskmovq => {
            // Operands are implicit memory, then the two registers.
            insn.dst = ins.op1_register().number().low_u8();
            insn.src = ins.op2_register().number().low_u8();
            moves::maskmovq::<B>
        }
        M::Pmovmskb => moves::pmovmskb::<B>,
        M::Pextrw => moves::pextrw::<B>,
        M::Pinsrw => place!(memory, Src, S => mmx::pinsrw::<B, S>),
        M::Pshufw => place!(memory, MmSrc, S => mmx::pshufw::<B, S>),
        M::Palignr => place!(memory, MmSrc, S => mmx::palignr::<B, S>),
        _ => return None,
    };
    Some(handler)
}

fn conversion<B: Bus>(ins: &Instruction) -> Option<Handler<B>> {
    let memory = is_memory(ins, 1);
    macro_rules! to_integers {
        ($truncate:expr, $real:ty, $Memory:ty) => {
            if memory {
                convert::to_integers::<B, $truncate, $real, $Memory>
            } else {
                convert::to_integers::<B, $truncate, $real, XmmSrc>
            }
        };
    }
    let handler: Handler<B> = match ins.mnemonic() {
        M::Cvtpi2ps if memory => convert::cvtpi2ps::<B, false, Mem>,
        M::Cvtpi2ps => convert::cvtpi2ps::<B, true, MmSrc>,
        M::Cvtpi2pd if memory => convert::cvtpi2pd::<B, false, Mem>,
        M::Cvtpi2pd => convert::cvtpi2pd::<B, true, MmSrc>,
        M::Cvtps2pi => to_integers!(false, f32, scalar::Half),
        M::Cvttps2pi => to_integers!(true, f32, scalar::Half),
        M::Cvtpd2pi => to_integers!(false, f64, Aligned),
        M::Cvttpd2pi => to_integers!(true, f64, Aligned),
        _ => return None,
    };
    Some(handler)
}

fn operation<B: Bus>(ins: &Instruction) -> Option<Handler<B>> {
    let memory = is_memory(ins, 1);
    macro_rules! binary {
        ($O:ty) => {
            place!(memory, MmSrc, S => mmx::binary::<B, $O, S>)
        };
    }
    macro_rules! low {
        ($O:ty) => {
            if memory { mmx::binary::<B, Lanes<$O>, Half> } else { mmx::binary::<B, Lanes<$O>, MmSrc> }
        };
    }
    macro_rules! table {
        (
            lanes: $($v:ident)*; shifts: $($n:ident)*; joined: $($j:ident)*; ssse3: $($s:ident)*;
            horizontal: $($h:ident)*;
        ) => {
            match ins.mnemonic() {
                $( M::$v => binary!(Lanes<integer::$v>), )*
                $( M::$n if !memory && !ins.op_register(1).is_mm() => mmx::binary::<B, Lanes<integer::$n>, Imm>,
                   M::$n => binary!(Lanes<integer::$n>), )*
                $( M::$j => binary!(Joined<integer::$j>), )*
                $( M::$s => binary!(Lanes<sse4::$s>), )*
                $( M::$h => binary!(Joined<sse4::$h>), )*
                M::Punpcklbw => low!(integer::Punpcklbw),
                M::Punpcklwd => low!(integer::Punpcklwd),
                M::Punpckldq => low!(integer::Punpckldq),
                M::Punpckhbw => binary!(Upper<integer::Punpcklbw>),
                M::Punpckhwd => binary!(Upper<integer::Punpcklwd>),
                M::Punpckhdq => binary!(Upper<integer::Punpckldq>),
                M::Pshufb => binary!(mmx::Pshufb),
                _ => return None,
            }
        };
    }
    let handler: Handler<B> = table! {
        lanes:
            Pand Pandn Por Pxor Pmuludq Pmaddwd Psadbw Paddb Paddw Paddd Paddq Psubb Psubw Psubd Psubq Paddsb Paddsw
            Paddusb Paddusw Psubsb Psubsw Psubusb Psubusw Pmullw Pmulhw Pmulhuw Pavgb Pavgw Pminub Pmaxub Pminsw
            Pmaxsw Pcmpeqb Pcmpeqw Pcmpeqd Pcmpgtb Pcmpgtw Pcmpgtd;
        shifts: Psllw Pslld Psllq Psrlw Psrld Psrlq Psraw Psrad;
        joined: Packsswb Packssdw Packuswb;
        ssse3: Pmaddubsw Pabsb Pabsw Pabsd Psignb Psignw Psignd Pmulhrsw;
        horizontal: Phaddw Phaddd Phaddsw Phsubw Phsubd Phsubsw;
    };
    Some(handler)
}
