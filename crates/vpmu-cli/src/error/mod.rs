//! Every way in which a command can fail: what is said, what to do next, and the exit code.

mod advice;

use crate::commands::test::{MergeError, TestError};
use crate::exit;
use crate::interrupt;
use platform::loader::ImageError;
use platform::memory::MemoryError;
use std::error::Error;
use std::io;
use std::iter;
use std::path::PathBuf;
use thiserror::Error;
use vmm::counts::CountsError;
use vmm::gdb::GdbError;
use vmm::guest_program::ProgramError;
use vmm::profile::ProfileError;
use vmm::run::RunError;
use vmm::snapshot::SnapshotError;

/// A failed command.
#[derive(Debug, Error)]
pub(crate) enum CliError {
    /// The image is of no use.
    #[error("image {}", path.display())]
    Image { path: PathBuf, source: ImageError },
    /// The guest's input cannot be read.
    #[error("cannot read the guest's input from {}", path.display())]
    Input { path: PathBuf, source: io::Error },
    /// The terminal cannot become the guest's console.
    #[error("cannot use the terminal as the guest's console")]
    Terminal(#[source] io::Error),
    /// A module cannot be read.
    #[error("cannot read module {}", path.display())]
    Module { path: PathBuf, source: io::Error },
    /// `--rates` without the source that has rates.
    #[error("--rates {} has no meaning with --counts {counts}", path.display())]
    RatesWithoutSynthetic {
        path: PathBuf,
        /// The source that was asked for.
        counts: String,
    },
    /// `--detail` without the engine that has a model.
    #[error("--detail has no meaning with --engine kvm: a real CPU executes the guest, no model")]
    DetailUnderKvm,
    /// `--model-in` without a model.
    #[error("--model-in has no meaning without --detail timing, which models the core")]
    NoModelForIntervals,
    /// A snapshot that is of no use.
    #[error("snapshot {}", path.display())]
    Snapshot { path: PathBuf, source: SnapshotError },
    /// Nothing is built in under this name.
    #[error("there is no profile {name:?}")]
    UnknownProfile {
        /// What was asked for.
        name: String,
        /// The profile with the most similar name.
        similar: Option<String>,
    },
    /// A profile file is of no use.
    #[error(transparent)]
    Profile(ProfileError),
    /// What needs an image has none.
    #[error("there is no image")]
    NoImage,
    /// `--test` names something that the image does not list.
    #[error("image {} has no test {name:?}", image.display())]
    UnknownTest {
        /// What was asked for.
        name: String,
        image: PathBuf,
        /// The test with the most similar name.
        similar: Option<String>,
    },
    /// `--isolate` or `--test` with an image that lists no tests.
    #[error("image {} lists no tests", .0.display())]
    NoTests(PathBuf),
    /// `decode rdpmc` without ECX.
    #[error("rdpmc needs a value: ECX")]
    NoIndex,
    /// No PMU register has this name or index, and no event.
    #[error("{text:?} is no PMU register and no event of this profile")]
    UnknownRegister {
        /// What was asked for.
        text: String,
        /// The register with the most similar name.
        similar: Option<String>,
    },
    /// Not a number, or too large.
    #[error("{text:?} is no {bits}-bit number")]
    Number {
        /// What was typed.
        text: String,
        /// Width in bits.
        bits: u32,
    },
    /// The child of `--sandbox`.
    #[error("the sandbox's process cannot be started")]
    Child { source: io::Error },
    /// It has been ended by the filter of system calls.
    #[error("the guest's process made a system call that the sandbox does not allow, and was ended")]
    Forbidden,
    /// It has died otherwise.
    #[error("the guest's process was ended by {}", crate::interrupt::name(*signal))]
    Died { signal: i32 },
    /// No stub for GDB.
    #[error(transparent)]
    Gdb(#[from] GdbError),
    /// `vpmu test`.
    #[error(transparent)]
    Test(#[from] TestError),
    /// A program in a Linux guest.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// No kernel for a program.
    #[error("there is no Linux kernel to run a program on")]
    NoKernel,
    /// No place for it either.
    #[error("there is no directory for a cache: neither XDG_CACHE_HOME nor HOME is set")]
    NoCache,
    /// The distribution's client does not do it.
    #[error("cannot fetch a kernel: {0}")]
    Setup(String),
    /// Where we are.
    #[error("the working directory cannot be found")]
    Directory { source: io::Error },
    /// Samples with a model of the core.
    #[error("samples are taken without a model of the core")]
    SamplesOfModel,
    /// The program has not been started.
    #[error("the program was not started: there is nothing to record")]
    NothingRecorded,
    /// Another kind of file, or of another version.
    #[error("{} is no recording of this version of `vpmu record`", path.display())]
    NoRecording { path: PathBuf },
    /// What has no cycles.
    #[error("the recording has no cycles")]
    NoCycles,
    /// A file with code that is not in a recording.
    #[error("nothing of {name} was executed")]
    NoObject { name: String },
    /// A result cannot be read.
    #[error("cannot read {}", path.display())]
    Result { path: PathBuf, source: io::Error },
    /// Another kind of file.
    #[error("{} is no result of `vpmu stat --json -- PROGRAM`", path.display())]
    NoResult { path: PathBuf },
    /// A condition on what was not counted twice.
    #[error("{event:?} is not in both results")]
    NotInBoth { event: String },
    /// An event that the profile does not have.
    #[error("{profile} has no event {name:?}")]
    UnknownEvent {
        /// What was asked for.
        name: String,
        profile: String,
        /// The event with the most similar name.
        similar: Option<String>,
    },
    /// A metric that is not there.
    #[error("there is no metric {name:?}")]
    UnknownMetric {
        /// What was asked for.
        name: String,
        /// The metric with the most similar name.
        similar: Option<String>,
    },
    /// It never came to the region.
    #[error("the program has ended without {region}")]
    NoRegion {
        /// As it was asked for.
        region: String,
    },
    /// Only a model of the core knows it.
    #[error("{0} needs a model of the core")]
    NeedsModel(&'static str),
    /// Only a fixed counter has the event.
    #[error("{event} has no code with which the guest could ask for it")]
    NoCode {
        /// As it was asked for.
        event: String,
    },
    /// The VMM.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Results cannot go where they shall go; nothing has run.
    #[error("cannot write {}", path.display())]
    NotWritable { path: PathBuf, source: io::Error },
    /// Results could not be written to a file.
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// Two results that both go to stdout.
    #[error("only one of {flags} can go to stdout")]
    StdoutTwice { flags: String },
    /// No handler for signals.
    #[error("cannot listen to signals")]
    Signals(#[source] io::Error),
    /// Results could not be written to stdout.
    #[error("cannot write to stdout")]
    Output(#[from] io::Error),
}

impl From<MergeError> for CliError {
    fn from(error: MergeError) -> Self {
        Self::Test(TestError::Merge(error))
    }
}

impl CliError {
    /// True when the reader of our output has closed it.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The process's exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Run(error) | Self::Program(ProgramError::Run(error)) => run_exit_code(error),
            Self::Program(ProgramError::Stream(_) | ProgramError::Snapshot(_) | ProgramError::Boot(_)) => {
                exit::HOST
            }
            Self::Program(ProgramError::Interrupted { signal }) => interrupt::exit_code(*signal),
            Self::Program(ProgramError::BootTimedOut) => exit::TIMEOUT,
            Self::Setup(_) => exit::HOST,
            Self::Test(error) => error.exit_code(),
            Self::Output(_) | Self::Write { .. } | Self::Signals(_) => exit::HOST,
            _ => exit::USAGE,
        }
    }

    /// The whole chain of causes as one line. No message contains that of its cause.
    pub(crate) fn line(&self) -> String {
        chain(self)
    }
}

/// An error and its causes as one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let causes = iter::successors(error.source(), |&error| error.source());
    causes.fold(error.to_string(), |line, cause| format!("{line}: {cause}"))
}

fn run_exit_code(error: &RunError) -> u8 {
    match error {
        RunError::Memory(MemoryError::TooSmall { .. } | MemoryError::TooLarge { .. })
        | RunError::Load(_)
        | RunError::NeedsSoftEngine(_)
        | RunError::SnapshotOfModel
        | RunError::Timing(_)
        | RunError::Trace { .. }
        | RunError::Inject(_)
        | RunError::Recording { .. }
        | RunError::NoPreciseSampling { .. }
        | RunError::NoCoreForSkid { .. }
        | RunError::Snapshot(_)
        | RunError::SaveSnapshot { .. }
        | RunError::SnapshotNotReached { .. } => exit::USAGE,
        RunError::Counts(CountsError::Rates(_) | CountsError::SoftCountsItself { .. }) => exit::USAGE,
        _ => exit::HOST,
    }
}

#[cfg(test)]
mod tests;
