//! Moves, extensions, conditional moves, address computation.

use super::Insn;
use super::operand::{Dst, Get, Place, effective_address, offset};
use super::{SEG_ADDRESS_16, SEG_ADDRESS_32};
use crate::bus::Bus;
use crate::context::{Core, RAX, RBX, RDX, number};
use crate::exception::Done;
use crate::width::Width;

pub(crate) fn mov<B: Bus, T: Width, D: Place<T>, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let value = S::get(c, b, i)?;
    D::set(c, b, i, value)
}

/// MOVZX from `F` to `T`.
pub(crate) fn movzx<B: Bus, T: Width, F: Width, S: Get<F>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let value = S::get(c, b, i)?;
    T::low(value.zext()).set_reg(c, i.dst);
    Ok(())
}

/// MOVSX, MOVSXD from `F` to `T`.
pub(crate) fn movsx<B: Bus, T: Width, F: Width, S: Get<F>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let value = S::get(c, b, i)?;
    T::low(value.sext()).set_reg(c, i.dst);
    Ok(())
}

pub(crate) fn lea<B: Bus, T: Width>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    T::low(effective_address(c, i)).set_reg(c, i.dst);
    Ok(())
}

/// CMOVcc; the condition is in the low bits of `aux`. The source is read in any case.
pub(crate) fn cmov<B: Bus, const C: u8, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let value = S::get(c, b, i)?;
    let old = T::reg(c, i.dst);
    let new = if c.flags.condition::<C>() { value } else { old };
    new.set_reg(c, i.dst);
    Ok(())
}

pub(crate) fn setcc<B: Bus, const C: u8, D: Place<u8>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let value = u8::from(c.flags.condition::<C>());
    D::set(c, b, i, value)
}

/// Undefined with 16-bit operands, where hardware gives 0.
pub(crate) fn bswap<B: Bus, T: Width>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    let value = if T::BITS == 16 { 0 } else { T::reg(c, i.dst).zext() };
    T::low(value.swap_bytes() >> (64 - T::BITS)).set_reg(c, i.dst);
    Ok(())
}

pub(crate) fn movbe<B: Bus, T: Width, D: Place<T>, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let value = S::get(c, b, i)?;
    D::set(c, b, i, T::low(value.zext().swap_bytes() >> (64 - T::BITS)))
}

/// CBW, CWDE, CDQE: the lower half of RAX, sign-extended to `T`.
pub(crate) fn extend_rax<B: Bus, T: Width>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    let shift = 64 - T::BITS / 2;
    let value = (c.regs[RAX] << shift).cast_signed() >> shift;
    T::low(value.cast_unsigned()).set_reg(c, number(RAX));
    Ok(())
}

/// CWD, CDQ, CQO: the sign of RAX in all bits of RDX.
pub(crate) fn sign_to_rdx<B: Bus, T: Width>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    let sign = if T::reg(c, number(RAX)).sign() { u64::MAX } else { 0 };
    T::low(sign).set_reg(c, number(RDX));
    Ok(())
}

/// XLAT: AL = byte at RBX + AL.
pub(crate) fn xlat<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let offset = c.regs[RBX].wrapping_add(c.regs[RAX] & 0xFF);
    let offset = offset & super::operand::address_mask(i.seg);
    let linear = c.segmented(i.seg & 7, offset, 1, false)?;
    let value: u8 = c.load(b, linear, super::operand::is_stack(i))?;
    <Dst as Place<u8>>::set(c, b, i, value)
}

/// MOVNTI and MOV with absolute addresses need nothing of their own. This is MOV from a segment
/// register to a register of width `T` or to 16 bits of memory.
pub(crate) fn mov_from_segment<B: Bus, T: Width, D: Place<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let selector = c.segs[usize::from(i.aux) % 6].selector;
    D::set(c, b, i, T::low(u64::from(selector)))
}

/// See [`chain`](super::chain).
pub(crate) mod quick {
    use super::*;

    #[inline(always)]
    pub(crate) fn mov<B: Bus, T: Width, D: Place<T>, S: Get<T>>(
        c: &mut Core,
        b: &mut B,
        i: &Insn<B>,
    ) -> bool {
        let Some(value) = S::quick(c, b, i) else { return false };
        D::quick_set(c, b, i, value)
    }

    #[inline(always)]
    pub(crate) fn movzx<B: Bus, T: Width, F: Width, S: Get<F>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let Some(value) = S::quick(c, b, i) else { return false };
        T::low(value.zext()).set_reg(c, i.dst);
        true
    }

    #[inline(always)]
    pub(crate) fn movsx<B: Bus, T: Width, F: Width, S: Get<F>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let Some(value) = S::quick(c, b, i) else { return false };
        T::low(value.sext()).set_reg(c, i.dst);
        true
    }

    #[inline(always)]
    pub(crate) fn lea<B: Bus, T: Width>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> bool {
        if i.seg & (SEG_ADDRESS_32 | SEG_ADDRESS_16) != 0 {
            return false;
        }
        T::low(offset(c, i)).set_reg(c, i.dst);
        true
    }

    #[inline(always)]
    pub(crate) fn cmov<B: Bus, const C: u8, T: Width, S: Get<T>>(
        c: &mut Core,
        b: &mut B,
        i: &Insn<B>,
    ) -> bool {
        let Some(value) = S::quick(c, b, i) else { return false };
        let old = T::reg(c, i.dst);
        let new = if c.flags.condition::<C>() { value } else { old };
        new.set_reg(c, i.dst);
        true
    }

    #[inline(always)]
    pub(crate) fn setcc<B: Bus, const C: u8, D: Place<u8>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let value = u8::from(c.flags.condition::<C>());
        D::quick_set(c, b, i, value)
    }

    #[inline(always)]
    pub(crate) fn extend_rax<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        super::extend_rax::<B, T>(c, b, i).is_ok()
    }

    #[inline(always)]
    pub(crate) fn sign_to_rdx<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        super::sign_to_rdx::<B, T>(c, b, i).is_ok()
    }
}
