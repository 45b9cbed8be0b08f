//! The soft engine for AArch64.

mod bus;
mod dump;
#[cfg(test)]
mod tests;

use self::bus::ArmBus;
use super::MAX_TOTAL;
use super::clock::Clock;
use super::debug::Attached;
use super::ram::Ram;
use super::run::{self, Pause, Until, Vcpu};
use super::timing::Timing;
use crate::counts::timing::SharedCore;
use crate::counts::totals::Retired;
use crate::engine::{
    Debugger, Debugging, Detail, Engine, EngineError, EngineReport, RegisterDump, Registers, RunLimits,
    Snapshots, Stop, VcpuState,
};
use crate::machine::arm::Virt;
use crate::machine::{Machine, Outcome, StateError};
use arm_cpu::{Budget, Cpu, Exit, Identification, State, Totals, Unimplemented};
use platform::loader::arm::BootState;
use platform::memory::GuestMemory;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use vpmu::Profile;

/// ID_AA64PFR0_EL1.GIC: the system register interface of GICv3.
const GIC_REGISTERS: u64 = 1 << 24;

/// The interpreter with one vCPU.
#[derive(Debug)]
pub struct ArmEngine {
    state: State,
    totals: Totals,
    unimplemented: Vec<Unimplemented>,
    clock: Clock,
    profile: Profile,
    memory: GuestMemory,
    retired: Retired<Totals>,
    timing: Option<SharedCore>,
    debugger: Attached<State>,
    exits: Exits,
}

/// The saved state of an [`ArmEngine`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmState {
    cpu: State,
    totals: Totals,
    unimplemented: Vec<Unimplemented>,
    /// Ticks for which the CPU waited for an interrupt or a device.
    idle_ticks: u64,
}

impl ArmState {
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
    wait: u64,
    yields: u64,
}

/// What the CPU of a profile says that it is: what the interpreter implements, with this machine's PMU and GIC.
fn identification(profile: &Profile) -> Identification {
    let implemented = Identification::implemented(profile.signature.into());
    Identification {
        dfr0: vpmu::id_registers::id_aa64dfr0(profile, implemented.dfr0),
        pfr0: implemented.pfr0 | GIC_REGISTERS,
        ..implemented
    }
}

impl ArmEngine {
    /// An engine for a guest with this RAM and PMU.
    #[must_use]
    pub fn new(memory: &GuestMemory, profile: &Profile) -> Self {
        Self {
            state: State::reset(identification(profile)),
            totals: Totals::default(),
            unimplemented: Vec::new(),
            clock: Clock::new(profile.tsc_hz.max(1), 0),
            profile: profile.clone(),
            memory: memory.clone(),
            retired: Retired::default(),
            timing: None,
            debugger: Attached::default(),
            exits: Exits::default(),
        }
    }

    /// The same engine with a model of the core: guest time is what the model says.
    #[must_use]
    pub fn with_model(mut self, core: SharedCore) -> Self {
        self.timing = Some(core);
        self
    }

    /// Where the engine publishes what has retired, for [`crate::counts::arm::ArmSource`].
    #[must_use]
    pub fn retired(&self) -> Retired<Totals> {
        self.retired.clone()
    }

    /// Runs until the machine has an outcome, or `until` instructions have retired: `None`.
    fn run_machine(&mut self, machine: &mut Machine<Virt>, limits: RunLimits, until: u64) -> Option<Outcome> {
        if self.timing.is_some() {
            self.run_on::<true>(machine, limits, until)
        } else {
            self.run_on::<false>(machine, limits, until)
        }
    }

    /// The same, `TIMED` with a model of the core.
    fn run_on<const TIMED: bool>(
        &mut self,
        machine: &mut Machine<Virt>,
        limits: RunLimits,
        until: u64,
    ) -> Option<Outcome> {
        let cpu = Cpu::resume(&self.state, &self.totals, std::mem::take(&mut self.unimplemented));
        let ram = Ram::new(&self.memory);
        let timing = self.timing.clone().map(Timing::new);
        let retired = self.retired.clone();
        let bus = ArmBus::<TIMED>::new(machine, ram, &self.profile, retired, timing, self.clock);
        let mut vcpu = Running { cpu, bus, debugger: &mut self.debugger, exits: &mut self.exits };
        let outcome = run::run(&mut vcpu, limits.timeout, Until { instructions: until, user: u64::MAX });
        let Running { cpu, bus, .. } = vcpu;
        for missing in cpu.unimplemented().iter().filter(|_| outcome.is_some()) {
            log::warn!(
                "the guest executed {} at {:#x} ({} times), which the soft engine does not implement: UNDEFINED",
                missing.name,
                missing.pc,
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

/// The CPU while it runs.
struct Running<'a, const TIMED: bool> {
    cpu: Cpu<ArmBus<'a, TIMED>>,
    bus: ArmBus<'a, TIMED>,
    debugger: &'a mut Attached<State>,
    exits: &'a mut Exits,
}

impl<const TIMED: bool> Vcpu for Running<'_, TIMED> {
    type Board = Virt;

    fn machine(&mut self) -> &mut Machine<Virt> {
        self.bus.machine
    }

    fn instructions(&self) -> u64 {
        self.cpu.totals().instructions()
    }

    fn publish(&mut self) {
        self.bus.publish(self.cpu.totals());
    }

    fn run(&mut self, most: u64) -> Pause {
        let Self { cpu, bus, exits, .. } = self;
        let lines = bus.machine.board.lines();
        cpu.set_interrupt_lines(lines.irq, lines.fiq);
        let instructions = bus.budget(most);
        bus.attention = false;
        let (count, pause) = match cpu.run(bus, Budget { instructions }) {
            Exit::Budget => (&mut exits.budget, Pause::Ready),
            Exit::Attention => (&mut exits.attention, Pause::Ready),
            Exit::WaitForInterrupt => {
                bus.halt();
                (&mut exits.wait, Pause::Waits)
            }
            Exit::Yield => (&mut exits.yields, Pause::Ready),
            Exit::Debug(stop) => return Pause::Debug(stop.into()),
        };
        *count += 1;
        pause
    }

    /// WFI ends for what is pending, whether or not PSTATE masks it.
    fn sleep(&mut self, end: Instant) -> bool {
        let wakes = |board: &Virt| {
            let lines = board.lines();
            lines.irq || lines.fiq
        };
        self.bus.clock.sleep(self.bus.machine, wakes, true, end)
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

impl Registers for State {
    fn pc(&self) -> u64 {
        self.pc
    }

    fn translate(&self, memory: &GuestMemory, address: u64) -> Option<u64> {
        self.translate(address, |table| {
            let mut bytes = [0; 8];
            memory.read(table, &mut bytes).ok()?;
            Some(u64::from_le_bytes(bytes))
        })
    }
}

impl Engine<Virt> for ArmEngine {
    fn name(&self) -> &'static str {
        "soft"
    }

    fn detail(&self) -> Option<Detail> {
        Some(if self.timing.is_some() { Detail::Timing } else { Detail::Counts })
    }

    fn boot(&mut self, boot: &BootState) -> Result<(), EngineError> {
        let mut state = State::reset(self.state.identification);
        state.pc = boot.pc;
        state.x[0] = boot.devicetree;
        self.state = state;
        Ok(())
    }

    fn run(&mut self, machine: &mut Machine<Virt>, limits: RunLimits) -> Result<Outcome, EngineError> {
        // So many instructions take longer than any time-out.
        let outcome = self.run_machine(machine, limits, u64::MAX).unwrap_or(Outcome::TimedOut);
        if let Some(core) = &self.timing {
            core.drive().log_totals();
        }
        Ok(outcome)
    }

    fn registers(&self, machine: &Machine<Virt>) -> RegisterDump {
        dump::registers(&self.state, &machine.memory)
    }

    fn instruction_at(&self, machine: &Machine<Virt>, address: u64) -> Option<String> {
        dump::instruction_at(&self.state, &machine.memory, address)
    }

    fn report(&self) -> EngineReport {
        let Exits { budget, attention, wait, yields } = self.exits;
        let exits = [("deadline", budget), ("device", attention), ("wfi", wait), ("yield", yields)];
        EngineReport {
            instructions: Some(self.totals.instructions()),
            exits: exits.into_iter().filter(|(_, count)| *count > 0).collect(),
            ..EngineReport::default()
        }
    }

    /// The state of a modelled core is not part of a snapshot.
    fn snapshots(&mut self) -> Option<&mut dyn Snapshots<Virt>> {
        match self.timing {
            Some(_) => None,
            None => Some(self),
        }
    }

    fn debugging(&mut self) -> Option<&mut dyn Debugging<Virt>> {
        Some(self)
    }
}

impl Debugging<Virt> for ArmEngine {
    fn attach(&mut self, debugger: Box<dyn Debugger<State>>) {
        self.debugger.attach(debugger);
    }
}

impl Snapshots<Virt> for ArmEngine {
    fn run_until(
        &mut self,
        machine: &mut Machine<Virt>,
        limits: RunLimits,
        instructions: u64,
    ) -> Option<Outcome> {
        self.run_machine(machine, limits, instructions)
    }

    fn save(&self) -> VcpuState {
        VcpuState::Arm(Box::new(ArmState {
            cpu: self.state.clone(),
            totals: self.totals,
            unimplemented: self.unimplemented.clone(),
            idle_ticks: self.clock.idle_ticks(),
        }))
    }

    fn restore(&mut self, saved: &VcpuState) -> Result<(), StateError> {
        let VcpuState::Arm(saved) = saved else { return Err(StateError::Architecture) };
        let ArmState { cpu, totals, unimplemented, idle_ticks } = &**saved;
        if !totals.all_below(MAX_TOTAL) || *idle_ticks >= MAX_TOTAL {
            return Err(StateError::Total);
        }
        self.state = State { identification: self.state.identification, ..cpu.clone() };
        self.totals = *totals;
        self.unimplemented.clone_from(unimplemented);
        self.clock = Clock::new(self.profile.tsc_hz.max(1), *idle_ticks);
        self.retired.set(&self.totals);
        Ok(())
    }
}
