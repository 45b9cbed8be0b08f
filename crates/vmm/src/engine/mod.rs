//! Engines: what executes guest instructions.

mod caches;
mod cpuid;
mod debugger;
mod dump;
mod frequency;
mod instruction_sets;
pub mod kvm;
pub(crate) mod paging;
pub mod soft;

pub use debugger::{Changes, DebugStops, Debugger, Registers, Resume, Stop, StoppedVcpu, Watchpoint};

use crate::machine::{Board, Machine, Outcome, StateError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// EBX, ECX and EDX of CPUID leaf 4000_0000H: by this guests know our VMM, on every engine.
pub(crate) const SIGNATURE: &[u8; 12] = b"vpmuvpmuvpmu";

/// Which engine to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum EngineChoice {
    /// KVM if it can count guests here, else soft.
    ///
    /// KVM where the counts come from KVM (`host`, `synthetic`) or the host can count guests;
    /// otherwise the soft engine, so that the numbers are real.
    #[default]
    Auto,
    /// /dev/kvm.
    Kvm,
    /// Our interpreter: no KVM, exact counts.
    Soft,
}

/// Bounds of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Wall-clock time after which the run ends with [`Outcome::TimedOut`].
    pub timeout: Duration,
}

/// What the vCPU's registers held, for people.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RegisterDump {
    /// Register name and value, in the order to print.
    pub registers: Vec<(&'static str, u64)>,
    /// Bytes at the next instruction, as far as they could be read.
    pub code: Vec<u8>,
    /// The next instruction, as `objdump` writes it; `None` where the bytes are none.
    pub instruction: Option<String>,
}

/// How often an instruction was executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstructionCount {
    /// Mnemonic in lower case.
    pub mnemonic: String,
    /// Times.
    pub count: u64,
}

/// How closely an engine models the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Detail {
    /// Architectural events exact; a cycle an instruction.
    #[default]
    Counts,
    /// A model of the core: pipeline, caches, predictors.
    Timing,
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counts => "counts",
            Self::Timing => "timing",
        })
    }
}

/// What an engine tells of its work.
#[derive(Debug, Default)]
pub struct EngineReport {
    /// Instructions retired; `None` where they are not counted.
    pub instructions: Option<u64>,
    /// Exits to the VMM, by kind.
    pub exits: Vec<(&'static str, u64)>,
    /// Instructions that KVM could not emulate and the interpreter completed, in order of first use.
    pub completed: Vec<InstructionCount>,
}

/// An engine with one vCPU. What only some can do is a trait of its own, which an engine that can hands out.
pub trait Engine<B: Board> {
    /// Name, for people and scripts.
    fn name(&self) -> &'static str;

    /// How closely it models the core; `None` for a real CPU.
    fn detail(&self) -> Option<Detail>;

    /// Sets the vCPU to the state in which the loader's image starts.
    ///
    /// # Errors
    /// The engine cannot express the state.
    fn boot(&mut self, state: &B::Boot) -> Result<(), EngineError>;

    /// Runs until the machine has an outcome, and returns it.
    ///
    /// # Errors
    /// The engine itself failed; whatever the guest does is an [`Outcome`].
    fn run(&mut self, machine: &mut Machine<B>, limits: RunLimits) -> Result<Outcome, EngineError>;

    /// The vCPU's registers now.
    fn registers(&self, machine: &Machine<B>) -> RegisterDump;

    /// The instruction at an address, of an x86 CPU in the current code segment, as `objdump` writes it; `None` where
    /// there is none.
    fn instruction_at(&self, machine: &Machine<B>, address: u64) -> Option<String>;

    /// What it has done so far.
    fn report(&self) -> EngineReport;

    /// Exact stops and the vCPU's state there, if it has them.
    fn snapshots(&mut self) -> Option<&mut dyn Snapshots<B>> {
        None
    }

    /// Stops for a debugger, if it has them.
    fn debugging(&mut self) -> Option<&mut dyn Debugging<B>> {
        None
    }
}

/// An engine that stops after an exact number of instructions, and goes on from a saved state.
pub trait Snapshots<B: Board> {
    /// As [`Engine::run`], but stops with `None` after exactly `instructions` retired since boot; a run that ends
    /// before that has its outcome.
    fn run_until(
        &mut self,
        machine: &mut Machine<B>,
        limits: RunLimits,
        instructions: u64,
    ) -> Option<Outcome>;

    /// The vCPU's state between two runs.
    fn save(&self) -> VcpuState;

    /// Goes on from a saved state.
    ///
    /// # Errors
    /// No guest can have reached it; nothing changes then.
    fn restore(&mut self, saved: &VcpuState) -> Result<(), StateError>;
}

/// An engine whose guest a debugger can stop at every instruction.
pub trait Debugging<B: Board> {
    /// From now on this may stop the guest.
    fn attach(&mut self, debugger: Box<dyn Debugger<B::Registers>>);
}

/// A saved vCPU with its counts, by instruction set.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VcpuState {
    /// Of the soft engine for x86-64.
    X86(Box<soft::x86::SoftState>),
    /// Of the soft engine for AArch64.
    Arm(Box<soft::arm::ArmState>),
}

impl VcpuState {
    /// Instructions retired since boot.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        match self {
            Self::X86(state) => state.instructions(),
            Self::Arm(state) => state.instructions(),
        }
    }
}

/// An engine could not be set up or failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// /dev/kvm.
    #[error(transparent)]
    Kvm(#[from] kvm::KvmError),
}
