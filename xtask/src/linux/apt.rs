//! Debian's packages without root: apt-get downloads them, dpkg-deb unpacks them.

use super::architecture::Architecture;
use crate::cargo::{capture, run};
use crate::error::TaskError;
use std::fs;
use std::path::Path;
use std::process::Command;

/// apt for an architecture.
pub(super) struct Apt {
    options: Vec<String>,
}

impl Apt {
    /// The host's own, or one with lists of its own for another architecture, read now; or why there is none.
    pub(super) fn of(
        directory: &Path,
        architecture: Architecture,
    ) -> Result<Result<Self, String>, TaskError> {
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

    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(&self.options);
        command
    }

    pub(super) fn depends<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Result<String, TaskError> {
        let output = capture(self.command("apt-cache").arg("depends").args(arguments))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// What a package depends on, what these depend on, and so on, as apt-cache prints it: a package stands at the
    /// start of a line, what it depends on behind blanks.
    pub(super) fn depends_of_all(&self, package: &str) -> Result<String, TaskError> {
        let only_depends = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"];
        let mut words = vec!["--recurse".to_owned()];
        words.extend(only_depends.map(|kind| format!("--no-{kind}")));
        words.push(package.to_owned());
        self.depends(&words)
    }

    /// Downloads packages into a directory and unpacks what is there; or says why they cannot be had.
    pub(super) fn unpack<S: AsRef<str>>(
        &self,
        names: &[S],
        packages: &Path,
        root: &Path,
    ) -> Result<Result<(), String>, TaskError> {
        create(packages)?;
        create(root)?;
        anstream::println!("fetching {} packages into {}", names.len(), packages.display());
        let mut download = self.command("apt-get");
        download.args(["--quiet", "--quiet", "download"]).args(names.iter().map(AsRef::as_ref));
        if run(download.current_dir(packages)).is_err() {
            return Ok(Err("apt-get cannot download the packages; try `apt-get update`".into()));
        }
        let entries = fs::read_dir(packages).map_err(|source| file_error(packages, source))?;
        for package in entries.flatten().map(|entry| entry.path()) {
            if package.extension().is_some_and(|extension| extension == "deb") {
                run(Command::new("dpkg-deb").arg("-x").arg(&package).arg(root))?;
            }
        }
        Ok(Ok(()))
    }
}

fn create(directory: &Path) -> Result<(), TaskError> {
    fs::create_dir_all(directory).map_err(|source| file_error(directory, source))
}

pub(super) fn file_error(path: &Path, source: std::io::Error) -> TaskError {
    TaskError::File { path: path.to_owned(), source }
}
