//! Operand forms: where a handler reads and writes.

use super::{Insn, SEG_ADDRESS_16, SEG_ADDRESS_32, SEG_SLOW};
use crate::bus::Bus;
use crate::context::{Core, SS};
use crate::exception::{self, Done, Exception, Fault};
use crate::width::{Memory, Width};

/// The register [`Insn::dst`].
pub(crate) struct Dst;
/// The register [`Insn::src`].
pub(crate) struct Src;
/// The immediate.
pub(crate) struct Imm;
/// The memory operand.
pub(crate) struct Mem;

/// An operand that can be read.
pub(crate) trait Get<T> {
    fn get<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Result<T, Fault>;
    /// The operand, if it is at hand; see [`chain`](super::chain).
    #[inline(always)]
    fn quick<B: Bus>(_c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Option<T> {
        None
    }
}

/// An operand that can be written.
pub(crate) trait Place<T>: Get<T> {
    fn set<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, value: T) -> Done;
    /// Reads, applies `f`, writes. `f` runs only if the write will succeed.
    fn update<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, f: impl FnOnce(&mut Core, T) -> T) -> Done;
    fn quick_set<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, value: T) -> bool;
    fn quick_update<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, f: impl FnOnce(&mut Core, T) -> T) -> bool;
}

impl<T: Width> Get<T> for Dst {
    #[inline(always)]
    fn quick<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Option<T> {
        Some(T::reg(c, i.dst))
    }
    #[inline(always)]
    fn get<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Result<T, Fault> {
        Ok(T::reg(c, i.dst))
    }
}

impl<T: Width> Place<T> for Dst {
    #[inline(always)]
    fn set<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>, value: T) -> Done {
        value.set_reg(c, i.dst);
        Ok(())
    }
    #[inline(always)]
    fn update<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>, f: impl FnOnce(&mut Core, T) -> T) -> Done {
        let old = T::reg(c, i.dst);
        let new = f(c, old);
        new.set_reg(c, i.dst);
        Ok(())
    }
    #[inline(always)]
    fn quick_set<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>, value: T) -> bool {
        value.set_reg(c, i.dst);
        true
    }
    #[inline(always)]
    fn quick_update<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, f: impl FnOnce(&mut Core, T) -> T) -> bool {
        Self::update(c, b, i, f).is_ok()
    }
}

impl<T: Width> Get<T> for Src {
    #[inline(always)]
    fn quick<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Option<T> {
        Some(T::reg(c, i.src))
    }
    #[inline(always)]
    fn get<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Result<T, Fault> {
        Ok(T::reg(c, i.src))
    }
}

impl<T: Width> Get<T> for Imm {
    #[inline(always)]
    fn quick<B: Bus>(_c: &mut Core, _b: &mut B, i: &Insn<B>) -> Option<T> {
        Some(T::low(i.imm))
    }
    #[inline(always)]
    fn get<B: Bus>(_c: &mut Core, _b: &mut B, i: &Insn<B>) -> Result<T, Fault> {
        Ok(T::low(i.imm))
    }
}

impl<T: Memory> Get<T> for Mem {
    #[inline(always)]
    fn get<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Result<T, Fault> {
        let linear = linear(c, i, T::BYTES, false)?;
        c.load(b, linear, is_stack(i))
    }

    #[inline(always)]
    fn quick<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Option<T> {
        let linear = quick_linear(c, i)?;
        c.quick_load(b, i, linear)
    }
}

impl<T: Memory> Place<T> for Mem {
    #[inline(always)]
    fn set<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, value: T) -> Done {
        let linear = linear(c, i, T::BYTES, true)?;
        c.store(b, linear, value, is_stack(i))
    }
    #[inline(always)]
    fn update<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, f: impl FnOnce(&mut Core, T) -> T) -> Done {
        let linear = linear(c, i, T::BYTES, true)?;
        let (old, target) = c.load_for_update(b, linear, is_stack(i))?;
        let new = f(c, old);
        c.store_update(b, target, new);
        Ok(())
    }
    #[inline(always)]
    fn quick_set<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, value: T) -> bool {
        let Some(linear) = quick_linear(c, i) else { return false };
        c.quick_store(b, i, linear, value)
    }
    #[inline(always)]
    fn quick_update<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, f: impl FnOnce(&mut Core, T) -> T) -> bool {
        let Some(linear) = quick_linear(c, i) else { return false };
        c.quick_update(b, i, linear, f)
    }
}

/// The linear address, if it needs no checks.
#[inline(always)]
pub(crate) fn quick_linear<B>(c: &Core, i: &Insn<B>) -> Option<u64> {
    let linear = offset(c, i).wrapping_add(c.bases[usize::from(i.seg & 7)]);
    (i.seg & SEG_SLOW == 0).then_some(linear)
}

#[inline(always)]
pub(crate) fn is_stack<B>(i: &Insn<B>) -> bool {
    usize::from(i.seg & 7) == SS
}

/// The offset in the segment, not masked to the address size.
#[inline(always)]
pub(crate) fn offset<B>(c: &Core, i: &Insn<B>) -> u64 {
    let index = c.regs[usize::from(i.index)].wrapping_shl(u32::from(i.scale));
    c.regs[usize::from(i.base)].wrapping_add(index).wrapping_add(i.disp)
}

/// The offset in the segment, masked to the address size.
#[inline(always)]
pub(crate) fn effective_address<B>(c: &Core, i: &Insn<B>) -> u64 {
    offset(c, i) & address_mask(i.seg)
}

pub(crate) fn address_mask(seg: u8) -> u64 {
    if seg & SEG_ADDRESS_32 != 0 {
        0xFFFF_FFFF
    } else if seg & SEG_ADDRESS_16 != 0 {
        0xFFFF
    } else {
        u64::MAX
    }
}

/// The linear address of the memory operand of `size` bytes.
#[inline(always)]
pub(crate) fn linear<B: Bus>(c: &mut Core, i: &Insn<B>, size: usize, write: bool) -> Result<u64, Fault> {
    let offset = offset(c, i);
    if i.seg & SEG_SLOW == 0 {
        return Ok(offset.wrapping_add(c.bases[usize::from(i.seg & 7)]));
    }
    c.segmented(i.seg & 7, offset & address_mask(i.seg), size, write)
}

/// #PF if an operand of up to a page cannot be written as a whole; without it a part of it might be.
pub(crate) fn probe<B: Bus>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
    linear: u64,
    size: u64,
) -> Result<(), Fault> {
    for at in pages(linear, size) {
        let _: (u8, _) = c.load_for_update(b, at, is_stack(i))?;
    }
    Ok(())
}

/// The same for reading.
pub(crate) fn probe_read<B: Bus>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
    linear: u64,
    size: u64,
) -> Result<(), Fault> {
    for at in pages(linear, size) {
        c.load::<u8, B>(b, at, is_stack(i))?;
    }
    Ok(())
}

/// The first byte of an operand of up to a page, and that of its second page, if it has one.
fn pages(linear: u64, size: u64) -> impl Iterator<Item = u64> {
    let second = linear.wrapping_add(size - 1) & !0xFFF;
    let split = second != linear & !0xFFF;
    core::iter::once(linear).chain(split.then_some(second))
}

impl Core {
    /// Segment base plus offset, with the checks that the mode asks for.
    #[inline(never)]
    pub(crate) fn segmented(&mut self, seg: u8, offset: u64, size: usize, write: bool) -> Result<u64, Fault> {
        let number = usize::from(seg & 7);
        if self.in_64_bit_mode() {
            return Ok(offset.wrapping_add(self.bases[number]));
        }
        let Some(segment) = self.segs.get(number).copied() else {
            return Ok(offset & 0xFFFF_FFFF);
        };
        let last = offset.wrapping_add(size as u64 - 1);
        let code = segment.kind() & 8 != 0;
        let expand_down = !code && segment.kind() & 4 != 0;
        let limit = u64::from(segment.limit);
        let inside = if expand_down {
            let top = if segment.big() { 0xFFFF_FFFF } else { 0xFFFF };
            offset > limit && last <= top
        } else {
            last <= limit
        };
        let allowed = if write { !code && segment.kind() & 2 != 0 } else { !code || segment.kind() & 2 != 0 };
        if !inside || !allowed || !segment.present() {
            let vector = if number == SS { exception::SS } else { exception::GP };
            return Err(self.raise(Exception::with_error(vector, 0)));
        }
        Ok(segment.base.wrapping_add(offset) & 0xFFFF_FFFF)
    }
}
