//! VEX forms that are not an operation on vectors: what clears registers, and forms of SSE instructions that do the
//! same as those but for what enables them.

use super::{AVX, Vector};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::Done;
use crate::exec::Insn;
use crate::exec::operand::Get;
use crate::sse::{moves, strings};

/// VZEROUPPER, and VZEROALL (`ALL`): of the registers that the mode has.
pub(crate) fn zero<B: Bus, const ALL: bool>(c: &mut Core, _b: &mut B, _i: &Insn<B>) -> Done {
    c.require_vector(AVX)?;
    let count = c.xmm_registers();
    for register in c.xmm.0.iter_mut().take(count) {
        if ALL {
            *register = Vector::ZERO;
        } else {
            register.zero_from(16);
        }
    }
    Ok(())
}

pub(crate) fn load_control<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_vector(AVX)?;
    moves::ldmxcsr(c, b, i)
}

pub(crate) fn store_control<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_vector(AVX)?;
    moves::stmxcsr(c, b, i)
}

pub(crate) fn store_bytes<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_vector(AVX)?;
    moves::maskmovdqu(c, b, i)
}

/// VPCMPESTRx and VPCMPISTRx; the parameters are those of SSE's.
pub(crate) fn compare<B: Bus, const EXPLICIT: bool, const WIDE: bool, const MASK: bool, S: Get<u128>>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
) -> Done {
    c.require_vector(AVX)?;
    strings::compare::<B, EXPLICIT, WIDE, MASK, S>(c, b, i)?;
    if MASK {
        c.xmm.get_mut(0).zero_from(16);
    }
    Ok(())
}

/// See [`chain`](crate::exec::chain).
pub(crate) mod quick {
    use super::*;

    #[inline(always)]
    pub(crate) fn zero<B: Bus, const ALL: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> bool {
        c.vector & AVX != 0 && super::zero::<B, ALL>(c, b, i).is_ok()
    }
}
