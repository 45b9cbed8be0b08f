//! The x87 and SSE state as system software saves it and sets it up; `x87` has the other instructions.

use super::Insn;
use super::operand::{self, Get, Mem, Place, is_stack};
use crate::bus::Bus;
use crate::context::{CR0_MP, CR0_TS, Core, RAX};
use crate::exception::{self, Done, Exception};
use crate::width::Width;

/// MXCSR bits that exist.
pub(crate) const MXCSR_MASK: u32 = 0xFFFF;

/// What a control word reads as after it was loaded: bit 6 is 1, the reserved bits are 0.
pub(crate) fn control_word(value: u16) -> u16 {
    value & 0x1F3F | 0x40
}

impl Core {
    /// As FNINIT; the registers keep their contents.
    pub(crate) fn reset_x87(&mut self) {
        (self.fcw, self.fsw, self.ftw) = (0x37F, 0, 0);
        self.x87_pointers = (0, 0, 0);
    }

    /// ST(0) to ST(7).
    pub(crate) fn x87_stack(&self) -> [u128; 8] {
        let mut st = self.st;
        st.rotate_left(self.x87_top());
        st
    }

    /// Replaces ST(0) to ST(7), with TOP as it is.
    pub(crate) fn set_x87_stack(&mut self, mut st: [u128; 8]) {
        st.rotate_right(self.x87_top());
        self.st = st;
    }
}

pub(crate) fn fninit<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.require_x87()?;
    c.reset_x87();
    Ok(())
}

pub(crate) fn fwait<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    if c.cr0 & (CR0_MP | CR0_TS) == CR0_MP | CR0_TS {
        return Err(c.raise(Exception::plain(exception::NM)));
    }
    c.x87_settled()
}

pub(crate) fn fnclex<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.require_x87()?;
    c.fsw &= 0x7F00;
    Ok(())
}

pub(crate) fn fldcw<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let value: u16 = Mem::get(c, b, i)?;
    c.fcw = control_word(value);
    c.update_x87_summary();
    Ok(())
}

pub(crate) fn fnstcw<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87()?;
    Mem::set(c, b, i, c.fcw)
}

/// FNSTSW to memory.
pub(crate) fn fnstsw<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87()?;
    Mem::set(c, b, i, c.fsw)
}

/// FNSTSW AX.
pub(crate) fn fnstsw_ax<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.require_x87()?;
    c.fsw.set_reg(c, RAX as u8);
    Ok(())
}

fn fxsave_area<B: Bus>(c: &mut Core, i: &Insn<B>, write: bool) -> Result<u64, exception::Fault> {
    c.require_x87()?;
    let linear = operand::linear(c, i, 512, write)?;
    if linear & 15 != 0 { Err(c.gp(0)) } else { Ok(linear) }
}

/// FXSAVE; `WIDE` is FXSAVE64.
pub(crate) fn fxsave<B: Bus, const WIDE: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let linear = fxsave_area(c, i, true)?;
    let (opcode, ip, dp) = c.x87_pointers;
    let head = u128::from(c.fcw)
        | u128::from(c.fsw) << 16
        | u128::from(c.ftw) << 32
        | u128::from(opcode) << 48
        | u128::from(if WIDE { ip } else { ip & 0xFFFF_FFFF }) << 64;
    let second = u128::from(if WIDE { dp } else { dp & 0xFFFF_FFFF })
        | u128::from(c.mxcsr) << 64
        | u128::from(MXCSR_MASK) << 96;
    let stack = is_stack(i);
    operand::probe(c, b, i, linear, 512)?;
    c.store(b, linear, head, stack)?;
    c.store(b, linear + 16, second, stack)?;
    for (n, value) in (0..).zip(c.x87_stack()) {
        c.store(b, linear + 32 + 16 * n, value, stack)?;
    }
    let registers = if c.in_64_bit_mode() { 16 } else { 8 };
    for n in 0..registers {
        c.store(b, linear + 160 + 16 * n, c.xmm[n as usize & 15], stack)?;
    }
    Ok(())
}

pub(crate) fn fxrstor<B: Bus, const WIDE: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let linear = fxsave_area(c, i, false)?;
    let stack = is_stack(i);
    let head: u128 = c.load(b, linear, stack)?;
    let second: u128 = c.load(b, linear + 16, stack)?;
    let mxcsr = (second >> 64) as u32;
    if mxcsr & !MXCSR_MASK != 0 {
        return Err(c.gp(0));
    }
    let (mut st, mut xmm) = ([0; 8], c.xmm);
    for (n, value) in (0_u64..).zip(st.iter_mut()) {
        *value = c.load::<u128, B>(b, linear + 32 + 16 * n, stack)? & ((1 << 80) - 1);
    }
    let registers = if c.in_64_bit_mode() { 16 } else { 8 };
    for (n, value) in (0_u64..).zip(xmm.iter_mut().take(registers)) {
        *value = c.load(b, linear + 160 + 16 * n, stack)?;
    }
    c.fcw = control_word(head as u16);
    c.fsw = (head >> 16) as u16;
    c.ftw = (head >> 32) as u8;
    let mask = if WIDE { u64::MAX } else { 0xFFFF_FFFF };
    c.x87_pointers = ((head >> 48) as u16 & 0x7FF, (head >> 64) as u64 & mask, second as u64 & mask);
    c.mxcsr = mxcsr;
    c.set_x87_stack(st);
    c.update_x87_summary();
    c.xmm = xmm;
    Ok(())
}
