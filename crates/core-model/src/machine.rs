//! The machine: the pipeline, the memory around it, what is remembered of their past, and the totals of what they
//! did at each privilege level.

use crate::back_end::Units;
use crate::core::Core;
use crate::instruction::{Definition, Definitions, Predicted};
use crate::memo::{Memo, PipelinePosition};
use crate::memory::MemorySystem;
use crate::pipeline::Pipeline;
use crate::totals::CoreTotals;
use retire::{BlockId, CoreEvent};

#[derive(Debug)]
pub(crate) struct Machine {
    definitions: Definitions,
    pipeline: Pipeline,
    system: MemorySystem,
    memo: Memo,
    position: PipelinePosition,
    user: bool,
    /// Of kernel and user mode.
    totals: [CoreTotals; 2],
}

impl Machine {
    pub(crate) fn new(core: &'static Core, units: &Units<'_>, registers: u32) -> Self {
        Self {
            definitions: Definitions::default(),
            pipeline: Pipeline::new(core, units, registers),
            system: MemorySystem::new(core),
            memo: Memo::new(),
            position: PipelinePosition::Live(None),
            user: false,
            totals: Default::default(),
        }
    }

    pub(crate) fn define(&mut self, id: BlockId, definition: Definition) {
        self.definitions.define(id, definition);
    }

    /// Core cycles until now.
    #[inline(always)]
    pub(crate) fn cycles(&self) -> u64 {
        match self.position {
            PipelinePosition::Live(_) => self.pipeline.cycles(),
            PipelinePosition::Memoised { cycle, .. } => cycle,
        }
    }

    /// Running totals of a privilege level, with all cycles until now.
    pub(crate) fn totals(&mut self, user: bool) -> &CoreTotals {
        let now = &mut self.totals[usize::from(self.user)];
        if matches!(self.position, PipelinePosition::Live(_)) {
            // Known states have no such cycles: what is read must not depend on what is remembered.
            self.pipeline.back_end.settle(now);
        }
        self.memo.settle(now);
        &self.totals[usize::from(user)]
    }

    pub(crate) fn retire(&mut self, block: &Predicted<'_>) {
        if block.user != self.user {
            self.switch_to(block.user);
        }
        let Self { definitions, pipeline, system, memo, position, user, totals } = self;
        let Some(definition) = definitions.get(block.id) else { return };
        let totals = &mut totals[usize::from(*user)];
        // What is remembered is remembered of whole blocks.
        let known = match *position {
            _ if !block.whole => None,
            PipelinePosition::Memoised { state, cycle } => Some((state, cycle)),
            PipelinePosition::Live(Some(state)) => Some((state, pipeline.cycles())),
            PipelinePosition::Live(None) if !definition.repeatable => None,
            PipelinePosition::Live(None) => memo.look(pipeline, totals, block),
        };
        if let Some(known) = known
            && let Some((state, cycle)) = memo.replay(system, totals, known, block)
        {
            *position = PipelinePosition::Memoised { state, cycle };
            return;
        }
        memo.resume(pipeline, *position);
        *position = PipelinePosition::Live(match known {
            Some((state, _)) if definition.repeatable => {
                memo.record(pipeline, system, totals, state, definition, block)
            }
            _ => {
                pipeline.retire(system, totals, definition, block);
                None
            }
        });
    }

    /// From now on books how many instructions retire in each cycle.
    pub(crate) fn count_instructions(&mut self) {
        if !self.pipeline.back_end.counts_instructions() {
            self.forget();
            self.pipeline.back_end.count_instructions();
        }
    }

    /// From now on books the floating-point operations beyond so many in a cycle; the first limit stays.
    pub(crate) fn limit_flops(&mut self, limit: u32) {
        if !self.pipeline.back_end.limits_flops() {
            self.forget();
            self.pipeline.back_end.limit_flops(limit);
        }
    }

    /// From now on counts loads of more than so many cycles.
    pub(crate) fn count_slow_loads(&mut self, cycles: u64) {
        self.system.slow_load = cycles;
    }

    /// Forgets what is remembered, which is right no more.
    pub(crate) fn forget(&mut self) {
        self.go_live();
        self.memo.clear(&mut self.totals[usize::from(self.user)]);
    }

    pub(crate) fn event(&mut self, event: CoreEvent) {
        if let CoreEvent::Assist { user, .. } = event
            && user != self.user
        {
            self.switch_to(user);
        }
        self.go_live();
        let Self { pipeline, system, .. } = self;
        let totals = &mut self.totals[usize::from(self.user)];
        match event {
            CoreEvent::Interrupt { .. } => pipeline.interrupt(totals),
            CoreEvent::Assist { kind, .. } => pipeline.assist(totals, kind),
            CoreEvent::Serialise | CoreEvent::Halt => pipeline.back_end.drain(totals),
            CoreEvent::TlbFlush => {
                system.tlbs.flush();
                pipeline.front_end.forget_page();
            }
            CoreEvent::InvalidatePage(linear) => {
                system.tlbs.forget(linear);
                pipeline.front_end.forget_page();
            }
            CoreEvent::CodeWritten(physical) => {
                if system.code.forget_line(physical) {
                    pipeline.front_end.forget_line();
                    pipeline.code_written(totals);
                }
            }
            CoreEvent::LineWritten(physical) | CoreEvent::LineFlushed(physical) => {
                system.caches.flush_line(physical >> 6);
                if system.code.forget_line(physical) {
                    pipeline.front_end.forget_line();
                }
            }
            CoreEvent::CachesFlushed => {
                system.caches.flush();
                system.code.flush();
                pipeline.front_end.forget_page();
                pipeline.front_end.forget_line();
            }
            // The predictor is not part of the machine.
            CoreEvent::PredictorBarrier => {}
        }
        if let CoreEvent::Interrupt { user } = event
            && user != self.user
        {
            self.switch_to(user);
        }
    }

    /// Brings the pipeline to where it would be, because something other than a known block comes.
    fn go_live(&mut self) {
        self.memo.resume(&mut self.pipeline, self.position);
        self.position = PipelinePosition::Live(None);
    }

    /// Ends the current cycle, so that every cycle belongs to one privilege level.
    fn switch_to(&mut self, user: bool) {
        self.go_live();
        let totals = &mut self.totals[usize::from(self.user)];
        self.memo.settle(totals);
        self.pipeline.back_end.end_cycle(totals);
        // Else it would depend on what is remembered to which level the last cycles are booked.
        self.pipeline.back_end.settle(totals);
        self.user = user;
    }
}
