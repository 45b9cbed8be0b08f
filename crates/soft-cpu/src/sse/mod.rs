//! SSE to SSE4.2. The operations are pure functions over `u128` in `integer`, `sse4` and `float`; the
//! other files connect them to registers and memory.

pub(crate) mod crypto;
pub(crate) mod integer;
pub(crate) mod moves;
pub(crate) mod reciprocal;
pub(crate) mod scalar;
pub(crate) mod sse4;
pub(crate) mod sse4_float;
pub(crate) mod sse4_moves;
pub(crate) mod strings;

pub(crate) use crate::float;
pub(crate) use soft_arithmetic::lane;

use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{self, Done, Exception, Fault};
use crate::exec::Insn;
use crate::exec::operand::{self, Get, Imm, is_stack};
use crate::low::Low;
use crate::silicon::Rule;

/// The XMM register [`Insn::src`].
pub(crate) struct XmmSrc;
/// A 16-byte memory operand that must be aligned.
pub(crate) struct Aligned;
/// One of SHA, which must be aligned by [`Rule::ShaAligned`] only.
pub(crate) struct OfSha;

impl Get<u128> for XmmSrc {
    #[inline(always)]
    fn get<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Result<u128, Fault> {
        Ok(c.xmm[usize::from(i.src & 15)])
    }
    #[inline(always)]
    fn quick<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Option<u128> {
        Some(c.xmm[usize::from(i.src & 15)])
    }
}

impl Get<u128> for Aligned {
    #[inline(always)]
    fn get<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Result<u128, Fault> {
        let linear = aligned(c, i, false)?;
        c.load(b, linear, is_stack(i))
    }
    #[inline(always)]
    fn quick<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Option<u128> {
        let linear = operand::quick_linear(c, i)?;
        if linear & 15 == 0 { c.quick_load(b, i, linear) } else { None }
    }
}

impl Get<u128> for OfSha {
    fn get<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Result<u128, Fault> {
        if c.holds(Rule::ShaAligned) {
            return Aligned::get(c, b, i);
        }
        let linear = operand::linear(c, i, 16, false)?;
        c.load(b, linear, is_stack(i))
    }
    #[inline(always)]
    fn quick<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Option<u128> {
        Aligned::quick(c, b, i)
    }
}

impl Get<u128> for Imm {
    #[inline(always)]
    fn get<B: Bus>(_c: &mut Core, _b: &mut B, i: &Insn<B>) -> Result<u128, Fault> {
        Ok(u128::from(i.imm.low_u8()))
    }
    #[inline(always)]
    fn quick<B: Bus>(_c: &mut Core, _b: &mut B, i: &Insn<B>) -> Option<u128> {
        Some(u128::from(i.imm.low_u8()))
    }
}

/// Linear address of an aligned 16-byte operand; #GP(0) otherwise.
#[inline(always)]
fn aligned<B: Bus>(c: &mut Core, i: &Insn<B>, write: bool) -> Result<u64, Fault> {
    let linear = operand::linear(c, i, 16, write)?;
    if linear & 15 != 0 { Err(misaligned(c, i, linear)) } else { Ok(linear) }
}

/// #GP(0), or #SS(0) for a non-canonical address in the stack segment, by [`Rule::MisalignedStackRaisesSs`].
#[cold]
pub(crate) fn misaligned<B: Bus>(c: &mut Core, i: &Insn<B>, linear: u64) -> Fault {
    let stack = is_stack(i) && c.holds(Rule::MisalignedStackRaisesSs);
    if stack && c.in_64_bit_mode() && !crate::mmu::is_canonical(linear) {
        return c.raise(Exception::with_error(exception::SS, 0));
    }
    c.gp(0)
}

impl Core {
    /// #UD or #NM as CR0 and CR4 say.
    #[inline(always)]
    pub(crate) fn require_sse(&mut self) -> Done {
        if self.sse { Ok(()) } else { Err(self.sse_off()) }
    }

    #[cold]
    fn sse_off(&mut self) -> Fault {
        use crate::context::{CR0_EM, CR4_OSFXSR};
        if self.cr0 & CR0_EM != 0 || self.cr4 & CR4_OSFXSR == 0 {
            return self.ud();
        }
        self.raise(Exception::plain(exception::NM))
    }
}

/// An operation on whole registers: destination, source.
pub(crate) trait Vector {
    fn apply(a: u128, b: u128) -> u128;
}

/// destination = op(destination, source)
pub(crate) fn vector<B: Bus, O: Vector, S: Get<u128>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let right = S::get(c, b, i)?;
    let register = &mut c.xmm[usize::from(i.dst & 15)];
    *register = O::apply(*register, right);
    Ok(())
}

/// An operation with an immediate: destination, source, immediate.
pub(crate) trait Shuffle {
    fn apply(a: u128, b: u128, control: u8) -> u128;
}

pub(crate) fn shuffle<B: Bus, O: Shuffle, S: Get<u128>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_sse()?;
    let right = S::get(c, b, i)?;
    let register = &mut c.xmm[usize::from(i.dst & 15)];
    *register = O::apply(*register, right, i.imm.low_u8());
    Ok(())
}

/// See [`chain`](crate::exec::chain).
pub(crate) mod quick {
    use super::*;

    #[inline(always)]
    pub(crate) fn vector<B: Bus, O: Vector, S: Get<u128>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let Some(right) = S::quick(c, b, i).filter(|_| c.sse) else { return false };
        let register = &mut c.xmm[usize::from(i.dst & 15)];
        *register = O::apply(*register, right);
        true
    }

    #[inline(always)]
    pub(crate) fn shuffle<B: Bus, O: Shuffle, S: Get<u128>>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        let Some(right) = S::quick(c, b, i).filter(|_| c.sse) else { return false };
        let register = &mut c.xmm[usize::from(i.dst & 15)];
        *register = O::apply(*register, right, i.imm.low_u8());
        true
    }
}
