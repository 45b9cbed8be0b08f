//! From a kernel to a snapshot in which init waits for a program.

use super::{INIT, ProgramError, cpio};
use crate::counts::model::ModelSource;
use crate::engine::soft::x86::SoftEngine;
use crate::engine::{Engine as _, RunLimits, Snapshots as _};
use crate::machine::pmu::PmuDevice;
use crate::machine::program::{Pause, Program};
use crate::machine::progress::RunProgress;
use crate::machine::stop::StopRequest;
use crate::machine::x86::Pc;
use crate::machine::{Machine, Outcome};
use crate::run::{self, RunError};
use crate::snapshot::Booted;
use crate::snapshot::mapped::Mapped;
use guest_protocol::program::{WINDOW, WINDOW_SIZE};
use platform::devices::{Capture, FwCfg, Output};
use platform::loader::{self, BootParams, Image, Module};
use platform::memory::{GuestMemory, MemoryConfig};
use platform::x86;
use platform::x86::apic::LocalApic;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use vpmu::Profile;
use vpmu::profile::Architecture;

/// Below it the kernel has no room beside the window.
pub const LEAST_MEMORY_MIB: u64 = 384;
/// Bytes of the console that an error quotes.
const QUOTED: usize = 1 << 12;

/// What is booted, on what.
#[derive(Debug)]
pub struct BootPlan<'a> {
    /// A Linux kernel.
    pub kernel: &'a Path,
    /// A built-in profile of x86-64.
    pub profile: &'a Profile,
    /// Guest RAM.
    pub memory_mib: u64,
    /// Wall-clock limit.
    pub timeout: Duration,
    /// Asks the boot to end.
    pub stop: StopRequest,
    /// Is told how far it is.
    pub progress: RunProgress,
}

/// The kernel's command line: addresses that do not change, no mitigations of what cannot happen here, no watchdog and
/// no self-tests, and a panic that ends the run.
#[must_use]
pub fn command_line() -> String {
    let window = format!("memmap={}M${WINDOW:#x}", WINDOW_SIZE >> 20);
    format!(
        "console=ttyS0 quiet nokaslr norandmaps nopti mitigations=off nopcid nowatchdog cryptomgr.notests pci=off \
         8250.nr_uarts=1 reboot=t panic=-1 random.trust_cpu=on transparent_hugepage=never {window}"
    )
}

/// Boots the kernel in `--detail counts` up to where init waits, and writes a snapshot.
///
/// # Errors
/// The kernel or the machine is none that can run programs, or the guest does not get there.
pub fn boot(plan: &BootPlan<'_>, snapshot: &Path) -> Result<(), ProgramError> {
    let BootPlan { kernel, profile, memory_mib, timeout, .. } = *plan;
    check(profile, memory_mib)?;
    let image = Image::open(kernel);
    let image = image.map_err(|source| ProgramError::Kernel { path: kernel.to_owned(), source })?;
    if !image.is_linux() {
        return Err(ProgramError::NotLinux(kernel.to_owned()));
    }
    let memory = GuestMemory::new(MemoryConfig { size_mib: memory_mib }, &x86::memory::LAYOUT);
    let memory = memory.map_err(RunError::from)?;
    let data = cpio::with_init(INIT).map_err(ProgramError::file("init"))?;
    let init = Module { cmdline: String::new(), data };
    let params = BootParams { cmdline: command_line(), modules: vec![init], protocol: None };
    let state = loader::x86::load(&image, &memory, &params).map_err(RunError::from)?;
    let mut engine = SoftEngine::new(&memory, profile);
    let capture = Capture::new(QUOTED);
    let consoles: [Output; 2] = [Box::new(capture.clone()), Box::new(capture.clone())];
    let [console, debug_console] = consoles;
    let fw_cfg = FwCfg::new(1, memory_mib << 20);
    let devices = x86::devices::Devices::new(console, debug_console, fw_cfg);
    let mut machine = machine(memory, devices, profile, &engine)?;
    machine.set_stop_request(plan.stop.clone());
    machine.set_progress(plan.progress.clone());
    let nothing: [Output; 2] = [Box::new(io::sink()), Box::new(io::sink())];
    machine.set_program(Program::new(Box::new(std::iter::empty()), nothing, Vec::new(), 0));
    engine.boot(&state).map_err(RunError::from)?;
    let outcome = engine.run_until(&mut machine, RunLimits { timeout }, u64::MAX);
    if machine.program().and_then(Program::paused) != Some(Pause::Ready) {
        let how = match outcome {
            Some(Outcome::Interrupted { signal }) => return Err(ProgramError::Interrupted { signal }),
            Some(Outcome::TimedOut) => return Err(ProgramError::BootTimedOut),
            outcome => outcome.map_or_else(String::new, |outcome| format!("{outcome:?}")),
        };
        let console = capture.text();
        let last: Vec<&str> = console.lines().rev().take(3).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        return Err(ProgramError::Boot(format!("{how}; its last words: {}", last.join(" / "))));
    }
    let booted = Booted { image: image.name().to_owned(), linux: true };
    Ok(Mapped::write(snapshot, engine.save(), &mut machine, &booted)?)
}

/// Whether programs can run on this.
fn check(profile: &Profile, memory_mib: u64) -> Result<(), ProgramError> {
    if INIT.is_empty() {
        return Err(ProgramError::NoInit);
    }
    let built_in = Profile::by_name(&profile.name).is_some_and(|built_in| built_in.core == profile.core);
    if profile.architecture() != Architecture::X86_64 || !built_in {
        return Err(ProgramError::Profile(profile.name.to_string()));
    }
    if memory_mib < LEAST_MEMORY_MIB {
        return Err(ProgramError::Memory { size_mib: memory_mib, least_mib: LEAST_MEMORY_MIB });
    }
    Ok(())
}

/// A PC with these devices around an engine.
pub(super) fn machine(
    memory: GuestMemory,
    devices: x86::devices::Devices,
    profile: &Profile,
    engine: &SoftEngine,
) -> Result<Machine<Pc>, ProgramError> {
    let apic = LocalApic::new(run::soft_apic_config(profile));
    let apic = apic.map_err(|source| RunError::Apic { profile: profile.name.to_string(), source })?;
    let source = Box::new(ModelSource::new(profile, engine.retired()));
    let pmu = PmuDevice::new(profile.clone(), source, None);
    Ok(Machine::new(memory, Pc::new(devices, apic, engine.tsc_hz()), pmu))
}

/// What decides what a booted guest is, as a name: a file of that name in a cache holds one.
///
/// # Errors
/// The kernel cannot be read.
pub fn cache_name(plan: &BootPlan<'_>, version: &str) -> Result<PathBuf, ProgramError> {
    let kernel = std::fs::read(plan.kernel).map_err(ProgramError::file(plan.kernel))?;
    let mut hash = crc32fast::Hasher::new();
    let isa = plan.profile.isa.name();
    for part in [&kernel[..], INIT, command_line().as_bytes(), version.as_bytes(), isa.as_bytes()] {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let BootPlan { profile, memory_mib, .. } = plan;
    Ok(PathBuf::from(format!("{}-{isa}-{memory_mib}M-{:08x}.ram", profile.name, hash.finalize())))
}
