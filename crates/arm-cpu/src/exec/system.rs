//! Hints, PSTATE, exception-generating instructions, and system registers that are not the CPU's own.

use super::Operands;
use crate::block::Position;
use crate::bus::{Bus, SystemFault};
use crate::context::{Core, DAIF, SCTLR_NTWE, SCTLR_NTWI, SCTLR_UMA};
use crate::exception::{Class, Done, Exception, Fault};
use crate::register::{Own, SystemRegister};
use crate::totals::ExceptionCount;
use retire::BranchKind;
use soft_base::Low;

/// COND is 0b1110 and valid, in the syndromes of traps that have it.
const ALWAYS: u32 = 1 << 24 | 0xE << 20;

pub(crate) fn nop(_c: &mut Core, _i: &Operands) {}

/// WFI: waits unless an interrupt is there, whether or not it is masked.
pub(crate) fn wait_for_interrupt<B: Bus>(c: &mut Core, _b: &mut B, _i: &Operands) -> Done {
    if c.el == 0 && c.own(Own::Sctlr) & SCTLR_NTWI == 0 {
        return Err(c.raise(Exception::new(Class::TrappedWait, ALWAYS)));
    }
    if c.interrupts == [false; 2] {
        c.waiting = true;
        c.stop = true;
    }
    Ok(())
}

/// WFE: there may always have been an event.
pub(crate) fn wait_for_event<B: Bus>(c: &mut Core, _b: &mut B, _i: &Operands) -> Done {
    if c.el == 0 && c.own(Own::Sctlr) & SCTLR_NTWE == 0 {
        return Err(c.raise(Exception::new(Class::TrappedWait, ALWAYS | 1)));
    }
    c.yielded = true;
    c.stop = true;
    Ok(())
}

/// MSR SPSel; [`Operands::aux`] is the immediate.
pub(crate) fn select_stack_pointer<B: Bus>(c: &mut Core, _b: &mut B, i: &Operands) -> Done {
    c.require_el1()?;
    c.select_stack_pointer(i.aux & 1 != 0);
    Ok(())
}

/// MSR DAIFSet and DAIFClr; [`Operands::aux`] is the immediate.
pub(crate) fn mask_interrupts<const SET: bool, B: Bus>(c: &mut Core, _b: &mut B, i: &Operands) -> Done {
    if c.el == 0 && c.own(Own::Sctlr) & SCTLR_UMA == 0 {
        return Err(c.trapped(i));
    }
    let bits = u64::from(i.aux) << 6 & DAIF;
    c.pstate = if SET { c.pstate | bits } else { c.pstate & !bits };
    if !SET {
        c.look_for_interrupts();
        // Debug exceptions may have been enabled.
        c.stop |= bits >> 9 != 0;
    }
    Ok(())
}

/// SVC: retires, and its exception is taken behind it.
pub(crate) fn supervisor_call<B: Bus>(c: &mut Core, _b: &mut B, i: &Operands) -> Done {
    c.raised = Some(Exception::new(Class::Svc, i.imm.low_u32()));
    c.stop = true;
    Ok(())
}

/// HVC: the bus is the hypervisor.
pub(crate) fn hypervisor_call<B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    c.require_el1()?;
    c.before_bus(b);
    let mut registers = [0; 8];
    registers.copy_from_slice(&c.regs[..8]);
    if b.hypervisor_call(i.imm.low_u16(), &mut registers, &c.access()).is_err() {
        return Err(c.undefined());
    }
    c.regs[..8].copy_from_slice(&registers);
    c.totals.at(1).count_exception(ExceptionCount::Hvc);
    c.after_bus(b);
    Ok(())
}

/// BRK.
pub(crate) fn software_breakpoint<B: Bus>(c: &mut Core, _b: &mut B, i: &Operands) -> Done {
    Err(c.raise(Exception::new(Class::Brk, i.imm.low_u32())))
}

/// ERET: retires at the level that it leaves.
pub(crate) fn exception_return<B: Bus>(c: &mut Core, _b: &mut B, _i: &Operands) -> Done {
    c.require_el1()?;
    c.sync();
    let totals = c.totals.at(c.el);
    totals.instructions += 1;
    totals.exception_returns += 1;
    totals.count_branch(BranchKind::Far, true);
    c.synced = c.position.and(Position::of(false, false, false));
    c.exception_return();
    c.stop = true;
    Ok(())
}

/// MRS of a register that the bus has.
pub(crate) fn read_bus<B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    let register = SystemRegister::of(i.word);
    c.require_level(register)?;
    c.before_bus(b);
    match b.read_system(register, &c.access()) {
        Ok(value) => {
            c.set_reg(i.rd, value);
            c.after_bus(b);
            Ok(())
        }
        Err(fault) => Err(c.refused(fault, i)),
    }
}

/// MSR of a register that the bus has.
pub(crate) fn write_bus<B: Bus>(c: &mut Core, b: &mut B, i: &Operands) -> Done {
    let register = SystemRegister::of(i.word);
    c.require_level(register)?;
    c.before_bus(b);
    match b.write_system(register, c.reg(i.rd), &c.access()) {
        Ok(()) => {
            c.after_bus(b);
            Ok(())
        }
        Err(fault) => Err(c.refused(fault, i)),
    }
}

impl Core {
    pub(crate) fn require_el1(&mut self) -> Done {
        if self.el == 0 { Err(self.undefined()) } else { Ok(()) }
    }

    /// Registers with op1 0 to 2 are those of EL1 (Arm ARM D12.1).
    fn require_level(&mut self, register: SystemRegister) -> Done {
        if register.op1() < 3 { self.require_el1() } else { Ok(()) }
    }

    fn refused(&mut self, fault: SystemFault, i: &Operands) -> Fault {
        match fault {
            SystemFault::Undefined => self.undefined(),
            SystemFault::Trapped => self.trapped(i),
        }
    }

    /// An access to a system register that a control traps.
    pub(crate) fn trapped(&mut self, i: &Operands) -> Fault {
        let read = i.word & 1 << 21 != 0;
        let iss = SystemRegister::of(i.word).syndrome(i.word & 0x1F, read);
        self.raise(Exception::new(Class::TrappedSystem, iss))
    }
}
