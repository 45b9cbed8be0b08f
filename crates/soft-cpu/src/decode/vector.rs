//! Handlers of SSE and SSE2 instructions.

use super::operands::{is_memory, size};
use super::select::{hot, place, source, word_width};
use crate::bus::Bus;
use crate::exec::operand::{Imm, Src};
use crate::exec::{Handler, Insn};
use crate::low::Low;
use crate::sse::{self, Aligned, XmmSrc, integer, moves, scalar};
use iced_x86::{Instruction, Mnemonic as M, Register};

pub(super) fn handler<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    // VEX forms and MMX registers have mnemonics of their own or share ours.
    if ins.encoding() != iced_x86::EncodingKind::Legacy {
        return None;
    }
    if (0..ins.op_count()).any(|n| ins.op_register(n).is_mm()) {
        return None;
    }
    moves_handler(ins, insn)
        .or_else(|| integer_handler(ins, insn))
        .or_else(|| float_handler(ins, insn))
        .or_else(|| super::sse4::handler(ins, insn))
        .or_else(|| super::crypto::handler(ins))
}

fn moves_handler<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let to_memory = is_memory(ins, 0);
    let from_memory = is_memory(ins, 1);
    let handler: Handler<B> = match ins.mnemonic() {
        M::Movaps | M::Movapd | M::Movdqa | M::Movntps | M::Movntpd | M::Movntdq => {
            if to_memory {
                hot!(insn, moves::store[B, true])
            } else {
                source!(ins, S => hot!(insn, moves::load[B, S]))
            }
        }
        M::Movups | M::Movupd | M::Movdqu => {
            if to_memory {
                hot!(insn, moves::store[B, false])
            } else {
                place!(from_memory, XmmSrc, S => hot!(insn, moves::load[B, S]))
            }
        }
        M::Movss if to_memory => hot!(insn, moves::store_low[B, u32]),
        M::Movss if from_memory => hot!(insn, moves::load_low[B, u32]),
        M::Movss => hot!(insn, moves::move_low[B, f32]),
        M::Movsd if to_memory => hot!(insn, moves::store_low[B, u64]),
        M::Movsd if from_memory => hot!(insn, moves::load_low[B, u64]),
        M::Movsd => hot!(insn, moves::move_low[B, f64]),
        M::Movd | M::Movq => {
            let wide = ins.mnemonic() == M::Movq;
            let gpr = |register: Register| register.is_gpr();
            match (to_memory, from_memory, wide) {
                (true, _, true) => hot!(insn, moves::store_low[B, u64]),
                (true, _, false) => hot!(insn, moves::store_low[B, u32]),
                (_, true, true) => hot!(insn, moves::load_low[B, u64]),
                (_, true, false) => hot!(insn, moves::load_low[B, u32]),
                _ if gpr(ins.op0_register()) && wide => hot!(insn, moves::to_gpr[B, u64]),
                _ if gpr(ins.op0_register()) => hot!(insn, moves::to_gpr[B, u32]),
                _ if gpr(ins.op1_register()) && wide => hot!(insn, moves::from_gpr[B, u64]),
                _ if gpr(ins.op1_register()) => hot!(insn, moves::from_gpr[B, u32]),
                _ => hot!(insn, moves::movq[B]),
            }
        }
        M::Movlps | M::Movlpd if to_memory => hot!(insn, moves::store_low[B, u64]),
        M::Movlps | M::Movlpd => moves::load_half::<B, 0>,
        M::Movhps | M::Movhpd if to_memory => moves::store_high::<B>,
        M::Movhps | M::Movhpd => moves::load_half::<B, 1>,
        M::Movlhps => moves::move_half::<B, 1, 0>,
        M::Movhlps => moves::move_half::<B, 0, 1>,
        M::Pmovmskb => hot!(insn, moves::mask[B, 8]),
        M::Movmskps => hot!(insn, moves::mask[B, 32]),
        M::Movmskpd => hot!(insn, moves::mask[B, 64]),
        M::Pinsrw => place!(from_memory, Src, S => moves::insert::<B, u16, S>),
        M::Maskmovdqu => {
            // Operands are implicit memory, then the two registers.
            insn.dst = ins.op1_register().number().low_u8();
            insn.src = ins.op2_register().number().low_u8();
            moves::maskmovdqu::<B>
        }
        M::Ldmxcsr => moves::ldmxcsr::<B>,
        M::Stmxcsr => moves::stmxcsr::<B>,
        _ => return None,
    };
    Some(handler)
}

fn integer_handler<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    macro_rules! table {
        (vectors: $($v:ident)*; shifts: $($n:ident)*; shuffles: $($s:ident)*;) => {
            match ins.mnemonic() {
                $( M::$v => source!(ins, S => hot!(insn, sse::vector[B, integer::$v, S])), )*
                $( M::$n if ins.op_register(1) == Register::None && !is_memory(ins, 1) => {
                       hot!(insn, sse::vector[B, integer::$n, Imm])
                   }
                   M::$n => source!(ins, S => hot!(insn, sse::vector[B, integer::$n, S])), )*
                $( M::$s => source!(ins, S => hot!(insn, sse::shuffle[B, integer::$s, S])), )*
                M::Andps | M::Andpd => source!(ins, S => hot!(insn, sse::vector[B, integer::Pand, S])),
                M::Andnps | M::Andnpd => source!(ins, S => hot!(insn, sse::vector[B, integer::Pandn, S])),
                M::Orps | M::Orpd => source!(ins, S => hot!(insn, sse::vector[B, integer::Por, S])),
                M::Xorps | M::Xorpd => source!(ins, S => hot!(insn, sse::vector[B, integer::Pxor, S])),
                M::Unpcklps => source!(ins, S => hot!(insn, sse::vector[B, integer::Punpckldq, S])),
                M::Unpckhps => source!(ins, S => hot!(insn, sse::vector[B, integer::Punpckhdq, S])),
                M::Unpcklpd => source!(ins, S => hot!(insn, sse::vector[B, integer::Punpcklqdq, S])),
                M::Unpckhpd => source!(ins, S => hot!(insn, sse::vector[B, integer::Punpckhqdq, S])),
                _ => return None,
            }
        };
    }
    let handler: Handler<B> = table! {
        vectors:
            Pand Pandn Por Pxor Packsswb Packssdw Packuswb Punpcklbw Punpcklwd Punpckldq Punpcklqdq
            Punpckhbw Punpckhwd Punpckhdq Punpckhqdq Pmuludq Pmaddwd Psadbw Paddb Paddw Paddd Paddq
            Psubb Psubw Psubd Psubq Paddsb Paddsw Paddusb Paddusw Psubsb Psubsw Psubusb Psubusw Pmullw
            Pmulhw Pmulhuw Pavgb Pavgw Pminub Pmaxub Pminsw Pmaxsw Pcmpeqb Pcmpeqw Pcmpeqd Pcmpgtb
            Pcmpgtw Pcmpgtd;
        shifts: Psllw Pslld Psllq Psrlw Psrld Psrlq Psraw Psrad Pslldq Psrldq;
        shuffles: Pshufd Pshuflw Pshufhw Shufps Shufpd;
    };
    Some(handler)
}

fn float_handler<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let memory = is_memory(ins, 1);
    macro_rules! scalar {
        ($op:ident, $real:ty) => {
            place!(memory, XmmSrc, S => hot!(insn, scalar::scalar[B, scalar::$op, $real, S]))
        };
    }
    macro_rules! packed {
        ($op:ident, $real:ty) => {
            source!(ins, S => hot!(insn, scalar::packed[B, scalar::$op, $real, S]))
        };
    }
    macro_rules! to_integer {
        ($truncate:expr, $real:ty) => {
            place!(memory, XmmSrc, S => {
                word_width!(size(ins, 0), T => scalar::to_integer::<B, $truncate, $real, T, S>)
            })
        };
    }
    macro_rules! from_integer {
        ($double:expr) => {
            place!(memory, Src, S => {
                word_width!(size(ins, 1), T => hot!(insn, scalar::from_integer[B, $double, T, S]))
            })
        };
    }
    macro_rules! convert {
        ($op:ident) => {
            source!(ins, S => scalar::convert::<B, scalar::$op, S>)
        };
        ($op:ident from half) => {
            if memory {
                scalar::convert::<B, scalar::$op, scalar::Half>
            } else {
                scalar::convert::<B, scalar::$op, XmmSrc>
            }
        };
    }
    let handler: Handler<B> = match ins.mnemonic() {
        M::Addss => scalar!(Add, f32),
        M::Addsd => scalar!(Add, f64),
        M::Addps => packed!(Add, f32),
        M::Addpd => packed!(Add, f64),
        M::Subss => scalar!(Sub, f32),
        M::Subsd => scalar!(Sub, f64),
        M::Subps => packed!(Sub, f32),
        M::Subpd => packed!(Sub, f64),
        M::Mulss => scalar!(Mul, f32),
        M::Mulsd => scalar!(Mul, f64),
        M::Mulps => packed!(Mul, f32),
        M::Mulpd => packed!(Mul, f64),
        M::Divss => scalar!(Div, f32),
        M::Divsd => scalar!(Div, f64),
        M::Divps => packed!(Div, f32),
        M::Divpd => packed!(Div, f64),
        M::Minss => scalar!(Min, f32),
        M::Minsd => scalar!(Min, f64),
        M::Minps => packed!(Min, f32),
        M::Minpd => packed!(Min, f64),
        M::Maxss => scalar!(Max, f32),
        M::Maxsd => scalar!(Max, f64),
        M::Maxps => packed!(Max, f32),
        M::Maxpd => packed!(Max, f64),
        M::Sqrtss => scalar!(Sqrt, f32),
        M::Sqrtsd => scalar!(Sqrt, f64),
        M::Sqrtps => packed!(Sqrt, f32),
        M::Sqrtpd => packed!(Sqrt, f64),
        M::Cmpss => scalar!(Cmp, f32),
        M::Cmpsd => scalar!(Cmp, f64),
        M::Cmpps => packed!(Cmp, f32),
        M::Cmppd => packed!(Cmp, f64),
        M::Comiss => place!(memory, XmmSrc, S => scalar::comi::<B, true, f32, S>),
        M::Comisd => place!(memory, XmmSrc, S => scalar::comi::<B, true, f64, S>),
        M::Ucomiss => place!(memory, XmmSrc, S => scalar::comi::<B, false, f32, S>),
        M::Ucomisd => place!(memory, XmmSrc, S => scalar::comi::<B, false, f64, S>),
        M::Cvtss2si => to_integer!(false, f32),
        M::Cvtsd2si => to_integer!(false, f64),
        M::Cvttss2si => to_integer!(true, f32),
        M::Cvttsd2si => to_integer!(true, f64),
        M::Cvtsi2ss => from_integer!(false),
        M::Cvtsi2sd => from_integer!(true),
        M::Cvtss2sd => place!(memory, XmmSrc, S => scalar::cvtss2sd::<B, S>),
        M::Cvtsd2ss => place!(memory, XmmSrc, S => scalar::cvtsd2ss::<B, S>),
        M::Cvtps2pd => convert!(Ps2pd from half),
        M::Cvtdq2pd => convert!(Dq2pd from half),
        M::Cvtpd2ps => convert!(Pd2ps),
        M::Cvtdq2ps => convert!(Dq2ps),
        M::Cvtps2dq => convert!(Ps2dq),
        M::Cvttps2dq => convert!(Tps2dq),
        M::Cvtpd2dq => convert!(Pd2dq),
        M::Cvttpd2dq => convert!(Tpd2dq),
        _ => return None,
    };
    // Shorter compares exist for one register operand only; the predicate is in the immediate.
    insn.imm &= 0xFF;
    Some(handler)
}
