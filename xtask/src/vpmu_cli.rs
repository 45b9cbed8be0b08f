//! The `vpmu` command, as a user would run it.

use crate::cargo::{capture, cargo, line, root, run};
use crate::error::TaskError;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An engine with the counts that it has on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EngineFlags {
    /// KVM with the synthetic source.
    Kvm,
    /// The soft engine.
    Soft,
}

impl EngineFlags {
    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Kvm => &["--engine", "kvm", "--counts", "synthetic"],
            Self::Soft => &["--engine", "soft"],
        }
    }
}

/// The built command.
#[derive(Debug, Clone)]
pub(crate) struct Vpmu {
    path: PathBuf,
}

impl Vpmu {
    /// Builds it in release mode.
    pub(crate) fn build() -> Result<Self, TaskError> {
        run(&mut cargo(["build", "--release", "--package", "vpmu-cli"]))?;
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        Ok(Self { path: target.join("release/vpmu") })
    }

    /// `vpmu SUBCOMMAND IMAGE` for an image on a profile and an engine.
    pub(crate) fn on_image(
        &self,
        subcommand: &str,
        image: &Path,
        profile: &str,
        engine: EngineFlags,
    ) -> Command {
        let mut command = self.command(subcommand, image);
        command.args(engine.flags()).args(["--profile", profile]);
        command
    }

    /// `vpmu SUBCOMMAND PATH`, in the root of the workspace.
    pub(crate) fn command(&self, subcommand: &str, path: &Path) -> Command {
        let root = root();
        let mut command = Command::new(&self.path);
        command.arg(subcommand).arg(path.strip_prefix(&root).unwrap_or(path)).current_dir(root);
        command
    }

    /// The command without arguments.
    pub(crate) fn bare(&self) -> Command {
        Command::new(&self.path)
    }

    /// Why the KVM engine cannot be used here, in one line; `None` when it can.
    pub(crate) fn kvm_missing(&self) -> Result<Option<String>, TaskError> {
        let mut command = Command::new(&self.path);
        let diagnosis = self.json(command.arg("doctor"))?;
        let engines = diagnosis["engines"].as_array().map_or(&[][..], Vec::as_slice);
        let kvm = engines.iter().find(|engine| engine["name"] == "kvm").filter(|kvm| kvm["status"] != "ok");
        Ok(kvm.map(|kvm| kvm["what"].as_str().unwrap_or_default().to_owned()))
    }

    /// Names of the Intel profiles whose core has a model.
    pub(crate) fn modelled_intel_profiles(&self) -> Result<Vec<String>, TaskError> {
        let mut command = Command::new(&self.path);
        let document = self.json(command.args(["list", "profiles"]))?;
        let what = "there are no profiles in it".to_owned();
        let profiles = document["profiles"].as_array();
        let profiles = profiles.ok_or_else(|| TaskError::Output { command: line(&command), what })?;
        let modelled = profiles.iter().filter(|p| p["vendor"] == "Intel" && p["core_model"] == true);
        Ok(modelled.filter_map(|p| p["name"].as_str().map(str::to_owned)).collect())
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::*;
    use std::collections::HashMap;

    /// Features of each package, by its name and version, that is a part of one.
    fn features(package: &str, flags: &[&str]) -> HashMap<String, String> {
        let tree =
            ["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}\t{f}", "--package", package];
        let mut command = cargo(tree);
        let output = capture(command.args(flags)).unwrap();
        assert!(output.status.success(), "{}: {}", line(&command), String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let parts = text.lines().filter_map(|line| line.split_once('\t'));
        parts
            .map(|(part, features)| (part.to_owned(), features.trim_end_matches(" (*)").to_owned()))
            .collect()
    }

    #[test]
    fn what_the_command_and_the_tasks_share_is_built_once() {
        let command = features("vpmu-cli", &[]);
        for flag in ["docs", "engines"] {
            let tasks = features("xtask", &["--no-default-features", "--features", flag]);
            assert!(tasks.len() > 50, "{tasks:?}");
            for (part, features) in &tasks {
                let shared = command.get(part).unwrap_or(features);
                assert_eq!(features, shared, "xtask's feature {flag}: features of {part}");
            }
        }
    }
}
