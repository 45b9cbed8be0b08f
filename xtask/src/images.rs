//! Building the guest test images.

use crate::cargo::{artifacts, cargo, line};
use crate::error::TaskError;
use crate::linux::Architecture;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A built image.
#[derive(Debug, Clone)]
pub(crate) struct GuestImage {
    /// Name of its source file.
    pub(crate) name: String,
    /// The ELF file.
    pub(crate) path: PathBuf,
    /// What executes it.
    pub(crate) architecture: Architecture,
}

impl GuestImage {
    /// Images whose checks have to pass: not those that misbehave on purpose, which are for the tests of the runner,
    /// nor those that measure.
    pub(crate) fn is_test(&self) -> bool {
        const OTHERS: [&str; 4] = ["broken", "counts", "speed", "workloads"];
        let name = self.name.strip_prefix("arm_").unwrap_or(&self.name);
        !name.starts_with("hostile") && !OTHERS.contains(&name)
    }

    /// The image that runs workloads on x86-64.
    pub(crate) fn is_workload(&self) -> bool {
        self.name == "workloads"
    }

    /// The same for AArch64.
    pub(crate) fn is_arm_workload(&self) -> bool {
        self.name == "arm_workloads"
    }
}

/// The images of an instruction set.
struct Package {
    architecture: Architecture,
    /// Its arguments to cargo.
    arguments: &'static [&'static str],
    /// The target, if it is not the host's.
    target: Option<&'static str>,
}

const PACKAGES: [Package; 2] = [
    Package { architecture: Architecture::Amd64, arguments: &["--package", "guest-images"], target: None },
    Package {
        architecture: Architecture::Arm64,
        arguments: &["--package", "guest-images-aarch64", "--features", "images"],
        target: Some("aarch64-unknown-none-softfloat"),
    },
];

/// Builds all images for which there is a toolchain, and says which are left out; returns them sorted by name.
pub(crate) fn build() -> Result<Vec<GuestImage>, TaskError> {
    let mut images = Vec::new();
    for package in &PACKAGES {
        match package.target.map_or(Ok(()), require_target) {
            Ok(()) => images.extend(build_package(package)?),
            Err(reason) => {
                anstream::eprintln!("skipped the images of {}: {reason}", package.architecture.name());
            }
        }
    }
    images.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(images)
}

/// The arguments by which cargo checks the images that a check of the workspace leaves out; empty without their
/// toolchain.
pub(crate) fn arguments_of_others() -> Vec<Vec<&'static str>> {
    let others = PACKAGES.iter().filter_map(|package| Some((package, package.target?)));
    let there = others.filter(|(_, target)| require_target(target).is_ok());
    there
        .map(|(package, target)| [package.arguments, &["--profile", "guest", "--target", target]].concat())
        .collect()
}

/// Flags that keep branches off the boundaries of 32 bytes, where microcode against the erratum of conditional jumps
/// takes code out of Skylake's uop cache (Intel, "Mitigations for Jump Conditional Code Erratum"): of all kinds that
/// it names, not only those that LLVM's short flag aligns.
const WITHIN_WINDOWS: [&str; 2] = [
    "-Cllvm-args=-x86-align-branch-boundary=32",
    "-Cllvm-args=-x86-align-branch=fused+jcc+jmp+call+ret+indirect",
];

fn build_package(package: &Package) -> Result<Vec<GuestImage>, TaskError> {
    let mut images = build_images(package, &[], None)?;
    // What workloads are bound by must not depend on where the compiler has put their branches. Padding adds
    // instructions, which the images that count them cannot have.
    if let Some(image) = images.iter_mut().find(|image| image.is_workload()) {
        let arguments = ["--bin", image.name.as_str()];
        if let Some(padded) = build_images(package, &arguments, Some(flags(&WITHIN_WINDOWS)))?.pop() {
            *image = padded;
        }
    }
    Ok(images)
}

/// The compiler's flags as cargo takes them: those of the environment and more.
fn flags(more: &[&str]) -> String {
    const SEPARATOR: &str = "\x1f";
    let encoded = std::env::var("CARGO_ENCODED_RUSTFLAGS").ok();
    let plain = || std::env::var("RUSTFLAGS").unwrap_or_default();
    let given = encoded.unwrap_or_else(|| plain().split_whitespace().collect::<Vec<_>>().join(SEPARATOR));
    let given = given.split(SEPARATOR).filter(|flag| !flag.is_empty());
    given.chain(more.iter().copied()).collect::<Vec<_>>().join(SEPARATOR)
}

fn build_images(
    package: &Package,
    arguments: &[&str],
    flags: Option<String>,
) -> Result<Vec<GuestImage>, TaskError> {
    let mut command = cargo(["build", "--profile", "guest"]);
    command.args(package.arguments).args(package.target.map(|target| format!("--target={target}")));
    command.args(arguments).envs(flags.map(|flags| ("CARGO_ENCODED_RUSTFLAGS", flags)));
    let mut images = Vec::new();
    for artifact in artifacts(&mut command)? {
        let is_bin = artifact["target"]["kind"][0] == "bin";
        if let (true, Some(path), Some(name)) =
            (is_bin, artifact["executable"].as_str(), artifact["target"]["name"].as_str())
        {
            let (name, path) = (name.to_owned(), PathBuf::from(path));
            images.push(GuestImage { name, path, architecture: package.architecture });
        }
    }
    if images.is_empty() {
        return Err(TaskError::Output { command: line(&command), what: "no image was built".to_owned() });
    }
    Ok(images)
}

/// Rust's core library for a target is installed, or rustup installs it now; the error says why not.
fn require_target(target: &str) -> Result<(), String> {
    if has_target(target) {
        return Ok(());
    }
    anstream::eprintln!("rustup target add {target}");
    match Command::new("rustup").args(["target", "add", target]).stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() && has_target(target) => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last =
                said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("rustup said nothing");
            Err(format!("Rust's target {target} is not installed: {}", last.trim()))
        }
        Err(error) => {
            Err(format!("Rust's target {target} is not installed, and there is no rustup: {error}"))
        }
    }
}

fn has_target(target: &str) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir", "--target", target]).output();
    output.is_ok_and(|output| {
        output.status.success() && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
    })
}
