//! Every way in which a command can fail: what is said, what to do next, and the exit code.

use crate::commands::test::TestError;
use crate::machine::most_similar;
use crate::output;
use platform::loader::{ImageError, LoadError};
use platform::memory::MemoryError;
use std::error::Error;
use std::io;
use std::iter;
use std::path::PathBuf;
use thiserror::Error;
use vmm::counts::synthetic::RatesError;
use vmm::counts::{CountsChoice, CountsError};
use vmm::engine::EngineError;
use vmm::engine::kvm::KvmError;
use vmm::gdb::GdbError;
use vmm::profile::{ProfileError, ProfileProblem};
use vmm::run::{RunError, SoftOnly};
use vmm::snapshot::SnapshotError;
use vpmu::profile::PROFILES;

/// Exit codes; `vpmu --help` documents them.
pub(crate) mod exit {
    /// The guest passed, or the command did its work.
    pub(crate) const PASS: u8 = 0;
    /// The guest reported failed tests.
    pub(crate) const FAIL: u8 = 1;
    /// Wrong arguments, image or file. clap uses the same.
    pub(crate) const USAGE: u8 = 2;
    /// The VMM could not run.
    pub(crate) const HOST: u8 = 3;
    /// The guest crashed, or halted without a result.
    pub(crate) const CRASH: u8 = 4;
    /// `vpmu test` has nothing to run; cargo-nextest uses the same.
    pub(crate) const NOTHING_TO_RUN: u8 = 4;
    /// The guest skipped every test; Automake and kvm-unit-tests use the same.
    pub(crate) const SKIP: u8 = 77;
    /// The time-out has passed; `timeout(1)` uses the same.
    pub(crate) const TIMEOUT: u8 = 124;
}

/// A failed command.
#[derive(Debug, Error)]
pub(crate) enum CliError {
    /// The image is of no use.
    #[error("image {}", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ImageError,
    },
    /// The guest's input cannot be read.
    #[error("cannot read the guest's input from {}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The terminal cannot become the guest's console.
    #[error("cannot use the terminal as the guest's console")]
    Terminal(#[source] io::Error),
    /// A module cannot be read.
    #[error("cannot read module {}", path.display())]
    Module {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// `--rates` without the source that has rates.
    #[error("--rates {} has no meaning with --counts {counts}", path.display())]
    RatesWithoutSynthetic {
        /// The file.
        path: PathBuf,
        /// The source that was asked for.
        counts: String,
    },
    /// `--detail` without the engine that has a model.
    #[error("--detail has no meaning with --engine kvm: a real CPU executes the guest, no model")]
    DetailUnderKvm,
    /// A snapshot that is of no use.
    #[error("snapshot {}", path.display())]
    Snapshot {
        /// The file.
        path: PathBuf,
        /// Why.
        source: SnapshotError,
    },
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
        /// The image.
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
    /// No stub for GDB.
    #[error(transparent)]
    Gdb(#[from] GdbError),
    /// `vpmu test`.
    #[error(transparent)]
    Test(#[from] TestError),
    /// The VMM.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Results cannot go where they shall go; nothing has run.
    #[error("cannot write {}", path.display())]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Results could not be written to a file.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Two results that both go to stdout.
    #[error("only one of {flags} can go to stdout")]
    StdoutTwice {
        /// The flags.
        flags: String,
    },
    /// No handler for signals.
    #[error("cannot listen to signals")]
    Signals(#[source] io::Error),
    /// Results could not be written to stdout.
    #[error("cannot write to stdout")]
    Output(#[from] io::Error),
}

impl CliError {
    /// True when nobody reads our output any more.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The process's exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Run(error) => run_exit_code(error),
            Self::Test(error) => error.exit_code(),
            Self::Output(_) | Self::Write { .. } | Self::Signals(_) => exit::HOST,
            _ => exit::USAGE,
        }
    }

    /// What the user can do, as one sentence without a full stop.
    pub(crate) fn next_step(&self) -> Option<String> {
        let similar = |similar: &Option<String>, otherwise: &str| match similar {
            Some(name) => format!("did you mean `{name}`? {otherwise}"),
            None => otherwise.to_owned(),
        };
        Some(match self {
            Self::Image { path, source } => match source {
                ImageError::Read(_) => format!("check the path {}", path.display()),
                ImageError::TestSection { .. } | ImageError::TestDescriptor { .. } => {
                    "build the image and vpmu from the same sources".to_owned()
                }
                _ => "`cargo xtask images` builds images that boot".to_owned(),
            },
            Self::Input { .. } => "check the path; `-` is stdin".to_owned(),
            Self::Terminal(_) => "give the input with --input FILE, or --input /dev/null".to_owned(),
            Self::Module { .. } => "check the path; a module is a plain file".to_owned(),
            Self::RatesWithoutSynthetic { .. } => "add --counts synthetic".to_owned(),
            Self::Snapshot { source, .. } => snapshot_next_step(source),
            Self::UnknownProfile { similar: name, .. } => {
                similar(name, "`vpmu list profiles` shows all; a file that describes one ends in .toml")
            }
            Self::Profile(ProfileError { problem: ProfileProblem::Base(name), .. }) => similar(
                &most_similar(name, PROFILES.iter().map(|profile| profile.name)),
                "`vpmu list profiles` names what it can be based on",
            ),
            Self::Profile(_) => {
                "`vpmu list profiles` names what it can be based on; docs/cli.md lists the keys".to_owned()
            }
            Self::NoImage => "name an image, or a snapshot with --restore".to_owned(),
            Self::DetailUnderKvm => "leave --detail out, or use --engine soft".to_owned(),
            Self::UnknownTest { image, similar: name, .. } => {
                similar(name, &format!("`vpmu list tests {}` shows all", image.display()))
            }
            Self::NoTests(_) => "leave out --isolate and --test: the image then runs as a whole".to_owned(),
            Self::UnknownRegister { similar: name, .. } => {
                similar(name, "give an MSR index such as 0x38d, a name such as PERFEVTSEL0, or an event")
            }
            Self::NoIndex => "such as 0x40000000 for fixed counter 0".to_owned(),
            Self::Number { .. } => "write it as 0x1f or as 31".to_owned(),
            Self::Gdb(GdbError::Address(_)) => {
                "write it as --gdb=127.0.0.1:1234, or leave the address out".to_owned()
            }
            Self::Gdb(GdbError::Listen { .. }) => {
                "choose another port: --gdb=PORT, where 0 is any that is free".to_owned()
            }
            Self::Run(error) => return run_next_step(error),
            Self::NotWritable { .. } => "give a path that can be written".to_owned(),
            Self::Write { .. } => "check the path and the free space".to_owned(),
            Self::StdoutTwice { .. } => "give the others a file".to_owned(),
            Self::Signals(_) => {
                "check the limits on file descriptors (ulimit -n) and threads (ulimit -u)".to_owned()
            }
            Self::Test(error) => error.next_step(),
            Self::Output(_) => "check that the disk is not full".to_owned(),
        })
    }

    /// The whole chain of causes as one line. No message contains that of its cause.
    pub(crate) fn line(&self) -> String {
        chain(self)
    }

    /// What `vpmu doctor` has to say about such errors.
    fn doctor(&self) -> Option<&'static str> {
        match self {
            Self::Run(RunError::Engine(EngineError::Kvm(KvmError::Profile { .. }))) => {
                Some("`vpmu doctor` names the profiles that this KVM cannot show")
            }
            Self::Run(RunError::Engine(EngineError::Kvm(_))) => Some("`vpmu doctor` shows what works here"),
            _ => None,
        }
    }

    /// Prints the error and the next step to stderr.
    pub(crate) fn report(&self) {
        let steps: Vec<String> =
            self.next_step().into_iter().chain(self.doctor().map(str::to_owned)).collect();
        output::error(&self.line(), (!steps.is_empty()).then(|| steps.join("; ")).as_deref());
    }
}

/// An error and its causes as one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let causes = iter::successors(error.source(), |&error| error.source());
    causes.fold(error.to_string(), |line, cause| format!("{line}: {cause}"))
}

fn snapshot_next_step(error: &SnapshotError) -> String {
    match error {
        SnapshotError::Io(_) => "check the path",
        SnapshotError::Version(_) | SnapshotError::UnknownProfile(_) | SnapshotError::Profile { .. } => {
            "use the vpmu that wrote it, or take it again with --snapshot"
        }
        _ => "take it again: vpmu run IMAGE --snapshot-at N --snapshot FILE",
    }
    .to_owned()
}

/// How to correct a rates file.
fn rates_correction(error: &RatesError) -> &'static str {
    match error {
        RatesError::Read { .. } => "check the path",
        RatesError::UnknownEvent { .. } => {
            "use a name of Intel's event lists, such as BR_MISP_RETIRED.ALL_BRANCHES, or perf's, such as branch-misses"
        }
        RatesError::Derived { .. } => "remove the key",
        RatesError::Duplicate { .. } => "remove one of the two",
        RatesError::OneSided { .. } => "add the missing rate",
        _ => "correct the file",
    }
}

/// The value of `--counts` for a choice.
fn counts_value(choice: &CountsChoice) -> &'static str {
    match choice {
        CountsChoice::Auto => "auto",
        CountsChoice::Host => "host",
        CountsChoice::Synthetic { .. } => "synthetic",
        CountsChoice::Model => "model",
    }
}

fn run_exit_code(error: &RunError) -> u8 {
    match error {
        RunError::Memory(MemoryError::TooSmall { .. } | MemoryError::TooLarge { .. })
        | RunError::Load(_)
        | RunError::NeedsSoftEngine(_)
        | RunError::SnapshotOfModel
        | RunError::Timing(_)
        | RunError::Trace { .. }
        | RunError::Snapshot(_)
        | RunError::SaveSnapshot { .. }
        | RunError::SnapshotNotReached { .. } => exit::USAGE,
        RunError::Counts(CountsError::Rates(_) | CountsError::SoftCountsItself { .. }) => exit::USAGE,
        _ => exit::HOST,
    }
}

/// Ways around KVM, after what would make it usable.
fn kvm_next_step(error: &KvmError) -> String {
    let others = match error {
        KvmError::Profile { .. } => "use --engine soft, or another --profile",
        _ if error.is_unavailable() => "use --engine soft, which needs no KVM and counts by itself",
        _ => "repeat with -vv for details, or use --engine soft",
    };
    error.advice().map_or_else(|| others.to_owned(), |advice| format!("{advice}, or {others}"))
}

fn run_next_step(error: &RunError) -> Option<String> {
    Some(match error {
        RunError::Load(LoadError::NotEnoughMemory { needed_mib, .. }) => {
            format!("add --memory {needed_mib}")
        }
        RunError::Load(LoadError::Protocol { .. }) => "leave out --protocol".to_owned(),
        RunError::Load(LoadError::CmdlineTooLong { .. } | LoadError::CmdlineNul { .. }) => {
            "shorten --append".to_owned()
        }
        RunError::Load(LoadError::NoRoomForModule { .. } | LoadError::NoRoomForBootInfo { .. }) => {
            "raise --memory".to_owned()
        }
        RunError::Load(_) => "`cargo xtask images` builds images that boot".to_owned(),
        RunError::Memory(_) => "change --memory".to_owned(),
        RunError::Snapshot(error) => snapshot_next_step(error),
        RunError::SaveSnapshot { .. } => "give --snapshot a path that can be written".to_owned(),
        RunError::SnapshotNotReached { .. } => "choose another --snapshot-at".to_owned(),
        RunError::NeedsSoftEngine(what) => match what {
            SoftOnly::CoreModel => "leave --detail timing and --counts out, or use --engine soft",
            SoftOnly::BranchRecords => "leave --lbr out, or use --engine soft",
            SoftOnly::Exceptions => "leave --trace-exceptions and --counts out, or use --engine soft",
            SoftOnly::Debugger => "leave --gdb out, or use --engine soft",
            SoftOnly::Snapshots => "leave --snapshot out, or use --engine soft",
        }
        .to_owned(),
        RunError::SnapshotOfModel => "leave --detail timing out".to_owned(),
        RunError::Timing(_) => {
            "choose another --profile, such as sapphire-rapids, or leave --detail timing out".to_owned()
        }
        RunError::Trace { .. } => "give --trace and --trace-exceptions a path that can be written".to_owned(),
        RunError::Counts(CountsError::Rates(error)) => {
            format!("{}, or leave out --rates for the built-in rates", rates_correction(error))
        }
        RunError::Counts(CountsError::NoHostCounts(reason)) => {
            let others = "use --engine soft, which counts by itself, or add --counts synthetic for made-up counts, \
                          labelled as such";
            reason.advice().map_or_else(|| others.to_owned(), |advice| format!("{advice}, or {others}"))
        }
        RunError::Counts(CountsError::ModelNeedsSoftEngine) => {
            "use --engine soft, or with KVM --counts host or --counts synthetic".to_owned()
        }
        RunError::Counts(CountsError::SoftCountsItself { choice }) => {
            format!("leave --counts out, or use --engine kvm with --counts {}", counts_value(choice))
        }
        RunError::Engine(EngineError::Kvm(error)) => kvm_next_step(error),
        RunError::FwCfg(_) | RunError::Apic { .. } => {
            "choose another --profile (`vpmu list profiles`)".to_owned()
        }
    })
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
