//! `--detail timing`: a model of the core observes what retires.

use crate::counts::timing::SharedCore;
use retire::{Block, BlockId, CoreEvent, Instruction, Observer};

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
    /// Branch records are on.
    pub(super) recording: bool,
    /// Of the newest taken branch, while branch records are on.
    pub(super) newest: Retirement,
}

impl Timing {
    pub(super) fn new(core: SharedCore) -> Self {
        Self { core, recording: false, newest: Retirement::default() }
    }

    #[inline(never)]
    fn retire_recorded(&mut self, block: &Block<'_>) -> bool {
        let mut core = self.core.drive();
        let Some(branch) = block.branch.filter(|branch| branch.taken) else {
            return core.retire(block);
        };
        let before = core.totals(block.user).branches_of(branch.kind).mispredicted_taken;
        let due = core.retire(block);
        let after = core.totals(block.user).branches_of(branch.kind).mispredicted_taken;
        self.newest = Retirement { cycle: core.cycles(), mispredicted: after != before };
        due
    }
}

impl Observer for Timing {
    fn define(&mut self, instructions: &[Instruction]) -> BlockId {
        self.core.drive().define(instructions)
    }

    fn release(&mut self, block: BlockId) {
        self.core.drive().release(block);
    }

    #[inline]
    fn retire(&mut self, block: &Block<'_>) -> bool {
        if self.recording { self.retire_recorded(block) } else { self.core.drive().retire(block) }
    }

    #[inline]
    fn quiet_horizon(&mut self) -> u64 {
        if self.recording { 0 } else { self.core.drive().quiet_horizon() }
    }

    fn event(&mut self, event: CoreEvent) {
        let mut core = self.core.drive();
        core.event(event);
        if matches!(event, CoreEvent::Interrupt { .. }) {
            // Interrupts are not predicted.
            self.newest = Retirement { cycle: core.cycles(), mispredicted: false };
        }
    }
}
