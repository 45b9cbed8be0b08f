//! MMX: the 64-bit vectors in the x87 registers. The operations are those of SSE in the low half of a vector.

pub(crate) mod convert;
pub(crate) mod moves;

use crate::bus::Bus;
use crate::context::{CR0_EM, Core};
use crate::exception::{Done, Fault};
use crate::exec::Insn;
use crate::exec::operand::{Get, Mem};
use crate::low::Low;
use crate::sse::{Shuffle, Vector, integer, lane, sse4};
use crate::x87::TOP;

/// The MMX register [`Insn::src`].
pub(crate) struct MmSrc;
/// A 4-byte memory operand, zero-extended.
pub(crate) struct Half;

impl Get<u64> for MmSrc {
    #[inline(always)]
    fn get<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Result<u64, Fault> {
        Ok(c.mm(i.src))
    }
}

impl Get<u64> for Half {
    #[inline(always)]
    fn get<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Result<u64, Fault> {
        Ok(u64::from(<Mem as Get<u32>>::get(c, b, i)?))
    }
}

impl Core {
    /// #UD, #NM or, for a pending x87 exception, #MF.
    fn require_mmx(&mut self) -> Done {
        if self.cr0 & CR0_EM != 0 {
            return Err(self.ud());
        }
        self.require_x87_settled()
    }

    /// What MMX instructions do to the x87 state: TOP becomes 0, all registers are in use.
    fn enter_mmx(&mut self) {
        self.fsw &= !TOP;
        self.ftw = 0xFF;
    }

    fn mm(&self, n: u8) -> u64 {
        self.st[usize::from(n & 7)].low_u64()
    }

    /// Writes a register and enters MMX; as an x87 register it becomes a NaN or infinity.
    fn set_mm(&mut self, n: u8, value: u64) {
        self.enter_mmx();
        self.st[usize::from(n & 7)] = 0xFFFF << 64 | u128::from(value);
    }
}

/// An operation: destination, source.
pub(crate) trait Operation {
    fn apply(a: u64, b: u64) -> u64;
}

/// An SSE operation whose lanes do not depend on how many there are.
pub(crate) struct Lanes<V>(core::marker::PhantomData<V>);

impl<V: Vector> Operation for Lanes<V> {
    fn apply(a: u64, b: u64) -> u64 {
        V::apply(u128::from(a), u128::from(b)).low_u64()
    }
}

/// The upper half of what an SSE operation makes of the low halves: PUNPCKH from PUNPCKL.
pub(crate) struct Upper<V>(core::marker::PhantomData<V>);

impl<V: Vector> Operation for Upper<V> {
    fn apply(a: u64, b: u64) -> u64 {
        (V::apply(u128::from(a), u128::from(b)) >> 64) as u64
    }
}

/// An SSE operation that makes its low half of its whole first operand: packs and horizontal sums.
pub(crate) struct Joined<V>(core::marker::PhantomData<V>);

impl<V: Vector> Operation for Joined<V> {
    fn apply(a: u64, b: u64) -> u64 {
        V::apply(u128::from(b) << 64 | u128::from(a), 0).low_u64()
    }
}

pub(crate) struct Pshufb;

impl Operation for Pshufb {
    fn apply(a: u64, b: u64) -> u64 {
        // Doubled, so that bit 3 of an index does not matter.
        sse4::Pshufb::apply(u128::from(a) << 64 | u128::from(a), u128::from(b)).low_u64()
    }
}

/// destination = op(destination, source)
pub(crate) fn binary<B: Bus, O: Operation, S: Get<u64>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_mmx()?;
    let right = S::get(c, b, i)?;
    let result = O::apply(c.mm(i.dst), right);
    c.set_mm(i.dst, result);
    Ok(())
}

pub(crate) fn pshufw<B: Bus, S: Get<u64>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_mmx()?;
    let source = u128::from(S::get(c, b, i)?);
    c.set_mm(i.dst, integer::Pshuflw::apply(0, source, i.imm.low_u8()).low_u64());
    Ok(())
}

pub(crate) fn palignr<B: Bus, S: Get<u64>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_mmx()?;
    let both = u128::from(c.mm(i.dst)) << 64 | u128::from(S::get(c, b, i)?);
    let count = i.imm.low_u8();
    c.set_mm(i.dst, if count < 16 { (both >> (8 * count)).low_u64() } else { 0 });
    Ok(())
}

pub(crate) fn pinsrw<B: Bus, S: Get<u16>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_mmx()?;
    let value = S::get(c, b, i)?;
    let result = lane::set(u128::from(c.mm(i.dst)), i.imm.low_u32() & 3, value);
    c.set_mm(i.dst, result.low_u64());
    Ok(())
}

pub(crate) fn emms<B: Bus>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.require_mmx()?;
    c.enter_mmx();
    c.ftw = 0;
    Ok(())
}
