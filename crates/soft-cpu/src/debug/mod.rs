//! Stops: the debug registers of the guest, and the breakpoints of a debugger outside of it.

pub(crate) mod breakpoints;

use self::breakpoints::{Breakpoints, Condition, DR6_TRAPS};
use crate::context::{CR4_DE, CS, Core, Mode};
use crate::mmu::Intent;
use soft_base::{DebugStop, DebugStops, Debugger};

impl Core {
    /// Whether accesses to the page of a linear address have to be looked at one by one.
    pub(crate) fn watch_page(&self, linear: u64) -> bool {
        self.breakpoints.data && (self.breakpoints.watch_page(linear) || self.debugger.watches_page(linear))
    }

    /// After a change of DR0 to DR3, DR7 or CR4.DE.
    pub(crate) fn update_breakpoints(&mut self) {
        let mut new = Breakpoints::new(self.dr, self.dr7, self.cr4 & CR4_DE != 0);
        new.data |= self.debugger.watches();
        if new.data || self.breakpoints.data {
            self.mmu.tlb.flush();
        }
        self.breakpoints = new;
        // The rest of the block has been entered without a look at the new ones.
        self.stop = true;
    }

    /// DR6 bits of the instruction breakpoints at a linear address.
    pub(crate) fn instruction_breakpoints(&self, linear: u64) -> u64 {
        self.breakpoints.hits(linear, linear, &[Condition::Execute])
    }

    /// Whether an instruction breakpoint lies in the `len` bytes at a linear address.
    pub(crate) fn breakpoint_within(&self, linear: u64, len: u64) -> bool {
        self.breakpoints.hits(linear, linear.saturating_add(len), &[Condition::Execute]) != 0
    }

    /// Notes an access to data, for a trap after the instruction.
    #[cold]
    pub(crate) fn watch_data(&mut self, linear: u64, len: usize, intent: Intent) {
        let conditions: &[Condition] = match intent {
            Intent::Fetch => return,
            Intent::Read => &[Condition::Access],
            Intent::Write => &[Condition::Access, Condition::Write],
        };
        let last = linear.saturating_add(len.max(1) as u64 - 1);
        self.debug_trap(self.breakpoints.hits(linear, last, conditions));
        self.debugger_watches(linear, last, intent);
    }

    /// Notes an access to ports, for a trap after the instruction.
    #[cold]
    pub(crate) fn watch_port(&mut self, port: u16, size: usize) {
        let first = u64::from(port);
        let hits = self.breakpoints.hits(first, first + (size.max(1) as u64 - 1), &[Condition::Port]);
        self.debug_trap(hits);
    }

    fn debug_trap(&mut self, hits: u64) {
        if hits != 0 {
            self.debug_pending |= hits;
            self.stop = true;
        }
    }

    /// Reports conditions in DR6 when #DB is delivered. The CPU never clears the other bits.
    pub(crate) fn report_debug(&mut self, conditions: u64) {
        self.dr6 = self.dr6 & !DR6_TRAPS | conditions;
    }
}

impl Core {
    pub(crate) fn arm_debugger(&mut self, stops: DebugStops) {
        self.debugger = Debugger::new(stops, self.totals.instructions(), self.rip);
        self.update_breakpoints();
    }

    /// What is due before an instruction, once nothing else comes before it.
    pub(crate) fn debug_stop_before(&self) -> Option<DebugStop> {
        let mut linear = self.rip.wrapping_add(self.bases[CS]);
        if self.mode != Mode::Bits64 {
            linear &= 0xFFFF_FFFF;
        }
        self.debugger.stop_before(self.totals.instructions(), self.rip, linear)
    }

    /// Notes an access to data.
    pub(crate) fn debugger_watches(&mut self, linear: u64, last: u64, intent: Intent) {
        if intent != Intent::Fetch && self.debugger.note_access(linear, last, intent == Intent::Write) {
            self.stop = true;
        }
    }
}
