//! The two ends of a console.

use std::io::Write;
use std::sync::mpsc::Receiver;

/// Where a console's bytes go.
pub type Output = Box<dyn Write + Send>;

/// What a terminal passes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// Keys.
    Bytes(Vec<u8>),
    /// The user wants the run to end.
    Quit,
}

/// Where input comes from.
#[derive(Debug)]
pub enum Input {
    /// A file, line by line.
    Script(Vec<u8>),
    /// A terminal.
    Live(Receiver<Typed>),
}
