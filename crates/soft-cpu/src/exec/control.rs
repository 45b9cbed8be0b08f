//! Near branches. The decoder puts every one of them at the end of its block.

use super::operand::{Get, address_mask};
use super::{Insn, chain};
use crate::bus::Bus;
use crate::context::{BLOCK, Core, Mode, RCX, RSP};
use crate::exception::{Done, Fault};
use crate::low::Low;
use crate::mmu::is_canonical;
use crate::silicon::Rule;
use crate::width::Width;
use core::slice::Iter;
use retire::BranchKind;

/// Target of a relative branch. Those of 16 and 32 bits keep that much of RIP, which is what `imm` says.
#[inline(always)]
fn relative<B>(c: &Core, i: &Insn<B>) -> u64 {
    c.regs[BLOCK].wrapping_add(i.disp) & i.imm
}

/// The target of an indirect branch, which has to be canonical or within the code segment.
#[inline(always)]
fn check_target(c: &mut Core, target: u64) -> Result<u64, Fault> {
    let valid = match c.mode {
        Mode::Bits64 => is_canonical(target),
        _ => target <= u64::from(c.segs[crate::context::CS].limit),
    };
    if valid { Ok(target) } else { Err(c.gp(0)) }
}

pub(crate) fn jcc<B: Bus, const C: u8>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let taken = c.flags.condition::<C>();
    conditional(c, b, i, taken)
}

pub(crate) fn jmp<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.rip = relative(c, i);
    c.retire_branch(BranchKind::DirectJump);
    Ok(())
}

pub(crate) fn jmp_indirect<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let target = S::get(c, b, i)?.zext();
    c.rip = check_target(c, target)?;
    c.retire_branch(BranchKind::IndirectJump);
    Ok(())
}

pub(crate) fn call<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let back = T::low(c.next_rip());
    c.push(b, back)?;
    c.rip = relative(c, i);
    c.retire_branch(BranchKind::DirectCall);
    Ok(())
}

pub(crate) fn call_indirect<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let target = S::get(c, b, i)?.zext();
    if c.in_64_bit_mode() && !is_canonical(target) {
        // What is wrong with the stack comes first there, before the target (SDM volume 2, Operation of CALL).
        if c.holds(Rule::CallStoresFirst) {
            let (sp, back) = (c.regs[RSP], T::low(c.next_rip()));
            c.push(b, back)?;
            c.regs[RSP] = sp;
        } else {
            c.require_push::<T, B>(b)?;
        }
    }
    let target = check_target(c, target)?;
    let back = T::low(c.next_rip());
    c.push(b, back)?;
    c.rip = target;
    c.retire_branch(BranchKind::IndirectCall);
    Ok(())
}

/// RET, releasing `imm` bytes of arguments.
pub(crate) fn ret<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let target = c.peek::<T, B>(b, 0)?.zext();
    let target = check_target(c, target)?;
    c.regs[RSP] = c.stack_pointer(T::BYTES.low_u64().cast_signed() + (i.imm.cast_signed() & 0xFFFF));
    c.rip = target;
    c.retire_branch(BranchKind::Return);
    Ok(())
}

/// What LOOP asks besides the count.
pub(crate) const LOOP_ALWAYS: u8 = 0;
pub(crate) const LOOP_EQUAL: u8 = 1;
pub(crate) const LOOP_NOT_EQUAL: u8 = 2;

/// LOOP, LOOPE, LOOPNE. The address size is that of the count.
pub(crate) fn loop_count<B: Bus, const KIND: u8>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let mask = address_mask(i.seg);
    let count = c.regs[RCX].wrapping_sub(1) & mask;
    set_count(c, count, mask);
    let also = match KIND {
        LOOP_EQUAL => c.flags.zero(),
        LOOP_NOT_EQUAL => !c.flags.zero(),
        _ => true,
    };
    conditional(c, b, i, count != 0 && also)
}

/// JCXZ, JECXZ, JRCXZ.
pub(crate) fn jrcxz<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let count = c.regs[RCX] & address_mask(i.seg);
    conditional(c, b, i, count == 0)
}

#[inline(always)]
fn conditional<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, taken: bool) -> Done {
    if taken {
        if i.disp == u64::from(i.position.start) + u64::from(i.position.len) {
            c.record_jump_to_next(b);
        }
        c.rip = relative(c, i);
        c.retire_conditional(true);
    } else {
        c.retire_conditional(false);
    }
    Ok(())
}

/// The chain of an instruction with a [quick](super::chain) handler and a conditional jump behind it that has one too.
#[inline(always)]
pub(crate) fn with_jump<B: Bus, const C: u8>(
    c: &mut Core,
    b: &mut B,
    rest: Iter<'_, Insn<B>>,
    quick: impl FnOnce(&mut Core, &mut B, &Insn<B>) -> bool,
) -> Done {
    let mut pair = rest.clone();
    if let (Some(i), Some(jump)) = (pair.next(), pair.next())
        && quick(c, b, i)
    {
        quick::jcc::<B, C>(c, b, jump);
        return Ok(());
    }
    chain::any(c, b, rest)
}

/// Writes RCX, ECX (zero-extended) or CX.
pub(crate) fn set_count(c: &mut Core, count: u64, mask: u64) {
    c.regs[RCX] = if mask == 0xFFFF { c.regs[RCX] & !mask | count } else { count };
}

/// See [`chain`](super::chain).
pub(crate) mod quick {
    use super::*;

    /// Where a call returns to.
    #[inline(always)]
    fn behind<B>(c: &Core, i: &Insn<B>) -> u64 {
        c.regs[BLOCK].wrapping_add(u64::from(i.position.start)).wrapping_add(u64::from(i.position.len))
    }

    #[inline(always)]
    pub(crate) fn jcc<B: Bus, const C: u8>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> bool {
        if c.flags.condition::<C>() {
            c.rip = relative(c, i);
            c.retire_conditional(true);
        } else {
            c.retire_conditional(false);
        }
        true
    }

    #[inline(always)]
    pub(crate) fn jmp<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        super::jmp(c, b, i).is_ok()
    }

    #[inline(always)]
    pub(crate) fn jmp_indirect<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let Some(target) = S::quick(c, b, i) else { return false };
        let target = target.zext();
        if !c.in_64_bit_mode() || !is_canonical(target) {
            return false;
        }
        c.rip = target;
        c.retire_branch(BranchKind::IndirectJump);
        true
    }

    #[inline(always)]
    pub(crate) fn call<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let back = T::low(behind(c, i));
        if !c.quick_push(b, i, back) {
            return false;
        }
        c.rip = relative(c, i);
        c.retire_branch(BranchKind::DirectCall);
        true
    }

    #[inline(always)]
    pub(crate) fn call_indirect<B: Bus, T: Width, S: Get<T>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let Some(target) = S::quick(c, b, i) else { return false };
        let target = target.zext();
        if !is_canonical(target) {
            return false;
        }
        let back = T::low(behind(c, i));
        if !c.quick_push(b, i, back) {
            return false;
        }
        c.rip = target;
        c.retire_branch(BranchKind::IndirectCall);
        true
    }

    #[inline(always)]
    pub(crate) fn ret<B: Bus, T: Width>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let Some(target) = c.quick_top::<T, B>(b, i) else { return false };
        let target = target.zext();
        if !is_canonical(target) {
            return false;
        }
        c.regs[RSP] = c.regs[RSP].wrapping_add(T::BYTES as u64 + (i.imm & 0xFFFF));
        c.rip = target;
        c.retire_branch(BranchKind::Return);
        true
    }
}
