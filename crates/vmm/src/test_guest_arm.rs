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

/// Where TTBR1_EL1 has the 39-bit addresses.
pub(crate) const UPPER_HALF: u64 = 0xFFFF_FF80_0000_0000;

/// Turns the MMU on with RAM at [`UPPER_HALF`] too, goes on there with a NOP, and switches off.
pub(crate) fn to_upper_half() -> Vec<u32> {
    const TABLES: u64 = CODE + 0x3000;
    let mut code = Vec::new();
    // A block of 1 GiB: descriptor 1 of the level-1 table, for 39-bit addresses of TTBR1_EL1 and TTBR0_EL1.
    code.extend(load(0, TABLES as u32));
    code.extend(load(1, 0x4000_0000 | 1 << 10 | 3 << 8 | 1)); // AF, inner shareable
    code.push(0xF900_0401); //                str x1, [x0, #8]
    code.push(0xD518_2000); //                msr ttbr0_el1, x0
    code.push(0xD518_2020); //                msr ttbr1_el1, x0
    code.extend(load(2, 0x8019 | 25 << 16)); // TCR_EL1: T0SZ and T1SZ 25
    code.push(0xF2C0_0002 | 5 << 5); //       movk x2, #5, lsl #32: IPS
    code.push(0xD518_2042); //                msr tcr_el1, x2
    code.extend(load(3, 0xFF)); //            MAIR_EL1: normal memory
    code.push(0xD518_A203); //                msr mair_el1, x3
    code.push(0xD538_1004); //                mrs x4, sctlr_el1
    code.push(0xB240_0084); //                orr x4, x4, #1
    code.push(0xD518_1004); //                msr sctlr_el1, x4
    code.push(0xD503_3FDF); //                isb
    code.push(0x1000_0005 | 4 << 5); //       adr x5, .+16
    code.push(0xB259_60A5); //                orr x5, x5, #0xffffff8000000000
    code.push(0xD61F_00A0); //                br x5
    code.push(0xD503_201F); //                nop
    code.push(0xD503_201F); //                nop: the target
    code.extend(off());
    code
}
