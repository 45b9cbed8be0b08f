//! Kernel, busybox and perf, from the distribution by its own client (`apt-get download`, which needs no root).

use super::apt::{Apt, file_error};
use super::architecture::Architecture;
use crate::error::TaskError;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PERF: &str = "linux-perf";
/// Written when everything is unpacked.
const COMPLETE: &str = ".complete";

/// The unpacked packages, as a root file system; or why they cannot be had.
pub(super) fn fetch(
    directory: &Path,
    architecture: Architecture,
) -> Result<Result<PathBuf, String>, TaskError> {
    if let Some(root) = fetched(directory) {
        return Ok(Ok(root));
    }
    let apt = match Apt::of(directory, architecture)? {
        Ok(apt) => apt,
        Err(reason) => return Ok(Err(reason)),
    };
    let names = match names(&apt, architecture)? {
        Ok(names) => names,
        Err(reason) => return Ok(Err(reason)),
    };
    let root = directory.join("root");
    if let Err(reason) = apt.unpack(&names, &directory.join("packages"), &root)? {
        return Ok(Err(reason));
    }
    let complete = root.join(COMPLETE);
    fs::write(&complete, names.join("\n")).map_err(|source| file_error(&complete, source))?;
    Ok(Ok(root))
}

/// What an earlier run has fetched.
pub(super) fn fetched(directory: &Path) -> Option<PathBuf> {
    let root = directory.join("root");
    root.join(COMPLETE).is_file().then_some(root)
}

/// The packages to fetch, or why they are not known.
fn names(apt: &Apt, architecture: Architecture) -> Result<Result<Vec<String>, String>, TaskError> {
    let newest = architecture.kernel_package();
    let Ok(depends) = apt.depends(&[newest]) else {
        return Ok(Err("this host has no apt-cache; name a kernel with --kernel".into()));
    };
    let is_kernel = |word: &&str| word.starts_with("linux-image-") && *word != newest;
    let Some(kernel) = depends.split_whitespace().find(is_kernel) else {
        return Ok(Err(format!("apt does not know {newest}")));
    };
    let libraries = apt.depends_of_all(PERF)?;
    // Packages stand at the start of a line, their dependencies behind a blank. perf needs the libraries of
    // its scripting languages, not the languages.
    let libraries: BTreeSet<&str> = libraries
        .lines()
        .filter(|line| line.starts_with("lib") || line.starts_with("zlib"))
        .filter(|name| !["-stdlib", "-minimal", "-common"].iter().any(|part| name.ends_with(part)))
        .collect();
    if libraries.is_empty() {
        return Ok(Err(format!("apt does not know {PERF}")));
    }
    let programs = [kernel, "busybox-static", PERF];
    Ok(Ok(programs.into_iter().chain(libraries).map(str::to_owned).collect()))
}

/// The kernel among the unpacked packages.
pub(super) fn kernel(root: &Path) -> Option<PathBuf> {
    let boot = fs::read_dir(root.join("boot")).ok()?;
    boot.flatten().map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("/vmlinuz-"))
}
