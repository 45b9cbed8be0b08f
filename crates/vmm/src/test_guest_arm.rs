//! A small AArch64 guest at EL1 with the MMU off, written as words with their mnemonics, with everything around it.

use crate::counts::Source;
use crate::counts::arm::ArmSource;
use crate::counts::timed::TimedTotals;
use crate::counts::timing::{SharedCore, TimingSource};
use crate::engine::soft::arm::ArmEngine;
use crate::engine::{Engine as _, RunLimits};
use crate::machine::arm::Virt;
use crate::machine::pmu::PmuDevice;
use crate::machine::pmu::trace::Tracer;
use crate::machine::{Machine, Outcome};
use guest_protocol::mmio;
use platform::arm::devices::Devices;
use platform::arm::memory::LAYOUT;
use platform::devices::{Capture, FwCfg};
use platform::loader::arm::BootState;
use platform::memory::{GuestMemory, MemoryConfig};
use std::io;
use std::time::Duration;
use vpmu::profile::FALKOR;

/// Where its code starts.
pub(crate) const CODE: u64 = mmio::RAM + 0x1000;

/// The engine, the machine, and what they say.
pub(crate) struct Guest {
    pub(crate) engine: ArmEngine,
    pub(crate) machine: Machine<Virt>,
    pub(crate) console: Capture,
    pub(crate) trace: Capture,
}

impl Guest {
    pub(crate) fn new(code: &[u32]) -> Self {
        Self::with(code, None)
    }

    /// With a model of the core.
    pub(crate) fn timed(code: &[u32]) -> Self {
        Self::with(code, Some(SharedCore::new(&FALKOR).expect("there is a model of Falkor")))
    }

    fn with(code: &[u32], model: Option<SharedCore>) -> Self {
        let memory = GuestMemory::new(MemoryConfig { size_mib: 4 }, &LAYOUT).expect("4 MiB of guest memory");
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.write(CODE, &bytes).expect("the code fits");
        let mut engine = ArmEngine::new(&memory, &FALKOR);
        let (console, trace) = (Capture::new(1000), Capture::new(1 << 16));
        let totals = ArmSource::new(engine.retired());
        let source: Box<dyn Source> = match model {
            Some(core) => {
                engine = engine.with_model(core.clone());
                Box::new(TimedTotals::new(TimingSource::new(&FALKOR, core), totals))
            }
            None => Box::new(totals),
        };
        let pmu = PmuDevice::new(FALKOR, source, Some(Tracer::new(Box::new(trace.clone()))));
        let devices = Devices::new(Box::new(console.clone()), Box::new(io::sink()), FwCfg::new(1, 4 << 20));
        let machine = Machine::new(memory, Virt::new(devices, FALKOR.crystal_hz), pmu);
        let boot = BootState { pc: CODE, devicetree: mmio::RAM, loaded: Vec::new() };
        engine.boot(&boot).expect("a valid state");
        Self { engine, machine, console, trace }
    }

    pub(crate) fn run(&mut self) -> Outcome {
        let limits = RunLimits { timeout: Duration::from_secs(20) };
        self.engine.run(&mut self.machine, limits).expect("the engine does not fail")
    }
}

/// MOVZ Xd, #low; MOVK Xd, #high, LSL #16.
pub(crate) fn load(d: u32, value: u32) -> [u32; 2] {
    [0xD280_0000 | (value & 0xFFFF) << 5 | d, 0xF2A0_0000 | (value >> 16) << 5 | d]
}

/// PSCI SYSTEM_OFF.
pub(crate) fn off() -> Vec<u32> {
    [load(0, 0x8400_0008).as_slice(), &[0xD400_0002]].concat() // hvc #0
}

/// MSR of a system register from Xt.
pub(crate) fn msr(register: u32, t: u32) -> u32 {
    0xD510_0000 | (register & !(1 << 20)) | t
}
