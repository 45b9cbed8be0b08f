//! Why a run could not be started, or the VMM failed in it.

use crate::counts::CountsError;
use crate::counts::timing::TimingError;
use crate::engine::EngineError;
use crate::inject::InjectError;
use crate::machine::pmu::TapeError;
use crate::snapshot::SnapshotError;
use platform::devices::FwCfgError;
use platform::loader::LoadError;
use platform::memory::MemoryError;
use platform::x86::apic::ConfigError;
use sandbox::SandboxError;
use std::io;
use std::path::PathBuf;

/// A run could not be started, or the VMM failed in it.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Guest memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The image does not fit the machine.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The counts source.
    #[error(transparent)]
    Counts(#[from] CountsError),
    /// There is no model of the core.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// KVM does not have it.
    #[error(transparent)]
    NeedsSoftEngine(#[from] SoftOnly),
    /// AArch64 does not have it.
    #[error(transparent)]
    NeedsX86(#[from] X86Only),
    /// PEBS or IBS of a CPU that has none, or one of which no public document tells enough.
    #[error("{profile} has neither PEBS records of a known format nor IBS")]
    NoPreciseSampling {
        /// The profile.
        profile: String,
    },
    /// The sandbox.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The file of faults.
    #[error(transparent)]
    Inject(#[from] InjectError),
    /// The file of a recording.
    #[error("recording {path}")]
    Recording {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: TapeError,
    },
    /// Skid as of a core that is not known.
    #[error("how much is in flight in the core of {profile} is not known")]
    NoCoreForSkid {
        /// The profile.
        profile: String,
    },
    /// A snapshot of a model's caches, predictors and pipeline.
    #[error("the state of a modelled core is not part of snapshots")]
    SnapshotOfModel,
    /// The trace file.
    #[error("trace file {path}")]
    Trace {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// A snapshot that cannot be resumed.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The snapshot could not be written.
    #[error("snapshot file {path}")]
    SaveSnapshot {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: SnapshotError,
    },
    /// The run ended before, or began after, the point of the snapshot.
    #[error("no snapshot after {at} instructions: the run was at {instructions}")]
    SnapshotNotReached {
        /// Where the snapshot was wanted.
        at: u64,
        /// Instructions retired.
        instructions: u64,
    },
    /// The local APIC that this profile asks for.
    #[error("profile {profile}")]
    Apic {
        /// Name of the profile.
        profile: String,
        /// What is wrong.
        source: ConfigError,
    },
    /// What the image is told of the machine.
    #[error(transparent)]
    FwCfg(#[from] FwCfgError),
}

/// What the soft engine can do and KVM cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SoftOnly {
    /// Cycles and slots from a model of the core.
    #[error("the CPU that executes the guest under KVM is the host's, which no model of a core stands for")]
    CoreModel,
    /// Last branch records.
    #[error("KVM does not tell which branches the guest takes")]
    BranchRecords,
    /// PEBS and IBS.
    #[error("KVM does not stop after the very instruction that a precise sample is about")]
    PreciseSampling,
    /// A trace of exceptions.
    #[error("KVM delivers exceptions without telling of them: only the soft engine can trace them")]
    Exceptions,
    /// GDB.
    #[error("the kvm engine has no debugger: only the soft engine stops at every instruction")]
    Debugger,
    /// Faults at an instruction or for a number of them.
    #[error("KVM does not stop at an instruction, and the faults count instructions")]
    CountedFaults,
    /// Skid.
    #[error("interrupts of the PMU under KVM are as late as the host makes them")]
    Skid,
    /// Snapshots.
    #[error(
        "the kvm engine takes no snapshots: only the soft engine stops after an exact number of instructions"
    )]
    Snapshots,
}

/// What is there for x86 guests and not for AArch64 ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum X86Only {
    /// KVM.
    #[error("the kvm engine runs x86 guests, and the CPU of the profile is AArch64")]
    Kvm,
    /// Last branch records.
    #[error("the CPU of the profile has no branch records")]
    BranchRecords,
    /// A model of the core for some intervals.
    #[error("the AArch64 machine has a model of the core for whole runs only")]
    ModelledIntervals,
}
