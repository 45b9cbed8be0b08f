//! Handlers that depend on what follows in the block: those that leave the flags alone because no instruction will see
//! them, and those that do the conditional jump behind them too.
//!
//! Flags that an instruction leaves are seen by those that read them, by the state at the end of the block, and
//! where an instruction may fault or stop. A block of which not all is executed does without these handlers
//! ([`chain::some`]), and so does an observer.

use super::operands::{Form, form, size};
use super::select::condition;
use crate::bus::Bus;
use crate::exec::chain::{self, Chain};
use crate::exec::operand::{Dst, Imm, Src};
use crate::exec::{Insn, alu, control, muldiv, shift};
use iced_x86::{ConditionCode, Instruction, Mnemonic as M, OpKind, RflagsBits};

const CARRY: u32 = RflagsBits::CF;
const ALL: u32 = CARRY | RflagsBits::PF | RflagsBits::AF | RflagsBits::ZF | RflagsBits::SF | RflagsBits::OF;

/// Chooses among the handlers that `insns`, decoded from `instructions`, can have in their block.
pub(super) fn choose<B: Bus>(instructions: &[Instruction], insns: &mut [Insn<B>]) {
    let mut seen = ALL;
    let mut behind: Option<&Instruction> = None;
    for (ins, insn) in instructions.iter().zip(insns).rev() {
        let is_quick = |jump: &&Instruction| jump.is_jcc_short_or_near() && !super::jumps_to_next(jump);
        let jump = behind.replace(ins).filter(is_quick);
        if let Some(chain) = jump.and_then(|jump| with_jump(ins, jump)) {
            insn.next = chain;
        } else if seen & ins.rflags_modified() == 0
            && let Some(chain) = silent(ins)
        {
            insn.next = chain;
        }
        seen = if is_internal(ins) { seen & !overwritten(ins) | ins.rflags_read() } else { ALL };
    }
}

/// Reads and writes general-purpose registers and flags, and does nothing else: neither faults nor stops the block.
fn is_internal(ins: &Instruction) -> bool {
    let mut operands = (0..ins.op_count()).map(|n| match ins.op_kind(n) {
        OpKind::Register => ins.op_register(n).is_gpr(),
        OpKind::Memory => ins.mnemonic() == M::Lea,
        _ => true,
    });
    let known = match ins.mnemonic() {
        M::Add | M::Adc | M::Sub | M::Sbb | M::And | M::Or | M::Xor | M::Cmp | M::Test => true,
        M::Inc | M::Dec | M::Neg | M::Not | M::Imul => true,
        M::Shl | M::Sal | M::Shr | M::Sar | M::Rol | M::Ror | M::Rcl | M::Rcr | M::Shld | M::Shrd => true,
        M::Mov | M::Movzx | M::Movsx | M::Movsxd | M::Lea | M::Bswap => true,
        M::Cbw | M::Cwde | M::Cdqe | M::Cwd | M::Cdq | M::Cqo | M::Nop => true,
        // CMOVcc and SETcc.
        _ => ins.condition_code() != ConditionCode::None && !ins.is_jcc_short_or_near() && !ins.is_loopcc(),
    };
    known && operands.all(|internal| internal)
}

/// The flags that it writes whatever its operands are.
fn overwritten(ins: &Instruction) -> u32 {
    match ins.mnemonic() {
        M::Add | M::Adc | M::Sub | M::Sbb | M::And | M::Or | M::Xor | M::Cmp | M::Test | M::Neg => ALL,
        M::Inc | M::Dec => ALL & !CARRY,
        _ => 0,
    }
}

/// 32 or 64 bits, which most operands have.
macro_rules! usual_width {
    ($size:expr, $T:ident => $e:expr) => {
        match $size {
            4 => {
                type $T = u32;
                $e
            }
            8 => {
                type $T = u64;
                $e
            }
            _ => return None,
        }
    };
}

/// The second operand is a register or an immediate; the first one is a register.
macro_rules! internal_forms {
    ($form:expr, $S:ident => $e:expr) => {
        match $form {
            Form::RegReg => {
                type $S = Src;
                $e
            }
            Form::RegImm => {
                type $S = Imm;
                $e
            }
            _ => return None,
        }
    };
}

/// The instruction without its flags.
fn silent<B: Bus>(ins: &Instruction) -> Option<Chain<B>> {
    let size = size(ins, 0);
    macro_rules! chain {
        ($module:ident::$name:ident[$($parameter:tt)*]) => {
            |c, b, rest| chain::quick(c, b, rest, |c, b, i| {
                c.without_flags(|c| $module::quick::$name::<$($parameter)*>(c, b, i))
            })
        };
    }
    macro_rules! binary {
        ($op:ident) => {
            internal_forms!(form(ins)?, S => usual_width!(size, T => chain!(alu::binary[B, alu::$op, T, Dst, S])))
        };
    }
    macro_rules! shift {
        ($op:ident) => {
            match form(ins)? {
                Form::RegImm => usual_width!(size, T => chain!(shift::by_imm[B, shift::$op, T, Dst])),
                _ => return None,
            }
        };
    }
    if ins.op0_kind() != OpKind::Register {
        return None;
    }
    Some(match ins.mnemonic() {
        M::Add => binary!(Add),
        M::Sub => binary!(Sub),
        M::And => binary!(And),
        M::Or => binary!(Or),
        M::Xor => binary!(Xor),
        M::Inc => usual_width!(size, T => chain!(alu::unary[B, alu::Inc, T, Dst])),
        M::Dec => usual_width!(size, T => chain!(alu::unary[B, alu::Dec, T, Dst])),
        M::Shl | M::Sal => shift!(Shl),
        M::Shr => shift!(Shr),
        M::Sar => shift!(Sar),
        M::Imul if ins.op_count() == 2 && ins.op1_kind() == OpKind::Register => {
            usual_width!(size, T => chain!(muldiv::imul_to[B, T, Dst, Src]))
        }
        _ => return None,
    })
}

/// The instruction and the conditional jump behind it.
fn with_jump<B: Bus>(ins: &Instruction, jump: &Instruction) -> Option<Chain<B>> {
    let size = size(ins, 0);
    macro_rules! chain {
        ($module:ident::$name:ident[$($parameter:tt)*]) => {
            condition!(jump.condition_code() as u8 - 1, C => |c, b, rest| {
                control::with_jump::<B, C>(c, b, rest, $module::quick::$name::<$($parameter)*>)
            })
        };
    }
    Some(match ins.mnemonic() {
        M::Cmp if size == 1 => internal_forms!(form(ins)?, S => chain!(alu::cmp[B, u8, Dst, S])),
        M::Cmp => internal_forms!(form(ins)?, S => usual_width!(size, T => chain!(alu::cmp[B, T, Dst, S]))),
        M::Test if size == 1 => internal_forms!(form(ins)?, S => chain!(alu::test[B, u8, Dst, S])),
        M::Test => internal_forms!(form(ins)?, S => usual_width!(size, T => chain!(alu::test[B, T, Dst, S]))),
        M::Dec if ins.op0_kind() == OpKind::Register => {
            usual_width!(size, T => chain!(alu::unary[B, alu::Dec, T, Dst]))
        }
        M::Add if form(ins)? == Form::RegImm => {
            usual_width!(size, T => chain!(alu::binary[B, alu::Add, T, Dst, Imm]))
        }
        M::Sub if form(ins)? == Form::RegImm => {
            usual_width!(size, T => chain!(alu::binary[B, alu::Sub, T, Dst, Imm]))
        }
        _ => return None,
    })
}
