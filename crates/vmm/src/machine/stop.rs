//! Asking a run to end from outside of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// How often an engine that waits looks whether it has to end.
pub(crate) const LOOK: Duration = Duration::from_nanos(LOOK_NS);
/// The same in nanoseconds.
pub(crate) const LOOK_NS: u64 = 100_000_000;

/// Asks a run to end with [`Outcome::Interrupted`](crate::machine::Outcome::Interrupted), from any thread. Its
/// report is complete up to there. Clones are the same request.
#[derive(Debug, Clone, Default)]
pub struct StopRequest(Arc<AtomicI32>);

impl StopRequest {
    /// Asks for it because of this signal (1 and up, signal(7)). The first reason stays.
    pub fn request(&self, signal: i32) {
        // Whether there was an earlier one does not matter.
        let _ = self.0.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// The signal because of which the run has to end.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }
}
