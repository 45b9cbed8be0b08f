//! Moves between XMM registers, general-purpose registers and memory.

use super::aligned;
use super::lane::{Lane, get, set};
use crate::bus::Bus;
use crate::context::{Core, DS, RDI, number};
use crate::exception::Done;
use crate::exec::Insn;
use crate::exec::operand::{self, Get, Mem, Place, is_stack};
use crate::low::Low;
use crate::width::{Memory, Width};

fn dst(i: u8) -> usize {
    usize::from(i & 15)
}

/// MOVAPS, MOVUPS, MOVDQA … to a register.
pub(crate) fn load<B: Bus, S: Get<u128>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    c.xmm[dst(i.dst)] = S::get(c, b, i)?;
    Ok(())
}

/// MOVAPS, MOVUPS … to memory.
pub(crate) fn store<B: Bus, const ALIGNED: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let linear = if ALIGNED { aligned(c, i, true)? } else { operand::linear(c, i, 16, true)? };
    c.store(b, linear, c.xmm[dst(i.src)], is_stack(i))
}

/// MOVD, MOVQ, MOVSS, MOVSD from memory: the rest of the register is 0.
pub(crate) fn load_low<B: Bus, T: Memory + Into<u128>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    c.xmm[dst(i.dst)] = <Mem as Get<T>>::get(c, b, i)?.into();
    Ok(())
}

/// MOVD, MOVQ, MOVSS, MOVSD, MOVLPS to memory.
pub(crate) fn store_low<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let value = c.xmm[dst(i.src)].low_u64();
    Mem::set(c, b, i, T::low(value))
}

/// MOVHPS, MOVHPD to memory.
pub(crate) fn store_high<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let value = (c.xmm[dst(i.src)] >> 64) as u64;
    Mem::set(c, b, i, value)
}

/// MOVLPS, MOVLPD (`HALF` 0), MOVHPS, MOVHPD (1) from memory: the other half stays.
pub(crate) fn load_half<B: Bus, const HALF: u32>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let value: u64 = Mem::get(c, b, i)?;
    let register = &mut c.xmm[dst(i.dst)];
    *register = set(*register, HALF, value);
    Ok(())
}

/// MOVLHPS (`TO` 1, `FROM` 0), MOVHLPS (0, 1).
pub(crate) fn move_half<B: Bus, const TO: u32, const FROM: u32>(
    c: &mut Core,
    _b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_sse()?;
    let value: u64 = get(c.xmm[dst(i.src)], FROM);
    let register = &mut c.xmm[dst(i.dst)];
    *register = set(*register, TO, value);
    Ok(())
}

/// MOVSS, MOVSD between registers: only the low lane moves.
#[inline(always)]
pub(crate) fn move_low<B: Bus, L: Lane>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let value: L = get(c.xmm[dst(i.src)], 0);
    let register = &mut c.xmm[dst(i.dst)];
    *register = set(*register, 0, value);
    Ok(())
}

/// MOVQ between registers: the upper half becomes 0.
#[inline(always)]
pub(crate) fn movq<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    c.xmm[dst(i.dst)] = u128::from(c.xmm[dst(i.src)].low_u64());
    Ok(())
}

/// MOVD, MOVQ from a general-purpose register.
#[inline(always)]
pub(crate) fn from_gpr<B: Bus, T: Width>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    c.xmm[dst(i.dst)] = u128::from(T::reg(c, i.src).zext());
    Ok(())
}

/// MOVD, MOVQ to a general-purpose register.
#[inline(always)]
pub(crate) fn to_gpr<B: Bus, T: Width>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    T::low(c.xmm[dst(i.src)].low_u64()).set_reg(c, i.dst);
    Ok(())
}

/// PMOVMSKB, MOVMSKPS, MOVMSKPD: the sign bits of lanes of `BITS` bits.
#[inline(always)]
pub(crate) fn mask<B: Bus, const BITS: u32>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let vector = c.xmm[dst(i.src)];
    let (low, high) = (signs::<BITS>(vector.low_u64()), signs::<BITS>((vector >> 64) as u64));
    c.regs[dst(i.dst)] = low | high << (64 / BITS);
    Ok(())
}

/// The sign bits of the lanes of a half, gathered by a product: lane n's goes to bit n of its top bits.
#[inline(always)]
fn signs<const BITS: u32>(half: u64) -> u64 {
    let lanes = 64 / BITS;
    let (mut tops, mut gather) = (0_u64, 0_u64);
    let mut n = 0;
    while n < lanes {
        tops |= 1 << (n * BITS);
        gather |= 1 << (64 - lanes - n * (BITS - 1));
        n += 1;
    }
    ((half >> (BITS - 1)) & tops).wrapping_mul(gather) >> (64 - lanes)
}

/// PINSRx from a register or memory.
pub(crate) fn insert<B: Bus, T: Lane + Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let value = S::get(c, b, i)?;
    let register = &mut c.xmm[dst(i.dst)];
    *register = set(*register, lane::<B, T>(i), value);
    Ok(())
}

/// The lane that the immediate chooses.
fn lane<B: Bus, T: Lane>(i: &Insn<B>) -> u32 {
    i.imm.low_u32() & (128 / T::BITS - 1)
}

/// PEXTRx to a register, zero-extended.
pub(crate) fn extract<B: Bus, T: Lane + Width>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    c.regs[dst(i.dst)] = get::<T>(c.xmm[dst(i.src)], lane::<B, T>(i)).zext();
    Ok(())
}

/// PEXTRx to memory.
pub(crate) fn extract_store<B: Bus, T: Lane + Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let value = get::<T>(c.xmm[dst(i.src)], lane::<B, T>(i));
    Mem::set(c, b, i, value)
}

/// MASKMOVDQU: bytes whose mask has its sign bit set go to DS:RDI.
pub(crate) fn maskmovdqu<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let (value, mask) = (c.xmm[dst(i.dst)], c.xmm[dst(i.src)]);
    let seg = if i.seg & 7 < 6 { i.seg & 7 } else { number(DS) };
    for n in 0..16 {
        if get::<i8>(mask, n) < 0 {
            let offset = c.regs[RDI].wrapping_add(u64::from(n)) & operand::address_mask(i.seg);
            let linear = c.segmented(seg, offset, 1, true)?;
            c.store(b, linear, get::<u8>(value, n), false)?;
        }
    }
    Ok(())
}

pub(crate) fn ldmxcsr<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let value: u32 = Mem::get(c, b, i)?;
    if value & !crate::exec::x87::MXCSR_MASK != 0 {
        return Err(c.gp(0));
    }
    c.mxcsr = value;
    Ok(())
}

pub(crate) fn stmxcsr<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    Mem::set(c, b, i, c.mxcsr)
}

/// See [`chain`](crate::exec::chain).
pub(crate) mod quick {
    use super::*;

    #[inline(always)]
    pub(crate) fn load<B: Bus, S: Get<u128>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let Some(value) = S::quick(c, b, i).filter(|_| c.sse) else { return false };
        c.xmm[dst(i.dst)] = value;
        true
    }

    #[inline(always)]
    pub(crate) fn store<B: Bus, const ALIGNED: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let Some(linear) = operand::quick_linear(c, i).filter(|_| c.sse) else { return false };
        let placed = !ALIGNED || linear & 15 == 0;
        placed && c.quick_store(b, i, linear, c.xmm[dst(i.src)])
    }

    #[inline(always)]
    pub(crate) fn load_low<B: Bus, T: Memory + Into<u128>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let Some(value) = <Mem as Get<T>>::quick(c, b, i).filter(|_| c.sse) else { return false };
        c.xmm[dst(i.dst)] = value.into();
        true
    }

    #[inline(always)]
    pub(crate) fn store_low<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let value = c.xmm[dst(i.src)].low_u64();
        c.sse && Mem::quick_set(c, b, i, T::low(value))
    }

    #[inline(always)]
    pub(crate) fn move_low<B: Bus, L: Lane>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        c.sse && super::move_low::<B, L>(c, b, i).is_ok()
    }

    #[inline(always)]
    pub(crate) fn movq<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        c.sse && super::movq(c, b, i).is_ok()
    }

    #[inline(always)]
    pub(crate) fn from_gpr<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        c.sse && super::from_gpr::<B, T>(c, b, i).is_ok()
    }

    #[inline(always)]
    pub(crate) fn to_gpr<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        c.sse && super::to_gpr::<B, T>(c, b, i).is_ok()
    }

    #[inline(always)]
    pub(crate) fn mask<B: Bus, const BITS: u32>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        c.sse && super::mask::<B, BITS>(c, b, i).is_ok()
    }
}
