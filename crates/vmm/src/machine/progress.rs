//! How far a run is, for a thread that watches it.

use platform::time::GuestTime;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Shared between a run and those who watch it. Both numbers stay 0 with an engine that does not count instructions.
#[derive(Debug, Clone, Default)]
pub struct RunProgress(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    instructions: AtomicU64,
    guest_ns: AtomicU64,
}

impl RunProgress {
    /// The run is here. The two are not taken together: they are for people.
    pub(crate) fn note(&self, instructions: u64, now: GuestTime) {
        self.0.instructions.store(instructions, Ordering::Relaxed);
        self.0.guest_ns.store(now.0, Ordering::Relaxed);
    }

    /// Instructions retired since boot.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.0.instructions.load(Ordering::Relaxed)
    }

    /// Guest time.
    #[must_use]
    pub fn guest_time(&self) -> GuestTime {
        GuestTime(self.0.guest_ns.load(Ordering::Relaxed))
    }
}
