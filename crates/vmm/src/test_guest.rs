//! A guest of a few instructions on the soft engine, for several tests.

use crate::counts::Source;
use crate::counts::model::ModelSource;
use crate::counts::timing::{SharedCore, TimingSource};
use crate::engine::soft::x86::SoftEngine;
use crate::engine::{Detail, Engine as _};
use crate::machine::Machine;
use crate::machine::pmu::PmuDevice;
use crate::machine::pmu::trace::Tracer;
use crate::machine::x86::Pc;
use platform::devices::{Capture, FwCfg};
use platform::loader::x86::BootState;
use platform::memory::{GuestMemory, MemoryConfig};
use platform::x86::apic::{ApicConfig, LocalApic};
use platform::x86::devices::Devices;
use platform::x86::memory::LAYOUT;
use std::io;
use vpmu::Profile;
use vpmu::profile::ICELAKE_SP;

/// Where its code starts.
pub(crate) const CODE: u32 = 0x1000;

/// An Ice Lake with 4 MiB, in flat 32-bit protected mode.
pub(crate) struct Guest {
    pub(crate) engine: SoftEngine,
    pub(crate) machine: Machine<Pc>,
    pub(crate) trace: Capture,
}

impl Guest {
    pub(crate) fn with(code: &[u8], detail: Detail, apic: ApicConfig) -> Self {
        Self::of(&ICELAKE_SP, code, detail, apic)
    }

    /// The same on another CPU.
    pub(crate) fn of(profile: &Profile, code: &[u8], detail: Detail, apic: ApicConfig) -> Self {
        let memory = GuestMemory::new(MemoryConfig { size_mib: 4 }, &LAYOUT).expect("4 MiB of guest memory");
        memory.write(u64::from(CODE), code).expect("the code fits");
        let mut engine = SoftEngine::new(&memory, profile);
        let mut source: Box<dyn Source> = Box::new(ModelSource::new(profile, engine.retired()));
        if detail == Detail::Timing {
            let core = SharedCore::new(profile).expect("a model");
            source = Box::new(TimingSource::new(profile, core.clone()));
            engine = engine.with_model(core);
        }
        let trace = Capture::new(1 << 20);
        let tracer = Tracer::new(Box::new(trace.clone()));
        let devices = Devices::new(Box::new(io::sink()), Box::new(io::sink()), FwCfg::new(1, 4 << 20));
        let apic = LocalApic::new(apic).expect("a valid APIC");
        let pmu = PmuDevice::new(profile.clone(), source, Some(tracer));
        let machine = Machine::new(memory, Pc::new(devices, apic, engine.tsc_hz()), pmu);
        engine.boot(&BootState::flat(CODE)).expect("a valid state");
        Self { engine, machine, trace }
    }
}
