//! Engines: what executes guest instructions.

mod caches;
mod debugger;
mod dump;
mod frequency;
pub mod kvm;
mod paging;
pub mod soft;

pub use debugger::{Changes, DebugStops, Debugger, Resume, Stop, StoppedVcpu, Watchpoint};

use crate::machine::{Machine, Outcome};
use platform::loader::BootState;
use serde::Serialize;
use std::time::Duration;

/// EBX, ECX and EDX of CPUID leaf 4000_0000H: by this guests know our VMM, on every engine.
pub(crate) const SIGNATURE: &[u8; 12] = b"vpmuvpmuvpmu";

/// Which engine to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EngineChoice {
    /// KVM where the counts come from KVM (`host`, `synthetic`) or the host can count guests;
    /// otherwise the soft engine, so that the numbers are real.
    #[default]
    Auto,
    /// /dev/kvm.
    Kvm,
    /// Our interpreter.
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
    /// Bytes at RIP, as far as they could be read.
    pub code: Vec<u8>,
    /// The instruction at RIP, as `objdump` writes it; `None` where the bytes are none.
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

/// An engine with one vCPU.
pub trait Engine {
    /// Name on the command line.
    fn name(&self) -> &'static str;

    /// How closely it models the core: `counts` for architectural events, `timing` with a model of the pipeline;
    /// `None` for a real CPU.
    fn detail(&self) -> Option<&'static str> {
        None
    }

    /// Sets the vCPU to the state in which the loader's image starts.
    ///
    /// # Errors
    /// The engine cannot express the state.
    fn boot(&mut self, state: &BootState) -> Result<(), EngineError>;

    /// Runs until the machine has an outcome, and returns it.
    ///
    /// # Errors
    /// The engine itself failed; whatever the guest does is an [`Outcome`].
    fn run(&mut self, machine: &mut Machine, limits: RunLimits) -> Result<Outcome, EngineError>;

    /// As [`run`](Self::run), but stops with `None` after exactly `instructions` retired since boot; a run that ends
    /// before that has its outcome.
    ///
    /// # Errors
    /// [`EngineError::NoSnapshots`] where instructions cannot be counted; otherwise as [`run`](Self::run).
    fn run_until(
        &mut self,
        _machine: &mut Machine,
        _limits: RunLimits,
        _instructions: u64,
    ) -> Result<Option<Outcome>, EngineError> {
        Err(EngineError::NoSnapshots(self.name()))
    }

    /// The vCPU's state between two runs, for a snapshot.
    ///
    /// # Errors
    /// [`EngineError::NoSnapshots`].
    fn save(&self) -> Result<soft::SoftState, EngineError> {
        Err(EngineError::NoSnapshots(self.name()))
    }

    /// From now on this may stop the guest.
    ///
    /// # Errors
    /// [`EngineError::NoDebugger`].
    fn attach(&mut self, _debugger: Box<dyn Debugger>) -> Result<(), EngineError> {
        Err(EngineError::NoDebugger(self.name()))
    }

    /// The vCPU's registers now.
    fn registers(&self, machine: &Machine) -> RegisterDump;

    /// The instruction at an address of the current code segment, as `objdump` writes it; `None` where there is none.
    fn instruction_at(&self, machine: &Machine, rip: u64) -> Option<String>;

    /// Instructions retired so far; `None` where they are not counted.
    fn instructions(&self) -> Option<u64> {
        None
    }

    /// Exits to the VMM so far, by kind, for the report.
    fn exit_counts(&self) -> Vec<(&'static str, u64)>;

    /// Instructions that KVM could not emulate and the interpreter completed, in order of first use.
    fn completed(&self) -> Vec<InstructionCount> {
        Vec::new()
    }
}

/// An engine could not be set up or failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// /dev/kvm.
    #[error(transparent)]
    Kvm(#[from] kvm::KvmError),
    /// A snapshot of a machine whose time and counts are the host's.
    #[error(
        "--engine {0} cannot take snapshots: only the soft engine stops after an exact number of instructions"
    )]
    NoSnapshots(&'static str),
    /// A debugger at an engine that does not stop where it wants.
    #[error("the {0} engine has no debugger: only the soft engine stops at every instruction")]
    NoDebugger(&'static str),
    /// A snapshot of a model's caches, predictors and pipeline.
    #[error("--detail timing cannot take snapshots: the state of the modelled core is not part of them")]
    NoTimingSnapshots,
}
