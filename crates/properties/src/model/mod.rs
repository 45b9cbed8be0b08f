//! A slow and obvious second implementation of the PMU's rules, to compare `vpmu` with.
//!
//! Written from the manual's tables, register by register, and not from `src/`: every counter is
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

pub mod counting;
pub mod enumeration;
pub mod events;
pub mod metrics;
mod msr;
pub mod rdpmc;

use enumeration::Cpu;
use metrics::Metrics;

/// What the guest gets from an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// RDMSR, RDPMC: this value.
    Value(u64),
    /// WRMSR: done.
    Done,
    /// #GP(0).
    Gp(Cause),
    /// Not one of the PMU's MSRs; the guest must not get a value.
    Unclaimed,
}

/// Why the access faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Absent,
    ReadOnly,
    Reserved(u64),
    Unchangeable(u64),
    RdpmcIndex(u32),
    RdpmcPrivilege,
}

/// The PMU of one logical processor.
#[derive(Debug, Clone)]
pub struct Model {
    pub cpu: Cpu,
    pub evtsel: [u64; 8],
    pub pmc: [u64; 8],
    pub fixed: [u64; 4],
    pub fixed_ctr_ctrl: u64,
    pub global_ctrl: u64,
    pub global_status: u64,
    pub debugctl: u64,
    pub misc_enable: u64,
    pub offcore_rsp: [u64; 2],
    pub ld_lat: u64,
    pub frontend: u64,
    pub metrics: Metrics,
    /// A PMI was requested and not yet taken.
    pub pmi: bool,
    /// Occurrences counted on each counter since power-on, whatever was written in between.
    pub counted_gp: [u64; 8],
    pub counted_fixed: [u64; 4],
    /// Slots counted while the metrics were enabled, and those of each level-1 category.
    pub counted_metrics: [u64; 5],
}

impl Model {
    pub fn power_on(cpu: Cpu) -> Self {
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
            counted_gp: [0; 8],
            counted_fixed: [0; 4],
            counted_metrics: [0; 5],
        };
        model.reset();
        model
    }

    /// RESET. The books about what was counted stay.
    pub fn reset(&mut self) {
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

    pub fn take_pmi(&mut self) -> bool {
        std::mem::replace(&mut self.pmi, false)
    }
}

/// Mask of the counter bits.
pub fn ones(width: u32) -> u64 {
    (1 << width) - 1
}

/// Bit `n` of `value`.
pub fn bit(value: u64, n: u32) -> bool {
    (value >> n) & 1 == 1
}
