//! The model of a vCPU's core, and when one of its counters can overflow.

use super::probe::Probe;
use super::quantity::{Clocks, Quantity};
use super::{TimingError, core_of};
use crate::counts::watch::{Rate, Watch};
use core_model::{CoreTotals, Isa, Model, Sampling, SamplingReport, Uncore};
use retire::{Block, BlockId, CoreEvent, Instruction, Observer};
use soft_cpu::Operations;
use std::cell::{RefCell, RefMut};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;
use vpmu::source::PrivilegeFilter;
use vpmu::{Active, Profile};

/// More cycles than any instruction takes on average over a block: two page walks, and a line from memory behind all
/// others that can be on their way; and the latency of memory that may be asked for.
const MOST_CYCLES: u64 = 2048 + Uncore::MOST_LATENCY as u64;

/// A horizon of so many instructions is not worked out anew.
const ENOUGH: u64 = 1024;

/// The model of the vCPU's core, and what it must not run past.
#[derive(Debug)]
pub struct TimingCore {
    model: Model,
    /// Branches that went into the guest's records, at CPL 0 and above it.
    branch_records: [u64; 2],
    clocks: Clocks,
    /// What the CPU counts by itself.
    operations: Arc<Operations>,
    watches: Vec<(Watch<Quantity>, Rate)>,
    /// Cycle at which the engine wants the run to end.
    timer: u64,
    /// Nothing can be due before this cycle and this many instructions.
    quiet_until: u64,
    quiet_for: u64,
    /// What is left of the last [`quiet_horizon`](Observer::quiet_horizon), as long as nothing else has happened.
    quiet: u64,
}

impl TimingCore {
    /// Core cycles since boot, without halted time.
    #[must_use]
    pub fn cycles(&mut self) -> u64 {
        self.model.cycles()
    }

    /// Uops that it dispatches in a cycle.
    pub(super) fn width(&self) -> u64 {
        u64::from(self.model.core().dispatch_width).max(1)
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// From now on only samples go through the model's pipeline.
    pub fn sample(&mut self, sampling: Sampling) {
        self.model.sample(sampling);
    }

    /// What sampling has come to; `None` without.
    #[must_use]
    pub fn sampling(&mut self) -> Option<SamplingReport> {
        self.model.sampling()
    }

    /// The model's running totals of one privilege level.
    #[must_use]
    pub fn totals(&mut self, user: bool) -> &CoreTotals {
        self.model.totals(user)
    }

    /// What has been booked so far of what a precise sample is asked about.
    pub fn probe(&mut self) -> Probe {
        let mut probe = Probe::default();
        for user in [false, true] {
            probe.add(self.model.totals(user));
        }
        probe
    }

    /// From now on operations by type are those that this CPU counts.
    pub(crate) fn follow_operations(&mut self, operations: &Arc<Operations>) {
        self.operations = operations.clone();
    }

    /// A branch, not yet retired, goes into the guest's records.
    pub fn count_branch_record(&mut self, user: bool) {
        self.branch_records[usize::from(user)] += 1;
    }

    /// To be called before the core runs on: it must not run past this cycle.
    pub fn arm(&mut self, timer: u64) {
        self.timer = timer;
        self.quiet = 0;
        self.rest();
    }

    /// What is added at the privilege levels of a filter.
    pub(super) fn sum(&mut self, quantity: &Quantity, filter: PrivilegeFilter) -> u64 {
        if let Quantity::Operations(selection) = quantity {
            return selection.sum(&self.operations, filter);
        }
        let mut of = |user: bool| {
            let records = self.branch_records[usize::from(user)];
            quantity.of(self.model.totals(user), records, self.clocks)
        };
        let os = if filter.os { of(false) } else { 0 };
        let usr = if filter.usr { of(true) } else { 0 };
        os + usr
    }

    /// From now on the model keeps what a quantity needs and what it does not keep by itself.
    pub(super) fn prepare(&mut self, quantity: &Quantity) {
        match *quantity {
            Quantity::InstructionsByCycle(_) => self.model.count_instructions_by_cycle(),
            Quantity::SlowLoads(cycles) => self.model.count_slow_loads(cycles),
            Quantity::Flops(_, Some(limit)) => self.model.count_lost_flops(limit),
            _ => {}
        }
    }

    /// Stops runs at the overflows of these counters: what each counts, and how fast that grows.
    pub(super) fn watch(&mut self, counters: Vec<(&Active, Quantity, Rate)>) {
        self.watches.clear();
        for (counter, quantity, rate) in counters {
            let now = self.sum(&quantity, counter.filter);
            self.watches.push((Watch::new(counter, quantity, now), rate));
        }
    }

    /// Writes everything that the model knows to the log, to compare two versions of it.
    pub fn log_totals(&mut self) {
        if !log::log_enabled!(log::Level::Trace) {
            return;
        }
        for (level, user) in [("0", false), ("3", true)] {
            log::trace!("totals of the model at CPL {level}: {:?}", self.model.totals(user));
        }
    }

    #[inline(never)]
    fn is_due(&mut self) -> bool {
        let overflown = self.rest();
        overflown || self.cycles() >= self.timer
    }

    /// Finds out for how long nothing can be due. True if a counter has overflowed.
    fn rest(&mut self) -> bool {
        let now = self.cycles();
        (self.quiet_until, self.quiet_for) = (self.timer, u64::MAX);
        let mut overflown = false;
        let watches = std::mem::take(&mut self.watches);
        for (watch, rate) in &watches {
            let left = watch.left(self.sum(&watch.quantity, watch.filter));
            overflown |= left == 0;
            match *rate {
                // A cycle that is not over yet may have been booked in part.
                Rate::Cycle(most) => {
                    let cycles = (left / most).saturating_sub(1);
                    self.quiet_until = self.quiet_until.min(now.saturating_add(cycles));
                }
                Rate::Instruction(most) => {
                    self.quiet_for = self.quiet_for.min(left.div_ceil(most).max(1));
                }
                Rate::Unbounded => self.quiet_for = 1,
            }
        }
        self.watches = watches;
        overflown
    }
}

impl Observer for TimingCore {
    fn define(&mut self, instructions: &[Instruction]) -> BlockId {
        self.model.define(instructions)
    }

    fn release(&mut self, block: BlockId) {
        self.model.release(block);
    }

    /// True if a counter has overflowed with the last of the instructions, or the time has come that
    /// [`arm`](Self::arm) was given.
    #[inline]
    fn retire(&mut self, block: &Block<'_>) -> bool {
        self.model.retire(block);
        let count = u64::from(block.count);
        self.quiet_for = self.quiet_for.saturating_sub(count);
        // Each access of a single instruction, which may have many, may be a line from memory.
        let weight = if block.whole { count } else { count + block.memory.len() as u64 };
        if self.quiet >= weight {
            self.quiet -= weight;
            return false;
        }
        self.quiet = 0;
        (self.quiet_for == 0 || self.cycles() >= self.quiet_until) && self.is_due()
    }

    /// Instructions within which no counter can overflow and no timer can be due, if nothing else happens.
    fn quiet_horizon(&mut self) -> u64 {
        if self.quiet < ENOUGH {
            let cycles = self.quiet_until.saturating_sub(self.cycles());
            let by_cycles = cycles.saturating_sub(1) / MOST_CYCLES;
            self.quiet = by_cycles.min(self.quiet_for.saturating_sub(1));
        }
        self.model.expect_quiet(self.quiet);
        self.quiet
    }

    fn event(&mut self, event: CoreEvent) {
        self.model.event(event);
        self.quiet = 0;
    }
}

/// The core, shared by the engine, which feeds it, and the counts source, which reads it.
#[derive(Debug, Clone)]
pub struct SharedCore(Rc<RefCell<TimingCore>>);

impl SharedCore {
    /// The core of this profile's CPU, with everything cold.
    ///
    /// # Errors
    /// There is no model of it.
    pub fn new(profile: &Profile) -> Result<Self, TimingError> {
        let core = core_of(profile)
            .ok_or(TimingError::NoModel { profile: profile.name.to_string(), core: profile.core })?;
        let set = match core.isa {
            Isa::X86 => soft_cpu::describe::X86,
            Isa::A64 => arm_cpu::describe::A64,
        };
        let model =
            Model::new(core, &set).map_err(|reason| TimingError::Table { core: core.name, reason })?;
        Ok(Self(Rc::new(RefCell::new(TimingCore {
            model,
            branch_records: [0; 2],
            operations: Arc::default(),
            clocks: Clocks { crystal_hz: profile.crystal_hz.into(), tsc_hz: profile.tsc_hz.max(1) },
            watches: Vec::new(),
            timer: u64::MAX,
            quiet_until: u64::MAX,
            quiet_for: u64::MAX,
            quiet: 0,
        }))))
    }

    /// The same with this outside of it, on so many threads: with a second one the model may work there. No count
    /// depends on that.
    ///
    /// # Errors
    /// There is no model of it.
    pub fn on_threads(profile: &Profile, uncore: Uncore, threads: NonZeroUsize) -> Result<Self, TimingError> {
        let core = Self::new(profile)?;
        core.drive().model.set_uncore(uncore);
        if threads.get() > 1 {
            core.drive().model.start_thread();
        }
        Ok(core)
    }

    /// The core, to be driven.
    #[inline(always)]
    #[must_use]
    pub fn drive(&self) -> RefMut<'_, TimingCore> {
        self.0.borrow_mut()
    }
}
