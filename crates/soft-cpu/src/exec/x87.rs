//! The x87 state: what system software saves and sets up. There is no x87 arithmetic.

use super::Insn;
use super::operand::{self, Get, Mem, Place, is_stack};
use crate::bus::Bus;
use crate::context::{CR0_EM, CR0_MP, CR0_TS, Core, RAX};
use crate::exception::{self, Done, Exception};
use crate::width::Width;

/// MXCSR bits that exist.
pub(crate) const MXCSR_MASK: u32 = 0xFFFF;

impl Core {
    /// #NM if x87 instructions are to be emulated or the state belongs to another task.
    fn require_x87(&mut self) -> Done {
        if self.cr0 & (CR0_EM | CR0_TS) != 0 {
            Err(self.raise(Exception::plain(exception::NM)))
        } else {
            Ok(())
        }
    }
}

pub(crate) fn fninit<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.require_x87()?;
    (c.fcw, c.fsw, c.ftw) = (0x37F, 0, 0);
    c.x87_pointers = (0, 0, 0);
    Ok(())
}

pub(crate) fn fwait<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    if c.cr0 & (CR0_MP | CR0_TS) == CR0_MP | CR0_TS {
        return Err(c.raise(Exception::plain(exception::NM)));
    }
    Ok(())
}

pub(crate) fn fnclex<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.require_x87()?;
    c.fsw &= 0x7F00;
    Ok(())
}

pub(crate) fn fldcw<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87()?;
    let value: u16 = Mem::get(c, b, i)?;
    // Bit 6 always reads as 1, the reserved bits as 0.
    c.fcw = value & 0x1F3F | 0x40;
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
    c.store(b, linear, head, stack)?;
    c.store(b, linear + 16, second, stack)?;
    for n in 0..8 {
        c.store(b, linear + 32 + 16 * n, c.st[n as usize], stack)?;
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
    let (mut st, mut xmm) = (c.st, c.xmm);
    for (n, value) in (0_u64..).zip(st.iter_mut()) {
        *value = c.load::<u128, B>(b, linear + 32 + 16 * n, stack)? & ((1 << 80) - 1);
    }
    let registers = if c.in_64_bit_mode() { 16 } else { 8 };
    for (n, value) in (0_u64..).zip(xmm.iter_mut().take(registers)) {
        *value = c.load(b, linear + 160 + 16 * n, stack)?;
    }
    c.fcw = head as u16 & 0x1F3F | 0x40;
    c.fsw = (head >> 16) as u16;
    c.ftw = (head >> 32) as u8;
    let mask = if WIDE { u64::MAX } else { 0xFFFF_FFFF };
    c.x87_pointers = ((head >> 48) as u16 & 0x7FF, (head >> 64) as u64 & mask, second as u64 & mask);
    c.mxcsr = mxcsr;
    (c.st, c.xmm) = (st, xmm);
    Ok(())
}
