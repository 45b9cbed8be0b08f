//! The KVM engine: the guest runs on the CPU, and what concerns the PMU comes to us.
//!
//! | file | what it is |
//! | --- | --- |
//! | `mod.rs` | the engine's interface |
//! | `setup.rs`, `filter.rs`, `cpuid/` | building the virtual machine |
//! | `vcpu.rs`, `exit.rs` | KVM's view of the vCPU, as values |
//! | `run.rs`, `halt.rs` | the exit loop |
//! | `kick.rs` | leaving the guest on time |
//! | `complete.rs` | instructions that KVM cannot emulate |
//! | `rdpmc/` | RDPMC, which KVM does not hand out |
//! | `state.rs` | the vCPU's registers as those of the interpreter, and back |
//! | `report.rs` | words for what KVM could not do |
//!
//! # What comes to us
//! MSRs of the vPMU, of the local APIC and those that KVM does not know (MSR filter and user-space MSR
//! exits), ports, MMIO, HLT. The local APIC is ours: KVM has none in this machine, so PMIs go in through KVM_NMI
//! and KVM_INTERRUPT. CPUID is a table that KVM answers from.
//!
//! # Time
//! Guest time is the host's monotonic clock from [`KvmEngine::new`] on. A slice of run time is the
//! time inside KVM_RUN, booked to the privilege level before and after it; half to each when they
//! differ.

mod complete;
mod cpuid;
mod error;
mod exit;
mod filter;
mod halt;
mod kick;
mod rdpmc;
mod report;
mod run;
mod setup;
mod state;
#[cfg(test)]
mod tests;
mod vcpu;

pub use error::{CpuidBits, KvmAdvice, KvmError};
pub use kick::kick_signal;

use super::{Detail, Engine, EngineError, EngineReport, InstructionCount, RegisterDump, RunLimits, dump};
use crate::machine::x86::Pc;
use crate::machine::{Machine, Outcome};
use exit::Counts;
use kvm_ioctls::VmFd;
use platform::loader::x86::BootState;
use platform::memory::GuestMemory;
use platform::x86::apic::ApicConfig;
use platform::x86::apic::spec::ApicBase;
use rdpmc::Intercept;
use vcpu::Vcpu;
use vpmu::Profile;

/// What a KVM virtual machine is made of.
#[derive(Debug, Clone, Copy)]
pub struct KvmConfig<'a> {
    /// Guest RAM; the engine keeps a handle to it.
    pub memory: &'a GuestMemory,
    /// The PMU that CPUID announces.
    pub profile: &'a Profile,
    /// The local APIC that the machine will have: CPUID says the same.
    pub apic: &'a ApicConfig,
}

/// A KVM virtual machine with one vCPU.
#[derive(Debug)]
pub struct KvmEngine {
    // The vCPU goes first when dropped, the memory last.
    vcpu: Vcpu,
    intercept: Intercept,
    _vm: VmFd,
    _memory: GuestMemory,
    tsc_khz: u32,
    /// CLOCK_MONOTONIC ns of guest time 0.
    origin: u64,
    counts: Counts,
    completed: Vec<InstructionCount>,
}

/// Why this host has no usable KVM, or `Ok`: the device is there, may be opened, and is KVM. The quick
/// part of what [`KvmEngine::new`] checks.
///
/// # Errors
/// As [`KvmEngine::new`]; [`KvmError::is_unavailable`] holds.
pub fn check_host() -> Result<(), KvmError> {
    setup::open().map(drop)
}

impl KvmEngine {
    /// Opens /dev/kvm and builds the virtual machine.
    ///
    /// # Errors
    /// [`KvmError`] says what is missing, and [`KvmError::advice`] what to do about it.
    pub fn new(config: &KvmConfig<'_>) -> Result<Self, KvmError> {
        kick::install_handler()?;
        let setup::Parts { vm, vcpu, abilities, tsc_khz } = setup::build(config)?;
        log::debug!("KVM with {abilities:x?}, TSC at {tsc_khz} kHz");
        Ok(Self {
            vcpu,
            intercept: Intercept::new(abilities.debug_controls),
            _vm: vm,
            _memory: config.memory.clone(),
            tsc_khz,
            origin: kick::monotonic_ns(),
            counts: Counts::default(),
            completed: Vec::new(),
        })
    }

    /// TSC rate of the guest in Hz; 0 when the host cannot tell.
    #[must_use]
    pub fn tsc_hz(&self) -> u64 {
        u64::from(self.tsc_khz) * 1000
    }

    /// The signal that makes the vCPU's thread leave the guest and look for counter overflows.
    #[must_use]
    pub fn kick_signal(&self) -> i32 {
        kick_signal()
    }
}

impl Engine<Pc> for KvmEngine {
    fn name(&self) -> &'static str {
        "kvm"
    }

    fn detail(&self) -> Option<Detail> {
        None
    }

    fn boot(&mut self, state: &BootState) -> Result<(), EngineError> {
        Ok(self.vcpu.boot(state, ApicBase::RESET.0)?)
    }

    fn run(&mut self, machine: &mut Machine<Pc>, limits: RunLimits) -> Result<Outcome, EngineError> {
        Ok(self.run_machine(machine, limits)?)
    }

    fn registers(&self, machine: &Machine<Pc>) -> RegisterDump {
        dump::registers(&state::visible(self.vcpu.regs(), self.vcpu.sregs()), machine)
    }

    fn instruction_at(&self, machine: &Machine<Pc>, rip: u64) -> Option<String> {
        let state = state::visible(self.vcpu.regs(), self.vcpu.sregs());
        dump::instruction_at(&state, &machine.memory, rip)
    }

    fn report(&self) -> EngineReport {
        EngineReport { instructions: None, exits: self.counts.list(), completed: self.completed.clone() }
    }
}
