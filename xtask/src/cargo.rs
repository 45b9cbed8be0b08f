//! Running cargo and other programs.

use crate::error::TaskError;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// A cargo command in the workspace, with the cargo that runs this task.
pub(crate) fn cargo<I, S>(arguments: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command, its output going to the terminal.
pub(crate) fn run(command: &mut Command) -> Result<(), TaskError> {
    let status = command.status().map_err(|source| start_error(command, source))?;
    if status.success() { Ok(()) } else { Err(TaskError::Command { command: line(command) }) }
}

/// Runs a command and returns what it printed, whatever its exit status.
pub(crate) fn capture(command: &mut Command) -> Result<Output, TaskError> {
    command.stdin(Stdio::null()).output().map_err(|source| start_error(command, source))
}

fn start_error(command: &Command, source: std::io::Error) -> TaskError {
    TaskError::Start { program: command.get_program().to_string_lossy().into_owned(), source }
}

/// The command as one would type it.
pub(crate) fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or(command.get_program()).to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy().into_owned()));
    words.join(" ")
}

/// Runs a cargo command that builds; what it has built, as `cargo` describes it (`--message-format json`, reason
/// `compiler-artifact`).
pub(crate) fn artifacts(command: &mut Command) -> Result<Vec<Value>, TaskError> {
    let output =
        capture(command.args(["--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit()))?;
    if !output.status.success() {
        return Err(TaskError::Command { command: line(command) });
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|message| serde_json::from_str::<Value>(message).ok());
    Ok(messages.filter(|message| message["reason"] == "compiler-artifact").collect())
}
