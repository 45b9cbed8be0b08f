//! Kernel, busybox and perf, from the distribution by its own client (`apt-get download`, which needs no root).

use super::architecture::Architecture;
use crate::cargo::{capture, run};
use crate::error::TaskError;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    let packages = directory.join("packages");
    create(&packages)?;
    create(&root)?;
    anstream::println!("fetching {} packages into {}", names.len(), packages.display());
    let mut download = apt.command("apt-get");
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

/// apt for an architecture.
struct Apt {
    options: Vec<String>,
}

impl Apt {
    /// The host's own, or one with lists of its own for another architecture, read now; or why there is none.
    fn of(directory: &Path, architecture: Architecture) -> Result<Result<Self, String>, TaskError> {
        let Ok(host) = capture(Command::new("dpkg").arg("--print-architecture")) else {
            return Ok(Err("this host has no dpkg; name a kernel with --kernel".into()));
        };
        if host.stdout.trim_ascii() == architecture.name().as_bytes() {
            return Ok(Ok(Self { options: Vec::new() }));
        }
        let own = directory.join("apt");
        let (lists, cache) = (own.join("lists"), own.join("cache"));
        create(&lists.join("partial"))?;
        create(&cache.join("archives/partial"))?;
        // Nothing is installed there.
        let status = own.join("status");
        fs::write(&status, "").map_err(|source| file_error(&status, source))?;
        let name = architecture.name();
        let settings = [
            format!("APT::Architecture={name}"),
            format!("APT::Architectures={name}"),
            format!("Dir::State::lists={}", lists.display()),
            format!("Dir::State::status={}", status.display()),
            format!("Dir::Cache={}", cache.display()),
            "Acquire::Languages=none".to_owned(),
        ];
        let apt = Self { options: settings.map(|setting| format!("--option={setting}")).to_vec() };
        anstream::println!("reading the package lists for {name} into {}", lists.display());
        if run(apt.command("apt-get").args(["--quiet", "--quiet", "update"])).is_err() {
            return Ok(Err(format!("apt-get cannot read the package lists for {name}")));
        }
        Ok(Ok(apt))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(&self.options);
        command
    }

    fn depends<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Result<String, TaskError> {
        let output = capture(self.command("apt-cache").arg("depends").args(arguments))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
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
    let only_depends = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"];
    let mut words = vec!["--recurse".to_owned()];
    words.extend(only_depends.map(|kind| format!("--no-{kind}")));
    words.push(PERF.to_owned());
    let libraries = apt.depends(&words)?;
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

fn create(directory: &Path) -> Result<(), TaskError> {
    fs::create_dir_all(directory).map_err(|source| file_error(directory, source))
}

pub(super) fn file_error(path: &Path, source: std::io::Error) -> TaskError {
    TaskError::File { path: path.to_owned(), source }
}
