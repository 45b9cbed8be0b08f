//! Tiny guests, from bytes, on the real /dev/kvm. Without one, each test says so and passes.

mod access;
mod boot;
mod complete;
mod ending;
mod interrupts;
mod long_mode;
mod rdpmc;
mod rdpmc_32;
mod source;

use super::{KvmConfig, KvmEngine};
use crate::engine::{Engine, RunLimits};
use crate::machine::pmu::PmuDevice;
use crate::machine::x86::Pc;
use crate::machine::{Machine, Outcome};
use platform::devices::{Capture, FwCfg};
use platform::loader::x86::BootState;
use platform::memory::{GuestMemory, MemoryConfig};
use platform::x86::apic::{ApicConfig, LocalApic};
use platform::x86::devices::Devices;
use platform::x86::memory::LAYOUT;
use source::PerNanosecond;
use std::time::Duration;
use vpmu::profile::ICELAKE_SP;

/// Where the guest's code starts.
const CODE: u64 = 0x1_0000;
/// Where guests leave what they found: 8-byte slots.
const RESULTS: u64 = 0x3_0000;
/// Top of the stack.
const STACK: u64 = 0xF000;
/// The guest's ending: `out 0xF4, al`, which ends the run with status (al << 1) | 1.
const EXIT: [u8; 2] = [0xE6, 0xF4];

/// A machine with a guest in it.
struct Guest {
    engine: KvmEngine,
    machine: Machine<Pc>,
    console: Capture,
}

impl Guest {
    /// A guest in flat 32-bit protected mode at [`CODE`], interrupts off; `None` without KVM.
    fn protected(code: &[u8]) -> Option<Self> {
        Self::with_source(code, PerNanosecond::default())
    }

    fn with_source(code: &[u8], source: PerNanosecond) -> Option<Self> {
        let memory = GuestMemory::new(MemoryConfig { size_mib: 16 }, &LAYOUT).unwrap();
        memory.write(CODE, code).unwrap();
        let apic = ApicConfig { timer_hz: u64::from(ICELAKE_SP.crystal_hz), ..ApicConfig::default() };
        let mut engine = engine(&memory, &apic)?;
        engine.boot(&boot_state()).unwrap();
        let console = Capture::new(1000);
        let devices =
            Devices::new(Box::new(console.clone()), Box::new(console.clone()), FwCfg::new(1, 16 << 20));
        let pmu = PmuDevice::new(ICELAKE_SP, Box::new(source), None);
        let tsc_hz = engine.tsc_hz();
        let machine = Machine::new(memory, Pc::new(devices, LocalApic::new(apic).unwrap(), tsc_hz), pmu);
        Some(Self { engine, machine, console })
    }

    /// Runs with a time-out that only a hanging guest reaches.
    fn run(&mut self) -> Outcome {
        self.run_for(Duration::from_secs(20))
    }

    fn run_for(&mut self, timeout: Duration) -> Outcome {
        self.engine.run(&mut self.machine, RunLimits { timeout }).unwrap()
    }

    /// Runs, and expects the guest to write `value` to the exit port.
    #[track_caller]
    fn exits_with(&mut self, value: u8) {
        let outcome = self.run();
        let registers = self.engine.registers(&self.machine);
        assert_eq!(outcome, Outcome::Exit { status: value << 1 | 1 }, "{registers:x?}");
    }

    /// The `n`th result slot.
    fn result(&self, n: u64) -> u64 {
        let mut bytes = [0; 8];
        self.machine.memory.read(RESULTS + 8 * n, &mut bytes).unwrap();
        u64::from_le_bytes(bytes)
    }

    fn register(&self, name: &str) -> u64 {
        let dump = self.engine.registers(&self.machine);
        dump.registers.into_iter().find(|(known, _)| *known == name).unwrap().1
    }

    fn exits(&self, kind: &str) -> u64 {
        self.engine.report().exits.into_iter().find(|(known, _)| *known == kind).map_or(0, |(_, n)| n)
    }
}

/// An engine, or `None` with a line that says why not.
fn engine(memory: &GuestMemory, apic: &ApicConfig) -> Option<KvmEngine> {
    match KvmEngine::new(&KvmConfig { memory, profile: &ICELAKE_SP, apic }) {
        Ok(engine) => Some(engine),
        Err(error) if error.is_unavailable() => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn boot_state() -> BootState {
    BootState { eax: 0x1234_5678, ebx: 0x9ABC_DEF0, ..BootState::flat(CODE as u32) }
}

/// Joins pieces of code.
fn concat(pieces: &[&[u8]]) -> Vec<u8> {
    pieces.concat()
}
