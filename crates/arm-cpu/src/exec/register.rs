//! MRS and MSR of the CPU's own registers.

use super::Operands;
use crate::bus::Bus;
use crate::context::{Core, DAIF, SCTLR_DZE, SCTLR_UCT, SCTLR_UMA};
use crate::exception::Done;
use crate::flags::Flags;
use crate::register::{El0, Kind, Numbered, Own, SystemRegister};
use soft_base::Low;

/// MDSCR_EL1.TDCC.
const MDSCR_TDCC: u64 = 1 << 12;
/// DCZID_EL0.DZP: DC ZVA is prohibited.
const DZP: u64 = 1 << 4;

/// MRS of a register of the CPU; [`Operands::aux`] is its index.
pub(crate) fn read<B: Bus>(c: &mut Core, _b: &mut B, i: &Operands) -> Done {
    let Some(register) = Own::from_index(i.aux) else { return Err(c.undefined()) };
    c.may_access(register, i, false)?;
    let value = c.read_own(register);
    c.set_reg(i.rd, value);
    Ok(())
}

/// MSR.
pub(crate) fn write<B: Bus>(c: &mut Core, _b: &mut B, i: &Operands) -> Done {
    let Some(register) = Own::from_index(i.aux) else { return Err(c.undefined()) };
    c.may_access(register, i, true)?;
    c.write_own(register, c.reg(i.rd));
    Ok(())
}

/// MRS of an identification register.
pub(crate) fn identify<B: Bus>(c: &mut Core, _b: &mut B, i: &Operands) -> Done {
    c.require_el1()?;
    c.set_reg(i.rd, c.identification.read(SystemRegister::of(i.word)));
    Ok(())
}

/// MRS of a register of a breakpoint or watchpoint, whose number is [`Operands::aux`].
pub(crate) fn read_numbered<B: Bus>(c: &mut Core, _b: &mut B, i: &Operands) -> Done {
    c.require_el1()?;
    let Some(value) = c.numbered(i).copied() else { return Err(c.undefined()) };
    c.set_reg(i.rd, value);
    Ok(())
}

/// MSR.
pub(crate) fn write_numbered<B: Bus>(c: &mut Core, _b: &mut B, i: &Operands) -> Done {
    c.require_el1()?;
    let written = c.reg(i.rd);
    let Some((kind, _)) = Numbered::find(SystemRegister::of(i.word)) else { return Err(c.undefined()) };
    let Some(value) = c.numbered(i) else { return Err(c.undefined()) };
    *value = written & kind.mask();
    c.update_debug();
    Ok(())
}

impl Core {
    fn numbered(&mut self, i: &Operands) -> Option<&mut u64> {
        let (kind, number) = Numbered::find(SystemRegister::of(i.word))?;
        let (breakpoints, watchpoints) = (&mut self.system.breakpoints, &mut self.system.watchpoints);
        let number = number as usize;
        let [value, control] = match kind {
            Numbered::BreakpointValue | Numbered::BreakpointControl => breakpoints.get_mut(number)?,
            Numbered::WatchpointValue | Numbered::WatchpointControl => watchpoints.get_mut(number)?,
        };
        Some(match kind {
            Numbered::BreakpointValue | Numbered::WatchpointValue => value,
            Numbered::BreakpointControl | Numbered::WatchpointControl => control,
        })
    }

    fn may_access(&mut self, register: Own, i: &Operands, write: bool) -> Done {
        let declaration = register.declaration();
        let there = match declaration.kind {
            Kind::ComputedRead => !write,
            Kind::ComputedWrite => write,
            Kind::Stored | Kind::Effect | Kind::Computed => true,
        };
        if !there || register == Own::SpEl0 && !self.has_own_stack_pointer() {
            return Err(self.undefined());
        }
        if declaration.el0 == El0::Fp {
            return self.require_fp();
        }
        if self.el == 1 {
            return Ok(());
        }
        let sctlr = self.own(Own::Sctlr);
        let allowed = match declaration.el0 {
            El0::No => return Err(self.undefined()),
            El0::Read if write => return Err(self.undefined()),
            El0::Read | El0::Write | El0::Fp => true,
            El0::Uct => sctlr & SCTLR_UCT != 0,
            El0::Uma => sctlr & SCTLR_UMA != 0,
            El0::Tdcc => self.own(Own::Mdscr) & MDSCR_TDCC == 0,
        };
        if allowed { Ok(()) } else { Err(self.trapped(i)) }
    }

    fn read_own(&self, register: Own) -> u64 {
        match register {
            Own::SpEl0 => self.stack_pointer(0),
            Own::SpSel => u64::from(self.has_own_stack_pointer()),
            Own::CurrentEl => u64::from(self.el) << 2,
            Own::Isr => {
                let [irq, fiq] = self.interrupts;
                u64::from(irq) << 7 | u64::from(fiq) << 6
            }
            Own::Ccsidr => {
                let selected = self.own(Own::Csselr).low_usize();
                let level = self.identification.ccsidr.get(selected >> 1 & 7);
                level.map_or(0, |level| level[selected & 1])
            }
            Own::Clidr => self.identification.clidr,
            Own::Ctr => self.identification.ctr,
            Own::Dczid => {
                let prohibited = self.el == 0 && self.own(Own::Sctlr) & SCTLR_DZE == 0;
                self.identification.dczid | if prohibited { DZP } else { 0 }
            }
            Own::Nzcv => self.flags.bits(),
            Own::Daif => self.pstate & DAIF,
            Own::Fpcr => self.fp.fpcr.into(),
            Own::Fpsr => self.fp.fpsr.into(),
            // OSLM: the OS lock is implemented.
            Own::OsLsr => 1 << 3 | u64::from(self.system.os_lock) << 1,
            // All bits of the claim tag are there.
            Own::DbgClaimSet => register.declaration().mask,
            Own::DbgClaimClr => self.system.claim,
            // Non-secure debug is implemented and enabled.
            Own::DbgAuthStatus => 0xF,
            Own::Aidr | Own::Rvbar | Own::Mdrar | Own::OsLar => 0,
            // There is no external debugger to send anything.
            Own::MdccSr | Own::DbgDtr | Own::DbgDtrRxTx => 0,
            stored => self.own(stored),
        }
    }

    fn write_own(&mut self, register: Own, value: u64) {
        let declaration = register.declaration();
        let kept = value & declaration.mask | declaration.reset & !declaration.mask;
        match register {
            Own::SpEl0 => self.set_stack_pointer(0, value),
            Own::SpSel => self.select_stack_pointer(kept != 0),
            Own::Nzcv => self.flags = Flags::from_bits(kept),
            Own::Daif => {
                self.pstate = self.pstate & !DAIF | kept;
                self.look_for_interrupts();
                self.stop |= kept >> 9 == 0;
            }
            Own::Fpcr => self.fp.fpcr = kept.low_u32(),
            Own::Fpsr => self.fp.fpsr = kept.low_u32(),
            Own::DbgClaimSet => self.system.claim |= kept,
            Own::DbgClaimClr => self.system.claim &= !kept,
            Own::OsLar => {
                self.system.os_lock = kept != 0;
                self.update_debug();
            }
            Own::DbgDtr | Own::DbgDtrRxTx => {}
            _ => {
                *self.own_mut(register) = kept;
                if declaration.kind == Kind::Effect {
                    self.after_write(register);
                }
            }
        }
    }

    fn after_write(&mut self, register: Own) {
        match register {
            Own::Mdscr => self.update_debug(),
            Own::ContextIdr => self.totals.at(1).context_writes += 1,
            Own::Ttbr0 | Own::Ttbr1 => {
                self.totals.at(1).translation_base_writes += 1;
                self.update_controls();
            }
            _ => self.update_controls(),
        }
    }
}
