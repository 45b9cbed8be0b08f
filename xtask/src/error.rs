//! Why a task failed.

use std::io;
use std::path::{Path, PathBuf};

/// A failed task, as one sentence.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskError {
    /// A program could not be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A program ended with an error; it has said why itself.
    #[error("`{command}` failed")]
    Command {
        /// The command line.
        command: String,
    },
    /// A program's output was not what it should be.
    #[error("`{command}` printed something unexpected: {what}")]
    Output {
        /// The command line.
        command: String,
        /// What was wrong.
        what: String,
    },
    /// A program that the task needs is not installed.
    #[error("{tool} is not installed; {hint}")]
    Tool {
        /// The program.
        tool: &'static str,
        /// Where to get it.
        hint: &'static str,
    },
    /// Data of the project is wrong.
    #[error("{0}")]
    Data(String),
    /// A file.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A generated page is out of date.
    #[error("{0} is out of date; run `cargo xtask docs` and commit the result")]
    Stale(PathBuf),
    /// Some checks failed; they have been listed.
    #[error("{0} failed")]
    Failed(String),
    /// A measurement could not be made.
    #[error("cannot measure {what}: {reason}")]
    Measure {
        /// What was to be measured.
        what: &'static str,
        /// Why not.
        reason: String,
    },
}

impl TaskError {
    /// A line of a file, from 1, with what is wrong there.
    pub(crate) fn at_line(path: &Path, (line, what): (usize, String)) -> Self {
        Self::Data(format!("{}:{line}: {what}", path.display()))
    }
}
