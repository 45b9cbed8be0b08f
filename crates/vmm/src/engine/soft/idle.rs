//! Notices a guest that only waits, for nothing that could ever come.
//!
//! A halted guest skips to its next timer, so that an operating system at its prompt goes through its timer ticks as
//! fast as the host can, for as long as the run lasts. What is measured is the guest's own: its time and the cycles in
//! it in which it was not halted. So the run ends at the same instruction on every host.

/// Guest time without a sign of life, in seconds, after which the guest is idle.
const LIMIT_SECONDS: u64 = 3600;
/// Most of its time, as one in so many cycles, in which an idle guest may be awake. Linux takes about one in a
/// thousand for its housekeeping.
const AWAKE: u64 = 50;
/// How long to look, in seconds of guest time, before that share says anything.
const LOOK_SECONDS: u64 = 10;

/// When the guest last gave a sign of life: it wrote to a port, as every console does, or was awake for longer than an
/// idle guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Idle {
    /// TSC ticks then.
    ticks: u64,
    /// Of these, cycles in which it was awake.
    awake: u64,
    /// The same at the last look at the share.
    looked_ticks: u64,
    looked_awake: u64,
}

impl Idle {
    /// A sign of life, after so many ticks and cycles.
    pub(super) fn alive(&mut self, ticks: u64, awake: u64) {
        *self = Self { ticks, awake, looked_ticks: ticks, looked_awake: awake };
    }

    /// The guest halts. True if it has been idle for too long.
    pub(super) fn halts(&mut self, ticks: u64, awake: u64, tsc_hz: u64) -> bool {
        let looked_at = ticks.saturating_sub(self.looked_ticks);
        if looked_at >= tsc_hz.saturating_mul(LOOK_SECONDS) {
            if awake.saturating_sub(self.looked_awake) > looked_at / AWAKE {
                self.alive(ticks, awake);
            } else {
                (self.looked_ticks, self.looked_awake) = (ticks, awake);
            }
        }
        ticks.saturating_sub(self.ticks) >= tsc_hz.saturating_mul(LIMIT_SECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HZ: u64 = 1_000_000;

    /// Seconds after which a guest is idle that is awake for `awake` cycles of each second; `None` if it is not within
    /// a day.
    fn idle_after(mut idle: Idle, awake: u64) -> Option<u64> {
        (1..=86_400).find(|second| idle.halts(second * HZ, second * awake, HZ))
    }

    #[test]
    fn a_guest_that_mostly_halts_is_idle_after_an_hour_and_one_that_works_never() {
        assert_eq!(idle_after(Idle::default(), HZ / 1000), Some(3600));
        assert_eq!(idle_after(Idle::default(), HZ / 10), None);
    }

    #[test]
    fn output_and_work_are_signs_of_life() {
        let mut idle = Idle::default();
        idle.alive(1000 * HZ, 10 * HZ);
        assert_eq!(idle_after(idle, 0), Some(4600));
        let mut idle = Idle::default();
        assert!(!idle.halts(3599 * HZ, 3 * HZ, HZ));
        assert!(!idle.halts(3620 * HZ, 5 * HZ, HZ), "two seconds of work within twenty-one");
        assert!(!idle.halts((3620 + 3599) * HZ, 5 * HZ, HZ));
        assert!(idle.halts((3620 + 3600) * HZ, 5 * HZ, HZ));
    }
}
