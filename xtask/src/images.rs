//! Building the guest test images.

use crate::cargo::{capture, cargo, line};
use crate::error::TaskError;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Stdio;

/// A built image.
#[derive(Debug, Clone)]
pub(crate) struct GuestImage {
    /// Name of its source file.
    pub(crate) name: String,
    /// The ELF file.
    pub(crate) path: PathBuf,
}

impl GuestImage {
    /// Images that are not part of the suite: those that misbehave on purpose are for the tests of the runner,
    /// `speed` is for the bench.
    pub(crate) fn is_hostile(&self) -> bool {
        self.name.starts_with("hostile-") || matches!(self.name.as_str(), "broken" | "speed")
    }

    /// Images that run workloads instead of tests.
    pub(crate) fn is_workload(&self) -> bool {
        self.name == "workloads"
    }
}

/// Builds all images; returns them sorted by name.
pub(crate) fn build() -> Result<Vec<GuestImage>, TaskError> {
    let mut command = cargo([
        "build",
        "--package",
        "guest-images",
        "--profile",
        "guest",
        "--message-format",
        "json-render-diagnostics",
    ]);
    let output = capture(command.stderr(Stdio::inherit()))?;
    if !output.status.success() {
        return Err(TaskError::Command { command: line(&command) });
    }
    let mut images = Vec::new();
    for message in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(message) else { continue };
        let is_bin = message["target"]["kind"][0] == "bin" && message["reason"] == "compiler-artifact";
        if let (true, Some(path), Some(name)) =
            (is_bin, message["executable"].as_str(), message["target"]["name"].as_str())
        {
            images.push(GuestImage { name: name.to_owned(), path: PathBuf::from(path) });
        }
    }
    images.sort_by(|a, b| a.name.cmp(&b.name));
    if images.is_empty() {
        return Err(TaskError::Output { command: line(&command), what: "no image was built".to_owned() });
    }
    Ok(images)
}
