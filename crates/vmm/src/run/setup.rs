//! From a configuration to a guest that is ready to run.

use super::config::{BootConfig, LbrChoice, RunConfig, SnapshotPlan, Start};
use super::console::console;
use super::error::{RunError, SoftOnly};
use crate::counts::timing::{SharedCore, TimingSource};
use crate::counts::{self, CountsChoice, Source};
use crate::engine::kvm::{KvmConfig, KvmEngine};
use crate::engine::soft::x86::SoftEngine;
use crate::engine::{Detail, Engine, EngineChoice, EngineError};
use crate::file;
use crate::machine::exceptions::ExceptionTracer;
use crate::machine::pmu::PmuDevice;
use crate::machine::pmu::trace::Tracer;
use crate::machine::x86::Pc;
use crate::machine::{BoardState, Machine, StateError};
use crate::snapshot::{Booted, Snapshot, SnapshotError};
use guest_protocol::files;
use platform::devices::{Capture, FwCfg, FwCfgError};
use platform::loader;
use platform::loader::x86::BootState;
use platform::memory::{GuestMemory, MemoryConfig};
use platform::x86::apic::{ApicConfig, LocalApic};
use platform::x86::devices::Devices;
use platform::x86::memory::LAYOUT;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use vpmu::Profile;
use vpmu::profile::{Architecture, Vendor};

/// A guest that is ready to run, and what is asked of the run.
pub(super) struct Guest {
    pub(super) engine: Box<dyn Engine<Pc>>,
    pub(super) machine: Machine<Pc>,
    /// What it prints.
    pub(super) capture: Capture,
    pub(super) booted: Booted,
    pub(super) timeout: Duration,
    /// Files of the traces of PMU accesses and of exceptions.
    pub(super) traces: [Option<PathBuf>; 2],
    pub(super) save: Option<SnapshotPlan>,
}

impl Guest {
    /// Puts the guest where it starts.
    pub(super) fn new(config: RunConfig) -> Result<Self, RunError> {
        check_snapshot_path(config.save.as_ref())?;
        let size = match &config.start {
            Start::Boot(boot) => boot.memory,
            Start::Resume(snapshot) => MemoryConfig { size_mib: snapshot.memory_mib() },
        };
        let memory = GuestMemory::new(size, &LAYOUT)?;
        let first = match &config.start {
            Start::Boot(boot) => First::Boot(loader::x86::load(&boot.image, &memory, &boot.params)?, boot),
            Start::Resume(snapshot) => {
                snapshot.fill(&memory)?;
                First::Resume(snapshot)
            }
        };
        let Chosen { mut engine, source, tsc_hz, profile, apic } = match &config.start {
            Start::Boot(boot) => choose(&config, boot, &memory)?,
            Start::Resume(snapshot) => soft(&memory, snapshot.profile()?, &CountsChoice::Model, None)?,
        };
        // A run that is refused leaves the traces of an earlier one alone.
        let tracer = trace_file(config.trace.as_deref())?.map(Tracer::new);
        let exceptions = trace_file(config.trace_exceptions.as_deref())?.map(ExceptionTracer::new);

        let (capture, console) = console(config.console);
        let debug_console = Box::new(capture.clone());
        let mut devices = match &first {
            First::Boot(_, boot) => {
                let fw_cfg = fw_cfg(&memory, &boot.params.cmdline, &profile, engine.name(), &*source)?;
                Devices::new(console, debug_console, fw_cfg)
            }
            First::Resume(snapshot) => {
                let BoardState::X86(saved) = snapshot.board();
                Devices::resume(console, debug_console, &saved.devices)
                    .ok_or(SnapshotError::State(StateError::SerialInput))?
            }
        };
        if let Some(input) = config.input {
            devices.console_mut().set_input(input);
        }
        let apic = LocalApic::new(apic).map_err(|source| RunError::Apic { profile: profile.name, source })?;
        let pmu = PmuDevice::new(profile, source, tracer);
        let mut machine = Machine::new(memory, Pc::new(devices, apic, tsc_hz), pmu);
        if let Some(gdb) = config.gdb {
            let debugging = engine.debugging().ok_or(SoftOnly::Debugger)?;
            debugging.attach(gdb.into_debugger(config.stop.clone()));
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
        let (timeout, save) = (config.timeout, config.save);
        Ok(Self { engine, machine, capture, booted, timeout, traces, save })
    }
}

/// What the guest's first instruction finds.
enum First<'a> {
    Boot(BootState, &'a BootConfig),
    Resume(&'a Snapshot),
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
        ..ApicConfig::default()
    }
}

/// The soft engine keeps guest time by the TSC, so that the timer can too, as on Intel CPUs. AMD guests get it as
/// under KVM: Linux finds no CPUID leaf with the APIC timer's clock there, and would want the 8254's interrupt to
/// measure it.
fn soft_apic_config(profile: &Profile) -> ApicConfig {
    ApicConfig { tsc_deadline_hz: Some(profile.tsc_hz.max(1)), ..apic_config(profile) }
}

fn trace_file(path: Option<&Path>) -> Result<Option<Box<dyn Write>>, RunError> {
    let Some(path) = path else { return Ok(None) };
    let file = File::create(path).map_err(|source| RunError::Trace { path: path.to_owned(), source })?;
    Ok(Some(Box::new(BufWriter::new(file))))
}

/// An engine and what belongs to it.
struct Chosen {
    engine: Box<dyn Engine<Pc>>,
    source: Box<dyn Source>,
    tsc_hz: u64,
    /// The profile, without what the engine cannot do.
    profile: Profile,
    apic: ApicConfig,
}

/// Sets up the engine and the counts source that the configuration asks for.
fn choose(config: &RunConfig, boot: &BootConfig, memory: &GuestMemory) -> Result<Chosen, RunError> {
    if boot.profile.architecture() != Architecture::X86_64 {
        return Err(RunError::Architecture { profile: boot.profile.name.to_owned() });
    }
    let soft = || {
        let profile = match boot.lbr {
            LbrChoice::Auto | LbrChoice::On => boot.profile.clone(),
            LbrChoice::Off => boot.profile.clone().without_lbr(),
        };
        let threads = (boot.detail == Detail::Timing).then_some(boot.threads);
        if threads.is_some() && config.save.is_some() {
            return Err(RunError::SnapshotOfModel);
        }
        soft(memory, profile, &boot.counts, threads)
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

/// What the run asks for that KVM does not have.
fn soft_only(config: &RunConfig, boot: &BootConfig) -> Option<SoftOnly> {
    let asked = [
        (boot.lbr == LbrChoice::On, SoftOnly::BranchRecords),
        (boot.detail == Detail::Timing, SoftOnly::CoreModel),
        (config.trace_exceptions.is_some(), SoftOnly::Exceptions),
        (config.gdb.is_some(), SoftOnly::Debugger),
        (config.save.is_some(), SoftOnly::Snapshots),
    ];
    asked.into_iter().find_map(|(asked, what)| asked.then_some(what))
}

fn kvm(boot: &BootConfig, memory: &GuestMemory) -> Result<Chosen, RunError> {
    let profile = boot.profile.clone().without_lbr();
    let apic = apic_config(&profile);
    let config = KvmConfig { memory, profile: &profile, apic: &apic };
    let engine = KvmEngine::new(&config).map_err(EngineError::from)?;
    let tsc_hz = engine.tsc_hz();
    let source = counts::choose(&boot.counts, &profile, tsc_hz, engine.kick_signal())?;
    Ok(Chosen { engine: Box::new(engine), source, tsc_hz, profile, apic })
}

/// With `threads` there is a model of the core, which may use so many.
fn soft(
    memory: &GuestMemory,
    profile: Profile,
    counts: &CountsChoice,
    threads: Option<NonZeroUsize>,
) -> Result<Chosen, RunError> {
    let mut engine = SoftEngine::new(memory, &profile);
    let mut source = counts::choose_soft(counts, &profile, engine.retired())?;
    if let Some(threads) = threads {
        let core = SharedCore::new(&profile)?;
        if threads.get() > 1 {
            core.drive().start_thread();
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
) -> Result<FwCfg, FwCfgError> {
    let mut fw_cfg = FwCfg::new(1, memory.size_mib() << 20);
    fw_cfg.set_command_line(cmdline);
    for (name, content) in [
        (files::PROFILE, profile.name.to_owned()),
        (files::COUNTS, source.label().to_string()),
        (files::ENGINE, engine.to_owned()),
    ] {
        fw_cfg.add_file(name, content.into_bytes())?;
    }
    Ok(fw_cfg)
}
