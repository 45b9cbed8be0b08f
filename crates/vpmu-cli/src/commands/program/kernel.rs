//! The kernel, and booted guests, in the user's cache.

use super::MEMORY_MIB;
use crate::args::MachineArgs;
use crate::error::CliError;
use crate::interrupt::Interrupt;
use crate::output::progress::Progress;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use vmm::guest_program::boot::{self, BootPlan};
use vmm::machine::progress::RunProgress;
use vmm::snapshot::mapped::Mapped;
use vpmu::Profile;

/// What a kernel's file is called.
pub(in crate::commands) const KERNEL: &str = "vmlinuz";

/// `$XDG_CACHE_HOME/vpmu`, or `~/.cache/vpmu`.
pub(in crate::commands) fn cache() -> Result<PathBuf, CliError> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    Ok(base.ok_or(CliError::NoCache)?.join("vpmu"))
}

/// The kernel that `vpmu setup` has fetched.
pub(in crate::commands) fn fetched() -> Result<Option<PathBuf>, CliError> {
    let kernel = cache()?.join("kernel").join(KERNEL);
    Ok(kernel.is_file().then_some(kernel))
}

/// A booted guest, from the cache or booted now, and where it is.
pub(super) fn booted(
    args: &MachineArgs,
    profile: &Profile,
    timeout: Duration,
    interrupt: &Interrupt,
    watched: &RunProgress,
    progress: &Progress,
) -> Result<(Mapped, PathBuf), CliError> {
    let kernel = match args.kernel() {
        Some(kernel) => kernel.to_owned(),
        None => fetched()?.ok_or(CliError::NoKernel)?,
    };
    let plan = BootPlan {
        kernel: &kernel,
        profile,
        memory_mib: args.memory.unwrap_or(MEMORY_MIB),
        timeout,
        stop: interrupt.request(),
        progress: watched.clone(),
    };
    let guests = cache()?.join("guests");
    fs::create_dir_all(&guests).map_err(|source| CliError::NotWritable { path: guests.clone(), source })?;
    let name = boot::cache_name(&plan, &version())?;
    let path = guests.join(&name);
    if let Ok(snapshot) = Mapped::open(&path) {
        return Ok((snapshot, path));
    }
    progress.set_message(format!("booting {}", kernel.display()));
    boot::boot(&plan, &path)?;
    remove_older(&guests, &name);
    progress.set_message("running the program".to_owned());
    match Mapped::open(&path) {
        Ok(snapshot) => Ok((snapshot, path)),
        Err(source) => Err(CliError::Snapshot { path, source }),
    }
}

/// Of this executable: another engine boots another guest.
fn version() -> String {
    let executable = env::current_exe().and_then(fs::metadata).ok();
    let modified = executable.as_ref().and_then(|found| found.modified().ok());
    let modified = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let size = executable.map_or(0, |found| found.len());
    format!("{} {size} {}", env!("CARGO_PKG_VERSION"), modified.map_or(0, |since| since.as_nanos()))
}

/// Guests of the same profile and memory from another kernel or another vpmu: each has some ten MiB.
fn remove_older(guests: &Path, name: &Path) {
    let name = name.to_string_lossy();
    let Some((kind, _)) = name.rsplit_once('-') else { return };
    for entry in fs::read_dir(guests).into_iter().flatten().flatten() {
        let other = entry.file_name().to_string_lossy().into_owned();
        if other != name && other.rsplit_once('-').is_some_and(|(other, _)| other == kind) {
            // It may be in use, which a name has nothing to do with, or gone already.
            let _ = fs::remove_file(entry.path());
        }
    }
}
