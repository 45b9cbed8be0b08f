//! Instructions of the class SYS: caches, translations and the TLB (Arm ARM C5.3 to C5.5).
//!
//! There are no caches, and decoded code follows what is written to it: cache maintenance checks rights and addresses.

use super::Operands;
use crate::bus::Bus;
use crate::context::{Core, SCTLR_DZE, SCTLR_UCI};
use crate::exception::Done;
use crate::mmu::Intent;
use crate::register::{Own, SystemRegister, ZVA_SHIFT};
use retire::{CoreEvent, Observer};

/// What an instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// IC IALLU and IALLUIS; DC ISW, CSW and CISW: of all there is, at EL1.
    Everything,
    /// DC IVAC at EL1.
    Invalidate,
    /// DC CVAC, CVAU and CIVAC, IC IVAU: of an address, at EL0 too if SCTLR_EL1.UCI is set.
    Address,
    /// DC ZVA.
    Zero,
    /// AT S1E1R, S1E1W, S1E0R and S1E0W.
    Translate { el0: bool, write: bool },
    /// TLBI of all, or of an ASID.
    TlbAll,
    /// TLBI of an address.
    TlbAddress,
}

impl Operation {
    /// The operation with an encoding; `None` if it is UNDEFINED.
    pub(crate) fn find(name: SystemRegister) -> Option<Self> {
        Some(match (name.op1(), name.crn(), name.crm(), name.op2()) {
            (0, 7, 1 | 5, 0) | (0, 7, 6 | 10 | 14, 2) => Self::Everything,
            (0, 7, 6, 1) => Self::Invalidate,
            (3, 7, 10 | 11 | 14 | 5, 1) => Self::Address,
            (3, 7, 4, 1) => Self::Zero,
            (0, 7, 8, op2 @ 0..=3) => Self::Translate { el0: op2 & 2 != 0, write: op2 & 1 != 0 },
            // VMALLE1 and ASIDE1; the rest of the CPUs in the Inner Shareable domain are not there.
            (0, 8, 3 | 7, 0 | 2) => Self::TlbAll,
            // VAE1, VAAE1, VALE1 and VAALE1.
            (0, 8, 3 | 7, 1 | 3 | 5 | 7) => Self::TlbAddress,
            _ => return None,
        })
    }
}

/// SYS.
pub(crate) fn execute<B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    let Some(operation) = Operation::find(SystemRegister::of(i.word)) else { return Err(c.undefined()) };
    let operand = c.reg(i.rd);
    match operation {
        Operation::Address if c.el == 0 && c.own(Own::Sctlr) & SCTLR_UCI == 0 => return Err(c.trapped(i)),
        Operation::Zero if c.el == 0 && c.own(Own::Sctlr) & SCTLR_DZE == 0 => return Err(c.trapped(i)),
        Operation::Address | Operation::Zero => {}
        _ => c.require_el1()?,
    }
    match operation {
        Operation::Everything => {
            if let Some(observer) = b.observer() {
                observer.event(CoreEvent::CachesFlushed);
            }
        }
        // Invalidation needs the right to write.
        Operation::Invalidate => maintain(c, b, operand, Intent::Write)?,
        Operation::Address => maintain(c, b, operand, Intent::Maintain)?,
        Operation::Zero => {
            let first = operand >> ZVA_SHIFT << ZVA_SHIFT;
            for offset in (0..1 << ZVA_SHIFT).step_by(16) {
                c.store(b, first.wrapping_add(offset), 0_u128)?;
            }
        }
        Operation::Translate { el0, write } => translate(c, b, operand, el0, write),
        Operation::TlbAll => c.flush_translations(),
        Operation::TlbAddress => c.invalidate_address(operand),
    }
    Ok(())
}

fn maintain<B: Bus>(c: &mut Core, b: &mut B, va: u64, intent: Intent) -> Done {
    match c.walk(b, va, intent, c.el == 0) {
        Ok(translation) => {
            if let Some(observer) = b.observer() {
                observer.event(CoreEvent::LineFlushed(translation.address >> ZVA_SHIFT << ZVA_SHIFT));
            }
            Ok(())
        }
        Err(status) => Err(c.abort(va, status, Intent::Maintain)),
    }
}

/// PAR_EL1: NS and the RES1 bit 11.
const PAR_ONES: u64 = 1 << 11 | 1 << 9;

fn translate<B: Bus>(c: &mut Core, b: &mut B, va: u64, el0: bool, write: bool) {
    let intent = if write { Intent::Write } else { Intent::Read };
    *c.own_mut(Own::Par) = match c.walk(b, va, intent, el0) {
        Ok(found) => {
            let attributes = u64::from(found.attributes) << 56 | u64::from(found.shareability) << 7;
            attributes | PAR_ONES | found.address & 0x0000_FFFF_FFFF_F000
        }
        // F, FST, and bit 11, which is RES1.
        Err(status) => 1 << 11 | u64::from(status.code()) << 1 | 1,
    };
}
