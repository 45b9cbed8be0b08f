//! What the user can do about an error. Options of the command line are named here and nowhere below.

use super::CliError;
use crate::args::word;
use crate::similar::most_similar;
use platform::loader::{Architecture, ImageError, LoadError, OtherFormat};
use platform::memory::{MAX_SIZE_MIB, MIN_SIZE_MIB, MemoryError};
use std::path::Path;
use vmm::counts::CountsError;
use vmm::counts::synthetic::RatesError;
use vmm::engine::EngineError;
use vmm::engine::kvm::KvmError;
use vmm::gdb::GdbError;
use vmm::guest_program::ProgramError;
use vmm::machine::pmu::TapeError;
use vmm::profile::{ProfileError, ProfileProblem};
use vmm::run::{RunError, SoftOnly, X86Only};
use vmm::snapshot::SnapshotError;
use vpmu::profile::PROFILES;

impl CliError {
    /// What the user can do, as one sentence without a full stop.
    pub(crate) fn next_step(&self) -> Option<String> {
        let similar = |similar: &Option<String>, otherwise: &str| match similar {
            Some(name) => format!("did you mean `{name}`? {otherwise}"),
            None => otherwise.to_owned(),
        };
        Some(match self {
            Self::Image { path, source } => image_next_step(path, source),
            Self::Input { .. } => "check the path; `-` is stdin".to_owned(),
            Self::Terminal(_) => "give the input with --input FILE, or --input /dev/null".to_owned(),
            Self::Module { .. } => "check the path; a module is a plain file".to_owned(),
            Self::RatesWithoutSynthetic { .. } => "add --counts synthetic".to_owned(),
            Self::Snapshot { source, .. } => snapshot_next_step(source),
            Self::UnknownProfile { similar: name, .. } => {
                similar(name, "`vpmu list profiles` shows all; a file that describes one ends in .toml")
            }
            Self::Profile(ProfileError { problem: ProfileProblem::Base(name), .. }) => similar(
                &most_similar(name, PROFILES.iter().map(|profile| &*profile.name)),
                "`vpmu list profiles` names what it can be based on",
            ),
            Self::Profile(_) => {
                "`vpmu list profiles` names what it can be based on; docs/cli.md lists the keys".to_owned()
            }
            Self::NoImage => "name an image, or a snapshot with --restore".to_owned(),
            Self::NoModelForIntervals => "add --detail timing, or leave --model-in out".to_owned(),
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
            Self::Child { .. } => "run it without --sandbox".to_owned(),
            Self::Forbidden => {
                "tell us with `strace -f` of the same command; without --sandbox it may go on".to_owned()
            }
            Self::Died { .. } => "run it without --sandbox and with -vv for details".to_owned(),
            Self::Gdb(GdbError::Address(_)) => {
                "write it as --gdb=127.0.0.1:1234, or leave the address out".to_owned()
            }
            Self::Gdb(GdbError::Listen { .. }) => {
                "choose another port: --gdb=PORT, where 0 is any that is free".to_owned()
            }
            Self::Run(error) | Self::Program(ProgramError::Run(error)) => return run_next_step(error),
            Self::Program(error) => return program_next_step(error),
            Self::NoKernel => {
                "`vpmu setup` fetches the distribution's, once; or name one with --kernel".to_owned()
            }
            Self::NoCache => "set HOME, or XDG_CACHE_HOME to a directory".to_owned(),
            Self::Setup(_) => "give a kernel for x86-64 to `vpmu stat` with --kernel".to_owned(),
            Self::SamplesOfModel => "leave --detail timing out; `vpmu stat` takes it".to_owned(),
            Self::NothingRecorded => "give it a longer --timeout".to_owned(),
            Self::NoRecording { .. } => "write one with `vpmu record -- PROGRAM`".to_owned(),
            Self::NoCycles => "record with --detail timing".to_owned(),
            Self::NoObject { .. } => "`vpmu report` names what was executed".to_owned(),
            Self::Result { .. } => "check the path".to_owned(),
            Self::NoResult { .. } => "write one with `vpmu stat --json -o FILE -- PROGRAM`".to_owned(),
            Self::NotInBoth { .. } => "`vpmu diff` without conditions lists what there is".to_owned(),
            Self::Directory { .. } => "go to a directory that is there".to_owned(),
            Self::UnknownEvent { similar: name, .. } => {
                similar(name, "`vpmu list events` shows all; rNNNN is a raw code")
            }
            Self::UnknownMetric { similar: name, .. } => {
                similar(name, "groups are summary, branches, memory, cache and tlb; `all` is every metric")
            }
            Self::NoRegion { .. } => {
                "`vpmu stat -- PROGRAM` shows how many instructions it has, `vpmu record` which functions"
                    .to_owned()
            }
            Self::NeedsModel(_) => "add --detail timing".to_owned(),
            Self::NoCode { .. } => "choose one that `vpmu list events` shows with a code".to_owned(),
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

    /// The same, with what `vpmu doctor` has to say about such errors.
    pub(crate) fn next_steps(&self) -> Option<String> {
        let steps: Vec<String> =
            self.next_step().into_iter().chain(self.doctor().map(str::to_owned)).collect();
        (!steps.is_empty()).then(|| steps.join("; "))
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
}

/// What makes a program run in a guest.
fn program_next_step(error: &ProgramError) -> Option<String> {
    Some(
        match error {
            ProgramError::NoInit => "build vpmu on x86-64, or after `rustup target add x86_64-unknown-none`",
            ProgramError::Profile(_) => "choose another with --profile; `vpmu list profiles` shows all",
            ProgramError::Memory { .. } | ProgramError::TooLarge { .. } => "raise --memory",
            ProgramError::Kernel { .. } | ProgramError::NotLinux(_) | ProgramError::Boot(_) => {
                "`vpmu setup` fetches a kernel that works; --kernel names another"
            }
            ProgramError::BootTimedOut => "raise --timeout",
            ProgramError::NotFound(_) => "check its name and PATH",
            ProgramError::NotExecutable(_) => {
                "make it executable (`chmod +x`), or name its interpreter before it"
            }
            ProgramError::Foreign(_) => "programs are ELF files for x86-64, or scripts that begin with #!",
            ProgramError::NoPlace { .. } => {
                "a function needs a symbol in the program itself (`nm`), not in a library; A..B needs none"
            }
            ProgramError::Library { .. } => "install the library's package",
            ProgramError::Image { .. } => "write one with `docker save`, `podman save`, or `skopeo copy`",
            ProgramError::File { .. } => {
                "check the path; --file and --dir name what is copied into the guest"
            }
            ProgramError::NotExecuted { .. } => {
                "check that its interpreter comes along: --file names more files"
            }
            _ => return None,
        }
        .to_owned(),
    )
}

fn image_next_step(path: &Path, error: &ImageError) -> String {
    match error {
        ImageError::Read(_) => return format!("check the path {}", path.display()),
        ImageError::NotElf(OtherFormat::Compressed { unpack, .. }) => {
            return format!("unpack it first ({unpack})");
        }
        ImageError::TooLarge { .. } => "strip its debug information (`strip -g`)",
        ImageError::BzImage { .. } => "use a 64-bit Linux kernel from 3.8 on",
        ImageError::Multiboot2 => "add a PVH note or a multiboot 1 header",
        ImageError::NotExecutable { .. } | ImageError::NotElf(OtherFormat::StaticLibrary) => {
            "link it into an executable"
        }
        ImageError::TestSection { .. } | ImageError::TestDescriptor { .. } => {
            "build the image and vpmu from the same sources"
        }
        _ => "`cargo xtask images` builds images that boot",
    }
    .to_owned()
}

/// What makes the guest's memory possible.
fn memory_next_step(error: &MemoryError) -> String {
    match error {
        MemoryError::TooSmall { .. } => format!("raise --memory to {MIN_SIZE_MIB} or more"),
        MemoryError::TooLarge { .. } => format!("lower --memory to {MAX_SIZE_MIB} or less"),
        MemoryError::HostTooSmall { available_mib, .. } => {
            format!("lower --memory to {available_mib} or less, or free memory of the host")
        }
        _ => "lower --memory".to_owned(),
    }
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
        RunError::Load(LoadError::Architecture { image: Architecture::Aarch64, .. }) => {
            "add --profile falkor".to_owned()
        }
        RunError::Load(LoadError::Architecture { .. }) => {
            "choose the --profile of an x86 CPU, such as sapphire-rapids".to_owned()
        }
        RunError::Load(LoadError::Protocol { .. }) => "leave out --protocol".to_owned(),
        RunError::Load(LoadError::CmdlineTooLong { .. } | LoadError::CmdlineNul { .. }) => {
            "shorten --append".to_owned()
        }
        RunError::Load(LoadError::NoRoomForModule { .. } | LoadError::NoRoomForBootInfo { .. }) => {
            "raise --memory".to_owned()
        }
        RunError::Load(LoadError::OneInitrd { .. }) => "concatenate them into one file".to_owned(),
        RunError::Load(_) => "`cargo xtask images` builds images that boot".to_owned(),
        RunError::Memory(error) => memory_next_step(error),
        RunError::Snapshot(error) => snapshot_next_step(error),
        RunError::SaveSnapshot { .. } => "give --snapshot a path that can be written".to_owned(),
        RunError::SnapshotNotReached { .. } => "choose another --snapshot-at".to_owned(),
        RunError::NeedsSoftEngine(what) => match what {
            SoftOnly::CoreModel => "leave --detail timing and --counts out, or use --engine soft",
            SoftOnly::BranchRecords => "leave --lbr out, or use --engine soft",
            SoftOnly::PreciseSampling => "leave --precise on out, or use --engine soft",
            SoftOnly::Exceptions => "leave --trace-exceptions and --counts out, or use --engine soft",
            SoftOnly::Debugger => "leave --gdb out, or use --engine soft",
            SoftOnly::CountedFaults => "leave out `instruction`, `for` and delay-pmi, or use --engine soft",
            SoftOnly::Skid => "leave --skid out, or use --engine soft",
            SoftOnly::Snapshots => "leave --snapshot out, or use --engine soft",
        }
        .to_owned(),
        RunError::NeedsX86(what) => match what {
            X86Only::Kvm => {
                "leave --engine out, or choose the --profile of an x86 CPU, such as sapphire-rapids"
            }
            X86Only::BranchRecords => "leave --lbr out",
            X86Only::ModelledIntervals => "leave --model-in out",
        }
        .to_owned(),
        RunError::NoPreciseSampling { .. } => {
            "leave --precise on out, or choose another --profile, such as sapphire-rapids or zen4".to_owned()
        }
        RunError::Recording { source: TapeError::Profile { recorded, .. }, .. } => {
            format!("add --profile {recorded}")
        }
        RunError::Recording { .. } => "make one with --record-pmu FILE, and let its run end".to_owned(),
        RunError::Sandbox(_) => "leave out --sandbox; for `vpmu test` add --no-sandbox".to_owned(),
        RunError::Inject(_) => "docs/inject.md lists the keys and the faults".to_owned(),
        RunError::NoCoreForSkid { .. } => "give a number: --skid 20, or --skid 5-60".to_owned(),
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
            format!("leave --counts out, or use --engine kvm with --counts {}", word(choice))
        }
        RunError::Engine(EngineError::Kvm(error)) => kvm_next_step(error),
        RunError::FwCfg(_) | RunError::Apic { .. } => {
            "choose another --profile (`vpmu list profiles`)".to_owned()
        }
    })
}
