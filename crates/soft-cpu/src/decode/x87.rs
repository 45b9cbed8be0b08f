//! Handlers of x87 instructions.

use super::operands::{is_memory, size};
use crate::bus::Bus;
use crate::exec::{Handler, Insn};
use crate::x87::compute::{self, Operation, POP, POP_TWICE, QUIET, Register as St, Zero};
use crate::x87::environment;
use crate::x87::transfer::{self, Bcd, Constant, Extended, Truncated};
use iced_x86::{Code as C, Instruction, Mnemonic as M};

/// Chooses by the size of the memory operand: 2, 4 and 8 bytes.
macro_rules! by_size {
    ($ins:expr, 2 => $two:expr, 4 => $four:expr, 8 => $eight:expr) => {
        match size($ins, 0) {
            2 => $two,
            4 => $four,
            _ => $eight,
        }
    };
}

pub(super) fn handler<B: Bus>(ins: &Instruction, insn: &mut Insn<B>, bytes: &[u8]) -> Option<Handler<B>> {
    let handler = arithmetic(ins, insn)
        .or_else(|| comparison(ins, insn))
        .or_else(|| loads(ins, insn))
        .or_else(|| stores(ins, insn))
        .or_else(|| other(ins, insn))?;
    insn.imm = u64::from(opcode(bytes));
    Some(handler)
}

/// The opcode as the x87 state has it: the low three bits of the first byte, and the ModRM byte.
fn opcode(bytes: &[u8]) -> u16 {
    let mut bytes = bytes.iter().skip_while(|byte| **byte & 0xF8 != 0xD8);
    let mut next = || bytes.next().map_or(0, |byte| u16::from(*byte));
    (next() & 7) << 8 | next()
}

fn arithmetic<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let (operation, form) = match ins.mnemonic() {
        M::Fadd => (Operation::Add, 0),
        M::Fmul => (Operation::Mul, 0),
        M::Fsub => (Operation::Sub, 0),
        M::Fsubr => (Operation::SubReverse, 0),
        M::Fdiv => (Operation::Div, 0),
        M::Fdivr => (Operation::DivReverse, 0),
        M::Faddp => (Operation::Add, POP),
        M::Fmulp => (Operation::Mul, POP),
        M::Fsubp => (Operation::Sub, POP),
        M::Fsubrp => (Operation::SubReverse, POP),
        M::Fdivp => (Operation::Div, POP),
        M::Fdivrp => (Operation::DivReverse, POP),
        M::Fiadd => (Operation::Add, 0),
        M::Fimul => (Operation::Mul, 0),
        M::Fisub => (Operation::Sub, 0),
        M::Fisubr => (Operation::SubReverse, 0),
        M::Fidiv => (Operation::Div, 0),
        M::Fidivr => (Operation::DivReverse, 0),
        _ => return None,
    };
    insn.aux = operation as u8 | form;
    Some(match (is_memory(ins, 0), size(ins, 0)) {
        (false, _) => compute::arithmetic::<B, St>,
        (true, 2) => compute::arithmetic::<B, i16>,
        (true, _) if is_integer(ins) => compute::arithmetic::<B, i32>,
        (true, 4) => compute::arithmetic::<B, f32>,
        _ => compute::arithmetic::<B, f64>,
    })
}

fn is_integer(ins: &Instruction) -> bool {
    matches!(
        ins.mnemonic(),
        M::Fiadd | M::Fimul | M::Fisub | M::Fisubr | M::Fidiv | M::Fidivr | M::Ficom | M::Ficomp
    )
}

fn comparison<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    insn.aux = match ins.mnemonic() {
        M::Fcom | M::Ficom | M::Fcomi | M::Ftst => 0,
        M::Fcomp | M::Ficomp | M::Fcomip => POP,
        M::Fcompp => POP_TWICE,
        M::Fucom | M::Fucomi => QUIET,
        M::Fucomp | M::Fucomip => POP | QUIET,
        M::Fucompp => POP_TWICE | QUIET,
        _ => return None,
    };
    if matches!(ins.mnemonic(), M::Fcompp | M::Fucompp) {
        insn.src = 1;
    }
    Some(match ins.mnemonic() {
        M::Ftst => compute::compare::<B, Zero>,
        M::Fcomi | M::Fcomip | M::Fucomi | M::Fucomip => compute::compare_flags::<B>,
        _ if !is_memory(ins, 0) => compute::compare::<B, St>,
        _ if size(ins, 0) == 2 => compute::compare::<B, i16>,
        _ if is_integer(ins) => compute::compare::<B, i32>,
        _ if size(ins, 0) == 4 => compute::compare::<B, f32>,
        _ => compute::compare::<B, f64>,
    })
}

fn loads<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let constant = match ins.mnemonic() {
        M::Fld if !is_memory(ins, 0) => return Some(transfer::load_register::<B>),
        M::Fld if size(ins, 0) == 4 => return Some(transfer::load::<B, f32>),
        M::Fld if size(ins, 0) == 8 => return Some(transfer::load::<B, f64>),
        M::Fld => return Some(transfer::load_extended::<B>),
        M::Fild => {
            return Some(by_size!(ins,
                2 => transfer::load::<B, i16>,
                4 => transfer::load::<B, i32>,
                8 => transfer::load::<B, i64>));
        }
        M::Fbld => return Some(transfer::fbld::<B>),
        M::Fld1 => Constant::One,
        M::Fldl2t => Constant::Log2Ten,
        M::Fldl2e => Constant::Log2E,
        M::Fldpi => Constant::Pi,
        M::Fldlg2 => Constant::Log10Two,
        M::Fldln2 => Constant::LnTwo,
        M::Fldz => Constant::Zero,
        _ => return None,
    };
    insn.dst = constant as u8;
    Some(transfer::load_constant::<B>)
}

fn stores<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    insn.aux = match ins.mnemonic() {
        M::Fst | M::Fist => 0,
        M::Fstp | M::Fistp | M::Fisttp | M::Fbstp => POP,
        _ => return None,
    };
    Some(match ins.mnemonic() {
        M::Fst | M::Fstp if !is_memory(ins, 0) => transfer::store_register::<B>,
        M::Fst | M::Fstp if size(ins, 0) == 4 => transfer::store::<B, f32>,
        M::Fst | M::Fstp if size(ins, 0) == 8 => transfer::store::<B, f64>,
        M::Fst | M::Fstp => transfer::store::<B, Extended>,
        M::Fist | M::Fistp => by_size!(ins,
            2 => transfer::store::<B, i16>,
            4 => transfer::store::<B, i32>,
            8 => transfer::store::<B, i64>),
        M::Fisttp => by_size!(ins,
            2 => transfer::store::<B, Truncated<i16>>,
            4 => transfer::store::<B, Truncated<i32>>,
            8 => transfer::store::<B, Truncated<i64>>),
        _ => transfer::store::<B, Bcd>,
    })
}

fn other<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let handler: Handler<B> = match ins.mnemonic() {
        M::Fabs => compute::unary::<B, compute::Fabs>,
        M::Fchs => compute::unary::<B, compute::Fchs>,
        M::Fsqrt => compute::unary::<B, compute::Fsqrt>,
        M::Frndint => compute::unary::<B, compute::Frndint>,
        M::F2xm1 => compute::unary::<B, compute::F2xm1>,
        M::Fyl2x => compute::binary::<B, compute::Fyl2x>,
        M::Fyl2xp1 => compute::binary::<B, compute::Fyl2xp1>,
        M::Fpatan => compute::binary::<B, compute::Fpatan>,
        M::Fsin => compute::trigonometric::<B, compute::Fsin>,
        M::Fcos => compute::trigonometric::<B, compute::Fcos>,
        M::Fsincos => compute::trigonometric::<B, compute::Fsincos>,
        M::Fptan => compute::trigonometric::<B, compute::Fptan>,
        M::Fscale => compute::fscale::<B>,
        M::Fprem => compute::fprem::<B, false>,
        M::Fprem1 => compute::fprem::<B, true>,
        M::Fxtract => compute::fxtract::<B>,
        M::Fxam => compute::fxam::<B>,
        M::Fxch => transfer::fxch::<B>,
        M::Fcmovb
        | M::Fcmove
        | M::Fcmovbe
        | M::Fcmovu
        | M::Fcmovnb
        | M::Fcmovne
        | M::Fcmovnbe
        | M::Fcmovnu => {
            insn.aux = match ins.mnemonic() {
                M::Fcmovb => 0,
                M::Fcmove => 1,
                M::Fcmovbe => 2,
                M::Fcmovu => 3,
                M::Fcmovnb => 4,
                M::Fcmovne => 5,
                M::Fcmovnbe => 6,
                _ => 7,
            };
            transfer::fcmov::<B>
        }
        M::Ffree => transfer::ffree::<B>,
        M::Ffreep => {
            insn.aux = POP;
            transfer::ffree::<B>
        }
        M::Fincstp => transfer::rotate::<B, 1>,
        M::Fdecstp => transfer::rotate::<B, 7>,
        M::Fnop => transfer::fnop::<B>,
        // Of the 8087 and 287 only.
        M::Fneni | M::Fndisi | M::Fnsetpm => crate::exec::nop::<B>,
        _ => match ins.code() {
            C::Fnstenv_m14byte => environment::fnstenv::<B, false>,
            C::Fnstenv_m28byte => environment::fnstenv::<B, true>,
            C::Fldenv_m14byte => environment::fldenv::<B, false>,
            C::Fldenv_m28byte => environment::fldenv::<B, true>,
            C::Fnsave_m94byte => environment::fnsave::<B, false>,
            C::Fnsave_m108byte => environment::fnsave::<B, true>,
            C::Frstor_m94byte => environment::frstor::<B, false>,
            C::Frstor_m108byte => environment::frstor::<B, true>,
            _ => return None,
        },
    };
    Some(handler)
}
