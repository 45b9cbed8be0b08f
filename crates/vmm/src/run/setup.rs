//! From a configuration to a guest that is ready to run.

use super::config::{BootConfig, LbrChoice, PreciseChoice, RunConfig, SnapshotPlan, Start};
use super::console::console;
use super::error::{RunError, SoftOnly, X86Only};
use crate::counts::arm::ArmSource;
use crate::counts::model::ModelSource;
use crate::counts::switched::SwitchedSource;
use crate::counts::timed::TimedTotals;
use crate::counts::timing::{SharedCore, TimingSource, Uncore, core_of};
use crate::counts::{self, CountsChoice, Source};
use crate::engine::kvm::{KvmConfig, KvmEngine};
use crate::engine::soft::arm::ArmEngine;
use crate::engine::soft::x86::SoftEngine;
use crate::engine::{Detail, Engine, EngineChoice, EngineError};
use crate::file;
use crate::gdb;
use crate::inject::FaultPlan;
use crate::machine::arm::Virt;
use crate::machine::exceptions::ExceptionTracer;
use crate::machine::pmu::trace::Tracer;
use crate::machine::pmu::{PmuDevice, Recorder, Replayer, TapeError};
use crate::machine::x86::Pc;
use crate::machine::{Board, BoardState, Machine, StateError};
use crate::snapshot::{Booted, Snapshot, SnapshotError};
use guest_protocol::files;
use platform::devices::{Capture, FwCfg, FwCfgError, Output};
use platform::loader::{self, BootParams, Image, LoadError};
use platform::memory::{GuestMemory, Layout, MemoryConfig};
use platform::x86::apic::{ApicConfig, LocalApic};
use platform::{arm, x86};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use vpmu::Profile;
use vpmu::profile::Vendor;
use vpmu::recording::Header;

/// A guest that is ready to run, and what is asked of the run.
pub(super) struct Guest<B: Board> {
    pub(super) engine: Box<dyn Engine<B>>,
    pub(super) machine: Machine<B>,
    /// What it prints.
    pub(super) capture: Capture,
    pub(super) booted: Booted,
    pub(super) timeout: Duration,
    /// Files of the traces of PMU accesses and of exceptions.
    pub(super) traces: [Option<PathBuf>; 2],
    /// File of the recording.
    pub(super) recording: Option<PathBuf>,
    pub(super) save: Option<SnapshotPlan>,
}

/// A board and what runs its CPU.
pub(super) trait Platform: Board {
    /// Where it has RAM.
    const LAYOUT: &'static Layout;
    /// What it is made from beside its devices.
    type Settings;
    /// Its CPU as GDB sees it.
    type GdbCpu: gdb::Cpu<State = Self::Registers>;

    /// Places an image.
    fn load(image: &Image, memory: &GuestMemory, params: &BootParams) -> Result<Self::Boot, LoadError>;

    /// Sets up the engine and the counts source that the configuration asks for.
    fn choose(config: &RunConfig, memory: &GuestMemory) -> Result<Chosen<Self>, RunError>;

    /// A board after RESET with these consoles.
    fn fresh(
        settings: Self::Settings,
        profile: &Profile,
        consoles: [Output; 2],
        fw_cfg: FwCfg,
    ) -> Result<Self, RunError>;

    /// A board with saved devices.
    fn resumed(
        settings: Self::Settings,
        profile: &Profile,
        consoles: [Output; 2],
        saved: &BoardState,
    ) -> Result<Self, RunError>;
}

impl<B: Platform> Guest<B> {
    /// Puts the guest where it starts.
    pub(super) fn new(config: RunConfig) -> Result<Self, RunError> {
        check_snapshot_path(config.save.as_ref())?;
        let size = match &config.start {
            Start::Boot(boot) => boot.memory,
            Start::Resume(snapshot) => MemoryConfig { size_mib: snapshot.memory_mib() },
        };
        let memory = GuestMemory::new(size, B::LAYOUT)?;
        let first = match &config.start {
            Start::Boot(boot) => First::Boot(B::load(&boot.image, &memory, &boot.params)?, boot),
            Start::Resume(snapshot) => {
                snapshot.fill(&memory)?;
                First::Resume(snapshot)
            }
        };
        let Chosen { mut engine, source, profile, settings } = B::choose(&config, &memory)?;
        let faults = faults(&config, &profile, &*engine)?;
        let skid = match config.skid {
            None => None,
            Some(_) if engine.detail().is_none() => return Err(SoftOnly::Skid.into()),
            Some(choice) => {
                let core = core_of(&profile).map(|core| (core.retire_width, core.reorder_buffer));
                let unknown = || RunError::NoCoreForSkid { profile: profile.name.to_string() };
                Some(choice.resolve(core).ok_or_else(unknown)?)
            }
        };
        // A run that is refused leaves the traces of an earlier one alone.
        let tracer = trace_file(config.trace.as_deref())?.map(Tracer::new);
        let exceptions = trace_file(config.trace_exceptions.as_deref())?.map(ExceptionTracer::new);

        let (capture, console) = console(config.console);
        let consoles: [Output; 2] = [console, Box::new(capture.clone())];
        let mut board = match &first {
            First::Boot(_, boot) => {
                let fw_cfg = fw_cfg(&memory, &boot.params.cmdline, &profile, engine.name(), &*source)?;
                B::fresh(settings, &profile, consoles, fw_cfg)?
            }
            First::Resume(snapshot) => B::resumed(settings, &profile, consoles, snapshot.board())?,
        };
        if let Some(input) = config.input {
            board.console_mut().set_input(input);
        }
        let mut pmu = PmuDevice::new(profile, source, tracer);
        if faults.is_some() || skid.is_some() {
            pmu.inject(faults.as_ref().map_or(&[], FaultPlan::faults), skid);
        }
        if let Some(path) = &config.replay_pmu {
            let replayer = Replayer::open(path, pmu.profile());
            pmu.replay(replayer.map_err(|source| RunError::Recording { path: path.clone(), source })?);
        }
        if let Some(path) = &config.record_pmu {
            let failed = |source| RunError::Recording { path: path.clone(), source: TapeError::Io(source) };
            let header = Header {
                profile: pmu.profile().name.to_string(),
                // Only interpreters know.
                counted: engine.detail().is_some(),
                unavailable_events: pmu.unavailable_events(),
            };
            pmu.record(Recorder::new(Box::new(File::create(path).map_err(failed)?), &header));
        }
        let mut machine = Machine::new(memory, board, pmu);
        if let Start::Boot(boot) = &config.start
            && let Some(name) = &boot.model_in
        {
            machine.model_intervals(name.clone());
        }
        if let Some(gdb) = config.gdb {
            let debugging = engine.debugging().ok_or(SoftOnly::Debugger)?;
            debugging.attach(gdb.into_debugger::<B::GdbCpu>(config.stop.clone()));
        }
        machine.set_stop_request(config.stop);
        machine.set_progress(config.progress);
        let booted = match first {
            First::Boot(state, boot) => {
                engine.boot(&state)?;
                Booted { image: boot.image.name().to_owned(), linux: boot.image.is_linux() }
            }
            First::Resume(snapshot) => {
                let snapshots = engine.snapshots().ok_or(SoftOnly::Snapshots)?;
                snapshot.resume(snapshots, &mut machine)?;
                snapshot.booted().clone()
            }
        };
        machine.exceptions.set_tracer(exceptions);
        let traces = [config.trace, config.trace_exceptions];
        let (timeout, save, recording) = (config.timeout, config.save, config.record_pmu);
        Ok(Self { engine, machine, capture, booted, timeout, traces, recording, save })
    }
}

/// What the guest's first instruction finds.
enum First<'a, T> {
    Boot(T, &'a BootConfig),
    Resume(&'a Snapshot),
}

/// An engine and what belongs to it.
pub(super) struct Chosen<B: Platform> {
    engine: Box<dyn Engine<B>>,
    source: Box<dyn Source>,
    /// The profile, without what the engine cannot do.
    profile: Profile,
    settings: B::Settings,
}

/// What a PC is made from.
#[derive(Debug)]
pub(super) struct PcSettings {
    apic: ApicConfig,
    tsc_hz: u64,
}

impl Platform for Pc {
    const LAYOUT: &'static Layout = &x86::memory::LAYOUT;
    type Settings = PcSettings;
    type GdbCpu = gdb::Guest64;

    fn load(image: &Image, memory: &GuestMemory, params: &BootParams) -> Result<Self::Boot, LoadError> {
        loader::x86::load(image, memory, params)
    }

    fn choose(config: &RunConfig, memory: &GuestMemory) -> Result<Chosen<Self>, RunError> {
        match &config.start {
            Start::Boot(boot) => choose(config, boot, memory),
            Start::Resume(snapshot) => soft(config, memory, snapshot.profile()?, &CountsChoice::Model, None),
        }
    }

    fn fresh(
        settings: PcSettings,
        profile: &Profile,
        [console, debug_console]: [Output; 2],
        fw_cfg: FwCfg,
    ) -> Result<Self, RunError> {
        pc(settings, profile, x86::devices::Devices::new(console, debug_console, fw_cfg))
    }

    fn resumed(
        settings: PcSettings,
        profile: &Profile,
        [console, debug_console]: [Output; 2],
        saved: &BoardState,
    ) -> Result<Self, RunError> {
        let BoardState::X86(saved) = saved else {
            return Err(SnapshotError::from(StateError::Architecture).into());
        };
        let devices = x86::devices::Devices::resume(console, debug_console, &saved.devices);
        pc(settings, profile, devices.ok_or(SnapshotError::State(StateError::SerialInput))?)
    }
}

fn pc(
    PcSettings { apic, tsc_hz }: PcSettings,
    profile: &Profile,
    devices: x86::devices::Devices,
) -> Result<Pc, RunError> {
    let apic = LocalApic::new(apic);
    let apic = apic.map_err(|source| RunError::Apic { profile: profile.name.to_string(), source })?;
    Ok(Pc::new(devices, apic, tsc_hz))
}

impl Platform for Virt {
    const LAYOUT: &'static Layout = &arm::memory::LAYOUT;
    type Settings = ();
    type GdbCpu = gdb::GuestA64;

    fn load(image: &Image, memory: &GuestMemory, params: &BootParams) -> Result<Self::Boot, LoadError> {
        loader::arm::load(image, memory, params)
    }

    fn choose(config: &RunConfig, memory: &GuestMemory) -> Result<Chosen<Self>, RunError> {
        let (profile, threads, uncore) = match &config.start {
            Start::Boot(boot) => {
                if boot.engine == EngineChoice::Kvm {
                    return Err(X86Only::Kvm.into());
                }
                if boot.lbr == LbrChoice::On {
                    return Err(X86Only::BranchRecords.into());
                }
                if boot.model_in.is_some() {
                    return Err(X86Only::ModelledIntervals.into());
                }
                counts::check_soft(&boot.counts)?;
                let profile = boot.profile.clone();
                let profile = precise(profile, boot.precise)?;
                (profile, model_threads(config, boot)?, boot.uncore)
            }
            Start::Resume(snapshot) => (snapshot.profile()?, None, Uncore::default()),
        };
        let mut engine = ArmEngine::new(memory, &profile);
        let totals = ArmSource::new(engine.retired());
        let source: Box<dyn Source> = if let Some(threads) = threads {
            let core = SharedCore::on_threads(&profile, uncore, threads)?;
            engine = engine.with_model(core.clone());
            Box::new(TimedTotals::new(TimingSource::new(&profile, core), totals))
        } else {
            Box::new(totals)
        };
        Ok(Chosen { engine: Box::new(engine), source, profile, settings: () })
    }

    fn fresh(
        (): (),
        profile: &Profile,
        [console, debug_console]: [Output; 2],
        fw_cfg: FwCfg,
    ) -> Result<Self, RunError> {
        let devices = arm::devices::Devices::new(console, debug_console, fw_cfg);
        Ok(Self::new(devices, profile.crystal_hz))
    }

    fn resumed(
        (): (),
        profile: &Profile,
        [console, debug_console]: [Output; 2],
        saved: &BoardState,
    ) -> Result<Self, RunError> {
        let BoardState::Arm(saved) = saved else {
            return Err(SnapshotError::from(StateError::Architecture).into());
        };
        let devices = arm::devices::Devices::resume(console, debug_console, &saved.devices);
        let devices = devices.ok_or(SnapshotError::State(StateError::SerialInput))?;
        Ok(Self::new(devices, profile.crystal_hz))
    }
}

/// The faults that are planned.
fn faults<B: Board>(
    config: &RunConfig,
    profile: &Profile,
    engine: &dyn Engine<B>,
) -> Result<Option<FaultPlan>, RunError> {
    let Some(path) = &config.inject else { return Ok(None) };
    let plan = FaultPlan::load(path, profile)?;
    // The detail of a real CPU is its own.
    if plan.counts_instructions() && engine.detail().is_none() {
        return Err(SoftOnly::CountedFaults.into());
    }
    Ok(Some(plan))
}

/// Checked before the guest runs, and not after minutes when the snapshot is taken.
fn check_snapshot_path(plan: Option<&SnapshotPlan>) -> Result<(), RunError> {
    let Some(SnapshotPlan { path, .. }) = plan else { return Ok(()) };
    let checked = file::check_replaceable(path);
    checked.map_err(|error| RunError::SaveSnapshot { path: path.clone(), source: error.into() })
}

fn apic_config(profile: &Profile) -> ApicConfig {
    ApicConfig {
        timer_hz: u64::from(profile.crystal_hz),
        auto_mask_lvtpc: profile.vendor() == Vendor::Intel,
        extended_space: profile.has_ibs(),
        ..ApicConfig::default()
    }
}

/// The soft engine keeps guest time by the TSC, so that the timer can too, as on Intel CPUs. AMD guests get it as
/// under KVM: Linux finds no CPUID leaf with the APIC timer's clock there, and would want the 8254's interrupt to
/// measure it.
pub(crate) fn soft_apic_config(profile: &Profile) -> ApicConfig {
    ApicConfig { tsc_deadline_hz: Some(profile.tsc_hz.max(1)), ..apic_config(profile) }
}

fn trace_file(path: Option<&Path>) -> Result<Option<Box<dyn Write>>, RunError> {
    let Some(path) = path else { return Ok(None) };
    let file = File::create(path).map_err(|source| RunError::Trace { path: path.to_owned(), source })?;
    Ok(Some(Box::new(BufWriter::new(file))))
}

/// Sets up the engine and the counts source that the configuration asks for.
fn choose(config: &RunConfig, boot: &BootConfig, memory: &GuestMemory) -> Result<Chosen<Pc>, RunError> {
    let soft = || {
        let profile = match boot.lbr {
            LbrChoice::Auto | LbrChoice::On => boot.profile.clone(),
            LbrChoice::Off => boot.profile.clone().without_lbr(),
        };
        let profile = precise(profile, boot.precise)?;
        let model = model_threads(config, boot)?;
        let model =
            model.map(|threads| Modelling { uncore: boot.uncore, threads, parked: boot.model_in.is_some() });
        soft(config, memory, profile, &boot.counts, model)
    };
    let soft_only = soft_only(config, boot);
    match (boot.engine, &boot.counts) {
        (EngineChoice::Soft, _) | (EngineChoice::Auto, CountsChoice::Model) => soft(),
        (EngineChoice::Auto, CountsChoice::Auto) if soft_only.is_some() => soft(),
        (EngineChoice::Auto, CountsChoice::Auto) => kvm(boot, memory).or_else(|reason| {
            log::info!("using the soft engine: {reason}");
            soft()
        }),
        (EngineChoice::Kvm | EngineChoice::Auto, _) => {
            soft_only.map_or_else(|| kvm(boot, memory), |what| Err(what.into()))
        }
    }
}

/// The profile with the precise sampling of its silicon, if that is wanted.
fn precise(profile: Profile, choice: PreciseChoice) -> Result<Profile, RunError> {
    match choice {
        PreciseChoice::Auto => Ok(profile.with_precise_sampling()),
        PreciseChoice::Off => Ok(profile),
        PreciseChoice::On => {
            let shown = profile.with_precise_sampling();
            match shown.has_precise_sampling() {
                true => Ok(shown),
                false => Err(RunError::NoPreciseSampling { profile: shown.name.to_string() }),
            }
        }
    }
}

/// What the run asks for that KVM does not have.
fn soft_only(config: &RunConfig, boot: &BootConfig) -> Option<SoftOnly> {
    let asked = [
        (boot.lbr == LbrChoice::On, SoftOnly::BranchRecords),
        (boot.precise == PreciseChoice::On, SoftOnly::PreciseSampling),
        (boot.detail == Detail::Timing, SoftOnly::CoreModel),
        (config.trace_exceptions.is_some(), SoftOnly::Exceptions),
        (config.gdb.is_some(), SoftOnly::Debugger),
        (config.save.is_some(), SoftOnly::Snapshots),
        (config.skid.is_some(), SoftOnly::Skid),
    ];
    asked.into_iter().find_map(|(asked, what)| asked.then_some(what))
}

fn kvm(boot: &BootConfig, memory: &GuestMemory) -> Result<Chosen<Pc>, RunError> {
    let profile = boot.profile.clone().without_lbr();
    let apic = apic_config(&profile);
    let config = KvmConfig { memory, profile: &profile, apic: &apic };
    let engine = KvmEngine::new(&config).map_err(EngineError::from)?;
    let tsc_hz = engine.tsc_hz();
    let source = counts::choose(&boot.counts, &profile, tsc_hz, engine.kick_signal())?;
    Ok(Chosen { engine: Box::new(engine), source, profile, settings: PcSettings { apic, tsc_hz } })
}

/// How many threads a model of the core may use, if one is asked for.
fn model_threads(config: &RunConfig, boot: &BootConfig) -> Result<Option<NonZeroUsize>, RunError> {
    let threads = (boot.detail == Detail::Timing).then_some(boot.threads);
    if threads.is_some() && config.save.is_some() {
        return Err(RunError::SnapshotOfModel);
    }
    Ok(threads)
}

/// How the core of a PC is modelled.
#[derive(Debug, Clone, Copy)]
struct Modelling {
    uncore: Uncore,
    /// Threads that may run the guest.
    threads: NonZeroUsize,
    /// Not from the first instruction on.
    parked: bool,
}

fn soft(
    config: &RunConfig,
    memory: &GuestMemory,
    profile: Profile,
    counts: &CountsChoice,
    modelling: Option<Modelling>,
) -> Result<Chosen<Pc>, RunError> {
    let mut engine = SoftEngine::new(memory, &profile).with_compiler(config.compile);
    let mut source = counts::choose_soft(counts, &profile, engine.retired())?;
    if let Some(Modelling { uncore, threads, parked }) = modelling {
        let core = SharedCore::on_threads(&profile, uncore, threads)?;
        let timing = TimingSource::new(&profile, core.clone());
        if parked {
            let totals = ModelSource::new(&profile, engine.retired());
            source = Box::new(SwitchedSource::new(&profile, timing, totals));
            engine = engine.with_parked_model(core);
        } else {
            source = Box::new(timing);
            engine = engine.with_model(core);
        }
    }
    let tsc_hz = engine.tsc_hz();
    let apic = soft_apic_config(&profile);
    Ok(Chosen { engine: Box::new(engine), source, profile, settings: PcSettings { apic, tsc_hz } })
}

/// The files by which an image finds out what it runs on.
fn fw_cfg(
    memory: &GuestMemory,
    cmdline: &str,
    profile: &Profile,
    engine: &str,
    source: &dyn Source,
) -> Result<FwCfg, FwCfgError> {
    let mut fw_cfg = FwCfg::new(1, memory.size_mib() << 20);
    fw_cfg.set_command_line(cmdline);
    for (name, content) in [
        (files::PROFILE, profile.name.to_string()),
        (files::COUNTS, source.label().to_string()),
        (files::ENGINE, engine.to_owned()),
    ] {
        fw_cfg.add_file(name, content.into_bytes())?;
    }
    Ok(fw_cfg)
}
