//! A machine, and the totals of what it did at each privilege level.

use crate::core::Core;
use crate::machine::Machine;
use crate::prepared::Prepared;
use crate::step::{BlockStep, Predicted, Step};
use crate::totals::CoreTotals;
use retire::CoreEvent;

#[derive(Debug)]
pub(crate) struct Account {
    machine: Machine,
    user: bool,
    totals: [CoreTotals; 2],
}

impl Account {
    pub(crate) fn new(core: &'static Core, units: &[String], ports_only: bool) -> Self {
        Self { machine: Machine::new(core, units, ports_only), user: false, totals: Default::default() }
    }

    #[inline]
    pub(crate) fn retire(&mut self, prepared: &Prepared, step: &Predicted<Step<'_>>) {
        if step.user != self.user {
            self.switch_to(step.user);
        }
        self.machine.retire(&mut self.totals[usize::from(step.user)], prepared, step);
    }

    #[inline]
    pub(crate) fn retire_block(&mut self, block: &Predicted<BlockStep<'_>>) {
        if block.user != self.user {
            self.switch_to(block.user);
        }
        self.machine.retire_block(&mut self.totals[usize::from(block.user)], block);
    }

    pub(crate) fn event(&mut self, event: CoreEvent) {
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

    pub(crate) fn cycles(&self) -> u64 {
        self.machine.cycles()
    }

    pub(crate) fn totals(&mut self, user: bool) -> &CoreTotals {
        self.machine.settle(&mut self.totals[usize::from(self.user)]);
        &self.totals[usize::from(user)]
    }

    pub(crate) fn count_instructions(&mut self) {
        self.machine.count_instructions(&mut self.totals[usize::from(self.user)]);
    }

    pub(crate) fn limit_flops(&mut self, limit: u32) {
        self.machine.limit_flops(&mut self.totals[usize::from(self.user)], limit);
    }

    /// Ends the current cycle, so that every cycle belongs to one privilege level.
    fn switch_to(&mut self, user: bool) {
        self.machine.end_cycle(&mut self.totals[usize::from(self.user)]);
        self.user = user;
    }
}
