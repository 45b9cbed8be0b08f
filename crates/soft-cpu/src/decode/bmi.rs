//! Handlers of LZCNT, BMI1, BMI2 and ADX.

use super::operands::{is_memory, size};
use super::select::{place, word_width};
use crate::bus::Bus;
use crate::exec::bmi::{self, Third};
use crate::exec::operand::{Imm, Src};
use crate::exec::{Handler, Insn};
use crate::low::Low;
use iced_x86::{Instruction, Mnemonic as M};

pub(super) fn handler<B: Bus>(ins: &Instruction, insn: &mut Insn<B>) -> Option<Handler<B>> {
    let size0 = size(ins, 0);
    let third = ins.op_register(2);
    if third.is_gpr() {
        insn.aux = third.number().low_u8();
    }
    /// Second operand in a register, third in a register or memory.
    macro_rules! third {
        ($f:ident $op:ident) => {
            place!(is_memory(ins, 2), Third, S => word_width!(size0, T => bmi::$f::<B, bmi::$op, T, Src, S>))
        };
    }
    /// Second operand in a register or memory, third of the type.
    macro_rules! second {
        ($f:ident $op:ident $R:ident) => {
            place!(is_memory(ins, 1), Src, S => word_width!(size0, T => bmi::$f::<B, bmi::$op, T, S, $R>))
        };
    }
    macro_rules! two {
        ($f:ident $flag:expr) => {
            place!(is_memory(ins, 1), Src, S => word_width!(size0, T => bmi::$f::<B, $flag, T, S>))
        };
    }
    let handler: Handler<B> = match ins.mnemonic() {
        M::Tzcnt => two!(count_zeros true),
        M::Lzcnt => two!(count_zeros false),
        M::Adcx => two!(add_one_flag true),
        M::Adox => two!(add_one_flag false),
        M::Andn => third!(pair Andn),
        // The XOP form has an immediate.
        M::Bextr if third.is_gpr() => second!(pair Bextr Third),
        M::Bzhi => second!(pair Bzhi Third),
        // One source: the immediate, which is 0, stands for the other.
        M::Blsr => second!(pair Blsr Imm),
        M::Blsmsk => second!(pair Blsmsk Imm),
        M::Blsi => second!(pair Blsi Imm),
        M::Pdep => third!(quiet Pdep),
        M::Pext => third!(quiet Pext),
        M::Rorx => second!(quiet Rorx Imm),
        M::Sarx => second!(quiet Sarx Third),
        M::Shlx => second!(quiet Shlx Third),
        M::Shrx => second!(quiet Shrx Third),
        M::Mulx => place!(is_memory(ins, 2), Third, S => word_width!(size0, T => bmi::mulx::<B, T, S>)),
        _ => return None,
    };
    Some(handler)
}
