//! A module for the guest's kernel, built with the distribution's headers and compiler.

use super::apt::{Apt, file_error};
use super::architecture::Architecture;
use crate::cargo::{capture, root};
use crate::error::TaskError;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Written when all packages are unpacked.
const COMPLETE: &str = ".complete";
/// Packages of the compiler that the host has, or that have to be the host's.
const OF_THE_HOST: [&str; 4] = ["libc6", "libcrypt1", "libgcc-s1", "libstdc++6"];

/// Builds `guest-tests/falkor-module` for an AArch64 `kernel`; or says why it cannot be.
pub(super) fn falkor_matrix(directory: &Path, kernel: &Path) -> Result<Result<PathBuf, String>, TaskError> {
    let architecture = Architecture::Arm64;
    let name = kernel.file_name().unwrap_or_default().to_string_lossy();
    let Some(version) = name.strip_prefix("vmlinuz-") else {
        return Ok(Err(format!("{name} is no kernel of the distribution")));
    };
    if Command::new("make").arg("--version").output().is_err() {
        return Ok(Err("this host has no make".to_owned()));
    }
    let headers = match headers(directory, architecture, version)? {
        Ok(headers) => headers,
        Err(reason) => return Ok(Err(reason)),
    };
    let compiler = match Compiler::of(directory, architecture, &headers)? {
        Ok(compiler) => compiler,
        Err(reason) => return Ok(Err(reason)),
    };
    // Kbuild writes beside the sources.
    let build = directory.join("falkor-module");
    let sources = root().join("guest-tests/falkor-module");
    fs::create_dir_all(&build).map_err(|source| file_error(&build, source))?;
    for file in ["Kbuild", "falkor_matrix.c"] {
        let from = sources.join(file);
        fs::copy(&from, build.join(file)).map_err(|source| file_error(&from, source))?;
    }
    let mut make = Command::new("make");
    make.arg("--silent").arg("-C").arg(&headers).arg(format!("M={}", build.display()));
    make.arg(format!("CROSS_COMPILE={}", compiler.prefix)).arg("modules");
    make.envs(compiler.environment);
    let output = capture(&mut make)?;
    if !output.status.success() {
        anstream::print!("{}", String::from_utf8_lossy(&output.stderr));
        return Err(TaskError::Data("the module for Falkor's matrix does not build".to_owned()));
    }
    Ok(Ok(build.join("falkor_matrix.ko")))
}

/// The headers of a kernel with the tools that they need, as Kbuild takes them.
fn headers(
    directory: &Path,
    architecture: Architecture,
    version: &str,
) -> Result<Result<PathBuf, String>, TaskError> {
    let own = directory.join("headers");
    let headers = own.join(format!("usr/src/linux-headers-{version}"));
    let complete = own.join(COMPLETE);
    if complete.is_file() && headers.is_dir() {
        return Ok(Ok(headers));
    }
    let (guest, host) = match (Apt::of(directory, architecture)?, Apt::of(directory, Architecture::HOST)?) {
        (Ok(guest), Ok(host)) => (guest, host),
        (Err(reason), _) | (_, Err(reason)) => return Ok(Err(reason)),
    };
    let package = format!("linux-headers-{version}");
    let depends = guest.depends(&[&package])?;
    let needed =
        |start: &str| depends.split_whitespace().find(|word| word.starts_with(start) && *word != package);
    let (Some(common), Some(tools)) = (needed("linux-headers-"), needed("linux-kbuild-")) else {
        return Ok(Err(format!("apt does not know {package}")));
    };
    if let Err(reason) = guest.unpack(&[package.as_str(), common], &own.join("packages"), &own)? {
        return Ok(Err(reason));
    }
    // These run here.
    if let Err(reason) = host.unpack(&[tools], &own.join("host-packages"), &own)? {
        return Ok(Err(reason));
    }
    // The distribution's names an absolute path.
    let makefile = headers.join("Makefile");
    let include = format!("include {}\n", own.join("usr/src").join(common).join("Makefile").display());
    fs::write(&makefile, include).map_err(|source| file_error(&makefile, source))?;
    fs::write(&complete, version).map_err(|source| file_error(&complete, source))?;
    Ok(Ok(headers))
}

/// A cross compiler.
struct Compiler {
    /// `CROSS_COMPILE`.
    prefix: String,
    /// PATH and LD_LIBRARY_PATH, where it is not installed.
    environment: Vec<(&'static str, String)>,
}

impl Compiler {
    /// The one that the kernel was built with: the host's, or fetched; or why it cannot be had.
    fn of(
        directory: &Path,
        architecture: Architecture,
        headers: &Path,
    ) -> Result<Result<Self, String>, TaskError> {
        let triple = architecture.libraries();
        let prefix = format!("{triple}-");
        let variables = headers.join(".kernelvariables");
        let text = fs::read_to_string(&variables).map_err(|source| file_error(&variables, source))?;
        let version: String = text
            .split_once("gcc-")
            .map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect())
            .unwrap_or_default();
        if Command::new(format!("{prefix}gcc-{version}")).arg("--version").output().is_ok() {
            return Ok(Ok(Self { prefix, environment: Vec::new() }));
        }
        let own = directory.join("compiler");
        let complete = own.join(COMPLETE);
        if !complete.is_file() {
            let host = match Apt::of(directory, Architecture::HOST)? {
                Ok(host) => host,
                Err(reason) => return Ok(Err(reason)),
            };
            let package = format!("gcc-{version}-{triple}");
            let depends = host.depends_of_all(&package)?;
            let is_part = |name: &&str| {
                name.ends_with(triple)
                    || name.starts_with("lib") && !OF_THE_HOST.contains(name) && !name.contains(':')
            };
            let names: Vec<&str> = depends
                .lines()
                .filter(|line| !line.starts_with([' ', '|', '<']))
                .filter(is_part)
                .filter(|name| !name.contains("-cross") && !name.contains("-dev"))
                .collect();
            if !names.contains(&package.as_str()) {
                return Ok(Err(format!("apt does not know {package}")));
            }
            if let Err(reason) = host.unpack(&names, &own.join("packages"), &own)? {
                return Ok(Err(reason));
            }
            fs::write(&complete, names.join("\n")).map_err(|source| file_error(&complete, source))?;
        }
        let behind = |variable: &str, path: PathBuf| match std::env::var(variable) {
            Ok(value) => format!("{}:{value}", path.display()),
            Err(_) => path.display().to_string(),
        };
        let libraries = own.join("usr/lib").join(Architecture::HOST.libraries());
        let environment = vec![
            ("PATH", behind("PATH", own.join("usr/bin"))),
            ("LD_LIBRARY_PATH", behind("LD_LIBRARY_PATH", libraries)),
        ];
        let runs = Command::new(own.join("usr/bin").join(format!("{prefix}gcc-{version}")))
            .arg("--version")
            .envs(environment.iter().cloned())
            .output();
        match runs {
            Ok(output) if output.status.success() => Ok(Ok(Self { prefix, environment })),
            _ => Ok(Err(format!("{prefix}gcc-{version} does not run here"))),
        }
    }
}
