//! The workspace's tests, several binaries of them at a time.
//!
//! `cargo test` runs one binary after the other, and many a binary ends with one long test. What one leaves idle the
//! next one takes.

use crate::cargo::{artifacts, capture, cargo, line, root};
use crate::concurrently::{concurrently, cores};
use crate::error::TaskError;
use crate::tally::Tally;
use indicatif::ProgressBar;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// Compares the core model with recorded CPUs, which takes minutes if it is not optimised.
const TASKS: [&str; 3] = ["--package", "xtask", "--release"];
/// Built together: what features a crate has depends on who else is built.
const CRATES: [&str; 3] = ["--workspace", "--exclude", "xtask"];

/// Binaries at a time at most: each has as many threads as there are cores, and the longest one ends last anyway.
const MOST: usize = 4;

/// Runs all tests. A test that lacks KVM or a PMU passes with a line that says so; those lines are counted here, so
/// that a skip never looks like a success.
pub(crate) fn host_tests() -> Result<Tally, TaskError> {
    // The longest test is one of the tasks. Examples have no tests, and each compiles an interpreter; the lints look at
    // them.
    let mut all = Vec::new();
    for packages in [TASKS, CRATES] {
        let built = artifacts(cargo(["test", "--no-run", "--tests"]).args(packages))?;
        all.extend(built.iter().filter_map(Tests::of));
    }
    let mut command = cargo(["test", "--quiet", "--doc"]);
    command.args(CRATES).args(["--", "--show-output"]);
    all.push(Tests { alone: line(&command), command });

    // Hidden where stderr is no terminal.
    let bar = ProgressBar::new(all.len() as u64);
    bar.tick();
    let logs = concurrently(all, cores().min(MOST), |tests| {
        let log = tests.run();
        bar.inc(1);
        log
    });
    bar.finish_and_clear();
    let logs = logs.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(Tally { skipped: report(&logs.concat()), ..Tally::default() })
}

/// Tests to run, and the command by which one runs them alone.
struct Tests {
    command: Command,
    alone: String,
}

impl Tests {
    /// A binary of tests, run as cargo does; `None` if the artifact is none.
    fn of(artifact: &Value) -> Option<Self> {
        let is_test = artifact["profile"]["test"] == true;
        let program = artifact["executable"].as_str().filter(|_| is_test)?;
        let manifest = Path::new(artifact["manifest_path"].as_str()?);
        let package = manifest.parent()?;
        let mut command = Command::new(program);
        command.args(["--quiet", "--show-output"]).current_dir(package).env("CARGO_MANIFEST_DIR", package);
        let target = &artifact["target"];
        let name = target["name"].as_str()?;
        let which = match target["kind"][0].as_str()? {
            kind @ ("test" | "bin" | "example" | "bench") => format!("--{kind} {name}"),
            _ => "--lib".to_owned(),
        };
        let manifest = manifest.strip_prefix(root()).unwrap_or(manifest).display();
        let profile = if artifact["profile"]["debug_assertions"] == false { " --release" } else { "" };
        Some(Self { command, alone: format!("cargo test{profile} --manifest-path {manifest} {which}") })
    }

    /// What they print; if one fails, that is shown at once.
    fn run(mut self) -> Result<String, TaskError> {
        let output = capture(self.command.stderr(Stdio::inherit()))?;
        let log = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(log);
        }
        anstream::println!("{log}");
        Err(TaskError::Command { command: self.alone })
    }
}

/// Prints results, and why tests were skipped; how many were.
fn report(log: &str) -> usize {
    for result in log.lines().filter(|line| line.starts_with("test result:") && !line.contains(" 0 passed")) {
        anstream::println!("{result}");
    }
    let skipped = log.lines().filter(|line| line.starts_with("SKIP ") || line.starts_with("skipped"));
    for reason in skipped.clone().collect::<BTreeSet<_>>() {
        anstream::println!("{reason}");
    }
    skipped.count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_failure_names_the_command_that_runs_it_alone() {
        let artifact = |kind: &str, test: bool| {
            json!({
                "manifest_path": root().join("crates/sandbox/Cargo.toml"),
                "target": { "name": "refused", "kind": [kind] },
                "profile": { "test": test, "debug_assertions": kind != "bin" },
                "executable": "/nowhere/refused-1",
            })
        };
        let alone = |kind, test| Tests::of(&artifact(kind, test)).map(|tests| tests.alone);
        let command = |profile, which| {
            Some(format!("cargo test{profile} --manifest-path crates/sandbox/Cargo.toml {which}"))
        };
        assert_eq!(alone("test", true), command("", "--test refused"));
        assert_eq!(alone("proc-macro", true), command("", "--lib"));
        assert_eq!(alone("bin", true), command(" --release", "--bin refused"));
        assert_eq!(alone("bin", false), None, "a program is no test");
    }
}
