//! A debugger at an interpreter.

use crate::engine::debugger::Registers;
use crate::engine::{DebugStops, Debugger, Resume, Stop, StoppedVcpu};
use crate::machine::{Board, Machine, Outcome};
use std::time::{Duration, Instant};

/// signal(7).
const SIGKILL: i32 = 9;

/// An interpreter's CPU that a debugger can stop.
pub(super) trait Stoppable {
    type Registers: Registers;

    fn registers(&self) -> Self::Registers;
    fn set_registers(&mut self, registers: &Self::Registers);
    /// So many bytes from a physical address have been written.
    fn memory_changed(&mut self, address: u64, len: u64);
    fn set_debug_stops(&mut self, stops: DebugStops);
}

impl<B: soft_cpu::Bus> Stoppable for soft_cpu::Cpu<B> {
    type Registers = soft_cpu::State;

    fn registers(&self) -> soft_cpu::State {
        self.state()
    }

    fn set_registers(&mut self, registers: &soft_cpu::State) {
        self.set_state(registers);
    }

    fn memory_changed(&mut self, address: u64, len: u64) {
        self.memory_changed(address, len);
    }

    fn set_debug_stops(&mut self, stops: DebugStops) {
        self.set_debug_stops(stops);
    }
}

impl<B: arm_cpu::Bus> Stoppable for arm_cpu::Cpu<B> {
    type Registers = arm_cpu::State;

    fn registers(&self) -> arm_cpu::State {
        self.state()
    }

    fn set_registers(&mut self, registers: &arm_cpu::State) {
        self.set_state(registers);
    }

    fn memory_changed(&mut self, address: u64, len: u64) {
        self.memory_changed(address, len);
    }

    fn set_debug_stops(&mut self, stops: DebugStops) {
        self.set_debug_stops(stops);
    }
}

/// The debugger of an engine, if there is one.
#[derive(Debug)]
pub(super) struct Attached<R>(Option<Box<dyn Debugger<R>>>);

impl<R> Default for Attached<R> {
    fn default() -> Self {
        Self(None)
    }
}

impl<R: Registers> Attached<R> {
    pub(super) fn attach(&mut self, debugger: Box<dyn Debugger<R>>) {
        self.0 = Some(debugger);
    }

    /// True if it wants to look.
    pub(super) fn wants_stop(&mut self) -> bool {
        self.0.as_mut().is_some_and(|debugger| debugger.wants_stop())
    }

    /// Lets it look at the guest, and change it. Returns how long it took.
    pub(super) fn stand_still<B: Board>(
        &mut self,
        stop: &Stop,
        cpu: &mut impl Stoppable<Registers = R>,
        machine: &mut Machine<B>,
    ) -> Duration {
        let Some(debugger) = &mut self.0 else { return Duration::ZERO };
        let started = Instant::now();
        let vcpu = StoppedVcpu::new(cpu.registers(), machine.memory.clone());
        let (resume, changes) = debugger.stopped(stop, vcpu);
        for (address, len) in changes.written {
            cpu.memory_changed(address, len);
        }
        if let Some(registers) = changes.state {
            cpu.set_registers(&registers);
        }
        match resume {
            Resume::Run(stops) => cpu.set_debug_stops(stops),
            Resume::Kill => machine.stop(Outcome::Interrupted { signal: SIGKILL }),
        }
        started.elapsed()
    }

    /// Tells it that the run has ended.
    pub(super) fn ended(&mut self, outcome: &Outcome) {
        if let Some(debugger) = &mut self.0 {
            debugger.ended(outcome);
        }
    }
}
