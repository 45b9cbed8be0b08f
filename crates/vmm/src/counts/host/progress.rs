//! Totals from readings.

/// A reading of one or more counts, with the times that tell how much was really counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample<const N: usize> {
    pub(super) values: [u64; N],
    /// Nanoseconds enabled.
    pub(super) enabled: u64,
    /// Nanoseconds of these on the PMU.
    pub(super) running: u64,
}

/// Running totals. They only go up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress<const N: usize> {
    pub(super) totals: [u64; N],
    last: Sample<N>,
    /// The enabled time since `last`, all of it without counting.
    waiting: u64,
}

impl<const N: usize> Progress<N> {
    pub(super) fn starting_at(totals: [u64; N]) -> Self {
        let last = Sample { values: [0; N], enabled: 0, running: 0 };
        Self { totals, last, waiting: 0 }
    }

    /// Adds what has been counted since the last reading, scaled up to the time that was missed.
    ///
    /// Each stretch is scaled on its own, so that one without contention adds its exact count. A
    /// stretch without any counting waits for the next reading.
    pub(super) fn update(&mut self, now: Sample<N>) {
        let enabled = now.enabled.saturating_sub(self.last.enabled);
        let running = now.running.saturating_sub(self.last.running);
        if running == 0 && enabled != 0 {
            self.waiting = enabled;
            return;
        }
        for ((total, now), last) in self.totals.iter_mut().zip(now.values).zip(self.last.values) {
            *total = total.saturating_add(scaled(now.saturating_sub(last), enabled, running));
        }
        self.waiting = 0;
        self.last = now;
    }

    /// Parts in a thousand of the enabled time in which it counted; `None` when that is all of it,
    /// so that the totals are exact.
    pub(super) fn shared_permille(&self) -> Option<u64> {
        let enabled = u128::from(self.last.enabled) + u128::from(self.waiting);
        let running = u128::from(self.last.running);
        (running < enabled).then(|| u64::try_from(running * 1000 / enabled).unwrap_or(u64::MAX))
    }
}

fn scaled(count: u64, enabled: u64, running: u64) -> u64 {
    if running >= enabled {
        return count;
    }
    let estimate = (u128::from(count) * u128::from(enabled)).checked_div(u128::from(running));
    estimate.map_or(0, |count| u64::try_from(count).unwrap_or(u64::MAX))
}
