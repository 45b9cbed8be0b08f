//! What observes the interpreter: a model of the core, a recorder, or both.

use crate::counts::timing::SharedCore;
use crate::engine::soft::timing::Timing;
use crate::recording::data::Modelled;
use crate::recording::recorder::Recorder;
use core_model::CoreTotals;
use retire::{Block, BlockId, CoreEvent, Instruction, Observer};
use std::cell::RefCell;
use std::rc::Rc;

/// A recorder, shared by the engine, which feeds it, and by the one who wants to know.
pub(super) type SharedRecorder = Rc<RefCell<Recorder>>;

/// Both, as far as they are there.
#[derive(Debug)]
pub(super) struct Observers {
    /// The model of the core, with `--detail timing`.
    pub(super) timing: Option<Timing>,
    pub(super) recorder: Option<SharedRecorder>,
}

impl Observers {
    pub(super) fn new(core: Option<SharedCore>, recorder: Option<SharedRecorder>) -> Self {
        Self { timing: core.map(Timing::new), recorder }
    }

    /// The CPU gets another address space.
    pub(super) fn switch(&self, space: u64, counts: bool) {
        if let Some(recorder) = &self.recorder {
            let mut recorder = recorder.borrow_mut();
            if let Some(timing) = &self.timing {
                charge(&mut recorder, &timing.core);
            }
            recorder.switch(space, counts);
        }
    }

    #[inline(never)]
    fn retire_recorded(&mut self, block: &Block<'_>) -> bool {
        let Self { timing, recorder: Some(recorder) } = self else { return false };
        let mut recorder = recorder.borrow_mut();
        let Some(timing) = timing else {
            recorder.retire(block);
            return false;
        };
        if block.count <= 1 {
            return retire_one(&mut recorder, timing, block);
        }
        // Each by itself, so that the model says what each has added.
        let (first, count) = (usize::from(block.first), usize::from(block.count));
        let extents: Vec<(u16, u16)> = recorder.extents(block.id).skip(first).take(count).collect();
        let (mut due, mut rest) = (false, block.memory);
        for (number, (begin, end)) in (block.first..).zip(extents) {
            let own = rest.iter().take_while(|access| access.owner <= number).count();
            let (memory, others) = rest.split_at(own);
            rest = others;
            let is_last = end == block.end;
            let part = Block {
                first: number,
                count: 1,
                whole: false,
                memory,
                branch: block.branch.filter(|_| is_last),
                last: begin,
                end,
                ..*block
            };
            due |= retire_one(&mut recorder, timing, &part);
        }
        due
    }
}

fn retire_one(recorder: &mut Recorder, timing: &mut Timing, block: &Block<'_>) -> bool {
    let due = timing.retire(block);
    // What the other level has had of the last cycle.
    charge_level(recorder, &timing.core, !block.user);
    recorder.retire(block);
    charge_level(recorder, &timing.core, block.user);
    due
}

/// What the model has counted since the last time belongs to what retired last.
pub(super) fn charge(recorder: &mut Recorder, core: &SharedCore) {
    charge_level(recorder, core, false);
    charge_level(recorder, core, true);
}

fn charge_level(recorder: &mut Recorder, core: &SharedCore, user: bool) {
    recorder.charge(user, modelled(core.drive().totals(user)));
}

/// In the order of [`MODELLED`](crate::recording::data::MODELLED).
fn modelled(totals: &CoreTotals) -> Modelled {
    let slots = &totals.slots;
    let mispredicted =
        totals.branches.iter().map(|kind| kind.mispredicted_taken + kind.mispredicted_not_taken).sum();
    Modelled([
        totals.cycles,
        slots.light_operations,
        slots.heavy_operations,
        slots.branch_mispredicts,
        slots.machine_clears,
        slots.fetch_latency,
        slots.fetch_bandwidth,
        slots.memory_bound,
        slots.core_bound,
        mispredicted,
        totals.l1_misses,
        totals.l2_misses,
        totals.l3_misses,
    ])
}

impl Observer for Observers {
    fn define(&mut self, instructions: &[Instruction]) -> BlockId {
        let Self { timing, recorder } = self;
        let mut recorder = recorder.as_ref().map(|recorder| recorder.borrow_mut());
        let block = match (timing, &mut recorder) {
            (Some(timing), _) => timing.define(instructions),
            (None, Some(recorder)) => recorder.name(),
            (None, None) => BlockId { index: 0, generation: 0 },
        };
        if let Some(recorder) = &mut recorder {
            recorder.define(block, instructions);
        }
        block
    }

    fn release(&mut self, block: BlockId) {
        match (&mut self.timing, &self.recorder) {
            (Some(timing), _) => timing.release(block),
            (None, Some(recorder)) => recorder.borrow_mut().release(block),
            (None, None) => {}
        }
    }

    #[inline]
    fn retire(&mut self, block: &Block<'_>) -> bool {
        match self {
            Self { timing: Some(timing), recorder: None } => timing.retire(block),
            _ => self.retire_recorded(block),
        }
    }

    #[inline]
    fn quiet_horizon(&mut self) -> u64 {
        self.timing.as_mut().map_or(u64::MAX, Observer::quiet_horizon)
    }

    fn event(&mut self, event: CoreEvent) {
        if let Some(timing) = &mut self.timing {
            timing.event(event);
        }
    }
}
