//! The machine: the pipeline, the memory around it, what is remembered of their past, and the totals of what they
//! did at each privilege level.

use crate::back_end::Units;
use crate::core::{Core, Geometry, Uncore};
use crate::instruction::{Definition, Definitions, Predicted};
use crate::memo::{Memo, PipelinePosition};
use crate::memory::MemorySystem;
use crate::pipeline::Pipeline;
use crate::sampling::{Phase, Sampler, Sampling, SamplingReport};
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
    /// Only a part goes through the pipeline.
    sampler: Option<Box<Sampler>>,
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
            sampler: None,
        }
    }

    /// True if what has retired last was known: nothing was worked out for it.
    #[cfg(test)]
    pub(crate) fn is_memoised(&self) -> bool {
        matches!(self.position, PipelinePosition::Memoised { .. })
    }

    /// Instructions go through the code that asks for what few cores have.
    #[cfg(test)]
    pub(crate) fn ask_for_quirks(&mut self) {
        self.pipeline.has_quirks = true;
    }

    pub(crate) fn define(&mut self, id: BlockId, definition: Definition) {
        self.definitions.define(id, definition);
    }

    /// Core cycles until now.
    #[inline(always)]
    pub(crate) fn cycles(&self) -> u64 {
        if let Some(sampler) = self.between() {
            return sampler.cycle();
        }
        match self.position {
            PipelinePosition::Live(_) => self.pipeline.cycles(),
            PipelinePosition::Memoised { cycle, .. } => cycle,
        }
    }

    /// Running totals of a privilege level, with all cycles until now.
    pub(crate) fn totals(&mut self, user: bool) -> &CoreTotals {
        self.book();
        &self.totals[usize::from(user)]
    }

    /// Books everything until now.
    fn book(&mut self) {
        if let Some(sampler) = &mut self.sampler
            && sampler.phase == Phase::Between
        {
            return sampler.book(&mut self.totals);
        }
        let now = &mut self.totals[usize::from(self.user)];
        if matches!(self.position, PipelinePosition::Live(_)) {
            // Known states have no such cycles: what is read must not depend on what is remembered.
            self.pipeline.back_end.settle(now);
        }
        self.memo.settle(now);
    }

    pub(crate) fn retire(&mut self, block: &Predicted<'_>) {
        if block.user != self.user {
            self.switch_to(block.user);
        }
        if self.sampler.is_some() {
            return self.retire_sampled(block);
        }
        self.retire_in_detail(block);
    }

    #[inline(always)]
    fn retire_in_detail(&mut self, block: &Predicted<'_>) {
        let Self { definitions, pipeline, system, memo, position, user, totals, .. } = self;
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

    /// Changes what the core, which has this last level, finds outside of itself.
    pub(crate) fn set_uncore(&mut self, llc: Geometry, uncore: Uncore) {
        self.system.caches.set_uncore(llc, uncore);
    }

    /// From now on only samples go through the pipeline.
    pub(crate) fn sample(&mut self, sampling: Sampling) {
        self.sampler = Some(Box::new(Sampler::new(sampling)));
    }

    /// What sampling has come to, if there is any.
    pub(crate) fn sampling(&self) -> Option<SamplingReport> {
        self.sampler.as_ref().map(|sampler| sampler.report())
    }

    /// The sampler if no sample is being taken.
    #[inline(always)]
    fn between(&self) -> Option<&Sampler> {
        self.sampler.as_deref().filter(|sampler| sampler.phase == Phase::Between)
    }

    #[inline(never)]
    fn retire_sampled(&mut self, block: &Predicted<'_>) {
        if self.between().is_some() {
            self.pass(block);
        } else {
            self.retire_in_detail(block);
        }
        if self.sampler.as_mut().is_some_and(|sampler| sampler.is_over(block.count)) {
            self.change_phase();
        }
    }

    /// Counts a block, and leaves its traces in caches.
    fn pass(&mut self, block: &Predicted<'_>) {
        let Self { definitions, system, sampler: Some(sampler), user, totals, .. } = self else { return };
        let Some(definition) = definitions.get(block.id) else { return };
        let at = sampler.pass(*user, block.count);
        let instructions = definition.retired(block);
        let totals = &mut totals[usize::from(*user)];
        totals.instructions += instructions.len() as u64;
        if let Some(branch) = &block.branch {
            totals.count_branch(branch, block.outcome.mispredicted);
        }
        let Sampler { ignored, fetched, .. } = &mut **sampler;
        system.warm(ignored, fetched, instructions, block, at);
    }

    /// The next phase of sampling begins.
    fn change_phase(&mut self) {
        if self.between().is_none() {
            self.go_live();
        }
        self.book();
        let Self { pipeline, sampler: Some(sampler), totals, user, .. } = self else { return };
        match sampler.phase {
            Phase::WarmUp => sampler.begin_unit(totals),
            Phase::Unit => {
                sampler.end_unit(totals);
                // Allocation was ahead of retirement by this, as it will be again behind the next empty pipeline.
                pipeline.back_end.drain(&mut totals[usize::from(*user)]);
                sampler.base = pipeline.cycles();
            }
            Phase::Between => {
                let cycle = sampler.cycle();
                pipeline.skip_to(&mut sampler.ignored, cycle);
                sampler.warm_up();
            }
        }
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
        let before = pipeline.cycles();
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
        if let Some(sampler) = &mut self.sampler {
            // Between samples its cycles come on top.
            sampler.base += self.pipeline.cycles() - before;
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
        if self.between().is_some() {
            self.user = user;
            return;
        }
        self.go_live();
        let totals = &mut self.totals[usize::from(self.user)];
        self.memo.settle(totals);
        self.pipeline.back_end.end_cycle(totals);
        // Else it would depend on what is remembered to which level the last cycles are booked.
        self.pipeline.back_end.settle(totals);
        self.user = user;
    }
}
