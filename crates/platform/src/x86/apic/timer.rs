//! The APIC timer: one-shot and periodic counting, TSC deadline (SDM "APIC Timer").
//!
//! Counting is done in bus ticks since the count was written, so that a periodic timer does not
//! drift by rounding to nanoseconds.

use super::spec::{DivideConfig, TimerMode};
use crate::time::GuestTime;

const NANOSECONDS_PER_SECOND: u128 = 1_000_000_000;

/// Timer registers and what they are doing. The mode lives in the LVT entry and is passed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timer {
    /// Bus clock in Hz, not zero.
    pub(super) hz: u64,
    pub(super) divide: DivideConfig,
    pub(super) initial: u32,
    pub(super) run: Run,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    Idle,
    /// Counting since `start`; the current count is zero at bus tick `end` after it.
    Counting {
        start: GuestTime,
        end: u64,
    },
    /// TSC deadline: the value in the MSR and when the TSC reaches it.
    Deadline {
        tsc: u64,
        due: GuestTime,
    },
}

impl Timer {
    pub(super) fn new(hz: u64) -> Self {
        Self { hz, divide: DivideConfig(0), initial: 0, run: Run::Idle }
    }

    pub(super) fn write_initial(&mut self, value: u32, mode: TimerMode, now: GuestTime) {
        match mode {
            TimerMode::OneShot | TimerMode::Periodic => {
                self.initial = value;
                self.run = match self.period() {
                    0 => Run::Idle,
                    end => Run::Counting { start: now, end },
                };
            }
            // "In TSC-deadline mode, writes to the initial-count register are ignored."
            TimerMode::TscDeadline | TimerMode::Reserved => {}
        }
    }

    /// Current count; 0 when idle and in TSC-deadline mode.
    pub(super) fn current(&self, now: GuestTime) -> u32 {
        let Run::Counting { start, end } = self.run else { return 0 };
        let left = end.saturating_sub(self.ticks(start, now));
        u32::try_from(left.div_ceil(self.divide.divisor().into())).unwrap_or(u32::MAX)
    }

    /// The count goes on from its current value at the new rate.
    pub(super) fn write_divide(&mut self, value: u32, now: GuestTime) {
        let left = self.current(now);
        self.divide = DivideConfig(value);
        if let Run::Counting { start, .. } = self.run {
            let left = u64::from(left) * u64::from(self.divide.divisor());
            let end = self.ticks(start, now).saturating_add(left);
            self.run = Run::Counting { start, end };
        }
    }

    /// Going into or out of TSC-deadline mode disarms the timer; one-shot and periodic share a count.
    pub(super) fn change_mode(&mut self, old: TimerMode, new: TimerMode) {
        let counts = |mode| matches!(mode, TimerMode::OneShot | TimerMode::Periodic);
        if old != new && !(counts(old) && counts(new)) {
            self.initial = 0;
            self.run = Run::Idle;
        }
    }

    /// True if the timer reached its end at or before `now`. Several missed periods count once, as
    /// the IRR bit would merge them.
    pub(super) fn expire(&mut self, mode: TimerMode, now: GuestTime) -> bool {
        if self.due().is_none_or(|due| due > now) {
            return false;
        }
        self.run = match self.run {
            Run::Counting { start, end } if mode == TimerMode::Periodic && self.period() != 0 => {
                let period = self.period();
                let missed = self.ticks(start, now).saturating_sub(end) / period;
                Run::Counting { start, end: end.saturating_add(period.saturating_mul(missed + 1)) }
            }
            _ => Run::Idle,
        };
        true
    }

    /// When the timer reaches its end.
    pub(super) fn due(&self) -> Option<GuestTime> {
        match self.run {
            Run::Idle => None,
            Run::Counting { start, end } => {
                let nanoseconds = (u128::from(end) * NANOSECONDS_PER_SECOND).div_ceil(self.hz.into());
                Some(start + u64::try_from(nanoseconds).unwrap_or(u64::MAX))
            }
            Run::Deadline { due, .. } => Some(due),
        }
    }

    pub(super) fn arm_deadline(&mut self, deadline: u64, tsc: u64, tsc_hz: u64, now: GuestTime) {
        self.run = if deadline == 0 {
            Run::Idle
        } else {
            let cycles = u128::from(deadline.saturating_sub(tsc));
            let wait = (cycles * NANOSECONDS_PER_SECOND).div_ceil(tsc_hz.into());
            Run::Deadline { tsc: deadline, due: now + u64::try_from(wait).unwrap_or(u64::MAX) }
        };
    }

    /// IA32_TSC_DEADLINE: 0 when disarmed.
    pub(super) fn deadline(&self) -> u64 {
        match self.run {
            Run::Deadline { tsc, .. } => tsc,
            _ => 0,
        }
    }

    /// Bus ticks of one full count, at most 2^39.
    pub(super) fn period(&self) -> u64 {
        u64::from(self.initial) * u64::from(self.divide.divisor())
    }

    fn ticks(&self, start: GuestTime, now: GuestTime) -> u64 {
        let ticks = u128::from(now.since(start)) * u128::from(self.hz) / NANOSECONDS_PER_SECOND;
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}
