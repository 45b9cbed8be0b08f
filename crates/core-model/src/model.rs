//! What an engine uses: one core, from retired instructions to totals.

use crate::account::Account;
use crate::beside::Lender;
use crate::core::Core;
use crate::predictor::Predictor;
use crate::prepared::Prepared;
use crate::step::{BlockStep, Predicted, Step};
use crate::table::{TableError, UopTable};
use crate::totals::CoreTotals;
use iced_x86::{Instruction, InstructionInfoFactory};
use retire::CoreEvent;

/// A model of one core.
///
/// The same steps and events give the same totals, on every machine.
#[derive(Debug)]
pub struct Model {
    core: &'static Core,
    table: UopTable,
    /// Uops are counted as LLVM does.
    ports_only: bool,
    /// Branches are predicted here, in the order in which they retire: that takes no time of the machine.
    predictor: Predictor,
    account: Lender,
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
        let account = Lender::new(Account::new(core, table.units(), ports_only));
        Self { core, table, ports_only, predictor: Predictor::new(core), account }
    }

    /// From now on the model may work on a thread of its own as long as nobody asks it for anything. It comes to the
    /// same. Without effect if the host has no thread left.
    pub fn work_beside(&mut self) {
        self.account.start_thread();
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
        let behind = step.rip.wrapping_add(u64::from(step.length));
        let outcome = self.predictor.outcome(step.branch.as_ref(), step.rip, behind);
        self.account.retire(prepared, &Predicted { step: *step, outcome });
    }

    /// Books instructions that have retired one after the other: the same as [`retire`](Self::retire) for each of
    /// [`BlockStep::steps`], but faster. The number of instructions.
    #[inline]
    pub fn retire_blocks<'a>(&mut self, blocks: impl Iterator<Item = BlockStep<'a>>) -> u64 {
        let Self { predictor, account, .. } = self;
        account.retire_blocks(blocks.map(|step| {
            let at = |offset: u16| step.rip.wrapping_add(u64::from(offset));
            let outcome = predictor.outcome(step.branch.as_ref(), at(step.last), at(step.length));
            Predicted { step, outcome }
        }))
    }

    /// Nobody is going to ask for cycles, totals or events before so many instructions have been told of, so that the
    /// model may work beside. It waits if somebody does.
    #[inline]
    pub fn expect_quiet(&mut self, instructions: u64) {
        self.account.expect_quiet(instructions);
    }

    /// Tells of something besides retired instructions.
    pub fn event(&mut self, event: CoreEvent) {
        if event == CoreEvent::PredictorBarrier {
            self.predictor.forget();
        }
        self.account.get().event(event);
    }

    /// Core cycles until now: up to the newest instruction's allocation, and after [`CoreEvent::Serialise`] up to its
    /// retirement. Halted time is not part of it.
    #[must_use]
    #[inline]
    pub fn cycles(&mut self) -> u64 {
        self.account.get().cycles()
    }

    /// Running totals of one privilege level: level 3 if `user`, else the others.
    #[must_use]
    pub fn totals(&mut self, user: bool) -> &CoreTotals {
        self.account.get().totals(user)
    }

    /// From now on fills [`CoreTotals::instructions_by_cycle`], which takes a little time for each instruction.
    pub fn count_instructions_by_cycle(&mut self) {
        self.account.get().count_instructions();
    }

    /// From now on fills [`CoreTotals::flops_lost`] with what is beyond `limit` in each cycle, which takes a little time for
    /// each instruction of floating point. Another limit later changes nothing.
    pub fn count_lost_flops(&mut self, limit: u8) {
        self.account.get().limit_flops(u32::from(limit));
    }
}

/// True if a unit of a uop table is an execution port, not a divider, multiplier or queue behind one, and not LLVM's
/// place for what it does not know.
pub(crate) fn is_port(unit: &str) -> bool {
    !["Div", "Multiplier", "Invalid", "FPSt", "."].iter().any(|part| unit.contains(part))
}
