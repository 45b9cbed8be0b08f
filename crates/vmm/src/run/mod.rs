//! One run, from an image to a report.

pub mod warning;

use self::warning::{Warning, looked_at_slots};
use crate::counts::timing::{SharedCore, TimingError, TimingSource};
use crate::counts::{self, CountsChoice, Source};
use crate::engine::kvm::{KvmConfig, KvmEngine};
use crate::engine::soft::SoftEngine;
use crate::engine::{Engine, EngineChoice, EngineError, InstructionCount, RegisterDump, RunLimits};
use crate::file;
use crate::gdb::GdbServer;
use crate::machine::exceptions::{Cause, ExceptionTracer};
use crate::machine::pmu::interval::Interval;
use crate::machine::pmu::trace::Tracer;
use crate::machine::pmu::window::Window;
use crate::machine::pmu::{AccessStats, PmuDevice};
use crate::machine::progress::RunProgress;
use crate::machine::stop::StopRequest;
use crate::machine::{Machine, Outcome, UnknownMsrs};
use crate::snapshot::{Snapshot, SnapshotError};
use guest_protocol::files;
use platform::loader::{self, BootParams, Image, LoadError};
use platform::memory::{GuestMemory, MemoryConfig, MemoryError};
use platform::x86::apic::{ApicConfig, LocalApic};
use platform::x86::devices::serial::Output;
use platform::x86::devices::{Capture, Devices, FwCfg, Input};
use serde::Serialize;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use vpmu::pmu::CounterId;
use vpmu::profile::Vendor;
use vpmu::{Profile, Provenance, TopdownSlots};

/// Most console bytes that a report keeps; the oldest go first.
pub const CONSOLE_LIMIT: usize = 1 << 20;

/// What to run, on what.
pub struct RunConfig {
    /// The image.
    pub image: Image,
    /// Command line and modules for it.
    pub boot: BootParams,
    /// The PMU to show.
    pub profile: Profile,
    /// Who executes the guest.
    pub engine: EngineChoice,
    /// Who supplies the counts.
    pub counts: CountsChoice,
    /// How closely the soft engine models the core.
    pub detail: Detail,
    /// Threads that may run the guest: with [`Detail::Timing`] a second one takes the model of the core. No result
    /// depends on it.
    pub threads: NonZeroUsize,
    /// Whether the guest gets last branch records.
    pub lbr: LbrChoice,
    /// Guest RAM.
    pub memory: MemoryConfig,
    /// Wall-clock limit.
    pub timeout: Duration,
    /// Where to write the trace of PMU accesses.
    pub trace: Option<PathBuf>,
    /// Where to write the trace of exceptions and interrupts.
    pub trace_exceptions: Option<PathBuf>,
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
            .field("image", &self.image.name())
            .field("boot", &self.boot)
            .field("profile", &self.profile.name)
            .field("engine", &self.engine)
            .field("counts", &self.counts)
            .field("detail", &self.detail)
            .field("threads", &self.threads)
            .field("lbr", &self.lbr)
            .field("memory", &self.memory)
            .field("timeout", &self.timeout)
            .field("trace", &self.trace)
            .field("trace_exceptions", &self.trace_exceptions)
            .field("save", &self.save)
            .finish_non_exhaustive()
    }
}

/// How closely the soft engine models the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// Architectural events are exact, an instruction is a cycle.
    #[default]
    Counts,
    /// A model of the core: pipeline, caches, predictors.
    Timing,
}

/// Whether the guest gets last branch records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LbrChoice {
    /// With an engine that sees every branch; hidden with the others.
    #[default]
    Auto,
    /// Yes, or the run is refused.
    On,
    /// No: the profile does not announce them.
    Off,
}

/// One line of what the guest counted.
#[derive(Debug, Clone, Serialize)]
pub struct CountRow {
    /// Counter, for example `PMC0`.
    pub counter: String,
    /// Event name or raw code.
    pub event: String,
    /// `:u`, `:k` or empty for both.
    pub filter: &'static str,
    /// Occurrences over the whole run; `None` if the source cannot count the event.
    pub count: Option<u64>,
    /// What the number is worth.
    pub provenance: Provenance,
}

/// What came of a run.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// How it ended.
    pub outcome: Outcome,
    /// Why it crashed, as far as the engine knows.
    pub cause: Option<Cause>,
    /// The vCPU's registers, unless the guest or its user ended the run.
    pub registers: Option<RegisterDump>,
    /// Engine.
    pub engine: &'static str,
    /// Profile.
    pub profile: &'static str,
    /// PERF_METRICS level of the profile: 0, 1 or 2.
    pub metrics_level: u8,
    /// Issue slots of a core cycle.
    pub slots_per_cycle: u8,
    /// What the counts are.
    pub counts: Provenance,
    /// How closely the engine models the core: `counts`, `timing`, or `None` where a real CPU does the work.
    pub detail: Option<&'static str>,
    /// Console output (the last [`CONSOLE_LIMIT`] bytes).
    pub console: String,
    /// Console bytes that found no room in the report.
    pub console_dropped: u64,
    /// Wall-clock nanoseconds from opening the engine to the guest's first instruction.
    pub startup_ns: u64,
    /// Wall-clock nanoseconds of guest execution, exits included.
    pub run_ns: u64,
    /// Most memory that this process has had resident, in KiB; `None` where /proc does not tell.
    pub peak_rss_kib: Option<u64>,
    /// PMU accesses.
    pub accesses: AccessStats,
    /// Instructions retired, REP iterations counted as one; `None` where the engine does not count them.
    pub instructions: Option<u64>,
    /// Exits to the VMM by kind.
    pub exits: Vec<(&'static str, u64)>,
    /// Instructions that KVM could not emulate and the interpreter completed.
    pub completed: Vec<InstructionCount>,
    /// What the guest counted, per counter and programming.
    pub counted: Vec<CountRow>,
    /// Slots by category while PERF_METRICS was enabled.
    pub topdown: TopdownSlots,
    /// Measuring windows.
    pub windows: Vec<Window>,
    /// Intervals that the guest marked for the VMM.
    pub intervals: Vec<Interval>,
    /// MSRs that the guest accessed and nobody implements.
    pub unknown_msrs: UnknownMsrs,
    /// Things worth telling, one sentence each.
    pub warnings: Vec<Warning>,
}

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
    Counts(#[from] counts::CountsError),
    /// There is no model of the core.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// A model under KVM.
    #[error("--detail timing models the CPU that executes the guest, so it needs --engine soft")]
    TimingNeedsSoftEngine,
    /// Branch records under KVM.
    #[error("KVM does not tell which branches the guest takes, so --lbr on needs --engine soft")]
    LbrNeedsSoftEngine,
    /// Exceptions under KVM.
    #[error("KVM delivers exceptions without telling of them: only the soft engine can trace them")]
    ExceptionsNeedSoftEngine,
    /// The trace file.
    #[error("trace file {path}: {source}")]
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
    #[error("snapshot file {path}: {source}")]
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
    /// A machine that cannot be built from this profile.
    #[error("profile {profile}: {reason}")]
    Profile {
        /// The profile.
        profile: &'static str,
        /// Why.
        reason: String,
    },
}

/// A snapshot to take on the way.
#[derive(Debug, Clone)]
pub struct SnapshotPlan {
    /// After so many instructions retired since boot.
    pub at: u64,
    /// Where to write it.
    pub path: PathBuf,
}

/// How to go on from a snapshot.
pub struct ResumeConfig {
    /// The machine.
    pub snapshot: Snapshot,
    /// Wall-clock limit.
    pub timeout: Duration,
    /// Where to write the trace of PMU accesses from here on.
    pub trace: Option<PathBuf>,
    /// Where to write the trace of exceptions and interrupts from here on.
    pub trace_exceptions: Option<PathBuf>,
    /// Another snapshot to take.
    pub save: Option<SnapshotPlan>,
    /// Where console output also goes while the guest runs.
    pub console: Option<Output>,
    /// What the guest reads from its serial port from here on.
    pub input: Option<Input>,
    /// Where GDB can connect.
    pub gdb: Option<GdbServer>,
    /// Asks the run to end.
    pub stop: StopRequest,
    /// Is told how far the run is.
    pub progress: RunProgress,
}

impl fmt::Debug for ResumeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResumeConfig")
            .field("image", &self.snapshot.image())
            .field("timeout", &self.timeout)
            .field("trace", &self.trace)
            .field("trace_exceptions", &self.trace_exceptions)
            .field("save", &self.save)
            .finish_non_exhaustive()
    }
}

/// Boots the image and runs it to its end.
///
/// # Errors
/// Something outside the guest failed. Whatever the guest does is in the report's outcome.
pub fn run(mut config: RunConfig) -> Result<RunReport, RunError> {
    let started = Instant::now();
    let memory = GuestMemory::new(config.memory)?;
    let boot = loader::load(&config.image, &memory, &config.boot)?;
    check_snapshot_path(config.save.as_ref())?;
    let apic_config = apic_config(&config.profile);
    let Chosen { mut engine, source, tsc_hz, profile, apic: apic_config } =
        choose(&config, &memory, &apic_config)?;
    config.profile = profile;
    // A run that is refused leaves the traces of an earlier one alone.
    let tracer = trace_file(config.trace.as_deref())?.map(Tracer::new);
    let exceptions = trace_file(config.trace_exceptions.as_deref())?.map(ExceptionTracer::new);

    let (capture, console) = console(config.console);
    let fw_cfg = fw_cfg(&memory, &config.boot.cmdline, &config.profile, engine.name(), &*source)
        .map_err(|reason| RunError::Profile { profile: config.profile.name, reason })?;
    let mut devices = Devices::new(console, Box::new(capture.clone()), fw_cfg);
    if let Some(input) = config.input {
        devices.set_input(input);
    }
    let apic = local_apic(apic_config, &config.profile)?;
    let pmu = PmuDevice::new(config.profile, source, tracer);
    let mut machine = Machine::new(memory, devices, apic, pmu, tsc_hz);
    if let Some(gdb) = config.gdb {
        engine.attach(gdb.into_debugger(config.stop.clone()))?;
    }
    machine.set_stop_request(config.stop);
    machine.set_progress(config.progress);
    machine.exceptions.set_tracer(exceptions);
    engine.boot(&boot)?;
    let traces = Traces { pmu: config.trace, exceptions: config.trace_exceptions };
    let options = Options { timeout: config.timeout, traces, save: config.save };
    finish(engine, machine, &capture, config.image.name(), options, started)
}

/// Goes on from a snapshot, on the soft engine, to the end of the run. Console and trace hold what comes
/// after the snapshot, the counts and windows of the report everything since boot.
///
/// # Errors
/// The snapshot cannot be taken over, or something outside the guest failed.
pub fn resume(config: ResumeConfig) -> Result<RunReport, RunError> {
    let started = Instant::now();
    let snapshot = &config.snapshot;
    let profile = &snapshot.profile()?;
    let memory = GuestMemory::new(MemoryConfig { size_mib: snapshot.memory_mib() })?;
    snapshot.fill(&memory)?;
    check_snapshot_path(config.save.as_ref())?;
    let tracer = trace_file(config.trace.as_deref())?.map(Tracer::new);
    let exceptions = trace_file(config.trace_exceptions.as_deref())?.map(ExceptionTracer::new);
    let mut engine = SoftEngine::new(&memory, profile);
    let source = counts::choose_soft(&CountsChoice::Model, profile, engine.retired())?;
    let tsc_hz = engine.tsc_hz();
    let (capture, console) = console(config.console);
    let mut devices = Devices::resume(console, Box::new(capture.clone()), snapshot.devices())
        .ok_or_else(|| SnapshotError::State("the serial port holds too much input".to_owned()))?;
    if let Some(input) = config.input {
        devices.set_input(input);
    }
    let apic = local_apic(soft_apic_config(profile), profile)?;
    let pmu = PmuDevice::new(profile.clone(), source, tracer);
    let mut machine = Machine::new(memory, devices, apic, pmu, tsc_hz);
    if let Some(gdb) = config.gdb {
        engine.attach(gdb.into_debugger(config.stop.clone()))?;
    }
    machine.set_stop_request(config.stop);
    machine.set_progress(config.progress);
    snapshot.resume(&mut engine, &mut machine)?;
    machine.exceptions.set_tracer(exceptions);
    let traces = Traces { pmu: config.trace, exceptions: config.trace_exceptions };
    let options = Options { timeout: config.timeout, traces, save: config.save };
    finish(Box::new(engine), machine, &capture, snapshot.image(), options, started)
}

/// What a run does beside running.
struct Options {
    timeout: Duration,
    traces: Traces,
    save: Option<SnapshotPlan>,
}

/// Files that are written while the guest runs.
struct Traces {
    pmu: Option<PathBuf>,
    exceptions: Option<PathBuf>,
}

/// Runs a machine that is ready to its end.
fn finish(
    mut engine: Box<dyn Engine>,
    mut machine: Machine,
    capture: &Capture,
    image: &str,
    options: Options,
    started: Instant,
) -> Result<RunReport, RunError> {
    let label = machine.pmu.source().label();
    let profile = machine.pmu.profile();
    let (profile_name, metrics_level) = (profile.name, profile.metrics_level());
    let slots_per_cycle = profile.slots_per_cycle;
    let startup_ns = nanoseconds(started.elapsed());

    let entered = Instant::now();
    let early = match &options.save {
        Some(plan) => save(&mut *engine, &mut machine, image, plan, options.timeout)?,
        None => None,
    };
    let outcome = match early {
        Some(outcome) => outcome,
        None => {
            let timeout = options.timeout.saturating_sub(entered.elapsed());
            engine.run(&mut machine, RunLimits { timeout })?
        }
    };
    let run_ns = nanoseconds(entered.elapsed());

    let Traces { pmu, exceptions } = options.traces;
    for (traced, path) in [(machine.pmu.finish_trace(), pmu), (machine.exceptions.finish_trace(), exceptions)]
    {
        if let (Err(source), Some(path)) = (traced, path) {
            return Err(RunError::Trace { path, source });
        }
    }
    let ended_itself = matches!(
        outcome,
        Outcome::Exit { .. } | Outcome::PoweredOff | Outcome::Quit | Outcome::Interrupted { .. }
    );
    // Those of an idle guest are its idle loop's.
    let shown = !ended_itself && outcome != Outcome::Idle;
    let registers = shown.then(|| engine.registers(&machine));
    let code = |rip| engine.instruction_at(&machine, rip);
    let cause = machine.exceptions.cause(&outcome, machine.pmu.profile(), code);
    let (counted, topdown, mut warnings) = counted(&mut machine.pmu);
    if engine.detail() == Some("counts") && looked_at_slots(machine.pmu.ledger()) {
        warnings.push(Warning::NoCoreModel);
    }
    if machine.pmu.dropped_windows() > 0 {
        let listed = machine.pmu.windows().len() as u64;
        warnings.push(Warning::Windows(machine.pmu.dropped_windows() + listed));
    }
    warnings.extend(machine.pmu.source().warnings().into_iter().map(Warning::Other));
    let console = capture.text();
    if let (false, Some(reason)) = (ended_itself, panic_reason(&console)) {
        warnings.push(Warning::Other(format!("the guest's kernel panicked: {reason}")));
    }
    Ok(RunReport {
        outcome,
        cause,
        registers,
        engine: engine.name(),
        profile: profile_name,
        metrics_level,
        slots_per_cycle,
        counts: label,
        detail: engine.detail(),
        console,
        console_dropped: capture.dropped(),
        startup_ns,
        run_ns,
        peak_rss_kib: peak_rss_kib(),
        accesses: *machine.pmu.stats(),
        instructions: engine.instructions(),
        exits: engine.exit_counts(),
        completed: engine.completed(),
        counted,
        topdown,
        windows: machine.pmu.windows().to_vec(),
        intervals: machine.pmu.intervals(),
        unknown_msrs: machine.unknown_msrs().clone(),
        warnings,
    })
}

/// Why Linux panicked, if it says so on its console. A kernel without the driver of `pvpanic` tells it nowhere else.
fn panic_reason(console: &str) -> Option<&str> {
    let (_, reason) = console.split_once("Kernel panic - not syncing: ")?;
    reason.lines().next()
}

/// Runs to where the snapshot is wanted and writes it. An outcome if the run ended before.
fn save(
    engine: &mut dyn Engine,
    machine: &mut Machine,
    image: &str,
    plan: &SnapshotPlan,
    timeout: Duration,
) -> Result<Option<Outcome>, RunError> {
    let ended = engine.run_until(machine, RunLimits { timeout }, plan.at)?;
    let state = engine.save()?;
    let instructions = state.instructions();
    match ended {
        // Time does not run backwards, and a run that timed out or was interrupted says so itself.
        Some(Outcome::TimedOut | Outcome::Interrupted { .. }) => return Ok(ended),
        Some(_) => return Err(RunError::SnapshotNotReached { at: plan.at, instructions }),
        None if instructions != plan.at => {
            return Err(RunError::SnapshotNotReached { at: plan.at, instructions });
        }
        None => {}
    }
    let written = Snapshot::take(state, machine, image).and_then(|snapshot| snapshot.write(&plan.path));
    written.map_err(|source| RunError::SaveSnapshot { path: plan.path.clone(), source })?;
    Ok(None)
}

/// Before the guest runs: nobody wants to learn of a wrong path after a minute.
fn check_snapshot_path(plan: Option<&SnapshotPlan>) -> Result<(), RunError> {
    let Some(SnapshotPlan { path, .. }) = plan else { return Ok(()) };
    let checked = file::check_replaceable(path);
    checked.map_err(|error| RunError::SaveSnapshot { path: path.clone(), source: error.into() })
}

fn apic_config(profile: &Profile) -> ApicConfig {
    ApicConfig {
        timer_hz: u64::from(profile.crystal_hz),
        auto_mask_lvtpc: profile.vendor() == Vendor::Intel,
        ..ApicConfig::default()
    }
}

/// The soft engine keeps guest time by the TSC, so that the timer can too, as on Intel CPUs. AMD guests get it as
/// under KVM: Linux finds no CPUID leaf with the APIC timer's clock there, and would want the 8254's interrupt to
/// measure it.
fn soft_apic_config(profile: &Profile) -> ApicConfig {
    ApicConfig { tsc_deadline_hz: Some(profile.tsc_hz.max(1)), ..apic_config(profile) }
}

fn local_apic(config: ApicConfig, profile: &Profile) -> Result<LocalApic, RunError> {
    LocalApic::new(config).map_err(|e| RunError::Profile { profile: profile.name, reason: e.to_string() })
}

fn trace_file(path: Option<&Path>) -> Result<Option<Box<dyn Write>>, RunError> {
    let Some(path) = path else { return Ok(None) };
    let file = File::create(path).map_err(|source| RunError::Trace { path: path.to_owned(), source })?;
    Ok(Some(Box::new(BufWriter::new(file))))
}

/// A bounded copy of the console, and where the guest writes.
fn console(live: Option<Output>) -> (Capture, Output) {
    let capture = Capture::new(CONSOLE_LIMIT);
    let output: Output = match live {
        Some(live) => Box::new(Tee { first: live, second: capture.clone() }),
        None => Box::new(capture.clone()),
    };
    (capture, output)
}

/// An engine and what belongs to it.
struct Chosen {
    engine: Box<dyn Engine>,
    source: Box<dyn Source>,
    tsc_hz: u64,
    /// The profile, without what the engine cannot do.
    profile: Profile,
    apic: ApicConfig,
}

/// Sets up the engine and the counts source that the configuration asks for.
fn choose(config: &RunConfig, memory: &GuestMemory, apic: &ApicConfig) -> Result<Chosen, RunError> {
    match (config.engine, &config.counts) {
        (EngineChoice::Auto, CountsChoice::Auto)
            if config.lbr == LbrChoice::On
                || config.detail == Detail::Timing
                || config.trace_exceptions.is_some()
                || config.gdb.is_some() =>
        {
            soft(config, memory)
        }
        (EngineChoice::Auto, CountsChoice::Auto) => kvm(config, memory, apic).or_else(|reason| {
            log::info!("using the soft engine: {reason}");
            soft(config, memory)
        }),
        (EngineChoice::Soft, _) | (EngineChoice::Auto, CountsChoice::Model) => soft(config, memory),
        (EngineChoice::Kvm | EngineChoice::Auto, _) => kvm(config, memory, apic),
    }
}

fn kvm(config: &RunConfig, memory: &GuestMemory, apic: &ApicConfig) -> Result<Chosen, RunError> {
    if config.lbr == LbrChoice::On {
        return Err(RunError::LbrNeedsSoftEngine);
    }
    if config.detail == Detail::Timing {
        return Err(RunError::TimingNeedsSoftEngine);
    }
    if config.trace_exceptions.is_some() {
        return Err(RunError::ExceptionsNeedSoftEngine);
    }
    if config.gdb.is_some() {
        return Err(EngineError::NoDebugger("kvm").into());
    }
    let profile = &config.profile.clone().without_lbr();
    let engine = KvmEngine::new(&KvmConfig { memory, profile, apic }).map_err(EngineError::from)?;
    let tsc_hz = engine.tsc_hz();
    let source = counts::choose(&config.counts, profile, tsc_hz, engine.kick_signal())?;
    Ok(Chosen { engine: Box::new(engine), source, tsc_hz, profile: profile.clone(), apic: *apic })
}

fn soft(config: &RunConfig, memory: &GuestMemory) -> Result<Chosen, RunError> {
    let profile = match config.lbr {
        LbrChoice::Auto | LbrChoice::On => config.profile.clone(),
        LbrChoice::Off => config.profile.clone().without_lbr(),
    };
    let mut engine = SoftEngine::new(memory, &profile);
    let mut source = counts::choose_soft(&config.counts, &profile, engine.retired())?;
    if config.detail == Detail::Timing {
        if config.save.is_some() {
            return Err(EngineError::NoTimingSnapshots.into());
        }
        let core = SharedCore::new(&profile)?;
        if config.threads.get() > 1 {
            core.drive().work_beside();
        }
        source = Box::new(TimingSource::new(&profile, core.clone()));
        engine = engine.with_model(core);
    }
    let tsc_hz = engine.tsc_hz();
    let apic = soft_apic_config(&profile);
    Ok(Chosen { engine: Box::new(engine), source, tsc_hz, profile, apic })
}

/// The files by which an image finds out what it runs on.
fn fw_cfg(
    memory: &GuestMemory,
    cmdline: &str,
    profile: &Profile,
    engine: &str,
    source: &dyn Source,
) -> Result<FwCfg, String> {
    let mut fw_cfg = FwCfg::new(1, memory.size_mib() << 20);
    fw_cfg.set_command_line(cmdline);
    for (name, content) in [
        (files::PROFILE, profile.name.to_owned()),
        (files::COUNTS, source.label().to_string()),
        (files::ENGINE, engine.to_owned()),
    ] {
        fw_cfg.add_file(name, content.into_bytes()).map_err(|e| e.to_string())?;
    }
    Ok(fw_cfg)
}

/// The ledger as rows, with a warning for each event that the source could not count.
fn counted(pmu: &mut PmuDevice) -> (Vec<CountRow>, TopdownSlots, Vec<Warning>) {
    let ledger = pmu.ledger().clone();
    let mut warnings: Vec<Warning> = Vec::new();
    let mut rows = Vec::new();
    for (key, count) in ledger.entries() {
        let provenance = pmu.provenance(&key.request);
        if provenance == Provenance::Unknown {
            let warning = Warning::Other(format!(
                "the counts source ({}) cannot count {}: the counter stood still",
                pmu.source().label(),
                key.request
            ));
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        rows.push(CountRow {
            counter: match key.counter {
                CounterId::Gp(n) => format!("PMC{n}"),
                CounterId::Fixed(n) => format!("FIXED_CTR{n}"),
                CounterId::Metric(n) => format!("METRIC{n}"),
            },
            event: key.request.to_string(),
            filter: key.filter.perf_suffix(),
            count: (provenance != Provenance::Unknown).then_some(count),
            provenance,
        });
    }
    if ledger.dropped() > 0 {
        let text = format!("{} more programmings of counters are not listed", ledger.dropped());
        warnings.push(Warning::Other(text));
    }
    (rows, *ledger.topdown(), warnings)
}

/// VmHWM of this process (proc(5)).
fn peak_rss_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Console output to two places; the first one's errors do not stop the second.
struct Tee {
    first: Output,
    second: Capture,
}

impl Write for Tee {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.second.write_all(data)?;
        self.first.write_all(data)?;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.first.flush()
    }
}
