//! The guest's console, live.

use super::progress::Progress;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

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

/// When the lines of a console came.
#[derive(Debug, Clone)]
pub(crate) struct LineClock {
    start: Instant,
    /// Nanoseconds from the start to the end of each line, of the first [`MAX_LINES`](Self::MAX_LINES).
    ends: Arc<Mutex<Vec<u64>>>,
}

impl LineClock {
    const MAX_LINES: usize = 1 << 16;

    /// Starts now.
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), ends: Arc::default() }
    }

    /// What there is so far.
    pub(crate) fn ends(&self) -> Vec<u64> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u64>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, data: &[u8]) {
        let lines = data.iter().filter(|&&byte| byte == b'\n').count();
        if lines > 0 {
            let now = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let mut ends = self.lock();
            let room = Self::MAX_LINES - ends.len().min(Self::MAX_LINES);
            ends.extend(std::iter::repeat_n(now, lines.min(room)));
        }
    }
}

/// Passes console bytes on as they come. When the reader is gone the rest is dropped and the guest
/// runs to its end: it may still have a trace to write and an exit status to give.
#[derive(Debug)]
pub(crate) struct Console {
    target: Target,
    closed: bool,
    progress: Arc<Progress>,
    clock: Option<LineClock>,
}

impl Console {
    pub(crate) fn new(target: Target, progress: Arc<Progress>, clock: Option<LineClock>) -> Self {
        Self { target, closed: false, progress, clock }
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
        if let Some(clock) = &self.clock {
            clock.note(data);
        }
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
