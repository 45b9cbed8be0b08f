//! Instructions of the class SYS: caches, translations and the TLB (Arm ARM C5.3 to C5.5).
//!
//! There are no caches, and decoded code follows what is written to it: cache maintenance checks rights and addresses.

use super::Operands;
use crate::bus::Bus;
use crate::context::{Core, SCTLR_DZE, SCTLR_UCI};
use crate::exception::Done;
use crate::mmu::{self, Intent, Invalidation};
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
    Translate,
    /// TLBI of what EL1 may name; the rest of the CPUs in the Inner Shareable domain are not there.
    Tlb,
}

impl Operation {
    /// The operation with an encoding; `None` if it is UNDEFINED.
    pub(crate) fn find(name: SystemRegister) -> Option<Self> {
        Some(match (name.op1(), name.crn(), name.crm(), name.op2()) {
            (0, 7, 1 | 5, 0) | (0, 7, 6 | 10 | 14, 2) => Self::Everything,
            (0, 7, 6, 1) => Self::Invalidate,
            (3, 7, 10 | 11 | 14 | 5, 1) => Self::Address,
            (3, 7, 4, 1) => Self::Zero,
            (0, 7, 8, 0..=3) => Self::Translate,
            (0, 8, 3 | 7, op2) if Invalidation::decode(op2, 0).is_some() => Self::Tlb,
            _ => return None,
        })
    }
}

/// SYS.
pub(crate) fn execute<B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    let name = SystemRegister::of(i.word);
    let Some(operation) = Operation::find(name) else { return Err(c.undefined()) };
    let operand = c.reg(i.rd);
    match operation {
        Operation::Address if c.el == 0 && c.own(Own::Sctlr) & SCTLR_UCI == 0 => return Err(c.trapped(i)),
        Operation::Zero if c.el == 0 && c.own(Own::Sctlr) & SCTLR_DZE == 0 => return Err(c.trapped(i)),
        Operation::Address | Operation::Zero => {}
        _ => c.require_el1()?,
    }
    match operation {
        Operation::Everything => {
            c.report_past(b);
            if let Some(observer) = b.observer() {
                observer.event(CoreEvent::CachesFlushed);
            }
        }
        Operation::Invalidate => maintain(c, b, operand, Intent::Invalidate)?,
        Operation::Address => maintain(c, b, operand, Intent::Maintain)?,
        Operation::Zero => {
            c.prepare_zeroing(b, operand)?;
            let first = operand >> ZVA_SHIFT << ZVA_SHIFT;
            for offset in (0..1 << ZVA_SHIFT).step_by(16) {
                c.store(b, first.wrapping_add(offset), 0_u128)?;
            }
        }
        Operation::Translate => match mmu::probe(c.mmu.regime(), b, name.op2(), operand) {
            Ok(answer) => *c.own_mut(Own::Par) = answer,
            Err(status) => return Err(c.abort(operand, status, Intent::Maintain)),
        },
        Operation::Tlb => {
            if let Some(what) = Invalidation::decode(name.op2(), operand) {
                c.invalidate(what);
            }
        }
    }
    Ok(())
}

fn maintain<B: Bus>(c: &mut Core, b: &mut B, va: u64, intent: Intent) -> Done {
    match c.look_up(b, va, intent) {
        Ok(translation) => {
            c.report_past(b);
            if let Some(observer) = b.observer() {
                observer.event(CoreEvent::LineFlushed(translation.address >> ZVA_SHIFT << ZVA_SHIFT));
            }
            Ok(())
        }
        Err(status) => Err(c.abort(va, status, intent)),
    }
}
