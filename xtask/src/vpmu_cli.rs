//! The `vpmu` command, as a user would run it.

use crate::cargo::{capture, cargo, line, root, run};
use crate::error::TaskError;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The built command.
#[derive(Debug, Clone)]
pub(crate) struct Vpmu {
    path: PathBuf,
}

impl Vpmu {
    /// Builds it in release mode.
    pub(crate) fn build() -> Result<Self, TaskError> {
        run(&mut cargo(["build", "--release", "--quiet", "--package", "vpmu-cli"]))?;
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        Ok(Self { path: target.join("release/vpmu") })
    }

    /// `vpmu SUBCOMMAND IMAGE` for an image on a profile, with the synthetic source on KVM.
    pub(crate) fn on_image(&self, subcommand: &str, image: &Path, profile: &str) -> Command {
        let mut command = Command::new(&self.path);
        command
            .arg(subcommand)
            .arg(image)
            .args(["--engine", "kvm", "--counts", "synthetic", "--profile", profile])
            .current_dir(root());
        command
    }

    /// Runs a command with `--json` and returns its document.
    pub(crate) fn json(&self, command: &mut Command) -> Result<Value, TaskError> {
        let output = capture(command.arg("--json"))?;
        serde_json::from_slice(&output.stdout).map_err(|error| {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let said = stderr.lines().next().unwrap_or("nothing on stderr");
            TaskError::Output { command: line(command), what: format!("{error}; it said: {said}") }
        })
    }
}

/// Why the KVM engine cannot be used here, in one line; `None` when it can.
pub(crate) fn kvm_missing() -> Option<String> {
    let device = std::fs::OpenOptions::new().read(true).write(true).open("/dev/kvm");
    device.err().map(|error| format!("/dev/kvm: {error}"))
}
