//! The initial RAM disk: busybox, perf with its libraries, drivers, and our own programs.

use super::apt::file_error;
use super::architecture::{Architecture, Programs};
use super::cpio::Cpio;
use super::libraries;
use crate::cargo::{capture, cargo, line};
use crate::error::TaskError;
use crate::rust_target;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The first process. The script comes in an archive of its own behind this one, as the kernel allows.
const INIT: &str = "#!/bin/busybox sh
export PATH=/bin:/usr/bin HOME=/root TERM=dumb PAGER=cat
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /tmp
# For /dev/cpu/0/msr, and to tell the VMM of a panic; kernels with them built in need none.
[ -e /msr.ko ] && insmod /msr.ko allow_writes=on
[ -e /pvpanic.ko ] && insmod /pvpanic.ko && insmod /pvpanic-mmio.ko
cd /tmp
. /session
";

/// The RAM disk, on disk.
#[derive(Debug, Clone)]
pub(super) struct Initrd {
    base: PathBuf,
    with_script: PathBuf,
}

impl Initrd {
    /// The RAM disk with this `/session`, and with more files in its root.
    pub(super) fn with_script(&self, script: &str, files: &[PathBuf]) -> Result<&Path, TaskError> {
        let mut bytes = read(&self.base)?;
        let mut cpio = Cpio::default();
        cpio.program("session", script.as_bytes())?;
        for file in files {
            cpio.program(&file.file_name().unwrap_or_default().to_string_lossy(), &read(file)?)?;
        }
        bytes.extend(cpio.finish()?);
        write(&self.with_script, &bytes)?;
        Ok(&self.with_script)
    }
}

/// Builds the RAM disk from the unpacked packages and our programs, unless it is there already and newer than
/// both; or why it cannot be built.
pub(super) fn build(
    directory: &Path,
    root: &Path,
    architecture: Architecture,
) -> Result<Result<Initrd, String>, TaskError> {
    let programs = match programs(architecture)? {
        Ok(programs) => programs,
        Err(reason) => return Ok(Err(reason)),
    };
    let initrd =
        Initrd { base: directory.join("initrd.cpio"), with_script: directory.join("initrd-session.cpio") };
    let complete = root.join(".complete");
    let this = std::env::current_exe().unwrap_or_default();
    let sources = programs.iter().chain([&complete, &this]);
    let newest = sources.filter_map(|path| fs::metadata(path).ok()?.modified().ok()).max();
    if fs::metadata(&initrd.base).and_then(|file| file.modified()).is_ok_and(|built| Some(built) > newest) {
        return Ok(Ok(initrd));
    }
    let mut cpio = Cpio::default();
    for name in ["dev", "proc", "sys", "tmp", "root", "usr/bin"] {
        cpio.directory(name)?;
    }
    cpio.device("dev/console", 5, 1)?;
    cpio.program("init", INIT.as_bytes())?;
    cpio.program("bin/busybox", &read(&root.join("bin/busybox"))?)?;
    let perf = read(&root.join("usr/bin/perf"))?;
    let linker = architecture.linker();
    for (name, data) in libraries::closure(root, architecture, &perf)? {
        if name == linker.1 {
            cpio.program(&format!("{}/{name}", linker.0), &data)?;
        } else {
            cpio.program(&format!("lib/{}/{name}", architecture.libraries()), &data)?;
        }
    }
    cpio.program("usr/bin/perf", &perf)?;
    for module in modules(root, architecture) {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        cpio.program(&name, &read(&module)?)?;
    }
    for program in programs {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        cpio.program(&format!("bin/{name}"), &read(&program)?)?;
    }
    write(&initrd.base, &cpio.finish()?)?;
    Ok(Ok(initrd))
}

fn modules(root: &Path, architecture: Architecture) -> Vec<PathBuf> {
    let Ok(versions) = fs::read_dir(root.join("lib/modules")) else { return Vec::new() };
    let of_version = |version: PathBuf| architecture.modules().iter().map(move |module| version.join(module));
    versions.flatten().flat_map(|version| of_version(version.path())).filter(|path| path.is_file()).collect()
}

/// Builds the programs of `guest-tests/linux` as static executables; or says why that cannot be.
fn programs(architecture: Architecture) -> Result<Result<Vec<PathBuf>, String>, TaskError> {
    let Programs { target, flags, linker, only } = architecture.programs();
    if let Err(reason) = rust_target::ensure(target) {
        return Ok(Err(reason));
    }
    let mut command = cargo([
        "build",
        "--package",
        "linux-guest",
        "--profile",
        "guest",
        "--target",
        target,
        "--message-format",
        "json-render-diagnostics",
    ]);
    match only {
        [] => command.arg("--bins"),
        names => command.args(names.iter().flat_map(|name| ["--bin", name])),
    };
    command.env("RUSTFLAGS", flags).envs(linker);
    let output = capture(command.stderr(Stdio::inherit()))?;
    if !output.status.success() {
        return Err(TaskError::Command { command: line(&command) });
    }
    let programs: Vec<PathBuf> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|message| serde_json::from_str::<Value>(message).ok())
        .filter(|message| message["reason"] == "compiler-artifact" && message["target"]["kind"][0] == "bin")
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .collect();
    if programs.is_empty() {
        return Err(TaskError::Output { command: line(&command), what: "no program was built".to_owned() });
    }
    Ok(Ok(programs))
}

fn read(path: &Path) -> Result<Vec<u8>, TaskError> {
    fs::read(path).map_err(|source| file_error(path, source))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), TaskError> {
    fs::write(path, bytes).map_err(|source| file_error(path, source))
}
