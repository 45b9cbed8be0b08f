//! `--detail timing`: a model of the core watches every instruction retire.

use crate::counts::timing::SharedCore;
use retire::CoreEvent;
use soft_cpu::{BlockStep, Observer, Prepared, Step};

/// How a taken branch retired.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Retirement {
    /// Core cycle.
    pub(super) cycle: u64,
    pub(super) mispredicted: bool,
}

/// The model at the interpreter.
#[derive(Debug)]
pub(super) struct Timing {
    pub(super) core: SharedCore,
    /// Somebody wants to know about branches.
    pub(super) recording: bool,
    /// Of the newest taken branch, while somebody wants to know.
    pub(super) newest: Retirement,
}

impl Timing {
    pub(super) fn new(core: SharedCore) -> Self {
        Self { core, recording: false, newest: Retirement::default() }
    }

    #[inline(never)]
    fn retire_recorded(&mut self, prepared: &Prepared, step: &Step<'_>) -> bool {
        let mut core = self.core.drive();
        let Some(branch) = step.branch.filter(|branch| branch.taken) else {
            return core.retire(prepared, step);
        };
        let before = core.totals(step.user).branches_of(branch.kind).mispredicted_taken;
        let due = core.retire(prepared, step);
        let after = core.totals(step.user).branches_of(branch.kind).mispredicted_taken;
        self.newest = Retirement { cycle: core.cycles(), mispredicted: after != before };
        due
    }
}

impl Observer for Timing {
    fn prepare(&mut self, instruction: &iced_x86::Instruction) -> Prepared {
        self.core.drive().model().prepare(instruction)
    }

    #[inline]
    fn retire(&mut self, prepared: &Prepared, step: &Step<'_>) -> bool {
        if self.recording {
            return self.retire_recorded(prepared, step);
        }
        self.core.drive().retire(prepared, step)
    }

    #[inline]
    fn patience(&mut self) -> u64 {
        if self.recording { 0 } else { self.core.drive().patience() }
    }

    #[inline]
    fn retire_blocks<'a>(&mut self, blocks: impl Iterator<Item = BlockStep<'a>>) {
        self.core.drive().retire_blocks(blocks);
    }

    fn event(&mut self, event: CoreEvent) {
        let mut core = self.core.drive();
        core.event(event);
        if matches!(event, CoreEvent::Interrupt { .. }) {
            // Nobody predicts an interrupt.
            self.newest = Retirement { cycle: core.cycles(), mispredicted: false };
        }
    }
}
