//! From arguments to a run.

use crate::args::{IsaArg, MachineArgs, word};
use crate::error::CliError;
use crate::exit;
use crate::interrupt::{self, Interrupt, Role};
use crate::output::console::{Console, LineClock, Target};
use crate::output::progress::Progress;
use crate::output::remark;
use crate::similar::most_similar;
use crate::terminal::{self, Raw};
use platform::devices::Input;
use platform::loader::image::MAX_IMAGE_SIZE;
use platform::loader::{self, BootParams, Image, Module, TestInfo};
use platform::memory::MemoryConfig;
use std::fs::File;
use std::io::Read as _;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use vmm::counts::CountsChoice;
use vmm::counts::timing::Uncore;
use vmm::engine::{Detail, EngineChoice};
use vmm::gdb::GdbServer;
use vmm::machine::Outcome;
use vmm::machine::progress::RunProgress;
use vmm::run::{self, BootConfig, PreciseChoice, RunConfig, RunReport, SnapshotPlan};
use vmm::snapshot::Snapshot;
use vpmu::Profile;
use vpmu::profile::{Isa, PROFILES};

/// Everything about a run that has been read and checked, so that it can be started, also again.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    args: &'a MachineArgs,
    uncore: Uncore,
    start: Start,
    profile: Profile,
    counts: CountsChoice,
    modules: Vec<Module>,
    /// What the guest reads from its serial port, if that is a file.
    input: Option<Vec<u8>>,
    /// The guest's console is the user's terminal.
    interactive: bool,
    /// The run gives up its rights before the guest starts.
    sandboxed: bool,
    /// Where GDB can connect, and whether the guest waits for it.
    gdb: Option<(&'a str, bool)>,
    interrupt: Interrupt,
    /// For `vpmu test`, which tells how long each check took.
    clock: Option<LineClock>,
}

/// Where a run begins.
#[derive(Debug)]
enum Start {
    Boot { path: PathBuf, image: Image },
    Resume(Box<Snapshot>),
}

impl Start {
    fn new(args: &MachineArgs) -> Result<Self, CliError> {
        match (args.image(), &args.restore) {
            (Some(path), _) => Ok(Self::Boot { path: path.to_owned(), image: open_image(path)? }),
            (None, Some(path)) => {
                let snapshot = Snapshot::read(path)
                    .map_err(|source| CliError::Snapshot { path: path.clone(), source })?;
                Ok(Self::Resume(Box::new(snapshot)))
            }
            // clap asks for one of them.
            (None, None) => Err(CliError::NoImage),
        }
    }
}

/// What the modelled core finds outside of itself.
pub(crate) fn uncore(args: &MachineArgs) -> Result<Uncore, CliError> {
    let flags = [
        ("--llc", args.llc.is_some()),
        ("--llc-lifetime", args.llc_lifetime.is_some()),
        ("--memory-latency", args.memory_latency.is_some()),
    ];
    match flags.into_iter().find(|(_, asked)| *asked && args.detail != Some(Detail::Timing)) {
        Some((flag, _)) => Err(CliError::NeedsModel(flag)),
        None => {
            let memory_latency = args.memory_latency.and_then(NonZeroU32::new);
            Ok(Uncore { llc: args.llc, llc_lifetime: args.llc_lifetime, memory_latency })
        }
    }
}

impl<'a> Plan<'a> {
    /// Reads the files and checks what can be checked without a machine.
    pub(crate) fn new(args: &'a MachineArgs) -> Result<Self, CliError> {
        if args.detail.is_some() && args.engine == EngineChoice::Kvm {
            return Err(CliError::DetailUnderKvm);
        }
        if args.model_in.is_some() && args.detail != Some(Detail::Timing) {
            return Err(CliError::NoModelForIntervals);
        }
        let uncore = uncore(args)?;
        let plan = Self {
            args,
            uncore,
            counts: counts(args)?,
            start: Start::new(args)?,
            profile: profile_with(&args.profile.profile, args.isa)?,
            modules: args
                .initrd
                .iter()
                .chain(&args.module)
                .map(|path| module(path))
                .collect::<Result<_, _>>()?,
            input: args.input.as_deref().map(input).transpose()?,
            interactive: false,
            sandboxed: false,
            gdb: None,
            interrupt: Interrupt::watch(if args.supervised { Role::Child } else { Role::Alone })
                .map_err(CliError::Signals)?,
            clock: args.supervised.then(LineClock::start),
        };
        if !args.test.is_empty() {
            plan.tests()?;
        }
        Ok(plan)
    }

    /// The user's terminal becomes the guest's console.
    pub(crate) fn interactive(self) -> Self {
        Self { interactive: true, ..self }
    }

    /// The run gives up its rights before the guest starts.
    pub(crate) fn sandboxed(self, sandboxed: bool) -> Self {
        Self { sandboxed, ..self }
    }

    /// GDB can connect to this address; with `freeze` the guest does not start before.
    pub(crate) fn debugged(self, address: &'a str, freeze: bool) -> Self {
        Self { gdb: Some((address, freeze)), ..self }
    }

    /// The stub for GDB, if there is to be one; says where.
    fn gdb(&self) -> Result<Option<GdbServer>, CliError> {
        let Some((address, freeze)) = self.gdb else { return Ok(None) };
        let server = GdbServer::listen(address, freeze)?;
        if !self.args.quiet {
            let image = self.symbols().map_or_else(String::new, |image| format!(" {}", image.display()));
            let address = server.address();
            let gdb = if self.profile.arm().is_some() { "gdb-multiarch" } else { "gdb" };
            remark(&format!("gdb: listening on {address}: {gdb}{image} -ex 'target remote {address}'\n"));
        }
        Ok(Some(server))
    }

    /// The tests that the image lists and the arguments select; never none.
    pub(crate) fn tests(&self) -> Result<Vec<TestInfo>, CliError> {
        let Start::Boot { path, image } = &self.start else { return Err(CliError::NoImage) };
        let all = list_tests(path, image)?;
        if all.is_empty() {
            return Err(CliError::NoTests(path.to_owned()));
        }
        for name in &self.args.test {
            if !all.iter().any(|test| test.name == *name) {
                let similar = most_similar(name, all.iter().map(|test| test.name.as_str()));
                return Err(CliError::UnknownTest { name: name.clone(), image: path.to_owned(), similar });
            }
        }
        let is_selected = |test: &TestInfo| self.args.test.is_empty() || self.args.test.contains(&test.name);
        Ok(all.into_iter().filter(is_selected).collect())
    }

    /// Runs the whole image, or the tests that the arguments select.
    pub(crate) fn run(&self, target: Target, progress: &Arc<Progress>) -> Result<RunReport, CliError> {
        let result = self.run_tests(&self.args.test.join(","), target, progress);
        progress.end();
        result
    }

    /// Runs the tests with these names, separated by commas; all for an empty text.
    pub(crate) fn run_tests(
        &self,
        names: &str,
        target: Target,
        progress: &Arc<Progress>,
    ) -> Result<RunReport, CliError> {
        let timeout = Duration::from_secs(self.timeout().0);
        let watched = RunProgress::default();
        progress.follow(watched.clone());
        let save = self.args.snapshot.clone().zip(self.args.snapshot_at);
        let save = save.map(|(path, at)| SnapshotPlan { at, path });
        let console = Console::new(target, Arc::clone(progress), self.clock.clone());
        let _raw = self.interactive.then(Raw::enter).transpose().map_err(CliError::Terminal)?;
        let input = match (&self.input, self.interactive) {
            (Some(bytes), _) => Some(Input::Script(bytes.clone())),
            (None, true) => Some(terminal::keyboard().map_err(CliError::Terminal)?),
            (None, false) => None,
        };
        let gdb = self.gdb()?;
        let start = match &self.start {
            Start::Boot { image, .. } => run::Start::Boot(Box::new(self.boot(
                image,
                names,
                save.is_some() || gdb.is_some() || self.args.inject.is_some(),
            ))),
            Start::Resume(snapshot) => run::Start::Resume(snapshot.clone()),
        };
        Ok(run::run(RunConfig {
            start,
            timeout,
            compile: self.args.compiles(),
            trace: self.args.trace.clone(),
            trace_exceptions: self.args.trace_exceptions.clone(),
            inject: self.args.inject.clone(),
            skid: self.args.skid,
            record_pmu: self.args.record_pmu.clone(),
            replay_pmu: self.args.replay_pmu.clone(),
            sandbox: self.sandboxed,
            save,
            console: Some(Box::new(console)),
            input,
            gdb,
            stop: self.interrupt.request(),
            progress: watched,
        })?)
    }

    /// How to boot the image with these tests, on the soft engine if `needs_soft` and the user has not chosen one.
    fn boot(&self, image: &Image, names: &str, needs_soft: bool) -> BootConfig {
        BootConfig {
            image: image.clone(),
            params: BootParams {
                cmdline: cmdline(&self.args.append, names),
                modules: self.modules.clone(),
                protocol: self.args.protocol,
            },
            profile: self.profile.clone(),
            engine: match self.args.engine {
                EngineChoice::Auto if self.args.detail.is_some() || needs_soft => EngineChoice::Soft,
                choice => choice,
            },
            counts: self.counts.clone(),
            detail: self.args.detail.unwrap_or_default(),
            uncore: self.uncore,
            model_in: self.args.model_in.clone(),
            threads: self.args.threads.unwrap_or_else(processors),
            lbr: self.args.lbr,
            precise: if self.args.pebs { PreciseChoice::On } else { self.args.precise },
            memory: MemoryConfig { size_mib: self.args.memory.unwrap_or(crate::args::MEMORY_MIB) },
        }
    }

    /// What a spinner says.
    pub(crate) fn activity(&self) -> String {
        match self.timeout() {
            // A day is only there to end what has been forgotten.
            (_, false) if self.takes_its_time() => format!("running {}", self.image_name()),
            (seconds, _) => format!("running {} (time-out {seconds} s)", self.image_name()),
        }
    }

    /// Seconds after which the run ends, and whether the user has said so.
    fn timeout(&self) -> (u64, bool) {
        self.args.timeout(self.takes_its_time())
    }

    /// There is no telling how long the run takes.
    fn takes_its_time(&self) -> bool {
        self.is_linux() || self.gdb.is_some()
    }

    /// The guest is a Linux kernel: it takes as long as what it runs.
    fn is_linux(&self) -> bool {
        self.interactive
            || match &self.start {
                Start::Boot { image, .. } => image.is_linux(),
                Start::Resume(snapshot) => snapshot.booted().linux,
            }
    }

    /// The file in which `addr2line` finds the guest's addresses: none for a compressed kernel.
    pub(crate) fn symbols(&self) -> Option<&Path> {
        match &self.start {
            Start::Boot { path, image } => image.is_elf().then_some(path.as_path()),
            Start::Resume(snapshot) => Some(Path::new(&snapshot.booted().image)),
        }
    }

    /// File name of the image.
    pub(crate) fn image_name(&self) -> &str {
        match &self.start {
            Start::Boot { image, .. } => image.name(),
            Start::Resume(snapshot) => &snapshot.booted().image,
        }
    }

    /// The image; of a snapshot as far as it knows it.
    pub(crate) fn image_path(&self) -> &Path {
        match &self.start {
            Start::Boot { path, .. } => path,
            Start::Resume(snapshot) => Path::new(&snapshot.booted().image),
        }
    }

    /// When the lines of the console came, in nanoseconds; of a run that `vpmu test` has started.
    pub(crate) fn console_line_ns(&self) -> Option<Vec<u64>> {
        self.clock.as_ref().map(LineClock::ends)
    }

    /// The process's exit code for a run of this plan.
    pub(crate) fn exit_code(&self, report: &RunReport) -> u8 {
        exit_code(&report.outcome, self.args.raw_exit)
    }
}

/// Processors of the host that are there for us.
pub(crate) fn processors() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// The process's exit code for how a guest ended.
pub(crate) fn exit_code(outcome: &Outcome, raw: bool) -> u8 {
    match outcome {
        Outcome::Exit { status } if raw => *status,
        // (0 << 1) | 1: the guest wrote 0.
        Outcome::Exit { status: 1 } => exit::PASS,
        // kvm-unit-tests writes 38 so that it becomes 77 here.
        Outcome::Exit { status: exit::SKIP } => exit::SKIP,
        Outcome::Exit { .. } => exit::FAIL,
        Outcome::TripleFault
        | Outcome::Reset
        | Outcome::Panicked
        | Outcome::Halted
        | Outcome::Idle
        | Outcome::CannotExecute { .. } => exit::CRASH,
        Outcome::PoweredOff | Outcome::Quit => exit::PASS,
        Outcome::TimedOut => exit::TIMEOUT,
        Outcome::Interrupted { signal } => interrupt::exit_code(*signal),
    }
}

/// Reads and checks an image.
pub(crate) fn open_image(path: &Path) -> Result<Image, CliError> {
    Image::open(path).map_err(|source| CliError::Image { path: path.to_owned(), source })
}

/// The tests of an image in the order in which it runs them.
pub(crate) fn list_tests(path: &Path, image: &Image) -> Result<Vec<TestInfo>, CliError> {
    let mut tests =
        loader::tests(image).map_err(|source| CliError::Image { path: path.to_owned(), source })?;
    tests.sort_by(|a, b| (&a.file, a.line, &a.name).cmp(&(&b.file, b.line, &b.name)));
    Ok(tests)
}

/// What a file that describes a profile ends in.
const PROFILE_FILE: &str = ".toml";

/// The built-in profile of that name, or the one that a file describes.
pub(crate) fn profile(name: &str) -> Result<Profile, CliError> {
    if name.ends_with(PROFILE_FILE) {
        return vmm::profile::load(Path::new(name)).map_err(CliError::Profile);
    }
    Profile::by_name(name).cloned().ok_or_else(|| CliError::UnknownProfile {
        name: name.to_owned(),
        similar: most_similar(name, PROFILES.iter().map(|profile| &*profile.name)),
    })
}

/// The same [with other instruction sets](with_isa).
pub(crate) fn profile_with(name: &str, isa: Option<IsaArg>) -> Result<Profile, CliError> {
    Ok(with_isa(profile(name)?, isa))
}

/// A profile with other instruction sets, if the user asks for some.
pub(crate) fn with_isa(profile: Profile, isa: Option<IsaArg>) -> Profile {
    Profile { isa: isa.map_or(profile.isa, Isa::from), ..profile }
}

/// The guest's command line; our images run the tests that `test=NAME[,NAME]` names.
fn cmdline(append: &str, names: &str) -> String {
    match (append, names) {
        (append, "") => append.to_owned(),
        ("", names) => format!("test={names}"),
        (append, names) => format!("{append} test={names}"),
    }
}

fn counts(args: &MachineArgs) -> Result<CountsChoice, CliError> {
    match (&args.counts, &args.rates) {
        (CountsChoice::Synthetic { .. }, rates) => Ok(CountsChoice::Synthetic { rates: rates.clone() }),
        (choice, None) => Ok(choice.clone()),
        (choice, Some(path)) => {
            Err(CliError::RatesWithoutSynthetic { path: path.clone(), counts: word(choice) })
        }
    }
}

fn input(path: &Path) -> Result<Vec<u8>, CliError> {
    let mut data = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_IMAGE_SIZE).read_to_end(&mut data)
    } else {
        File::open(path).and_then(|file| file.take(MAX_IMAGE_SIZE).read_to_end(&mut data))
    };
    read.map_err(|source| CliError::Input { path: path.to_owned(), source })?;
    Ok(data)
}

fn module(path: &Path) -> Result<Module, CliError> {
    let mut data = Vec::new();
    // The bound keeps a device file from filling our memory; the guest's memory is the real limit.
    File::open(path)
        .and_then(|file| file.take(MAX_IMAGE_SIZE).read_to_end(&mut data))
        .map_err(|source| CliError::Module { path: path.to_owned(), source })?;
    let cmdline = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Module { cmdline, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_value_0_of_the_exit_port_is_a_pass() {
        assert_eq!(exit_code(&Outcome::Exit { status: 1 }, false), 0);
        assert_eq!(exit_code(&Outcome::Exit { status: 3 }, false), 1);
        assert_eq!(exit_code(&Outcome::Exit { status: 255 }, false), 1);
    }

    #[test]
    fn a_guest_that_skips_every_test_neither_passes_nor_fails() {
        assert_eq!(exit_code(&Outcome::Exit { status: 38 << 1 | 1 }, false), 77);
    }

    #[test]
    fn raw_exit_is_what_qemu_exits_with() {
        assert_eq!(exit_code(&Outcome::Exit { status: 1 }, true), 1);
        assert_eq!(exit_code(&Outcome::Exit { status: 155 }, true), 155);
        assert_eq!(exit_code(&Outcome::TimedOut, true), 124);
    }

    #[test]
    fn guests_that_end_without_a_result_do_not_pass() {
        assert_eq!(exit_code(&Outcome::TripleFault, false), 4);
        assert_eq!(exit_code(&Outcome::Reset, false), 4);
        assert_eq!(exit_code(&Outcome::Panicked, false), 4);
        assert_eq!(exit_code(&Outcome::Halted, false), 4);
        assert_eq!(exit_code(&Outcome::Idle, false), 4);
        assert_eq!(exit_code(&Outcome::CannotExecute { what: String::new() }, false), 4);
        assert_eq!(exit_code(&Outcome::TimedOut, false), 124);
        assert_eq!(exit_code(&Outcome::Interrupted { signal: 2 }, false), 130);
    }

    #[test]
    fn selected_tests_go_behind_the_users_own_words() {
        assert_eq!(cmdline("", ""), "");
        assert_eq!(cmdline("x=1 y", ""), "x=1 y");
        assert_eq!(cmdline("", "a,b"), "test=a,b");
        assert_eq!(cmdline("x=1", "a"), "x=1 test=a");
    }
}
