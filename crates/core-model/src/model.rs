//! One core, from retired instructions to totals.

use crate::core::Core;
use crate::operation::Operation;
use crate::pipeline::Pipeline;
use crate::step::{BranchKind, CoreEvent, Step};
use crate::table::{TableError, UopTable};
use crate::totals::CoreTotals;
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory};

/// An instruction as the model needs it; made once, used at every execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    operation: Operation,
    serialising: bool,
}

/// A model of one core.
///
/// The same steps and events give the same totals, on every machine.
#[derive(Debug)]
pub struct Model {
    core: &'static Core,
    table: UopTable,
    pipeline: Pipeline,
    /// Where the slots are booked up to.
    cycle: u64,
    used: u32,
    user: bool,
    totals: [CoreTotals; 2],
}

impl Model {
    /// A core in which nothing has run yet: caches and predictors are empty.
    ///
    /// # Errors
    /// The core's uop table cannot be read; cores of this crate have one that can.
    pub fn new(core: &'static Core) -> Result<Self, TableError> {
        let table = UopTable::parse(core.table)?;
        let pipeline = Pipeline::new(core, table.units().len());
        Ok(Self { core, table, pipeline, cycle: 0, used: 0, user: false, totals: Default::default() })
    }

    /// The core's parameters.
    #[must_use]
    pub fn core(&self) -> &'static Core {
        self.core
    }

    /// Prepares an instruction. One that the uop table does not know gets costs by its class.
    #[must_use]
    pub fn prepare(&self, instruction: &Instruction) -> Prepared {
        let mut info = InstructionInfoFactory::new();
        let operation = Operation::new(instruction, &self.table, &mut info).unwrap_or_default();
        let serialising = matches!(
            instruction.flow_control(),
            FlowControl::Interrupt | FlowControl::Exception | FlowControl::XbeginXabortXend
        );
        Prepared { operation, serialising }
    }

    /// Books an instruction that has retired.
    pub fn retire(&mut self, prepared: &Prepared, step: &Step<'_>) {
        self.switch_to(step.user);
        let width = self.width();
        let times = self.pipeline.step(&prepared.operation);
        let slots = u32::from(prepared.operation.slots);
        // The last slot of the instruction is taken in the cycle of its dispatch.
        let end = times.dispatched * width + u64::from(self.pipeline.dispatched_in_cycle());
        let waited = end.saturating_sub(self.position() + u64::from(slots));
        let totals = &mut self.totals[usize::from(self.user)];
        totals.instructions += 1;
        totals.repetitions += step.repetitions.saturating_sub(1);
        totals.slots.core_bound += waited;
        totals.slots.light_operations += u64::from(slots.min(1));
        totals.slots.heavy_operations += u64::from(slots.saturating_sub(1));
        totals.cycles += end / width - self.cycle;
        self.cycle = end / width;
        self.used = (end % width) as u32;
        let totals = &mut self.totals[usize::from(self.user)];
        for access in step.memory {
            if access.write { totals.stores += 1 } else { totals.loads += 1 }
        }
        if let Some(branch) = step.branch {
            let branches = &mut totals.branches[branch.kind as usize];
            if branch.taken {
                branches.taken += 1;
            } else {
                branches.not_taken += 1;
            }
            if branch.kind == BranchKind::Far {
                self.drain();
            }
        }
        if prepared.serialising {
            self.drain();
        }
    }

    /// Tells of something besides retired instructions.
    pub fn event(&mut self, event: CoreEvent) {
        match event {
            CoreEvent::Interrupt { user } => {
                self.drain();
                self.totals[usize::from(self.user)].interrupts += 1;
                self.switch_to(user);
            }
            CoreEvent::Serialise | CoreEvent::Halt => self.drain(),
            _ => {}
        }
    }

    /// Core cycles until now: up to the newest instruction's dispatch, and after [`CoreEvent::Serialise`] up to its
    /// retirement. Halted time is not part of it.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// Running totals of one privilege level: level 3 if `user`, else the others.
    #[must_use]
    pub fn totals(&self, user: bool) -> &CoreTotals {
        &self.totals[usize::from(user)]
    }

    fn width(&self) -> u64 {
        u64::from(self.core.dispatch_width).max(1)
    }

    fn position(&self) -> u64 {
        self.cycle * self.width() + u64::from(self.used)
    }

    /// Ends the current cycle, so that every cycle belongs to one privilege level.
    fn switch_to(&mut self, user: bool) {
        if user != self.user {
            self.drain();
            self.user = user;
        }
    }

    /// Waits until everything has retired, and ends that cycle.
    fn drain(&mut self) {
        let end = self.pipeline.drain();
        let width = self.width();
        let waited = (end * width).saturating_sub(self.position());
        let totals = &mut self.totals[usize::from(self.user)];
        totals.slots.core_bound += waited;
        totals.cycles += end.saturating_sub(self.cycle);
        self.cycle = self.cycle.max(end);
        self.used = 0;
    }
}
