//! Handlers of integer instructions and near branches.

use super::operands::{Form, form, is_memory, set_address_size, size};
use super::select::{condition, forms, hot, place, width, word_width};
use crate::bus::Bus;
use crate::context::Mode;
use crate::exec::operand::{Dst, Imm, Mem, Src};
use crate::exec::{self, Handler, Insn, alu, bits, control, flag, mov, muldiv, shift, stack, string};
use crate::low::Low;
use iced_x86::{ConditionCode, Instruction, Mnemonic as M, OpKind};

pub(super) fn handler<B: Bus>(ins: &Instruction, insn: &mut Insn<B>, mode: Mode) -> Option<Handler<B>> {
    if ins.is_string_instruction() {
        return string_handler(ins, insn);
    }
    arithmetic(ins, insn)
        .or_else(|| shifts_and_bits(ins, insn))
        .or_else(|| moves(ins, insn, mode))
        .or_else(|| stack_handler(ins, insn))
        .or_else(|| branches(ins, insn, mode))
}

fn arithmetic<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let size0 = size(ins, 0);
    macro_rules! binary {
        ($op:ident) => {
            forms!(form(ins)?, D, S => width!(size0, T => hot!(insn, alu::binary[B, alu::$op, T, D, S])))
        };
    }
    macro_rules! unary {
        ($op:ident) => {
            place!(is_memory(ins, 0), Dst, D => width!(size0, T => hot!(insn, alu::unary[B, alu::$op, T, D])))
        };
    }
    let handler: Handler<B> = match ins.mnemonic() {
        M::Add => binary!(Add),
        M::Adc => binary!(Adc),
        M::Sub => binary!(Sub),
        M::Sbb => binary!(Sbb),
        M::And => binary!(And),
        M::Or => binary!(Or),
        M::Xor => binary!(Xor),
        M::Cmp => forms!(form(ins)?, D, S => width!(size0, T => hot!(insn, alu::cmp[B, T, D, S]))),
        M::Test => forms!(form(ins)?, D, S => width!(size0, T => hot!(insn, alu::test[B, T, D, S]))),
        M::Inc => unary!(Inc),
        M::Dec => unary!(Dec),
        M::Neg => unary!(Neg),
        M::Not => unary!(Not),
        M::Xadd => {
            insn.aux = u8::from(!is_memory(ins, 0));
            place!(is_memory(ins, 0), Dst, D => width!(size0, T => alu::xadd::<B, T, D>))
        }
        M::Cmpxchg if is_memory(ins, 0) => width!(size0, T => alu::cmpxchg::<B, T>),
        M::Cmpxchg => width!(size0, T => alu::cmpxchg_register::<B, T>),
        M::Cmpxchg8b => alu::cmpxchg8b::<B>,
        M::Cmpxchg16b => alu::cmpxchg16b::<B>,
        M::Mul => place!(is_memory(ins, 0), Dst, S => width!(size0, T => muldiv::mul::<B, T, S>)),
        M::Div => place!(is_memory(ins, 0), Dst, S => width!(size0, T => hot!(insn, muldiv::div[B, T, S]))),
        M::Idiv => place!(is_memory(ins, 0), Dst, S => width!(size0, T => muldiv::idiv::<B, T, S>)),
        M::Imul => match ins.op_count() {
            1 => place!(is_memory(ins, 0), Dst, S => width!(size0, T => muldiv::imul::<B, T, S>)),
            2 => {
                place!(is_memory(ins, 1), Src, S => word_width!(size0, T => hot!(insn, muldiv::imul_to[B, T, Dst, S])))
            }
            _ => {
                place!(is_memory(ins, 1), Src, S => word_width!(size0, T => hot!(insn, muldiv::imul_to[B, T, S, Imm])))
            }
        },
        _ => return None,
    };
    Some(handler)
}

fn shifts_and_bits<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let size0 = size(ins, 0);
    let by_imm = ins.op_count() > 1 && ins.op_kind(1) != OpKind::Register;
    macro_rules! shift {
        ($op:ident) => {
            place!(is_memory(ins, 0), Dst, D => if by_imm {
                width!(size0, T => hot!(insn, shift::by_imm[B, shift::$op, T, D]))
            } else {
                width!(size0, T => hot!(insn, shift::by_cl[B, shift::$op, T, D]))
            })
        };
    }
    macro_rules! double {
        ($left:expr) => {{
            insn.aux = u8::from(ins.op_kind(2) == OpKind::Register);
            place!(is_memory(ins, 0), Dst, D => word_width!(size0, T => shift::double::<B, $left, T, D>))
        }};
    }
    macro_rules! bit {
        ($op:ident) => {
            match form(ins)? {
                Form::RegReg => word_width!(size0, T => bits::bit::<B, bits::$op, T, Dst, Src>),
                Form::RegImm => word_width!(size0, T => bits::bit::<B, bits::$op, T, Dst, Imm>),
                Form::MemImm => word_width!(size0, T => bits::bit::<B, bits::$op, T, Mem, Imm>),
                _ => word_width!(size0, T => bits::bit_string::<B, bits::$op, T>),
            }
        };
    }
    let handler: Handler<B> = match ins.mnemonic() {
        M::Shl | M::Sal => shift!(Shl),
        M::Shr => shift!(Shr),
        M::Sar => shift!(Sar),
        M::Rol => shift!(Rol),
        M::Ror => shift!(Ror),
        M::Rcl => shift!(Rcl),
        M::Rcr => shift!(Rcr),
        M::Shld => double!(true),
        M::Shrd => double!(false),
        M::Bt => bit!(Bt),
        M::Bts => bit!(Bts),
        M::Btr => bit!(Btr),
        M::Btc => bit!(Btc),
        M::Bsf => {
            place!(is_memory(ins, 1), Src, S => word_width!(size0, T => bits::scan::<B, true, T, S>))
        }
        M::Bsr => {
            place!(is_memory(ins, 1), Src, S => word_width!(size0, T => bits::scan::<B, false, T, S>))
        }
        M::Popcnt => place!(is_memory(ins, 1), Src, S => word_width!(size0, T => bits::popcnt::<B, T, S>)),
        _ => return None,
    };
    Some(handler)
}

fn moves<B: Bus>(ins: &Instruction, insn: &mut Insn<B>, mode: Mode) -> Option<Handler<B>> {
    let size0 = size(ins, 0);
    let condition = condition_number(ins);
    let handler: Handler<B> = match ins.mnemonic() {
        M::Mov => {
            let special = |n| {
                let register = ins.op_register(n);
                ins.op_kind(n) == OpKind::Register
                    && (register.is_segment_register()
                        || register.is_cr()
                        || register.is_dr()
                        || register.is_tr())
            };
            if special(0) || special(1) {
                return None;
            }
            forms!(form(ins)?, D, S => width!(size0, T => hot!(insn, mov::mov[B, T, D, S])))
        }
        M::Movnti => word_width!(size0, T => hot!(insn, mov::mov[B, T, Mem, Src])),
        M::Movzx | M::Movsx | M::Movsxd => {
            let signed = ins.mnemonic() != M::Movzx;
            place!(is_memory(ins, 1), Src, S => word_width!(size0, T => match (size(ins, 1), signed) {
                (1, false) => hot!(insn, mov::movzx[B, T, u8, S]),
                (_, false) => hot!(insn, mov::movzx[B, T, u16, S]),
                (1, true) => hot!(insn, mov::movsx[B, T, u8, S]),
                (2, true) => hot!(insn, mov::movsx[B, T, u16, S]),
                (_, true) => hot!(insn, mov::movsx[B, T, u32, S]),
            }))
        }
        M::Lea => word_width!(size0, T => hot!(insn, mov::lea[B, T])),
        M::Xchg => {
            // The memory operand is the first one in every encoding that iced knows.
            place!(is_memory(ins, 0), Dst, D => width!(size0, T => alu::xchg::<B, T, D>))
        }
        M::Bswap => word_width!(size0, T => mov::bswap::<B, T>),
        M::Movbe => match form(ins)? {
            Form::RegMem => word_width!(size0, T => mov::movbe::<B, T, Dst, Mem>),
            _ => word_width!(size0, T => mov::movbe::<B, T, Mem, Src>),
        },
        M::Cbw => hot!(insn, mov::extend_rax[B, u16]),
        M::Cwde => hot!(insn, mov::extend_rax[B, u32]),
        M::Cdqe => hot!(insn, mov::extend_rax[B, u64]),
        M::Cwd => hot!(insn, mov::sign_to_rdx[B, u16]),
        M::Cdq => hot!(insn, mov::sign_to_rdx[B, u32]),
        M::Cqo => hot!(insn, mov::sign_to_rdx[B, u64]),
        M::Xlatb => {
            let size = match ins.op_kind(0) {
                _ if mode == Mode::Bits64 => 8,
                OpKind::Memory => ins.memory_base().size(),
                _ => 4,
            };
            set_address_size(insn, size, mode);
            mov::xlat::<B>
        }
        M::Lahf => flag::lahf::<B>,
        M::Sahf => flag::sahf::<B>,
        M::Clc => flag::clc::<B>,
        M::Stc => flag::stc::<B>,
        M::Cmc => flag::cmc::<B>,
        M::Cld => flag::cld::<B>,
        M::Std => flag::std::<B>,
        M::Cli => flag::cli::<B>,
        M::Sti => flag::sti::<B>,
        M::Nop
        | M::Pause
        | M::Endbr64
        | M::Endbr32
        | M::Lfence
        | M::Mfence
        | M::Sfence
        | M::Prefetchnta
        | M::Prefetcht0
        | M::Prefetcht1
        | M::Prefetcht2
        | M::Prefetchw
        | M::Prefetch
        | M::Reservednop => hot!(insn, exec::nop[B]),
        _ if ins.is_jcc_short_or_near() || ins.is_loopcc() => return None,
        _ if condition.is_some() && ins.op_count() == 1 => {
            place!(is_memory(ins, 0), Dst, D => condition!(condition?, C => hot!(insn, mov::setcc[B, C, D])))
        }
        _ if condition.is_some()
            && ins.op_count() == 2
            && !ins.op0_register().is_vector_register()
            && !ins.op0_register().is_st() =>
        {
            place!(is_memory(ins, 1), Src, S => word_width!(size0, T => {
                condition!(condition?, C => hot!(insn, mov::cmov[B, C, T, S]))
            }))
        }
        _ => return None,
    };
    Some(handler)
}

/// The number that the instruction's encoding has for its condition.
fn condition_number(ins: &Instruction) -> Option<u8> {
    match ins.condition_code() {
        ConditionCode::None => None,
        code => Some(code as u8 - 1),
    }
}

/// Operand size of instructions that move the stack pointer by one operand.
fn stack_size(ins: &Instruction) -> usize {
    ins.stack_pointer_increment().unsigned_abs() as usize
}

fn stack_handler<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let width = stack_size(ins);
    let segment = ins.op_count() > 0 && ins.op0_register().is_segment_register();
    let handler: Handler<B> = match ins.mnemonic() {
        M::Push if segment => {
            insn.aux = ins.op0_register().number().low_u8();
            word_width!(width, T => stack::push_segment::<B, T>)
        }
        M::Push => match super::operands::Kind::of(ins, 0) {
            super::operands::Kind::Register => word_width!(width, T => hot!(insn, stack::push[B, T, Dst])),
            super::operands::Kind::Memory => word_width!(width, T => hot!(insn, stack::push[B, T, Mem])),
            _ => word_width!(width, T => hot!(insn, stack::push[B, T, Imm])),
        },
        M::Pop if segment => {
            insn.aux = ins.op0_register().number().low_u8();
            word_width!(width, T => stack::pop_segment::<B, T>)
        }
        M::Pop if is_memory(ins, 0) => word_width!(width, T => stack::pop_memory::<B, T>),
        M::Pop => word_width!(width, T => hot!(insn, stack::pop[B, T])),
        M::Pushf => stack::pushf::<B, u16>,
        M::Pushfd => stack::pushf::<B, u32>,
        M::Pushfq => stack::pushf::<B, u64>,
        M::Popf => stack::popf::<B, u16>,
        M::Popfd => stack::popf::<B, u32>,
        M::Popfq => stack::popf::<B, u64>,
        M::Leave => match ins.code() {
            iced_x86::Code::Leavew => stack::leave::<B, u16>,
            iced_x86::Code::Leaved => stack::leave::<B, u32>,
            _ => hot!(insn, stack::leave[B, u64]),
        },
        M::Enter => {
            insn.imm = u64::from(ins.immediate16());
            insn.aux = ins.immediate8_2nd();
            match ins.code() {
                iced_x86::Code::Enterw_imm16_imm8 => stack::enter::<B, u16>,
                iced_x86::Code::Enterd_imm16_imm8 => stack::enter::<B, u32>,
                _ => stack::enter::<B, u64>,
            }
        }
        M::Pusha => stack::push_all::<B, u16>,
        M::Pushad => stack::push_all::<B, u32>,
        M::Popa => stack::pop_all::<B, u16>,
        M::Popad => stack::pop_all::<B, u32>,
        _ => return None,
    };
    Some(handler)
}

fn branches<B: Bus>(ins: &Instruction, insn: &mut Insn<B>, mode: Mode) -> Option<Handler<B>> {
    use iced_x86::Code as C;
    let near = matches!(ins.op0_kind(), OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64);
    if near {
        insn.aux = if ins.op0_kind() == OpKind::NearBranch16 { 2 } else { 0 };
        if mode != Mode::Bits64 {
            // Offsets below the block's start came out modulo the branch's size.
            insn.disp = i64::from(insn.disp.low_u32().cast_signed()).cast_unsigned();
            if insn.aux == 2 {
                insn.disp = i64::from(insn.disp.low_u16().cast_signed()).cast_unsigned();
            }
        }
        insn.imm = match mode {
            Mode::Bits64 => u64::MAX,
            _ if insn.aux == 2 => 0xFFFF,
            _ => 0xFFFF_FFFF,
        };
    }
    let handler: Handler<B> = match ins.mnemonic() {
        M::Jmp if near => hot!(last insn, control::jmp[B]),
        M::Jmp => match ins.code() {
            C::Jmp_rm16 => place!(is_memory(ins, 0), Dst, S => control::jmp_indirect::<B, u16, S>),
            C::Jmp_rm32 => place!(is_memory(ins, 0), Dst, S => control::jmp_indirect::<B, u32, S>),
            C::Jmp_rm64 => {
                place!(is_memory(ins, 0), Dst, S => hot!(last insn, control::jmp_indirect[B, u64, S]))
            }
            _ => return None,
        },
        M::Call if near => word_width!(stack_size(ins), T => hot!(last insn, control::call[B, T])),
        M::Call => match ins.code() {
            C::Call_rm16 => place!(is_memory(ins, 0), Dst, S => control::call_indirect::<B, u16, S>),
            C::Call_rm32 => place!(is_memory(ins, 0), Dst, S => control::call_indirect::<B, u32, S>),
            C::Call_rm64 => {
                place!(is_memory(ins, 0), Dst, S => hot!(last insn, control::call_indirect[B, u64, S]))
            }
            _ => return None,
        },
        M::Ret => match ins.code() {
            C::Retnw | C::Retnw_imm16 => control::ret::<B, u16>,
            C::Retnd | C::Retnd_imm16 => control::ret::<B, u32>,
            _ => hot!(last insn, control::ret[B, u64]),
        },
        _ if ins.is_jcc_short_or_near() && super::jumps_to_next(ins) => {
            condition!(condition_number(ins)?, N => control::jcc::<B, N>)
        }
        _ if ins.is_jcc_short_or_near() => {
            condition!(condition_number(ins)?, N => hot!(last insn, control::jcc[B, N]))
        }
        M::Loop | M::Loope | M::Loopne => {
            set_address_size(insn, count_size(ins), mode);
            match ins.mnemonic() {
                M::Loope => control::loop_count::<B, { control::LOOP_EQUAL }>,
                M::Loopne => control::loop_count::<B, { control::LOOP_NOT_EQUAL }>,
                _ => control::loop_count::<B, { control::LOOP_ALWAYS }>,
            }
        }
        M::Jcxz | M::Jecxz | M::Jrcxz => {
            let size = match ins.mnemonic() {
                M::Jcxz => 2,
                M::Jecxz => 4,
                _ => 8,
            };
            set_address_size(insn, size, mode);
            control::jrcxz::<B>
        }
        _ => return None,
    };
    Some(handler)
}

/// Size of the count register of LOOP, from its name in iced.
fn count_size(ins: &Instruction) -> usize {
    let name = format!("{:?}", ins.code());
    if name.ends_with("_RCX") {
        8
    } else if name.ends_with("_ECX") {
        4
    } else {
        2
    }
}

fn string_handler<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let compares = matches!(
        ins.mnemonic(),
        M::Scasb | M::Scasw | M::Scasd | M::Scasq | M::Cmpsb | M::Cmpsw | M::Cmpsd | M::Cmpsq
    );
    insn.aux = if ins.has_repne_prefix() && compares {
        string::REP_NOT_EQUAL
    } else if ins.has_rep_prefix() || ins.has_repne_prefix() {
        string::REP_EQUAL
    } else {
        string::REP_NONE
    };
    macro_rules! string {
        ($op:ident, $t:ty) => {
            string::string::<B, string::$op, $t>
        };
    }
    let handler: Handler<B> = match ins.mnemonic() {
        M::Movsb => string!(Movs, u8),
        M::Movsw => string!(Movs, u16),
        M::Movsd => string!(Movs, u32),
        M::Movsq => string!(Movs, u64),
        M::Stosb => string!(Stos, u8),
        M::Stosw => string!(Stos, u16),
        M::Stosd => string!(Stos, u32),
        M::Stosq => string!(Stos, u64),
        M::Lodsb => string!(Lods, u8),
        M::Lodsw => string!(Lods, u16),
        M::Lodsd => string!(Lods, u32),
        M::Lodsq => string!(Lods, u64),
        M::Scasb => string!(Scas, u8),
        M::Scasw => string!(Scas, u16),
        M::Scasd => string!(Scas, u32),
        M::Scasq => string!(Scas, u64),
        M::Cmpsb => string!(Cmps, u8),
        M::Cmpsw => string!(Cmps, u16),
        M::Cmpsd => string!(Cmps, u32),
        M::Cmpsq => string!(Cmps, u64),
        M::Insb => string!(Ins, u8),
        M::Insw => string!(Ins, u16),
        M::Insd => string!(Ins, u32),
        M::Outsb => string!(Outs, u8),
        M::Outsw => string!(Outs, u16),
        M::Outsd => string!(Outs, u32),
        _ => return None,
    };
    Some(handler)
}
