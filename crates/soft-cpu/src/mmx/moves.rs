//! Moves between MMX registers, other registers and memory.

use crate::bus::Bus;
use crate::context::{Core, DS, RDI, number};
use crate::exception::Done;
use crate::exec::Insn;
use crate::exec::operand::{self, Get, Place};
use crate::low::Low;
use crate::silicon::Rule;
use crate::sse::lane;
use crate::width::Width;
use crate::x87::TOP;

/// MOVD, MOVQ to a register.
pub(crate) fn load<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_mmx()?;
    let value = S::get(c, b, i)?;
    c.set_mm(i.dst, value.zext());
    Ok(())
}

/// MOVD, MOVQ to memory or a general-purpose register, MOVNTQ.
pub(crate) fn store<B: Bus, T: Width, D: Place<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_mmx()?;
    let value = T::low(c.mm(i.src));
    if c.holds(Rule::MmxStoreSetsTopFirst) {
        c.fsw &= !TOP;
    }
    D::set(c, b, i, value)?;
    c.enter_mmx();
    Ok(())
}

/// MASKMOVQ: bytes whose mask has its sign bit set go to DS:RDI.
pub(crate) fn maskmovq<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_mmx()?;
    let (value, mask) = (c.mm(i.dst).to_le_bytes(), c.mm(i.src).to_le_bytes());
    let seg = if i.seg & 7 < 6 { i.seg & 7 } else { number(DS) };
    for (n, (byte, mask)) in (0..).zip(value.into_iter().zip(mask)) {
        if mask & 0x80 != 0 {
            let offset = c.regs[RDI].wrapping_add(n) & operand::address_mask(i.seg);
            let linear = c.segmented(seg, offset, 1, true)?;
            c.store(b, linear, byte, false)?;
        }
    }
    c.enter_mmx();
    Ok(())
}

pub(crate) fn movq2dq<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    c.require_mmx()?;
    c.xmm[usize::from(i.dst & 15)] = u128::from(c.mm(i.src));
    c.enter_mmx();
    Ok(())
}

pub(crate) fn movdq2q<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    c.require_mmx()?;
    c.set_mm(i.dst, c.xmm[usize::from(i.src & 15)].low_u64());
    Ok(())
}

pub(crate) fn pmovmskb<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_mmx()?;
    let bytes = c.mm(i.src).to_le_bytes();
    let mask = (0..).zip(bytes).map(|(n, byte)| u64::from(byte >> 7) << n).sum();
    c.regs[usize::from(i.dst)] = mask;
    c.enter_mmx();
    Ok(())
}

pub(crate) fn pextrw<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_mmx()?;
    let word: u16 = lane::get(u128::from(c.mm(i.src)), i.imm.low_u32() & 3);
    c.regs[usize::from(i.dst)] = u64::from(word);
    c.enter_mmx();
    Ok(())
}
