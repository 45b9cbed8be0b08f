//! Stops: software step, breakpoints and watchpoints of the guest, and those of a debugger outside of it.

use crate::context::{Core, PSTATE_D, PSTATE_IL, PSTATE_SS};
use crate::cpu::Pace;
use crate::exception::{Class, Done, Exception};
use crate::mmu::{Intent, PAGE};
use crate::register::Own;
use soft_base::{DebugStops, Debugger};

/// MDSCR_EL1 bits.
const MDSCR_SS: u64 = 1;
const MDSCR_KDE: u64 = 1 << 13;
const MDSCR_MDE: u64 = 1 << 15;

/// Status of debug exceptions in their syndromes.
const DEBUG_STATUS: u32 = 0b10_0010;
/// ISS of a software step: ISV.
const STEP_VALID: u32 = 1 << 24;

impl Core {
    pub(crate) fn arm_debugger(&mut self, stops: DebugStops) {
        let watched = self.debugger.watches() || !stops.data.is_empty();
        self.debugger = Debugger::new(stops, self.totals.instructions(), self.pc);
        if watched {
            self.flush_translations();
        }
    }

    /// Debug exceptions are enabled at an exception level with a PSTATE (Arm ARM D2.2).
    fn debug_enabled(&self, el: u8, pstate: u64) -> bool {
        let locked = self.system.os_lock || self.own(Own::OsDlr) & self.own(Own::DbgPrcr) & 1 != 0;
        let kernel = self.own(Own::Mdscr) & MDSCR_KDE != 0 && pstate & PSTATE_D == 0;
        !locked && (el == 0 || kernel)
    }

    /// Software step is active.
    fn steps(&self) -> bool {
        self.own(Own::Mdscr) & MDSCR_SS != 0 && self.debug_enabled(self.el, self.pstate)
    }

    /// PSTATE.SS after an exception return to a state: SPSR_EL1's if software step begins there (Arm ARM D2.12.5).
    pub(crate) fn step_after_return(&self, spsr: u64, legal: bool) -> u64 {
        let el = if legal { u8::from(spsr & 1 << 2 != 0) } else { self.el };
        let begins = self.own(Own::Mdscr) & MDSCR_SS != 0
            && !self.debug_enabled(self.el, self.pstate)
            && self.debug_enabled(el, spsr);
        if begins { spsr & PSTATE_SS } else { 0 }
    }

    /// A synchronous exception that comes instead of the next instruction: software step, a hardware breakpoint, or an
    /// illegal state, in the order of their priority.
    pub(crate) fn exception_before_instruction(&mut self) -> Option<Exception> {
        let stepped = std::mem::take(&mut self.stepped);
        if self.steps() && self.pstate & PSTATE_SS == 0 {
            let iss = DEBUG_STATUS | if stepped { STEP_VALID } else { 0 };
            return Some(Exception::new(Class::Step, iss));
        }
        if self.breakpoints && self.hits_breakpoint() {
            return Some(Exception::new(Class::Breakpoint, DEBUG_STATUS));
        }
        (self.pstate & PSTATE_IL != 0).then(|| Exception::new(Class::IllegalState, 0))
    }

    /// How far to go before looking again.
    pub(crate) fn pace(&self) -> Pace {
        if self.single_steps() || self.debugger.steps() {
            return Pace::Instruction;
        }
        if !self.breakpoints && !self.debugger.breaks() {
            return Pace::Free;
        }
        // Blocks do not cross pages.
        let page = self.pc & !(PAGE - 1);
        let near = self.breakpoint_near(page) || self.debugger.breaks_within(page, PAGE);
        if near { Pace::Instruction } else { Pace::Block }
    }

    /// The next instruction is executed as a software step.
    pub(crate) fn single_steps(&self) -> bool {
        self.pstate & PSTATE_SS != 0 && self.steps()
    }

    /// After that instruction.
    pub(crate) fn finish_step(&mut self) {
        self.pstate &= !PSTATE_SS;
        self.stepped = true;
    }

    /// After a change of MDSCR_EL1, of the OS lock, or of breakpoints and watchpoints.
    pub(crate) fn update_debug(&mut self) {
        let enabled = self.own(Own::Mdscr) & MDSCR_MDE != 0 && !self.system.os_lock;
        let any = |pairs: &[[u64; 2]]| pairs.iter().any(|[_, control]| control & 1 != 0);
        self.breakpoints = enabled && any(&self.system.breakpoints);
        let watched = self.watchpoints;
        self.watchpoints = enabled && any(&self.system.watchpoints);
        if watched || self.watchpoints {
            self.flush_translations();
        }
        // The rest of the block has been entered without a look at the new ones.
        self.stop = true;
    }

    /// True if a control register's SSC, HMC and PAC choose an exception level of a machine without EL2 and EL3.
    fn chooses_level(control: u64, el: u8) -> bool {
        let privilege = control >> 1 & 3;
        control & 1 != 0 && privilege & if el == 0 { 2 } else { 1 } != 0
    }

    /// An enabled breakpoint on an unlinked address lies in the page.
    fn breakpoint_near(&self, page: u64) -> bool {
        self.breakpoints && self.system.breakpoints.iter().any(|[value, _]| value & !(PAGE - 1) == page)
    }

    fn hits_breakpoint(&self) -> bool {
        // BT 0 is an unlinked address; the others compare with contexts, or are linked, which nothing here uses.
        let hit = |[value, control]: &[u64; 2]| {
            *value == self.pc && control >> 20 & 0xF == 0 && Self::chooses_level(*control, self.el)
        };
        self.debug_enabled(self.el, self.pstate) && self.system.breakpoints.iter().any(hit)
    }

    /// Whether accesses to the page of an address have to be looked at one by one.
    pub(crate) fn watches_page(&self, va: u64) -> bool {
        self.watchpoints || self.debugger.watches() && self.debugger.watches_page(va)
    }

    /// Before an access to data that is not in the TLB: the guest's watchpoints fault, a debugger's stop behind the
    /// instruction.
    pub(crate) fn check_watchpoints(&mut self, va: u64, size: usize, intent: Intent) -> Done {
        let last = va.saturating_add(size as u64 - 1);
        let write = intent == Intent::Write;
        if self.watchpoints && self.hits_watchpoint(va, last, write) {
            let iss = DEBUG_STATUS | u32::from(write) << 6;
            let exception = Exception { address: Some(va), ..Exception::new(Class::Watchpoint, iss) };
            return Err(self.raise(exception));
        }
        if self.debugger.watches() && self.debugger.note_access(va, last, write) {
            self.stop = true;
        }
        Ok(())
    }

    fn hits_watchpoint(&self, first: u64, last: u64, write: bool) -> bool {
        let hit = |[value, control]: &[u64; 2]| {
            let wanted = control >> 3 & if write { 2 } else { 1 } != 0;
            // MASK ignores low bits of the address; else BAS chooses bytes of a double word.
            let mask = control >> 24 & 0x1F;
            let touched = if mask != 0 {
                first >> mask <= value >> mask && value >> mask <= last >> mask
            } else {
                let chosen = control >> 5 & 0xFF;
                (0..8).any(|n| chosen >> n & 1 != 0 && (first..=last).contains(&value.wrapping_add(n)))
            };
            wanted && touched && Self::chooses_level(*control, self.el)
        };
        self.debug_enabled(self.el, self.pstate) && self.system.watchpoints.iter().any(hit)
    }
}
