//! The soft engine for x86-64.

mod branches;
mod bus;
mod cpuid;
mod observers;
mod precise;

pub(in crate::engine) use self::bus::{Principal, SoftBus};
pub(in crate::engine) use self::cpuid::silicon;
use self::observers::{Observers, SharedRecorder};
use self::precise::Store;
use super::MAX_TOTAL;
use super::clock::Clock;
use super::debug::Attached;
use super::ram::Ram;
use super::run::{self, Pause, Until, Vcpu};
use crate::counts::model::Retired;
use crate::counts::operations;
use crate::counts::switched::Published;
use crate::counts::timing::{Probe, SharedCore};
use crate::engine::paging::Paging;
use crate::engine::{
    DebugStops, Debugger, Debugging, Detail, Engine, EngineError, EngineReport, RegisterDump, Registers,
    RunLimits, Snapshots, Stop, VcpuState, dump,
};
use crate::machine::x86::Pc;
use crate::machine::{Machine, Outcome, StateError};
use crate::recording::recorder::Recorder;
use platform::loader::x86::{BootState, SegmentState};
use platform::memory::GuestMemory;
use serde::{Deserialize, Serialize};
use soft_cpu::compiled::Compiler;
use soft_cpu::{
    Budget, Cpu, DescriptorTable, Exit, RFLAGS_IF, Sampling, Segment, State, Totals, Unimplemented,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use vpmu::Profile;
use vpmu::ibs::{IbsSample, IbsTags};

/// The page of documentation about the instructions that the engine executes.
#[must_use]
pub fn instructions_page() -> String {
    soft_cpu::coverage::markdown::<SoftBus<'_, false>>()
}

/// Where a run of a program stops, whatever comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Goal {
    /// Instructions retired since boot.
    pub(crate) instructions: u64,
    /// Those of them above CPL 0.
    pub(crate) user: u64,
    /// Linear addresses of instructions, before which to stop; the one at RIP is executed.
    pub(crate) stops: Vec<u64>,
}

impl Default for Goal {
    fn default() -> Self {
        Self { instructions: u64::MAX, user: u64::MAX, stops: Vec::new() }
    }
}

/// The interpreter with one vCPU.
#[derive(Debug)]
pub struct SoftEngine {
    state: State,
    totals: Totals,
    unimplemented: Vec<Unimplemented>,
    clock: Clock,
    profile: Profile,
    memory: GuestMemory,
    retired: Retired<Totals>,
    timing: Option<SharedCore>,
    /// A model that observes nothing now.
    parked: Option<SharedCore>,
    published: Published,
    compiles: bool,
    recorder: Option<SharedRecorder>,
    debugger: Attached<State>,
    exits: Exits,
}

/// The saved state of a [`SoftEngine`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftState {
    cpu: State,
    totals: Totals,
    /// Operations by type, if they have been wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    operations: Vec<u64>,
    unimplemented: Vec<Unimplemented>,
    /// TSC ticks for which the CPU was halted or waited for a device.
    idle_ticks: u64,
}

impl SoftState {
    /// Instructions retired since boot.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.totals.instructions()
    }
}

/// How often the CPU returned, by reason.
#[derive(Debug, Default)]
struct Exits {
    budget: u64,
    attention: u64,
    window: u64,
    halt: u64,
    yields: u64,
}

impl SoftEngine {
    /// An engine for a guest with this RAM and PMU.
    #[must_use]
    pub fn new(memory: &GuestMemory, profile: &Profile) -> Self {
        Self {
            state: State::default(),
            totals: Totals::default(),
            unimplemented: Vec::new(),
            clock: Clock::new(profile.tsc_hz.max(1), 0),
            profile: profile.clone(),
            memory: memory.clone(),
            retired: Retired::default(),
            timing: None,
            parked: None,
            published: Published::default(),
            compiles: false,
            recorder: None,
            debugger: Attached::default(),
            exits: Exits::default(),
        }
    }

    /// The same engine with a model of the core: guest time is what the model says.
    #[must_use]
    pub fn with_model(mut self, core: SharedCore) -> Self {
        core.drive().follow_operations(self.retired.operations());
        self.timing = Some(core);
        self
    }

    /// The same engine with a model of the core that observes nothing until the machine
    /// [wants](Machine::model_intervals) it to.
    #[must_use]
    pub fn with_parked_model(mut self, core: SharedCore) -> Self {
        core.drive().follow_operations(self.retired.operations());
        self.parked = Some(core);
        self
    }

    /// The same engine, which compiles hot blocks where no model of the core looks on. Nothing that the guest or a
    /// report shows depends on it.
    #[must_use]
    pub fn with_compiler(mut self, on: bool) -> Self {
        self.compiles = on;
        self
    }

    /// From here on a model of the core observes what retires; time goes on from where it is.
    pub(crate) fn start_model(&mut self, core: SharedCore) {
        core.drive().follow_operations(self.retired.operations());
        self.clock.recount(core.drive().cycles());
        self.timing = Some(core);
    }

    /// The model observes what retires from here on, or no longer; time and counts go on from where they are.
    fn switch_model(&mut self, on: bool, machine: &mut Machine<Pc>) {
        if on != self.timing.is_some() {
            std::mem::swap(&mut self.timing, &mut self.parked);
            let cycles = match &self.timing {
                Some(core) => core.drive().cycles(),
                None => self.totals.instructions() + self.totals.repetitions(),
            };
            self.clock.recount(cycles);
            self.published.hold(on, &self.totals);
        }
        machine.model_switched();
    }

    /// From here on what retires is recorded.
    pub(crate) fn start_recorder(&mut self, mut recorder: Recorder) {
        if let Some(core) = &self.timing {
            // What the model has counted until here belongs to nothing that is recorded.
            observers::charge(&mut recorder, core);
        }
        recorder.switch(self.state.cr3, true);
        self.recorder = Some(Rc::new(RefCell::new(recorder)));
    }

    /// From here on the recorder counts what retires, or only follows it.
    pub(crate) fn set_recording(&mut self, counts: bool) {
        if let Some(recorder) = &self.recorder {
            let mut recorder = recorder.borrow_mut();
            if let Some(core) = &self.timing {
                observers::charge(&mut recorder, core);
            }
            recorder.switch(self.state.cr3, counts);
        }
    }

    /// What has been recorded, which ends here.
    pub(crate) fn take_recorder(&mut self) -> Option<Recorder> {
        let recorder = Rc::into_inner(self.recorder.take()?)?;
        let mut recorder = recorder.into_inner();
        if let Some(core) = &self.timing {
            observers::charge(&mut recorder, core);
        }
        Some(recorder)
    }

    /// The CPU between two runs.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Instructions retired since boot.
    pub(crate) fn instructions(&self) -> u64 {
        self.totals.instructions()
    }

    /// Those of them above CPL 0.
    pub(crate) fn user_instructions(&self) -> u64 {
        self.totals.usr().instructions
    }

    /// Runs until the machine has an outcome, a program wants a pause, or the goal is reached: `None`.
    pub(crate) fn run_to(
        &mut self,
        machine: &mut Machine<Pc>,
        limits: RunLimits,
        goal: &Goal,
    ) -> Option<Outcome> {
        if self.timing.is_some() || self.recorder.is_some() {
            self.run_on::<true>(machine, limits, goal)
        } else {
            self.run_on::<false>(machine, limits, goal)
        }
    }

    /// The guest's page tables: CR3.
    pub(crate) fn address_space(&self) -> u64 {
        self.state.cr3
    }

    /// TSC rate that the guest sees: the profile's.
    #[must_use]
    pub fn tsc_hz(&self) -> u64 {
        self.profile.tsc_hz.max(1)
    }

    /// Where the engine publishes what has retired, for [`crate::counts::model::ModelSource`].
    #[must_use]
    pub fn retired(&self) -> Retired<Totals> {
        self.retired.clone()
    }

    /// [`run_to`](Self::run_to), `OBSERVED` with a model of the core or a recorder.
    fn run_on<const OBSERVED: bool>(
        &mut self,
        machine: &mut Machine<Pc>,
        limits: RunLimits,
        goal: &Goal,
    ) -> Option<Outcome> {
        let mut cpu = Cpu::resume(&self.state, &self.totals, std::mem::take(&mut self.unimplemented))
            .with_silicon(silicon(&self.profile))
            .with_features(cpuid::features(&self.profile));
        if let Some(types) = operations::types(&self.profile) {
            cpu = cpu.with_operations(self.retired.operations().clone(), types);
        }
        let ram = Ram::new(&self.memory);
        if self.compiles
            && !OBSERVED
            && let Some(compiler) = compiler(&ram)
        {
            cpu = cpu.with_compiler(compiler);
        }
        let mut bus = SoftBus::<OBSERVED>::new(
            machine,
            ram,
            &self.profile,
            self.retired.clone(),
            Observers::new(self.timing.clone(), self.recorder.clone()),
            self.clock,
        );
        bus.published = self.published;
        if !goal.stops.is_empty() {
            cpu.set_debug_stops(DebugStops { execute: goal.stops.clone(), ..DebugStops::default() });
        }
        let tags = IbsTags::default();
        let mut vcpu = Running {
            cpu,
            bus,
            debugger: &mut self.debugger,
            exits: &mut self.exits,
            stops: !goal.stops.is_empty(),
            tags,
            held: None,
            before: None,
        };
        let outcome =
            run::run(&mut vcpu, limits.timeout, Until { instructions: goal.instructions, user: goal.user });
        let Running { cpu, bus, .. } = vcpu;
        for missing in cpu.unimplemented().iter().filter(|_| outcome.is_some()) {
            log::warn!(
                "the guest executed {} at {:#x} ({} times), which the soft engine does not implement: #UD",
                missing.code,
                missing.rip,
                missing.count
            );
        }
        self.state = cpu.state();
        self.totals = *cpu.totals();
        self.unimplemented = cpu.unimplemented().to_vec();
        self.clock = bus.clock;
        outcome
    }
}

/// What compiles hot blocks, where that is possible.
fn compiler(ram: &Ram<0>) -> Option<Box<dyn Compiler>> {
    #[cfg(all(feature = "compile", target_arch = "x86_64"))]
    match soft_compile::BlockCompiler::new(ram.compiled(), soft_compile::HOT) {
        Ok(compiler) => return Some(Box::new(compiler)),
        Err(error) => log::warn!("every block is interpreted: no memory for code ({error})"),
    }
    let _ = ram;
    None
}

/// The CPU while it runs.
struct Running<'a, const OBSERVED: bool> {
    cpu: Cpu<SoftBus<'a, OBSERVED>>,
    bus: SoftBus<'a, OBSERVED>,
    debugger: &'a mut Attached<State>,
    exits: &'a mut Exits,
    /// Breakpoints are those of the goal, not of a debugger.
    stops: bool,
    /// What IBS had tagged before the last run.
    tags: IbsTags,
    /// What was sampled, if the next instruction may be one op with it.
    held: Option<IbsSample>,
    /// What the model of the core had booked before a single instruction.
    before: Option<Probe>,
}

impl<const OBSERVED: bool> Vcpu for Running<'_, OBSERVED> {
    type Board = Pc;

    fn machine(&mut self) -> &mut Machine<Pc> {
        self.bus.machine
    }

    fn instructions(&self) -> u64 {
        self.cpu.totals().instructions()
    }

    fn user_instructions(&self) -> u64 {
        self.cpu.totals().usr().instructions
    }

    fn publish(&mut self) {
        self.bus.publish(self.cpu.totals());
        if self.bus.machine.pmu.pebs_due() {
            self.write_pebs();
        }
        if self.tags.any() {
            self.sample_ibs();
        }
    }

    fn run(&mut self, most: u64) -> Pause {
        let Self { cpu, bus, exits, .. } = self;
        let interrupt_window = inject(cpu, bus.machine);
        self.tags = bus.machine.pmu.ibs_tags();
        if !self.tags.any() {
            self.held = None;
        }
        let armed = bus.machine.pmu.pebs_armed() || self.tags.any();
        self.before = if armed { bus.probe() } else { None };
        let more = || self.tags.any() || self.before.is_some() || bus.machine.pmu.pebs_wants_access();
        cpu.set_sampling(match armed || bus.machine.pmu.runs_through_samples() {
            false => Sampling::Off,
            true if more() => Sampling::All,
            true => Sampling::Address,
        });
        // One at a time, until the one that is sampled.
        let single = armed || bus.machine.pmu.logs_branch_events();
        let (instructions, repetitions) = bus.budget(if single { 1 } else { most });
        cpu.limit_repetitions(repetitions);
        bus.attention = false;
        let (count, pause) = match cpu.run(bus, Budget { instructions, interrupt_window }) {
            Exit::Budget => (&mut exits.budget, Pause::Ready),
            Exit::Attention => (&mut exits.attention, Pause::Ready),
            Exit::InterruptWindow => (&mut exits.window, Pause::Ready),
            Exit::Yield => (&mut exits.yields, Pause::Ready),
            Exit::Halted => {
                bus.halt();
                (&mut exits.halt, Pause::Waits)
            }
            Exit::Shutdown => return Pause::Ended(Outcome::TripleFault),
            Exit::Debug(_) if self.stops => return Pause::Reached,
            Exit::Debug(stop) => return Pause::Debug(stop.into()),
        };
        *count += 1;
        pause
    }

    fn sleep(&mut self, end: Instant) -> bool {
        self.bus.sleep(self.cpu.rflags() & RFLAGS_IF != 0, end)
    }

    fn wants_stop(&mut self) -> bool {
        self.debugger.wants_stop()
    }

    fn stand_still(&mut self, stop: &Stop) -> Duration {
        self.debugger.stand_still(stop, &mut self.cpu, self.bus.machine)
    }

    fn ended(&mut self, outcome: &Outcome) {
        self.debugger.ended(outcome);
    }
}

impl<const OBSERVED: bool> Running<'_, OBSERVED> {
    /// A PEBS record is due.
    #[cold]
    fn write_pebs(&mut self) {
        let Self { cpu, bus, .. } = self;
        let retired = retired(cpu, bus, self.before);
        let memory = &bus.machine.memory;
        let tsc = bus.tsc_at(cpu.totals());
        let sample = precise::pebs(retired.as_ref(), bus.last_wrmsr, cpu, tsc, memory);
        let SoftBus { machine, ram, .. } = bus;
        machine.write_pebs(&sample, &mut Store::new(cpu, ram));
        if machine.until_injection().is_some() {
            bus.publish(cpu.totals());
        } else {
            // Nothing has retired since counts and time were brought up to date.
            bus.follow_branches();
        }
    }

    /// The last run was of what IBS had tagged, if that has retired.
    #[cold]
    fn sample_ibs(&mut self) {
        let Self { cpu, bus, .. } = self;
        let Some(retired) = retired(cpu, bus, self.before) else { return };
        let held = self.held.take();
        let sample = match held {
            // It is about the second of the two, whose branch it is.
            Some(_) if retired.is_fused() => retired.ibs(&bus.machine.memory),
            Some(held) => held,
            // The op before was the last one to be counted, and this instruction is a part of it.
            None if retired.is_fused() => return,
            None if retired.may_fuse_with_next() => {
                self.held = Some(retired.ibs(&bus.machine.memory));
                return;
            }
            None => retired.ibs(&bus.machine.memory),
        };
        let tags = std::mem::take(&mut self.tags);
        bus.machine.ibs_sample(tags, &sample);
        bus.publish(cpu.totals());
    }
}

/// The instruction of the last run, if that was a single one and has retired.
fn retired<const OBSERVED: bool>(
    cpu: &Cpu<SoftBus<'_, OBSERVED>>,
    bus: &SoftBus<'_, OBSERVED>,
    before: Option<Probe>,
) -> Option<precise::Retired> {
    let known = before.and_then(|before| Some(bus.probe()?.since(&before)));
    cpu.sampled().map(|sampled| precise::Retired::new(sampled, cpu.linear_rip(), known))
}

impl Registers for State {
    fn pc(&self) -> u64 {
        self.rip
    }

    fn translate(&self, memory: &GuestMemory, address: u64) -> Option<u64> {
        Paging::new(self.cr0, self.cr3, self.cr4, self.efer).translate(memory, address)
    }
}

/// Hands the CPU what the APIC wants delivered. True if a vector waits for the interrupt flag.
fn inject<const OBSERVED: bool>(cpu: &mut Cpu<SoftBus<'_, OBSERVED>>, machine: &mut Machine<Pc>) -> bool {
    let pending = machine.board.apic.pending();
    if pending.nmi && machine.board.apic.take_nmi() {
        cpu.inject_nmi();
        // The NMI goes first, and its gate clears the interrupt flag.
        return pending.vector.is_some();
    }
    if pending.vector.is_none() {
        return false;
    }
    if cpu.can_take_interrupt()
        && let Some(vector) = machine.board.apic.accept_vector()
    {
        cpu.inject_interrupt(vector);
    }
    machine.board.apic.pending().vector.is_some()
}

impl Engine<Pc> for SoftEngine {
    fn name(&self) -> &'static str {
        "soft"
    }

    fn detail(&self) -> Option<Detail> {
        let model = self.timing.is_some() || self.parked.is_some();
        Some(if model { Detail::Timing } else { Detail::Counts })
    }

    fn boot(&mut self, boot: &BootState) -> Result<(), EngineError> {
        let (code, data) = (segment(&boot.code), segment(&boot.data));
        let mut state = State {
            rip: u64::from(boot.eip),
            rflags: u64::from(boot.eflags),
            segments: [data, code, data, data, data, data],
            tr: segment(&boot.task),
            cr0: u64::from(boot.cr0),
            cr3: boot.cr3,
            cr4: u64::from(boot.cr4),
            efer: boot.efer,
            gdtr: DescriptorTable { base: boot.gdt.0, limit: boot.gdt.1 },
            ..State::default()
        };
        state.gpr[0] = u64::from(boot.eax);
        state.gpr[3] = u64::from(boot.ebx);
        state.gpr[6] = u64::from(boot.esi);
        self.state = state;
        Ok(())
    }

    fn run(&mut self, machine: &mut Machine<Pc>, limits: RunLimits) -> Result<Outcome, EngineError> {
        let end = Instant::now() + limits.timeout;
        let outcome = loop {
            let limits = RunLimits { timeout: end.saturating_duration_since(Instant::now()) };
            let outcome = self.run_to(machine, limits, &Goal::default());
            match (outcome, machine.wants_model()) {
                (Some(outcome), _) => break outcome,
                (None, Some(on)) => self.switch_model(on, machine),
                // So many instructions take longer than any time-out.
                (None, None) => break Outcome::TimedOut,
            }
        };
        if let Some(core) = self.timing.as_ref().or(self.parked.as_ref()) {
            core.drive().log_totals();
        }
        Ok(outcome)
    }

    fn registers(&self, machine: &Machine<Pc>) -> RegisterDump {
        dump::registers(&self.state, machine)
    }

    fn instruction_at(&self, machine: &Machine<Pc>, rip: u64) -> Option<String> {
        dump::instruction_at(&self.state, &machine.memory, rip)
    }

    fn report(&self) -> EngineReport {
        let Exits { budget, attention, window, halt, yields } = self.exits;
        let exits = [
            ("deadline", budget),
            ("device", attention),
            ("irq-window", window),
            ("hlt", halt),
            ("yield", yields),
        ];
        EngineReport {
            instructions: Some(self.totals.instructions()),
            exits: exits.into_iter().filter(|(_, count)| *count > 0).collect(),
            ..EngineReport::default()
        }
    }

    /// The state of a modelled core is not part of a snapshot.
    fn snapshots(&mut self) -> Option<&mut dyn Snapshots<Pc>> {
        match (&self.timing, &self.parked) {
            (None, None) => Some(self),
            _ => None,
        }
    }

    fn debugging(&mut self) -> Option<&mut dyn Debugging<Pc>> {
        Some(self)
    }
}

impl Snapshots<Pc> for SoftEngine {
    fn run_until(
        &mut self,
        machine: &mut Machine<Pc>,
        limits: RunLimits,
        instructions: u64,
    ) -> Option<Outcome> {
        self.run_to(machine, limits, &Goal { instructions, ..Goal::default() })
    }

    fn save(&self) -> VcpuState {
        VcpuState::X86(Box::new(SoftState {
            cpu: self.state.clone(),
            totals: self.totals,
            operations: self.retired.operations().save(),
            unimplemented: self.unimplemented.clone(),
            idle_ticks: self.clock.idle_ticks(),
        }))
    }

    fn restore(&mut self, saved: &VcpuState) -> Result<(), StateError> {
        let VcpuState::X86(saved) = saved else { return Err(StateError::Architecture) };
        let SoftState { cpu, totals, operations, unimplemented, idle_ticks } = &**saved;
        let counts = operations.iter().copied().chain([*idle_ticks]);
        if !totals.all_below(MAX_TOTAL) || counts.max() >= Some(MAX_TOTAL) {
            return Err(StateError::Total);
        }
        if !self.retired.operations().restore(operations) {
            return Err(StateError::Total);
        }
        self.state = cpu.clone();
        self.totals = *totals;
        self.unimplemented.clone_from(unimplemented);
        self.clock = Clock::new(self.tsc_hz(), *idle_ticks);
        self.retired.set(&self.totals);
        Ok(())
    }
}

impl Debugging<Pc> for SoftEngine {
    fn attach(&mut self, debugger: Box<dyn Debugger<State>>) {
        self.debugger.attach(debugger);
    }
}

fn segment(from: &SegmentState) -> Segment {
    const PRESENT: u16 = 1 << 7;
    let bit = |set: bool, position: u32| u16::from(set) << position;
    Segment {
        selector: from.selector,
        base: u64::from(from.base),
        limit: from.limit,
        rights: u16::from(from.kind)
            | bit(from.code_or_data, 4)
            | PRESENT
            | bit(from.long, 13)
            | bit(from.default_32, 14)
            | bit(from.granular, 15),
    }
}

#[cfg(test)]
mod lbr_tests;
#[cfg(test)]
mod precise_tests;
#[cfg(test)]
mod tests;
