//! The pipeline, the world around it, and what is remembered of their past.

use crate::core::Core;
use crate::memo::{Memo, Whereabouts};
use crate::pipeline::Pipeline;
use crate::prepared::Prepared;
use crate::step::{BlockId, BlockStep, Predicted, Step};
use crate::totals::CoreTotals;
use crate::world::World;
use retire::CoreEvent;

#[derive(Debug)]
pub(crate) struct Machine {
    pipeline: Pipeline,
    world: World,
    memo: Memo,
    place: Whereabouts,
}

impl Machine {
    pub(crate) fn new(core: &'static Core, units: &[String], ports_only: bool) -> Self {
        Self {
            pipeline: Pipeline::new(core, units, ports_only),
            world: World::new(core),
            memo: Memo::new(),
            place: Whereabouts::Here(None),
        }
    }

    #[inline(always)]
    pub(crate) fn cycles(&self) -> u64 {
        match self.place {
            Whereabouts::Here(_) => self.pipeline.cycles(),
            Whereabouts::Away { cycle, .. } => cycle,
        }
    }

    /// Brings the pipeline to where it would be, because something other than a known block comes.
    fn come_back(&mut self) {
        if let Whereabouts::Away { state, cycle } = self.place {
            self.memo.restore(&mut self.pipeline, state, cycle);
        }
        self.place = Whereabouts::Here(None);
    }

    /// Adds everything to the totals that belongs to them.
    pub(crate) fn settle(&mut self, totals: &mut CoreTotals) {
        self.memo.settle(totals);
    }

    pub(crate) fn end_cycle(&mut self, totals: &mut CoreTotals) {
        self.come_back();
        self.settle(totals);
        self.pipeline.end_cycle(totals);
        // Else it would depend on what is remembered to which level the last cycles are booked.
        self.pipeline.back_end.settle(totals);
    }

    pub(crate) fn retire(
        &mut self,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        step: &Predicted<Step<'_>>,
    ) {
        self.come_back();
        self.pipeline.retire(&mut self.world, totals, prepared, step);
    }

    pub(crate) fn retire_block(&mut self, totals: &mut CoreTotals, block: &Predicted<BlockStep<'_>>) {
        if self.pipeline.ports_only {
            let outcome = block.outcome;
            let steps = block.steps().map(|(prepared, step)| (prepared, Predicted { step, outcome }));
            steps.for_each(|(prepared, step)| self.retire(totals, prepared, &step));
            return;
        }
        let known = block.id.and_then(|id| self.known_place(totals, id));
        let Some((state, cycle)) = known else {
            self.come_back();
            self.pipeline.retire_block(&mut self.world, totals, block);
            return;
        };
        let Self { pipeline, world, memo, place } = self;
        if let Some((state, cycle)) = memo.replay(world, totals, (state, cycle), block) {
            *place = Whereabouts::Away { state, cycle };
            return;
        }
        if let Whereabouts::Away { state, cycle } = *place {
            memo.restore(pipeline, state, cycle);
        }
        *place = Whereabouts::Here(memo.record(pipeline, world, totals, state, block));
    }

    /// State and cycle, if there is any use in them.
    #[inline(always)]
    fn known_place(&mut self, totals: &mut CoreTotals, block: BlockId) -> Option<(u32, u64)> {
        match self.place {
            Whereabouts::Away { state, cycle } => Some((state, cycle)),
            Whereabouts::Here(Some(state)) => Some((state, self.pipeline.cycles())),
            Whereabouts::Here(None) if !self.memo.looks(block) => None,
            Whereabouts::Here(None) => {
                if !self.memo.recognises(&mut self.pipeline) {
                    return None;
                }
                self.pipeline.back_end.settle(totals);
                let state = self.memo.number(&self.pipeline)?;
                Some((state, self.pipeline.cycles()))
            }
        }
    }

    /// From now on books how many instructions retire in each cycle.
    pub(crate) fn count_instructions(&mut self, totals: &mut CoreTotals) {
        if self.pipeline.back_end.counts_instructions() {
            return;
        }
        self.come_back();
        // What is remembered does not have it.
        self.memo.clear(totals);
        self.pipeline.back_end.count_instructions();
    }

    /// From now on books the floating-point operations beyond so many in a cycle; the first limit stays.
    pub(crate) fn limit_flops(&mut self, totals: &mut CoreTotals, limit: u32) {
        if self.pipeline.back_end.limits_flops() {
            return;
        }
        self.come_back();
        // What is remembered does not have it.
        self.memo.clear(totals);
        self.pipeline.back_end.limit_flops(limit);
    }

    pub(crate) fn event(&mut self, totals: &mut CoreTotals, event: CoreEvent) {
        self.come_back();
        let Self { pipeline, world, .. } = self;
        match event {
            CoreEvent::Interrupt { .. } => pipeline.interrupt(totals),
            CoreEvent::Assist { kind, .. } => pipeline.assist(totals, kind),
            CoreEvent::Serialise | CoreEvent::Halt => pipeline.back_end.drain(totals),
            CoreEvent::TlbFlush => {
                world.tlbs.flush();
                pipeline.front_end.forget_page();
            }
            CoreEvent::InvalidatePage(linear) => {
                world.tlbs.forget(linear);
                pipeline.front_end.forget_page();
            }
            CoreEvent::CodeWritten(physical) => {
                if world.code.forget_line(physical) {
                    pipeline.front_end.forget_line();
                    pipeline.code_written(totals);
                }
            }
            CoreEvent::LineWritten(physical) | CoreEvent::LineFlushed(physical) => {
                world.caches.flush_line(physical >> 6);
                if world.code.forget_line(physical) {
                    pipeline.front_end.forget_line();
                }
            }
            CoreEvent::CachesFlushed => {
                world.caches.flush();
                world.code.flush();
                pipeline.front_end.forget_page();
                pipeline.front_end.forget_line();
            }
            // It has no predictor.
            CoreEvent::PredictorBarrier => {}
        }
    }
}
