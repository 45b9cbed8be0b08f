//! The guest's console, live.

use super::progress::Progress;
use std::io::{self, Write};
use std::sync::Arc;

/// Where console output goes while the guest runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The console is the product (`run`).
    Stdout,
    /// Something else is (`stat`, `compare`).
    Stderr,
    /// Nowhere; the report keeps it.
    Nowhere,
}

/// Passes console bytes on as they come. When the reader is gone the rest is dropped and the guest
/// runs to its end: it may still have a trace to write and an exit status to give.
#[derive(Debug)]
pub(crate) struct Console {
    target: Target,
    closed: bool,
    progress: Arc<Progress>,
}

impl Console {
    pub(crate) fn new(target: Target, progress: Arc<Progress>) -> Self {
        Self { target, closed: false, progress }
    }

    fn pass_on(&self, data: &[u8]) -> io::Result<()> {
        match self.target {
            Target::Stdout => write_and_flush(&mut io::stdout().lock(), data),
            Target::Stderr => write_and_flush(&mut io::stderr().lock(), data),
            Target::Nowhere => Ok(()),
        }
    }
}

fn write_and_flush(stream: &mut impl Write, data: &[u8]) -> io::Result<()> {
    stream.write_all(data)?;
    stream.flush()
}

impl Write for Console {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.target != Target::Nowhere && !self.closed {
            self.progress.output(data);
            if let Err(error) = self.pass_on(data) {
                if error.kind() != io::ErrorKind::BrokenPipe {
                    log::warn!("console output is lost from here on: {error}");
                }
                self.closed = true;
            }
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
