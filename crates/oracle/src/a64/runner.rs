//! The program that runs cases under `qemu-aarch64`: building it, starting it, and ending it.

use a64_runner::IMAGES;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The CPU of QEMU that is closest to Falkor: Armv8.0 with CRC32, AES, PMULL, SHA-1 and SHA-256.
pub(super) const CPU: &str = "cortex-a57";
/// Rust's target of the program. It has no operating system: the program brings its system calls.
const TARGET: &str = "aarch64-unknown-none-softfloat";
/// QEMU in user mode, as distributions call it.
const QEMU: [&str; 2] = ["qemu-aarch64", "qemu-aarch64-static"];

/// Why there is nothing to compare with.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// QEMU is not installed.
    #[error("there is no {}: install Debian's package qemu-user", QEMU[0])]
    Qemu,
    /// Rust lacks the target, or the program cannot be built.
    #[error("the program for AArch64 cannot be built (rustup target add {TARGET}): {0}")]
    Build(String),
    /// A program cannot be started.
    #[error("{program} cannot be started: {error}")]
    Start {
        /// Which one.
        program: String,
        /// Why not.
        error: io::Error,
    },
}

/// What it takes to run cases.
#[derive(Debug, Clone)]
pub(super) struct Runner {
    qemu: &'static str,
    version: String,
    program: PathBuf,
}

/// It runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) child: Child,
    pub(super) input: ChildStdin,
    /// Until a thread reads it.
    pub(super) output: Option<ChildStdout>,
}

impl Runner {
    /// Finds QEMU, and builds the program.
    pub(super) fn new() -> Result<Self, NativeError> {
        let version = |qemu: &&'static str| {
            let output = Command::new(qemu).arg("--version").output().ok()?;
            let text = String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned();
            output.status.success().then_some((*qemu, text))
        };
        let (qemu, version) = QEMU.iter().find_map(version).ok_or(NativeError::Qemu)?;
        Ok(Self { qemu, version, program: build()? })
    }

    /// What QEMU says that it is.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Starts the program, and gives it the contents of memory.
    pub(super) fn start(&self, images: &[Vec<u8>]) -> Result<Running, NativeError> {
        debug_assert_eq!(images.len(), IMAGES);
        let failed = |error| NativeError::Start { program: self.qemu.to_owned(), error };
        let mut command = Command::new(self.qemu);
        command.args(["-cpu", CPU]).arg(&self.program);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (mut input, output) = pipes.ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        for image in images {
            input.write_all(image).map_err(failed)?;
        }
        Ok(Running { child, input, output: Some(output) })
    }
}

impl Running {
    /// Ends it, whatever it does. Returns how it has ended.
    pub(super) fn end(mut self) -> String {
        drop(self.input);
        // It has ended already if this fails.
        let _ = self.child.kill();
        self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }
}

/// Builds the program in this workspace; returns its path.
fn build() -> Result<PathBuf, NativeError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")));
    command.args([
        "build",
        "--quiet",
        "--profile",
        "guest",
        "--package",
        "a64-runner",
        "--features",
        "program",
    ]);
    command.args(["--target", TARGET, "--message-format", "json-render-diagnostics"]);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| NativeError::Start { program: "cargo".to_owned(), error })?;
    let messages = String::from_utf8_lossy(&output.stdout);
    let mut messages =
        messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    match messages.find_map(|message| message["executable"].as_str().map(PathBuf::from)) {
        Some(path) if output.status.success() => Ok(path),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            let line = said.lines().find(|line| line.starts_with("error")).unwrap_or("cargo said nothing");
            Err(NativeError::Build(line.to_owned()))
        }
    }
}
