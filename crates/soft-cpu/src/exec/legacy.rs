//! Instructions that 64-bit mode does not have: decimal arithmetic, SALC, ARPL. Flags that the SDM leaves
//! undefined are 0.

use super::Insn;
use super::operand::Place;
use crate::bus::Bus;
use crate::context::{Core, RAX, number};
use crate::exception::{self, Done, Exception};
use crate::flags::{AF, CF, Flags, PF, SF, ZF};
use crate::low::Low;
use crate::width::Width;

fn al(c: &Core) -> u8 {
    c.regs[RAX].low_u8()
}

fn set_ax(c: &mut Core, al: u8, ah: u8) {
    u16::from_le_bytes([al, ah]).set_reg(c, number(RAX));
}

/// SF, ZF and PF of AL, and the flags in `others`.
fn set_flags(c: &mut Core, al: u8, others: u64) {
    let mut flags = Flags::from_bits(0);
    flags.logic(al.sext());
    c.flags = Flags::from_bits(flags.bits() & (SF | ZF | PF) | others);
}

/// The low digit needs a correction.
fn low_digit(c: &Core) -> bool {
    al(c) & 15 > 9 || c.flags.bits() & AF != 0
}

/// AAA (`ADD`) and AAS.
pub(crate) fn ascii_adjust<B: Bus, const ADD: bool>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    let ax = c.regs[RAX].low_u16();
    let corrected = low_digit(c);
    let ax = match (corrected, ADD) {
        (false, _) => ax,
        (true, true) => ax.wrapping_add(0x106),
        (true, false) => ax.wrapping_sub(0x106),
    };
    (ax & 0xFF0F).set_reg(c, number(RAX));
    c.flags = Flags::from_bits(if corrected { AF | CF } else { 0 });
    Ok(())
}

/// DAA (`ADD`) and DAS.
pub(crate) fn decimal_adjust<B: Bus, const ADD: bool>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    let old = al(c);
    let (low, high) = (low_digit(c), old > 0x99 || c.flags.carry());
    let correction = if low { 6 } else { 0 } + if high { 0x60 } else { 0 };
    let result = if ADD { old.wrapping_add(correction) } else { old.wrapping_sub(correction) };
    // A borrow of DAS's low digit stays, although AL is not above 99H.
    let borrow = !ADD && low && old < 6;
    result.set_reg(c, number(RAX));
    set_flags(c, result, if low { AF } else { 0 } | if high || borrow { CF } else { 0 });
    Ok(())
}

/// AAM: AL in digits to the base of the immediate.
pub(crate) fn aam<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    let (al, base) = (al(c), i.imm.low_u8());
    let (Some(high), Some(low)) = (al.checked_div(base), al.checked_rem(base)) else {
        return Err(c.raise(Exception::plain(exception::DE)));
    };
    set_ax(c, low, high);
    set_flags(c, low, 0);
    Ok(())
}

/// AAD: the number of the digits in AH and AL.
pub(crate) fn aad<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    let [low, high, ..] = c.regs[RAX].to_le_bytes();
    let result = low.wrapping_add(high.wrapping_mul(i.imm.low_u8()));
    set_ax(c, result, 0);
    set_flags(c, result, 0);
    Ok(())
}

/// SALC: AL from CF.
pub(crate) fn salc<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    let value: u8 = if c.flags.carry() { 0xFF } else { 0 };
    value.set_reg(c, number(RAX));
    Ok(())
}

/// ARPL: raises the selector's RPL to that of the source.
pub(crate) fn arpl<B: Bus, D: Place<u16>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let (old, source) = (D::get(c, b, i)?, u16::reg(c, i.src));
    let raised = old & 3 < source & 3;
    if raised {
        D::set(c, b, i, old & !3 | source & 3)?;
    }
    c.flags.set(ZF, if raised { ZF } else { 0 });
    Ok(())
}
