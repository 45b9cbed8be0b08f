//! One run, from an image or a snapshot to a report.
//!
//! | file | what it is |
//! | --- | --- |
//! | `config.rs` | what to run, on what |
//! | `setup.rs` | from a configuration to a guest that is ready to run |
//! | `report.rs`, [`warning`] | what comes of a run |
//! | `console.rs` | the console: kept for the report, and shown while the guest runs |
//! | `error.rs` | why a run could not be started, or failed |

mod config;
mod console;
mod error;
mod report;
mod setup;
pub mod warning;

pub use self::config::{BootConfig, LbrChoice, PreciseChoice, RunConfig, SnapshotPlan, Start};
pub use self::console::CONSOLE_LIMIT;
pub use self::error::{RunError, SoftOnly, X86Only};
pub use self::report::{CountRow, RunReport};

pub(crate) use self::setup::soft_apic_config;

use self::setup::{Guest, Platform};
use crate::engine::RunLimits;
use crate::machine::Outcome;
use crate::machine::arm::Virt;
use crate::machine::x86::Pc;
use crate::snapshot::Snapshot;
use std::time::Instant;
use vpmu::Provenance;
use vpmu::profile::Architecture;

/// Runs a guest to its end.
///
/// # Errors
/// Something outside the guest failed. Whatever the guest does is in the report's outcome.
pub fn run(config: RunConfig) -> Result<RunReport, RunError> {
    let architecture = match &config.start {
        Start::Boot(boot) => boot.profile.architecture(),
        Start::Resume(snapshot) => snapshot.profile()?.architecture(),
    };
    match architecture {
        Architecture::X86_64 => run_on::<Pc>(config),
        Architecture::Aarch64 => run_on::<Virt>(config),
    }
}

fn run_on<B: Platform>(config: RunConfig) -> Result<RunReport, RunError> {
    let started = Instant::now();
    let sandboxed = config.sandbox;
    let mut guest = Guest::<B>::new(config)?;
    if sandboxed {
        enter_sandbox(&guest)?;
    }
    let startup = started.elapsed();
    let entered = Instant::now();
    let outcome = match take_snapshot(&mut guest)? {
        Some(outcome) => outcome,
        None => {
            let timeout = guest.timeout.saturating_sub(entered.elapsed());
            guest.engine.run(&mut guest.machine, RunLimits { timeout })?
        }
    };
    let ran = entered.elapsed();
    let written = [guest.machine.pmu.finish_trace(), guest.machine.exceptions.finish_trace()];
    for (written, path) in written.into_iter().zip(&guest.traces) {
        if let (Err(source), Some(path)) = (written, path) {
            return Err(RunError::Trace { path: path.clone(), source });
        }
    }
    if let (Err(source), Some(path)) = (guest.machine.pmu.finish_recording(), &guest.recording) {
        return Err(RunError::Recording { path: path.clone(), source: source.into() });
    }
    Ok(RunReport::new(guest, outcome, startup, ran))
}

/// Everything that the run needs is open.
fn enter_sandbox<B: Platform>(guest: &Guest<B>) -> Result<(), RunError> {
    let host_counters = guest.machine.pmu.source().label() == Provenance::Host;
    if sandbox::enter(sandbox::Needs { host_counters })? == sandbox::Files::Seccomp {
        log::warn!("this kernel has no landlock: the sandbox is seccomp alone, and no file can be opened");
    }
    Ok(())
}

/// Runs to where a snapshot is wanted and writes it, if one is. An outcome if the run ended before.
fn take_snapshot<B: Platform>(guest: &mut Guest<B>) -> Result<Option<Outcome>, RunError> {
    let Some(SnapshotPlan { at, ref path }) = guest.save else { return Ok(None) };
    let snapshots = guest.engine.snapshots().ok_or(SoftOnly::Snapshots)?;
    let ended = snapshots.run_until(&mut guest.machine, RunLimits { timeout: guest.timeout }, at);
    let state = snapshots.save();
    let instructions = state.instructions();
    match ended {
        // Time does not run backwards, and a run that timed out or was interrupted says so itself.
        Some(Outcome::TimedOut | Outcome::Interrupted { .. }) => return Ok(ended),
        Some(_) => return Err(RunError::SnapshotNotReached { at, instructions }),
        None if instructions != at => return Err(RunError::SnapshotNotReached { at, instructions }),
        None => {}
    }
    let taken = Snapshot::take(state, &mut guest.machine, &guest.booted);
    let written = taken.and_then(|snapshot| snapshot.write(path));
    written.map_err(|source| RunError::SaveSnapshot { path: path.clone(), source })?;
    Ok(None)
}
