//! What to run, on what.

use crate::counts::CountsChoice;
use crate::counts::timing::Uncore;
use crate::engine::{Detail, EngineChoice};
use crate::gdb::GdbServer;
use crate::inject::SkidChoice;
use crate::machine::progress::RunProgress;
use crate::machine::stop::StopRequest;
use crate::snapshot::Snapshot;
use platform::devices::{Input, Output};
use platform::loader::{BootParams, Image};
use platform::memory::MemoryConfig;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;
use vpmu::Profile;

/// A run.
pub struct RunConfig {
    /// Where the guest begins.
    pub start: Start,
    /// Wall-clock limit.
    pub timeout: Duration,
    /// The soft engine compiles hot blocks. No result depends on it.
    pub compile: bool,
    /// Where to write the trace of PMU accesses.
    pub trace: Option<PathBuf>,
    /// Where to write the trace of exceptions and interrupts.
    pub trace_exceptions: Option<PathBuf>,
    /// A file of faults that the PMU has, see [`crate::inject`].
    pub inject: Option<PathBuf>,
    /// How late its interrupts are.
    pub skid: Option<SkidChoice>,
    /// Where to record what the guest asks of its PMU and gets, see [`vpmu::recording`].
    pub record_pmu: Option<PathBuf>,
    /// A recording that the PMU answers from.
    pub replay_pmu: Option<PathBuf>,
    /// Before the guest runs, this process gives up the rights that a run does not need.
    pub sandbox: bool,
    /// A snapshot to take on the way.
    pub save: Option<SnapshotPlan>,
    /// Where console output also goes while the guest runs.
    pub console: Option<Output>,
    /// What the guest reads from its serial port.
    pub input: Option<Input>,
    /// Where GDB can connect.
    pub gdb: Option<GdbServer>,
    /// Asks the run to end.
    pub stop: StopRequest,
    /// Is told how far the run is.
    pub progress: RunProgress,
}

impl fmt::Debug for RunConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunConfig")
            .field("start", &self.start)
            .field("timeout", &self.timeout)
            .field("trace", &self.trace)
            .field("trace_exceptions", &self.trace_exceptions)
            .field("inject", &self.inject)
            .field("skid", &self.skid)
            .field("record_pmu", &self.record_pmu)
            .field("replay_pmu", &self.replay_pmu)
            .field("save", &self.save)
            .finish_non_exhaustive()
    }
}

/// Where a guest begins.
#[derive(Debug)]
pub enum Start {
    /// With an image.
    Boot(Box<BootConfig>),
    /// With a snapshot, on the soft engine. Console and traces hold what comes after it, the counts and windows of
    /// the report everything since boot.
    Resume(Box<Snapshot>),
}

/// What to boot, on what.
#[derive(Debug)]
pub struct BootConfig {
    /// The image.
    pub image: Image,
    /// Command line and modules for it.
    pub params: BootParams,
    /// The PMU to show.
    pub profile: Profile,
    /// What executes the guest.
    pub engine: EngineChoice,
    /// Where the counts come from.
    pub counts: CountsChoice,
    /// How closely the soft engine models the core.
    pub detail: Detail,
    /// With [`Detail::Timing`], what the core finds outside of itself.
    pub uncore: Uncore,
    /// With [`Detail::Timing`], the name of the intervals that the core is modelled in, which the guest marks (x86);
    /// `None` is from the first instruction on.
    pub model_in: Option<String>,
    /// Threads that may run the guest: with [`Detail::Timing`] a second one takes the model of the core. No result
    /// depends on it.
    pub threads: NonZeroUsize,
    /// Whether the guest gets last branch records.
    pub lbr: LbrChoice,
    /// Whether the guest gets precise sampling: PEBS or IBS.
    pub precise: PreciseChoice,
    /// Guest RAM.
    pub memory: MemoryConfig,
}

/// Whether the guest gets last branch records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum LbrChoice {
    /// On with an engine that sees every branch, off with KVM.
    #[default]
    Auto,
    /// Yes, or the run is refused.
    On,
    /// No: the profile does not announce them.
    Off,
}

/// Whether the guest gets the precise sampling of the profile's silicon: PEBS of Intel's, IBS of AMD's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum PreciseChoice {
    /// Yes, if the engine and the profile's silicon have it.
    #[default]
    Auto,
    /// Yes, or the run is refused.
    On,
    /// No: the profile does not announce it.
    Off,
}

/// A snapshot to take on the way.
#[derive(Debug, Clone)]
pub struct SnapshotPlan {
    /// After so many instructions retired since boot.
    pub at: u64,
    /// Where to write it.
    pub path: PathBuf,
}
