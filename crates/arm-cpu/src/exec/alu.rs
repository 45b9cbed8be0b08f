//! Addition, subtraction and logic (Arm ARM C4.1.86 to C4.1.95).

use super::Operands;
use crate::context::Core;
use crate::flags::Flags;
use soft_base::Low;

/// The low 32 bits, zero-extended, unless the operation has 64 (`X`).
#[inline(always)]
pub(crate) fn narrow<const X: bool>(value: u64) -> u64 {
    if X { value } else { u64::from(value.low_u32()) }
}

/// Sign-extended from 32 bits unless the operation has 64.
#[inline(always)]
pub(crate) fn signed<const X: bool>(value: u64) -> i64 {
    if X { value.cast_signed() } else { i64::from(value.low_u32().cast_signed()) }
}

/// A second operand.
pub(crate) trait Second {
    fn get<const X: bool>(c: &Core, i: &Operands) -> u64;
}

/// An immediate.
pub(crate) enum Imm {}
/// A register.
pub(crate) enum Reg {}
/// A register shifted by a constant: [`Operands::aux`] bits, by the kind in [`Operands::more`].
pub(crate) enum Shifted {}
/// A register extended as the option in [`Operands::more`] says, and shifted left by [`Operands::aux`] bits.
pub(crate) enum Extended {}

impl Second for Imm {
    #[inline(always)]
    fn get<const X: bool>(_c: &Core, i: &Operands) -> u64 {
        i.imm
    }
}

impl Second for Reg {
    #[inline(always)]
    fn get<const X: bool>(c: &Core, i: &Operands) -> u64 {
        c.reg(i.rm)
    }
}

impl Second for Shifted {
    #[inline(always)]
    fn get<const X: bool>(c: &Core, i: &Operands) -> u64 {
        shift::<X>(c.reg(i.rm), i.more, i.aux)
    }
}

impl Second for Extended {
    #[inline(always)]
    fn get<const X: bool>(c: &Core, i: &Operands) -> u64 {
        extend(c.reg(i.rm), i.more) << i.aux
    }
}

/// LSL, LSR, ASR or ROR by less than the width.
#[inline(always)]
pub(crate) fn shift<const X: bool>(value: u64, kind: u8, amount: u8) -> u64 {
    let amount = u32::from(amount);
    match kind {
        0 => value << amount,
        1 => narrow::<X>(value) >> amount,
        2 => (signed::<X>(value) >> amount).cast_unsigned(),
        _ if X => value.rotate_right(amount),
        _ => u64::from(value.low_u32().rotate_right(amount)),
    }
}

/// ExtendReg: UXTB, UXTH, UXTW, UXTX, SXTB, SXTH, SXTW, SXTX.
#[inline(always)]
pub(crate) fn extend(value: u64, option: u8) -> u64 {
    let unused = 64 - (8 << (option & 3));
    if option & 4 == 0 {
        value << unused >> unused
    } else {
        ((value << unused).cast_signed() >> unused).cast_unsigned()
    }
}

/// AddWithCarry.
#[inline(always)]
pub(crate) fn add_with_carry<const X: bool>(a: u64, b: u64, carry: bool) -> (u64, Flags) {
    if X {
        let (sum, first) = a.overflowing_add(b);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        let overflow = ((a ^ sum) & (b ^ sum)).cast_signed() < 0;
        (sum, Flags::of(sum.cast_signed(), first || second, overflow))
    } else {
        let wide = u64::from(a.low_u32()) + u64::from(b.low_u32()) + u64::from(carry);
        let sum = wide.low_u32();
        let overflow = ((a.low_u32() ^ sum) & (b.low_u32() ^ sum)).cast_signed() < 0;
        (u64::from(sum), Flags::of(sum.cast_signed().into(), wide >> 32 != 0, overflow))
    }
}

/// The flags of a subtraction.
#[inline(always)]
fn subtract<const X: bool>(a: u64, b: u64) -> (u64, Flags) {
    let (a, b) = (narrow::<X>(a), narrow::<X>(b));
    let result = narrow::<X>(a.wrapping_sub(b));
    let overflow = signed::<X>((a ^ b) & (a ^ result)) < 0;
    (result, Flags::of(signed::<X>(result), a >= b, overflow))
}

/// ADD, SUB, ADDS and SUBS, whose aliases are CMP, CMN, NEG and MOV from and to SP.
#[inline(always)]
pub(crate) fn add<const X: bool, const SUB: bool, const FLAGS: bool, S: Second>(c: &mut Core, i: &Operands) {
    let (a, b) = (c.reg(i.rn), S::get::<X>(c, i));
    let result = if !FLAGS {
        narrow::<X>(if SUB { a.wrapping_sub(b) } else { a.wrapping_add(b) })
    } else {
        let (result, flags) = if SUB { subtract::<X>(a, b) } else { add_with_carry::<X>(a, b, false) };
        c.flags = flags;
        result
    };
    c.set_reg(i.rd, result);
}

/// ADC, SBC, ADCS and SBCS.
#[inline(always)]
pub(crate) fn add_carry<const X: bool, const SUB: bool, const FLAGS: bool>(c: &mut Core, i: &Operands) {
    let b = c.reg(i.rm);
    let (result, flags) = add_with_carry::<X>(c.reg(i.rn), if SUB { !b } else { b }, c.flags.c());
    if FLAGS {
        c.flags = flags;
    }
    c.set_reg(i.rd, result);
}

/// AND, ORR, EOR and ANDS.
pub(crate) const AND: u8 = 0;
pub(crate) const ORR: u8 = 1;
pub(crate) const EOR: u8 = 2;
pub(crate) const ANDS: u8 = 3;

/// A logical operation, or with an inverted second operand BIC, ORN, EON and BICS.
#[inline(always)]
pub(crate) fn logic<const X: bool, const OP: u8, const NOT: bool, S: Second>(c: &mut Core, i: &Operands) {
    let (a, b) = (c.reg(i.rn), S::get::<X>(c, i));
    let b = if NOT { !b } else { b };
    let result = narrow::<X>(match OP {
        AND | ANDS => a & b,
        ORR => a | b,
        _ => a ^ b,
    });
    if OP == ANDS {
        c.flags = Flags::of(signed::<X>(result), false, false);
    }
    c.set_reg(i.rd, result);
}

/// MOVZ, MOVN, ADR of a constant, and MOV of a logical immediate: the result is known when the block is decoded.
#[inline(always)]
pub(crate) fn constant(c: &mut Core, i: &Operands) {
    c.set_reg(i.rd, i.imm);
}

/// MOV of a register: ORR with XZR.
#[inline(always)]
pub(crate) fn copy<const X: bool>(c: &mut Core, i: &Operands) {
    c.set_reg(i.rd, narrow::<X>(c.reg(i.rm)));
}

/// MOVK: [`Operands::aux`] is the shift.
#[inline(always)]
pub(crate) fn keep<const X: bool>(c: &mut Core, i: &Operands) {
    let kept = c.reg(i.rd) & !(0xFFFF << i.aux);
    c.set_reg(i.rd, narrow::<X>(kept | i.imm));
}

/// ADR: relative to the block.
#[inline(always)]
pub(crate) fn address(c: &mut Core, i: &Operands) {
    c.set_reg(i.rd, c.reg(crate::context::BLOCK).wrapping_add(i.imm));
}

/// ADRP: [`Operands::aux`] is the offset of the instruction in the block.
#[inline(always)]
pub(crate) fn page_address(c: &mut Core, i: &Operands) {
    let pc = c.reg(crate::context::BLOCK).wrapping_add(u64::from(i.aux));
    c.set_reg(i.rd, (pc & !0xFFF).wrapping_add(i.imm));
}

/// LSLV, LSRV, ASRV and RORV.
#[inline(always)]
pub(crate) fn shift_variable<const X: bool, const KIND: u8>(c: &mut Core, i: &Operands) {
    let amount = c.reg(i.rm).low_u8() & if X { 63 } else { 31 };
    c.set_reg(i.rd, narrow::<X>(shift::<X>(c.reg(i.rn), KIND, amount)));
}

/// CSEL, CSINC, CSINV and CSNEG; [`Operands::aux`] is the condition.
#[inline(always)]
pub(crate) fn select<const X: bool, const NOT: bool, const INC: bool>(c: &mut Core, i: &Operands) {
    let result = if c.flags.hold(i.aux) {
        c.reg(i.rn)
    } else {
        let value = c.reg(i.rm);
        let value = if NOT { !value } else { value };
        value.wrapping_add(u64::from(INC))
    };
    c.set_reg(i.rd, narrow::<X>(result));
}

/// CCMP and CCMN; [`Operands::aux`] is the condition, [`Operands::more`] the flags otherwise.
#[inline(always)]
pub(crate) fn compare_if<const X: bool, const SUB: bool, S: Second>(c: &mut Core, i: &Operands) {
    c.flags = if c.flags.hold(i.aux) {
        let (a, b) = (c.reg(i.rn), S::get::<X>(c, i));
        if SUB { subtract::<X>(a, b).1 } else { add_with_carry::<X>(a, b, false).1 }
    } else {
        Flags::from_bits(u64::from(i.more) << 28)
    };
}
