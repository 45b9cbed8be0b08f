//! The x87 and SSE state as system software saves it and sets it up; `x87` has the other instructions.

use super::Insn;
use super::operand::{self, Get, Mem, Place, is_stack};
use crate::bus::Bus;
use crate::context::{CR0_MP, CR0_TS, Core, RAX, number};
use crate::exception::{self, Done, Exception};
use crate::low::Low;
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
    c.fsw.set_reg(c, number(RAX));
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
    let stack = is_stack(i);
    operand::probe(c, b, i, linear, 512)?;
    c.store_x87(b, linear, WIDE, stack)?;
    c.store_mxcsr(b, linear, stack)?;
    c.store_xmm(b, linear, stack)
}

pub(crate) fn fxrstor<B: Bus, const WIDE: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let linear = fxsave_area(c, i, false)?;
    let stack = is_stack(i);
    operand::probe_read(c, b, i, linear, 512)?;
    let x87 = c.load_x87(b, linear, WIDE, stack)?;
    let mxcsr = c.load_mxcsr(b, linear, stack)?;
    let xmm = c.load_xmm(b, linear, stack)?;
    c.set_x87(&x87);
    c.mxcsr = mxcsr;
    c.xmm.set_low(&xmm);
    Ok(())
}

/// x87 state as it is in memory.
pub(crate) struct X87State {
    fcw: u16,
    fsw: u16,
    ftw: u8,
    pointers: (u16, u64, u64),
    st: [u128; 8],
}

impl X87State {
    /// As FNINIT leaves it, with empty registers.
    pub(crate) const INIT: Self = Self { fcw: 0x37F, fsw: 0, ftw: 0, pointers: (0, 0, 0), st: [0; 8] };
}

/// The parts of the legacy region of an XSAVE area, which is that of FXSAVE (SDM volume 1, "Legacy Region of an
/// XSAVE Area"), at `linear`.
impl Core {
    /// Bytes 0 to 23 and ST(0) to ST(7); `wide` with 64-bit pointers.
    pub(crate) fn store_x87<B: Bus>(&mut self, b: &mut B, linear: u64, wide: bool, stack: bool) -> Done {
        let (opcode, ip, dp) = self.x87_pointers;
        let mask = if wide { u64::MAX } else { 0xFFFF_FFFF };
        let head = u128::from(self.fcw)
            | u128::from(self.fsw) << 16
            | u128::from(self.ftw) << 32
            | u128::from(opcode) << 48
            | u128::from(ip & mask) << 64;
        self.store(b, linear, head, stack)?;
        self.store(b, linear + 16, dp & mask, stack)?;
        for (n, value) in (0..).zip(self.x87_stack()) {
            self.store(b, linear + 32 + 16 * n, value, stack)?;
        }
        Ok(())
    }

    /// MXCSR and MXCSR_MASK.
    pub(crate) fn store_mxcsr<B: Bus>(&mut self, b: &mut B, linear: u64, stack: bool) -> Done {
        self.store(b, linear + 24, u64::from(self.mxcsr) | u64::from(MXCSR_MASK) << 32, stack)
    }

    /// The XMM registers that the mode has.
    pub(crate) fn store_xmm<B: Bus>(&mut self, b: &mut B, linear: u64, stack: bool) -> Done {
        for n in 0..self.xmm_registers() {
            self.store(b, linear + 160 + 16 * n as u64, self.xmm[n & 15], stack)?;
        }
        Ok(())
    }

    pub(crate) fn load_x87<B: Bus>(
        &mut self,
        b: &mut B,
        linear: u64,
        wide: bool,
        stack: bool,
    ) -> Result<X87State, exception::Fault> {
        let head: u128 = self.load(b, linear, stack)?;
        let dp: u64 = self.load(b, linear + 16, stack)?;
        let mut st = [0; 8];
        for (n, value) in (0_u64..).zip(st.iter_mut()) {
            *value = self.load::<u128, B>(b, linear + 32 + 16 * n, stack)? & ((1 << 80) - 1);
        }
        let mask = if wide { u64::MAX } else { 0xFFFF_FFFF };
        Ok(X87State {
            fcw: head.low_u16(),
            fsw: (head >> 16).low_u16(),
            ftw: (head >> 32).low_u8(),
            pointers: ((head >> 48).low_u16() & 0x7FF, (head >> 64) as u64 & mask, dp & mask),
            st,
        })
    }

    /// MXCSR, which has no reserved bits set.
    pub(crate) fn load_mxcsr<B: Bus>(
        &mut self,
        b: &mut B,
        linear: u64,
        stack: bool,
    ) -> Result<u32, exception::Fault> {
        self.peek_mxcsr(b, linear, stack)?.ok_or_else(|| self.gp(0))
    }

    /// The same; `None` if it has.
    pub(crate) fn peek_mxcsr<B: Bus>(
        &mut self,
        b: &mut B,
        linear: u64,
        stack: bool,
    ) -> Result<Option<u32>, exception::Fault> {
        let mxcsr: u32 = self.load(b, linear + 24, stack)?;
        Ok((mxcsr & !MXCSR_MASK == 0).then_some(mxcsr))
    }

    /// All XMM registers: those of memory, and the others as they are.
    pub(crate) fn load_xmm<B: Bus>(
        &mut self,
        b: &mut B,
        linear: u64,
        stack: bool,
    ) -> Result<[u128; 16], exception::Fault> {
        let mut xmm = self.xmm.low();
        for (n, value) in (0_u64..).zip(xmm.iter_mut().take(self.xmm_registers())) {
            *value = self.load(b, linear + 160 + 16 * n, stack)?;
        }
        Ok(xmm)
    }

    pub(crate) fn set_x87(&mut self, state: &X87State) {
        self.fcw = control_word(state.fcw);
        self.fsw = state.fsw;
        self.ftw = state.ftw;
        self.x87_pointers = state.pointers;
        self.set_x87_stack(state.st);
        self.update_x87_summary();
    }

    /// How many XMM registers the mode has.
    pub(crate) fn xmm_registers(&self) -> usize {
        if self.in_64_bit_mode() { 16 } else { 8 }
    }
}
