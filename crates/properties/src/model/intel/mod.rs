//! Intel's PMU, without branch records.
//!
//! Written from the manual's tables, register by register, and not from `vpmu`: every counter is
//! stepped eagerly, every register has its own #GP rule, there are no totals, marks, masks or
//! tables of registers. It learns what the CPU has as a guest does, from CPUID leaf 0AH and
//! IA32_PERF_CAPABILITIES.
//!
//! Where public documents leave the result open, the model takes these choices:
//!
//! | open point | choice |
//! | --- | --- |
//! | RESET | zero, GLOBAL_CTRL all general-purpose counters (KVM) |
//! | excess bits written to a fixed counter | dropped (KVM) |
//! | ANY (bit 21) where deprecated | accepted, reads 0 (KVM) |
//! | event select with modifiers that no named event has, EDGE without CMASK | stands still |
//! | IA32_DEBUGCTL without branch records | bits 0, 1, 11 dropped, others but 12 and 14 #GP (KVM) |
//! | IA32_MISC_ENABLE | the bits that kvm-unit-tests stores can be stored; others #GP |
//! | order within one overflow | status, then freeze, then the PMI request |
//! | several overflows in one batch of counts | all status bits, one PMI, one freeze after the batch |
//! | PERF_METRICS after only one register of the pair was written | see [`metrics`] |

mod counting;
mod enumeration;
mod events;
mod metrics;
mod msr;
mod rdpmc;

pub(super) use enumeration::Core;

use super::{Books, Model, Tick, bit, ones};
use enumeration::Cpu;
use metrics::Metrics;
use vpmu::event::Event;
use vpmu::pmu::RdpmcContext;
use vpmu::{Profile, ReadOutcome, WriteOutcome};

/// The PMU of one logical processor.
#[derive(Debug, Clone)]
pub(super) struct Intel {
    cpu: Cpu,
    evtsel: [u64; 8],
    pmc: [u64; 8],
    fixed: [u64; 4],
    fixed_ctr_ctrl: u64,
    global_ctrl: u64,
    global_status: u64,
    debugctl: u64,
    misc_enable: u64,
    offcore_rsp: [u64; 2],
    ld_lat: u64,
    frontend: u64,
    metrics: Metrics,
    /// A PMI was requested and not yet taken.
    pmi: bool,
}

impl Intel {
    pub(super) fn power_on(profile: &Profile, core: Core) -> Self {
        let cpu = Cpu::enumerate(profile, core);
        let mut model = Self {
            cpu,
            evtsel: [0; 8],
            pmc: [0; 8],
            fixed: [0; 4],
            fixed_ctr_ctrl: 0,
            global_ctrl: 0,
            global_status: 0,
            debugctl: 0,
            misc_enable: 0,
            offcore_rsp: [0; 2],
            ld_lat: 0,
            frontend: 0,
            metrics: Metrics::default(),
            pmi: false,
        };
        model.reset();
        model
    }
}

impl Model for Intel {
    fn codes(&self) -> Vec<(u64, Option<Event>)> {
        events::codes(&self.cpu)
    }

    fn rdmsr(&self, index: u32) -> Option<ReadOutcome> {
        self.read(index)
    }

    fn wrmsr(&mut self, index: u32, value: u64) -> Option<WriteOutcome> {
        self.write(index, value)
    }

    fn rdpmc(&mut self, ecx: u32, context: RdpmcContext) -> ReadOutcome {
        self.read_counter(ecx, context)
    }

    fn tick(&mut self, tick: &Tick, books: &mut Books) {
        self.count(tick, books);
    }

    fn freezes(&self) -> bool {
        bit(self.debugctl, 12)
    }

    /// Without branch records there is nothing to end.
    fn debug_exception(&mut self) {}

    fn pmi(&mut self) -> &mut bool {
        &mut self.pmi
    }

    /// GLOBAL_CTRL as KVM resets it.
    fn reset(&mut self) {
        self.evtsel = [0; 8];
        self.pmc = [0; 8];
        self.fixed = [0; 4];
        self.fixed_ctr_ctrl = 0;
        self.global_ctrl = if self.cpu.version >= 2 { (1 << self.cpu.gp) - 1 } else { 0 };
        self.global_status = 0;
        self.debugctl = 0;
        // Fast strings on; perfmon available; no BTS, no PEBS.
        self.misc_enable = 0x1881;
        self.offcore_rsp = [0; 2];
        self.ld_lat = 0;
        self.frontend = 0;
        self.metrics = Metrics::default();
        self.pmi = false;
    }

    fn boxed(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }
}
