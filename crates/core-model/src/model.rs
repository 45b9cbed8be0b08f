//! What an engine uses: one core, from retired instructions to totals.

use crate::core::Core;
use crate::machine::Machine;
use crate::prepared::Prepared;
use crate::step::{BlockStep, CoreEvent, Step};
use crate::table::{TableError, UopTable};
use crate::totals::CoreTotals;
use iced_x86::{Instruction, InstructionInfoFactory};

/// A model of one core.
///
/// The same steps and events give the same totals, on every machine.
#[derive(Debug)]
pub struct Model {
    core: &'static Core,
    table: UopTable,
    /// Uops are counted as LLVM does.
    ports_only: bool,
    machine: Machine,
    user: bool,
    totals: [CoreTotals; 2],
}

impl Model {
    /// A core in which nothing has run yet: caches and predictors are empty.
    ///
    /// # Errors
    /// The core's uop table cannot be read; cores of this crate have one that can.
    pub fn new(core: &'static Core) -> Result<Self, TableError> {
        let mut table = UopTable::parse(core.table)?;
        table.correct(UopTable::parse(core.corrections)?);
        Ok(Self::with_table(core, table, false))
    }

    /// The same core with an ideal front end, ideal branch prediction and an ideal first-level cache, which counts
    /// uops as LLVM does: without fused uops and eliminated moves. What is left is what llvm-mca simulates.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn ports_only(core: &'static Core) -> Result<Self, TableError> {
        Ok(Self::with_table(core, UopTable::parse(core.table)?, true))
    }

    fn with_table(core: &'static Core, table: UopTable, ports_only: bool) -> Self {
        let machine = Machine::new(core, table.units(), ports_only);
        Self { core, table, ports_only, machine, user: false, totals: Default::default() }
    }

    /// The core's parameters.
    #[must_use]
    pub fn core(&self) -> &'static Core {
        self.core
    }

    /// Names of the ports, in the order of [`CoreTotals::ports`].
    #[must_use]
    pub fn ports(&self) -> Vec<&str> {
        self.table.units().iter().map(String::as_str).filter(|name| is_port(name)).collect()
    }

    /// Prepares an instruction. One that the uop table does not know gets costs by its class.
    #[must_use]
    pub fn prepare(&self, instruction: &Instruction) -> Prepared {
        let mut info = InstructionInfoFactory::new();
        self.ports_only
            .then(|| Prepared::from_table(instruction, &self.table, &mut info))
            .flatten()
            .unwrap_or_else(|| Prepared::new(instruction, self.core, &self.table, &mut info))
    }

    /// Books an instruction that has retired.
    #[inline]
    pub fn retire(&mut self, prepared: &Prepared, step: &Step<'_>) {
        if step.user != self.user {
            self.switch_to(step.user);
        }
        self.machine.retire(&mut self.totals[usize::from(step.user)], prepared, step);
    }

    /// Books instructions that have retired one after the other: the same as [`retire`](Self::retire) for each of
    /// [`BlockStep::steps`], but faster.
    #[inline]
    pub fn retire_block(&mut self, block: &BlockStep<'_>) {
        if block.user != self.user {
            self.switch_to(block.user);
        }
        self.machine.retire_block(&mut self.totals[usize::from(block.user)], block);
    }

    /// Tells of something besides retired instructions.
    pub fn event(&mut self, event: CoreEvent) {
        if let CoreEvent::Assist { user, .. } = event
            && user != self.user
        {
            self.switch_to(user);
        }
        self.machine.event(&mut self.totals[usize::from(self.user)], event);
        if let CoreEvent::Interrupt { user } = event
            && user != self.user
        {
            self.switch_to(user);
        }
    }

    /// Core cycles until now: up to the newest instruction's allocation, and after [`CoreEvent::Serialise`] up to its
    /// retirement. Halted time is not part of it.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.machine.cycles()
    }

    /// Running totals of one privilege level: level 3 if `user`, else the others.
    #[must_use]
    pub fn totals(&mut self, user: bool) -> &CoreTotals {
        self.machine.settle(&mut self.totals[usize::from(self.user)]);
        &self.totals[usize::from(user)]
    }

    /// From now on fills [`CoreTotals::instructions_by_cycle`], which takes a little time for each instruction.
    pub fn count_instructions_by_cycle(&mut self) {
        self.machine.count_instructions(&mut self.totals[usize::from(self.user)]);
    }

    /// Ends the current cycle, so that every cycle belongs to one privilege level.
    fn switch_to(&mut self, user: bool) {
        self.machine.end_cycle(&mut self.totals[usize::from(self.user)]);
        self.user = user;
    }
}

/// True if a unit of a uop table is an execution port, not a divider, multiplier or queue behind one, and not LLVM's
/// place for what it does not know.
pub(crate) fn is_port(unit: &str) -> bool {
    !["Div", "Multiplier", "Invalid", "FPSt", "."].iter().any(|part| unit.contains(part))
}
