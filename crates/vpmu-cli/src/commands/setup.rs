//! `vpmu setup`: a kernel for `-- PROGRAM`, from the distribution by its own client.

use super::program::kernel::{self, KERNEL};
use crate::error::CliError;
use crate::output::{print, print_json, remark};
use serde::Serialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages that depend on the newest kernel, by how small it is: Debian's and Ubuntu's for virtual machines, then
/// those for all.
const PACKAGES: [&str; 5] = [
    "linux-image-cloud-amd64",
    "linux-image-kvm",
    "linux-image-virtual",
    "linux-image-amd64",
    "linux-image-generic",
];

#[derive(Debug, Serialize)]
struct Document {
    command: &'static str,
    package: Option<String>,
    kernel: PathBuf,
}

/// Fetches the kernel, unless it is there.
pub(super) fn setup(again: bool, json: bool) -> Result<u8, CliError> {
    if let Some(kernel) = kernel::fetched()?.filter(|_| !again) {
        if !json {
            print(&format!("{} is there; --again fetches the newest\n", kernel.display()))?;
            return Ok(crate::exit::PASS);
        }
        print_json(&Document { command: "setup", package: None, kernel })?;
        return Ok(crate::exit::PASS);
    }
    let directory = kernel::cache()?.join("kernel");
    fs::create_dir_all(&directory)
        .map_err(|source| CliError::NotWritable { path: directory.clone(), source })?;
    let package = package()?;
    let scratch = directory.join("download");
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch).map_err(|source| CliError::NotWritable { path: scratch.clone(), source })?;
    remark(&format!("fetching {package} with apt-get download, into {}\n", scratch.display()));
    command(
        Command::new("apt-get").args(["--quiet", "--quiet", "download", &package]).current_dir(&scratch),
    )?;
    let archive = only_file(&scratch, |path| path.extension().is_some_and(|extension| extension == "deb"))?;
    let unpacked = scratch.join("root");
    command(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&unpacked))?;
    let is_kernel =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(KERNEL));
    let found = only_file(&unpacked.join("boot"), is_kernel)?;
    let kernel = directory.join(KERNEL);
    let moved = fs::rename(&found, &kernel).and_then(|()| fs::remove_dir_all(&scratch));
    moved.map_err(|source| CliError::Write { path: kernel.clone(), source })?;
    if json {
        print_json(&Document { command: "setup", package: Some(package), kernel })?;
    } else {
        print(&format!(
            "{} is {}; `vpmu stat -- PROGRAM` boots it once for each profile\n",
            kernel.display(),
            package
        ))?;
    }
    Ok(crate::exit::PASS)
}

/// The package with the newest kernel.
fn package() -> Result<String, CliError> {
    let architecture = capture(Command::new("dpkg").arg("--print-architecture"))?;
    if architecture.trim() != "amd64" {
        return Err(CliError::Setup(format!(
            "this host's packages are for {}, not for amd64",
            architecture.trim()
        )));
    }
    for newest in PACKAGES {
        let Ok(depends) = capture(Command::new("apt-cache").args(["depends", newest])) else { continue };
        let is_kernel = |word: &&str| {
            let version =
                word.strip_prefix("linux-image-").or_else(|| word.strip_prefix("linux-image-unsigned-"));
            version.is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
        };
        if let Some(kernel) = depends.split_whitespace().find(is_kernel) {
            return Ok(kernel.to_owned());
        }
    }
    Err(CliError::Setup("apt knows no package with a kernel; `apt-get update` reads its lists".to_owned()))
}

fn only_file(directory: &Path, wanted: impl Fn(&Path) -> bool) -> Result<PathBuf, CliError> {
    let entries =
        fs::read_dir(directory).map_err(|source| CliError::Write { path: directory.to_owned(), source })?;
    let mut found = entries.flatten().map(|entry| entry.path()).filter(|path| wanted(path));
    found.next().ok_or_else(|| CliError::Setup(format!("{} has no kernel", directory.display())))
}

fn capture(command: &mut Command) -> Result<String, CliError> {
    let output = command.output().map_err(|error| not_there(command, &error))?;
    if !output.status.success() {
        return Err(failed(command));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What it prints goes to stderr, where our own remarks are.
fn command(command: &mut Command) -> Result<(), CliError> {
    let status = command.stdout(io::stderr()).status().map_err(|error| not_there(command, &error))?;
    if status.success() { Ok(()) } else { Err(failed(command)) }
}

fn not_there(command: &Command, error: &io::Error) -> CliError {
    CliError::Setup(format!("cannot run {}: {error}", command.get_program().to_string_lossy()))
}

fn failed(command: &Command) -> CliError {
    CliError::Setup(format!("{} failed", command.get_program().to_string_lossy()))
}
