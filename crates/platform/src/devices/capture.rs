//! A bounded buffer for what the guest prints.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Collects output up to a limit; clones share the buffer, so one goes into the machine and one
/// stays with the caller. When it is full the oldest bytes go: the end of a log says why it ended.
#[derive(Debug, Clone)]
pub struct Capture {
    shared: Arc<Mutex<Shared>>,
    limit: usize,
}

#[derive(Debug, Default)]
struct Shared {
    bytes: VecDeque<u8>,
    dropped: u64,
}

impl Capture {
    /// An empty buffer that keeps the last `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { shared: Arc::default(), limit }
    }

    /// Copies what is there.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.lock().bytes.iter().copied().collect()
    }

    /// What is there as text; bytes that are not UTF-8 become U+FFFD.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// Takes what is there out of the buffer, for a reader that follows the output.
    #[must_use]
    pub fn take(&self) -> Vec<u8> {
        core::mem::take(&mut self.lock().bytes).into()
    }

    /// How many bytes had to go.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // Bytes are consistent at every point where a holder could panic.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl io::Write for Capture {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut shared = self.lock();
        let kept = &data[data.len().saturating_sub(self.limit)..];
        let excess = (shared.bytes.len() + kept.len()).saturating_sub(self.limit);
        shared.bytes.drain(..excess);
        shared.bytes.extend(kept);
        shared.dropped += (excess + data.len() - kept.len()) as u64;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
