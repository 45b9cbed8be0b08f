//! Kernel, busybox and perf, from the distribution by its own client (`apt-get download`, which needs no root).

use crate::cargo::{capture, run};
use crate::error::TaskError;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const KERNEL_META_PACKAGE: &str = "linux-image-cloud-amd64";
const PERF: &str = "linux-perf";
/// Written when everything is unpacked.
const COMPLETE: &str = ".complete";

/// The unpacked packages, as a root file system; or why they cannot be had.
pub(super) fn fetch(directory: &Path) -> Result<Result<PathBuf, String>, TaskError> {
    if let Some(root) = fetched(directory) {
        return Ok(Ok(root));
    }
    let root = directory.join("root");
    let names = match names()? {
        Ok(names) => names,
        Err(reason) => return Ok(Err(reason)),
    };
    let packages = directory.join("packages");
    for path in [&packages, &root] {
        fs::create_dir_all(path).map_err(|source| file_error(path, source))?;
    }
    anstream::println!("fetching {} packages into {}", names.len(), packages.display());
    let mut download = Command::new("apt-get");
    download.args(["--quiet", "--quiet", "download"]).args(&names).current_dir(&packages);
    if run(&mut download).is_err() {
        return Ok(Err("apt-get cannot download the packages; try `apt-get update`".into()));
    }
    let entries = fs::read_dir(&packages).map_err(|source| file_error(&packages, source))?;
    for package in entries.flatten().map(|entry| entry.path()) {
        if package.extension().is_some_and(|extension| extension == "deb") {
            run(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&root))?;
        }
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
fn names() -> Result<Result<Vec<String>, String>, TaskError> {
    let Ok(depends) = depends(&["depends", KERNEL_META_PACKAGE]) else {
        return Ok(Err("this host has no apt-cache; name a kernel with --kernel".into()));
    };
    let is_kernel = |word: &&str| word.starts_with("linux-image-") && *word != KERNEL_META_PACKAGE;
    let Some(kernel) = depends.split_whitespace().find(is_kernel) else {
        return Ok(Err(format!("apt does not know {KERNEL_META_PACKAGE}")));
    };
    let only_depends = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"];
    let mut words = vec!["depends".to_owned(), "--recurse".to_owned()];
    words.extend(only_depends.map(|kind| format!("--no-{kind}")));
    words.push(PERF.to_owned());
    let libraries = self::depends(&words)?;
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

fn depends<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Result<String, TaskError> {
    let output = capture(Command::new("apt-cache").args(arguments))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The kernel among the unpacked packages.
pub(super) fn kernel(root: &Path) -> Option<PathBuf> {
    let boot = fs::read_dir(root.join("boot")).ok()?;
    boot.flatten().map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("/vmlinuz-"))
}

pub(super) fn file_error(path: &Path, source: std::io::Error) -> TaskError {
    TaskError::File { path: path.to_owned(), source }
}
