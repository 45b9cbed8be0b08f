//! The soft engine: our interpreter, so that images run without KVM and are counted exactly.
//!
//! Time comes from the guest itself: an instruction is a core cycle and each iteration of REP another one, or a model
//! of the core says how many they take; a core cycle is a tick of the TSC, and a halted CPU skips to the next timer.
//! So a run does not depend on the host's speed, and the same command gives the same bytes.

mod branches;
mod bus;
mod cpuid;
mod idle;
mod ram;
mod timing;

use self::bus::Clock;
pub(super) use self::bus::{Principal, SoftBus};
pub(super) use self::cpuid::silicon;
use self::ram::Ram;
use self::timing::Timing;
use super::{
    Debugger, Debugging, Detail, Engine, EngineError, EngineReport, RegisterDump, Resume, RunLimits,
    Snapshots, Stop, StoppedVcpu, VcpuState, dump,
};
use crate::counts::model::Retired;
use crate::counts::timing::SharedCore;
use crate::machine::x86::Pc;
use crate::machine::{Machine, Outcome, StateError};
use platform::loader::x86::{BootState, SegmentState};
use platform::memory::GuestMemory;
use serde::{Deserialize, Serialize};
use soft_cpu::{
    Budget, Cpu, DebugStop, DescriptorTable, Exit, RFLAGS_IF, Segment, State, Totals, Unimplemented,
};
use std::time::{Duration, Instant};
use vpmu::Profile;

/// The page of documentation about the instructions that the engine executes.
#[must_use]
pub fn instructions_page() -> String {
    soft_cpu::coverage::markdown::<SoftBus<'_, false>>()
}

/// Instructions between two looks at the wall clock.
const CHUNK: u64 = 1 << 20;

/// signal(7).
const SIGKILL: i32 = 9;

/// Larger totals are not of a guest: at a billion a second it would have run for two years.
const MAX_TOTAL: u64 = 1 << 56;

/// The interpreter with one vCPU.
#[derive(Debug)]
pub struct SoftEngine {
    state: State,
    totals: Totals,
    unimplemented: Vec<Unimplemented>,
    clock: Clock,
    profile: Profile,
    memory: GuestMemory,
    retired: Retired,
    timing: Option<SharedCore>,
    debugger: Option<Box<dyn Debugger>>,
    exits: Exits,
}

/// The saved state of a [`SoftEngine`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftState {
    cpu: State,
    totals: Totals,
    unimplemented: Vec<Unimplemented>,
    clock: Clock,
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
            clock: Clock::default(),
            profile: profile.clone(),
            memory: memory.clone(),
            retired: Retired::default(),
            timing: None,
            debugger: None,
            exits: Exits::default(),
        }
    }

    /// The same engine with a model of the core: guest time is what the model says.
    #[must_use]
    pub fn with_model(mut self, core: SharedCore) -> Self {
        self.timing = Some(core);
        self
    }

    /// TSC rate that the guest sees: the profile's.
    #[must_use]
    pub fn tsc_hz(&self) -> u64 {
        self.profile.tsc_hz.max(1)
    }

    /// Where the engine publishes what has retired, for [`crate::counts::model::ModelSource`].
    #[must_use]
    pub fn retired(&self) -> Retired {
        self.retired.clone()
    }

    /// Runs until the machine has an outcome, or `until` instructions have retired: `None`.
    fn run_machine(&mut self, machine: &mut Machine<Pc>, limits: RunLimits, until: u64) -> Option<Outcome> {
        if self.timing.is_some() {
            self.run_on::<true>(machine, limits, until)
        } else {
            self.run_on::<false>(machine, limits, until)
        }
    }

    /// The same, `TIMED` with a model of the core.
    fn run_on<const TIMED: bool>(
        &mut self,
        machine: &mut Machine<Pc>,
        limits: RunLimits,
        until: u64,
    ) -> Option<Outcome> {
        let mut end = Instant::now() + limits.timeout;
        let mut debugger = self.debugger.take();
        let ram = Ram::new(&self.memory);
        let mut cpu = Cpu::resume(&self.state, &self.totals, std::mem::take(&mut self.unimplemented))
            .with_silicon(silicon(&self.profile));
        let mut bus = SoftBus::<TIMED>::new(
            machine,
            ram,
            &self.profile,
            self.retired.clone(),
            self.timing.clone().map(Timing::new),
        );
        bus.set_clock(self.clock);
        let outcome = loop {
            bus.publish(cpu.totals());
            bus.machine.note_progress(cpu.totals().instructions());
            bus.machine.poll_input();
            if let Some(outcome) = bus.machine.outcome().cloned() {
                if let Some(debugger) = &mut debugger {
                    if outcome.is_crash() {
                        stand_still(&mut **debugger, &Stop::Crashed, &mut cpu, &mut bus);
                    }
                    debugger.ended(&outcome);
                }
                break Some(outcome);
            }
            let left = until.saturating_sub(cpu.totals().instructions());
            if left == 0 {
                break None;
            }
            if Instant::now() >= end {
                bus.machine.stop(Outcome::TimedOut);
                continue;
            }
            if let Some(debugger) = &mut debugger
                && debugger.wants_stop()
            {
                end += stand_still(&mut **debugger, &Stop::Asked, &mut cpu, &mut bus);
                continue;
            }
            let interrupt_window = inject(&mut cpu, bus.machine);
            let (instructions, repetitions) = bus.budget(CHUNK.min(left));
            let budget = Budget { instructions, interrupt_window };
            cpu.limit_repetitions(repetitions);
            bus.attention = false;
            match cpu.run(&mut bus, budget) {
                Exit::Budget => self.exits.budget += 1,
                Exit::Attention => self.exits.attention += 1,
                Exit::InterruptWindow => self.exits.window += 1,
                Exit::Yield => self.exits.yields += 1,
                Exit::Halted => {
                    self.exits.halt += 1;
                    bus.halt();
                    bus.publish(cpu.totals());
                    let interrupts_on = cpu.state().rflags & RFLAGS_IF != 0;
                    if !bus.sleep(interrupts_on, end) {
                        bus.machine.stop(Outcome::Halted);
                    }
                }
                Exit::Shutdown => bus.machine.stop(Outcome::TripleFault),
                Exit::Debug(stop) => {
                    bus.publish(cpu.totals());
                    if let Some(debugger) = &mut debugger {
                        end += stand_still(&mut **debugger, &stop.into(), &mut cpu, &mut bus);
                    }
                }
            }
        };
        self.debugger = debugger;
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
        self.clock = bus.clock();
        outcome
    }
}

/// Lets a debugger look at the guest, and change it. Returns how long it took.
fn stand_still<const TIMED: bool>(
    debugger: &mut dyn Debugger,
    stop: &Stop,
    cpu: &mut Cpu<SoftBus<'_, TIMED>>,
    bus: &mut SoftBus<'_, TIMED>,
) -> Duration {
    let started = Instant::now();
    let vcpu = StoppedVcpu::new(cpu.state(), bus.machine.memory.clone());
    let (resume, changes) = debugger.stopped(stop, vcpu);
    for (address, len) in changes.written {
        cpu.memory_changed(address, len);
    }
    if let Some(state) = changes.state {
        cpu.set_state(&state);
    }
    match resume {
        Resume::Run(stops) => cpu.set_debug_stops(stops),
        Resume::Kill => bus.machine.stop(Outcome::Interrupted { signal: SIGKILL }),
    }
    started.elapsed()
}

impl From<DebugStop> for Stop {
    fn from(stop: DebugStop) -> Self {
        match stop {
            DebugStop::Step => Self::Step,
            DebugStop::Breakpoint => Self::Breakpoint,
            DebugStop::Watchpoint(data) => Self::Watchpoint(data),
        }
    }
}

/// Hands the CPU what the APIC wants delivered. True if a vector waits for the interrupt flag.
fn inject<const TIMED: bool>(cpu: &mut Cpu<SoftBus<'_, TIMED>>, machine: &mut Machine<Pc>) -> bool {
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
        Some(if self.timing.is_some() { Detail::Timing } else { Detail::Counts })
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
        // So many instructions take longer than any time-out.
        let outcome = self.run_machine(machine, limits, u64::MAX).unwrap_or(Outcome::TimedOut);
        if let Some(core) = &self.timing {
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
        match self.timing {
            Some(_) => None,
            None => Some(self),
        }
    }

    fn debugging(&mut self) -> Option<&mut dyn Debugging> {
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
        self.run_machine(machine, limits, instructions)
    }

    fn save(&self) -> VcpuState {
        VcpuState::X86(SoftState {
            cpu: self.state.clone(),
            totals: self.totals,
            unimplemented: self.unimplemented.clone(),
            clock: self.clock,
        })
    }

    fn restore(&mut self, saved: &VcpuState) -> Result<(), StateError> {
        let VcpuState::X86(SoftState { cpu, totals, unimplemented, clock }) = saved;
        if !totals.all_below(MAX_TOTAL) || !clock.is_before(MAX_TOTAL) {
            return Err(StateError::Total);
        }
        self.state = cpu.clone();
        self.totals = *totals;
        self.unimplemented.clone_from(unimplemented);
        self.clock = *clock;
        self.retired.set(&self.totals);
        Ok(())
    }
}

impl Debugging for SoftEngine {
    fn attach(&mut self, debugger: Box<dyn Debugger>) {
        self.debugger = Some(debugger);
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
mod tests;
