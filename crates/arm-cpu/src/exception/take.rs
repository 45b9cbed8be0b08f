//! Taking exceptions to EL1, and returning from them (Arm ARM D1.3, D1.4).

use super::{Cause, Delivery};
use crate::bus::{Bus, Tracer};
use crate::context::{Core, DAIF, PSTATE_F, PSTATE_I, PSTATE_IL, PSTATE_SS};
use crate::register::Own;
use crate::totals::ExceptionCount;
use retire::{CoreEvent, Observer};

/// Offsets of the vectors of a group.
const SYNCHRONOUS: u64 = 0;
const IRQ: u64 = 0x80;
const FIQ: u64 = 0x100;
/// Groups by where the exception comes from.
const CURRENT_WITH_SP0: u64 = 0;
const CURRENT_WITH_SPX: u64 = 0x200;
const LOWER: u64 = 0x400;
/// ESR_EL1.IL: all instructions have 32 bits.
const ESR_IL: u64 = 1 << 25;
/// EL1 with SP_EL1.
const EL1H: u64 = 0b0101;

impl Core {
    /// The interrupt that is taken before the next instruction.
    pub(crate) fn pending_interrupt(&self) -> Option<Cause> {
        let [irq, fiq] = self.interrupts;
        if fiq && self.pstate & PSTATE_F == 0 {
            Some(Cause::Fiq)
        } else if irq && self.pstate & PSTATE_I == 0 {
            Some(Cause::Irq)
        } else {
            None
        }
    }

    /// An interrupt may have become deliverable by a change of PSTATE.
    pub(crate) fn look_for_interrupts(&mut self) {
        if self.pending_interrupt().is_some() {
            self.stop = true;
        }
    }

    /// Takes an exception to EL1. The PC is the return address; everything is in sync.
    pub(crate) fn take<B: Bus>(&mut self, bus: &mut B, cause: Cause) {
        let from_el = self.el;
        let (offset, count) = match cause {
            Cause::Synchronous(exception) => (SYNCHRONOUS, exception.count()),
            Cause::Irq => (IRQ, ExceptionCount::Irq),
            Cause::Fiq => (FIQ, ExceptionCount::Fiq),
        };
        let group = match (from_el, self.has_own_stack_pointer()) {
            (0, _) => LOWER,
            (_, false) => CURRENT_WITH_SP0,
            (_, true) => CURRENT_WITH_SPX,
        };
        self.totals.at(from_el).count_exception(count);
        *self.own_mut(Own::Spsr) = self.spsr();
        *self.own_mut(Own::Elr) = self.pc;
        let mut syndrome = 0;
        if let Cause::Synchronous(exception) = cause {
            let class = u64::from(exception.class.code_at(from_el));
            syndrome = class << 26 | ESR_IL | u64::from(exception.iss);
            *self.own_mut(Own::Esr) = syndrome;
            if let Some(address) = exception.address {
                *self.own_mut(Own::Far) = address;
            }
        }
        let return_address = self.pc;
        self.set_pstate(self.flags.bits() | DAIF | EL1H);
        self.pc = self.own(Own::Vbar).wrapping_add(group + offset);
        self.exclusive = None;
        self.waiting = false;
        self.debugger.delivered = true;
        if let Some(tracer) = bus.tracer() {
            let vector = self.pc;
            tracer.delivery(&Delivery { cause, from_el, return_address, syndrome, vector }, &self.totals);
        }
        if let Some(observer) = bus.observer() {
            observer.event(CoreEvent::Interrupt { user: false });
        }
    }

    /// ERET: PSTATE from SPSR_EL1, the PC from ELR_EL1. An SPSR that this CPU has no state for makes an illegal return:
    /// PSTATE.IL is set and the exception level stays (Arm ARM D1.4.2).
    pub(crate) fn exception_return(&mut self) {
        let spsr = self.own(Own::Spsr);
        let target = self.own(Own::Elr);
        // EL0t, EL1t and EL1h in AArch64.
        let legal = spsr & 1 << 4 == 0 && matches!(spsr & 0xF, 0b0000 | 0b0100 | 0b0101);
        let step = self.step_after_return(spsr, legal);
        let kept = if legal { spsr } else { spsr & !0x1F | self.spsr() & 0x1F | PSTATE_IL };
        self.set_pstate(kept & !PSTATE_SS | step);
        self.pc = self.branch_target(target);
        self.exclusive = None;
    }

    /// Where a branch to a register's value goes: without its tag (BranchAddr, Arm ARM D8.6).
    #[inline(always)]
    pub(crate) fn branch_target(&self, target: u64) -> u64 {
        if ((target << 8).cast_signed() >> 8).cast_unsigned() == target {
            target
        } else {
            self.mmu.regime().untagged(target)
        }
    }
}
