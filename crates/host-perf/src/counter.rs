//! One event: its count, its total over its whole life, and its overflow signal.

use crate::error::HostPerfError;
use crate::event::Event;
use crate::host::{HostPmu, READ_SINGLE};
use crate::kernel::{Ioctl, PerfFd};
use crate::spec::{EventSpec, MAX_PERIOD};
use crate::user_page::UserPage;

/// A count with the times that tell how much of it was really counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Events while on the PMU.
    pub value: u64,
    /// Nanoseconds during which the event was enabled and its thread ran.
    pub enabled: u64,
    /// Nanoseconds of these on the PMU.
    pub running: u64,
}

impl Reading {
    /// Whether the event had to share its counter, so that [`scaled`](Self::scaled) is an estimate.
    pub fn is_multiplexed(&self) -> bool {
        self.running < self.enabled
    }

    /// The count extrapolated to the whole enabled time; exact when not multiplexed.
    ///
    /// `None` when the event was enabled but never counted: that is not a zero.
    pub fn scaled(&self) -> Option<u64> {
        scale(self.value, self.enabled, self.running)
    }
}

/// `value * enabled / running`, rounded; saturates.
pub(crate) fn scale(value: u64, enabled: u64, running: u64) -> Option<u64> {
    if running >= enabled {
        return Some(value);
    }
    let (value, enabled, running) = (u128::from(value), u128::from(enabled), u128::from(running));
    (value * enabled + running / 2).checked_div(running).map(|n| u64::try_from(n).unwrap_or(u64::MAX))
}

/// A running sum that survives re-opens and never steps back, although estimates do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Total {
    /// Sum of all earlier lives of the event.
    base: u64,
    /// The highest total handed out.
    highest: u64,
}

impl Total {
    /// The total given the count of the present life (`None`: not counted yet).
    pub(crate) fn update(&mut self, now: Option<u64>) -> u64 {
        self.highest = self.highest.max(self.base.saturating_add(now.unwrap_or(0)));
        self.highest
    }

    /// Starts a new life, whose count begins at 0.
    pub(crate) fn rebase(&mut self) {
        self.base = self.highest;
    }
}

/// An open event. Starts disabled.
#[derive(Debug)]
pub struct Counter {
    // Configuration.
    spec: EventSpec,
    // Glue.
    fd: Box<dyn PerfFd>,
    owner: i32,
    // State.
    total: Total,
    /// Times at the last reset, which the kernel does not zero.
    origin: (u64, u64),
    armed: Option<Armed>,
}

/// The one-shot that was set last. Its budget is used up once `period` events have passed since `at`.
#[derive(Clone, Copy, Debug)]
struct Armed {
    at: u64,
    period: u64,
}

impl Counter {
    /// Opens an event.
    ///
    /// # Errors
    /// See [`HostPerfError`]: every refusal of the host names its reason and the next step.
    pub fn open(host: &HostPmu, spec: EventSpec) -> Result<Self, HostPerfError> {
        if let Event::Topdown(_) = spec.event {
            return Err(HostPerfError::NeedsSlotsLeader { event: spec.event });
        }
        Ok(Counter {
            spec,
            fd: host.open(&spec, None, READ_SINGLE)?,
            owner: host.current_tid(),
            total: Total::default(),
            origin: (0, 0),
            armed: None,
        })
    }

    /// What is counted.
    pub fn spec(&self) -> &EventSpec {
        &self.spec
    }

    /// The descriptor, which an overflow signal carries in `si_fd`.
    pub fn raw_fd(&self) -> i32 {
        self.fd.raw_fd()
    }

    /// Replaces the kernel event by another one and goes on with the same [`total`](Self::total): for a guest
    /// that reprograms the filter of a counter, for example. The new event starts disabled; a signal must be
    /// set up again.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`read`](Self::read). On an error the old event stays open.
    pub fn reopen(&mut self, host: &HostPmu, spec: EventSpec) -> Result<(), HostPerfError> {
        let mut new = Counter::open(host, spec)?;
        // Stop first: what happens between the read and the close would be lost.
        self.disable()?;
        self.total()?;
        new.total = self.total;
        new.total.rebase();
        *self = new;
        Ok(())
    }

    /// Starts counting. Also brings an evicted pinned event back.
    ///
    /// An event with a period then signals every overflow; for a single signal use [`arm`](Self::arm).
    ///
    /// # Errors
    /// [`HostPerfError::Os`].
    pub fn enable(&mut self) -> Result<(), HostPerfError> {
        self.ioctl("ioctl ENABLE", Ioctl::Enable { group: false })
    }

    /// Stops counting; the count stays.
    ///
    /// # Errors
    /// [`HostPerfError::Os`].
    pub fn disable(&mut self) -> Result<(), HostPerfError> {
        self.ioctl("ioctl DISABLE", Ioctl::Disable { group: false })
    }

    /// Zeroes the count (not the [`total`](Self::total)). Disable the event first, or the events between the
    /// kernel's read and reset are missing in the total.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn reset(&mut self) -> Result<(), HostPerfError> {
        let raw = self.read_raw()?;
        self.total.update(self.since_origin(raw).scaled());
        self.ioctl("ioctl RESET", Ioctl::Reset { group: false })?;
        self.total.rebase();
        self.origin = (raw.enabled, raw.running);
        if let Some(armed) = &mut self.armed {
            armed.at = armed.at.wrapping_sub(raw.value);
        }
        Ok(())
    }

    /// Reads count and times since the event was opened or reset.
    ///
    /// # Errors
    /// [`HostPerfError::PinnedEvicted`] when a pinned event could not get its counter.
    pub fn read(&self) -> Result<Reading, HostPerfError> {
        self.read_raw().map(|raw| self.since_origin(raw))
    }

    /// Events since the first open, over re-opens and resets. Never decreases, even where multiplexing makes
    /// the count an estimate.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn total(&mut self) -> Result<u64, HostPerfError> {
        let now = self.read()?.scaled();
        Ok(self.total.update(now))
    }

    /// Sends `signal` to the thread `tid` when the event overflows.
    ///
    /// The signal arrives a few instructions after the overflow. Install a handler first: the default action
    /// of most signals ends the process. `si_fd` is [`raw_fd`](Self::raw_fd), `si_code` is `POLL_HUP` for the
    /// last overflow of a one-shot and `POLL_IN` for others.
    ///
    /// # Errors
    /// [`HostPerfError::NotSampling`] without a period, [`HostPerfError::BadSignal`],
    /// [`HostPerfError::NoThread`].
    pub fn signal_thread(&mut self, tid: i32, signal: i32) -> Result<(), HostPerfError> {
        self.check_sampling()?;
        if !(1..=libc::SIGRTMAX()).contains(&signal) {
            return Err(HostPerfError::BadSignal { signal });
        }
        self.fd.signal_thread(tid, signal).map_err(|errno| match errno.0 {
            libc::ESRCH => HostPerfError::NoThread { tid },
            _ => HostPerfError::on_event("fcntl", self.spec.event, errno),
        })
    }

    /// Replaces the period. It takes effect at once and starts anew.
    ///
    /// # Errors
    /// [`HostPerfError::BadPeriod`], [`HostPerfError::NotSampling`].
    pub fn set_period(&mut self, period: u64) -> Result<(), HostPerfError> {
        self.check_sampling()?;
        if !(1..=MAX_PERIOD).contains(&period) {
            return Err(HostPerfError::BadPeriod { period });
        }
        self.ioctl("ioctl PERIOD", Ioctl::Period(period))
    }

    /// One signal after `period` more events, then the event stops. May be called again at any time; the new
    /// period replaces the old one.
    ///
    /// Because the event stops, use another [`Counter`] for totals. A signal that was already under way may
    /// still arrive after a re-arm: check the total before acting on it.
    ///
    /// # Errors
    /// As [`set_period`](Self::set_period) and [`read`](Self::read).
    pub fn arm(&mut self, period: u64) -> Result<(), HostPerfError> {
        self.check_sampling()?;
        self.disable()?;
        let at = self.read_raw()?.value;
        self.set_period(period)?;
        // The kernel's overflow budget cannot be read, and REFRESH adds to it. So add only when the last
        // one-shot has used its unit.
        if self.armed.is_some_and(|armed| !armed.used_up(at)) {
            self.enable()?;
        } else {
            self.ioctl("ioctl REFRESH", Ioctl::Refresh(1))?;
        }
        self.armed = Some(Armed { at, period });
        Ok(())
    }

    /// Whether the events of the last [`arm`](Self::arm) have happened.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn fired(&self) -> Result<bool, HostPerfError> {
        let Some(armed) = self.armed else { return Ok(false) };
        Ok(armed.used_up(self.read_raw()?.value))
    }

    /// Maps the event's page, for reading without a system call on the counted thread.
    ///
    /// # Errors
    /// [`HostPerfError::WrongThread`] elsewhere, [`HostPerfError::NoUserRdpmc`] where it is not allowed.
    pub fn user_page(&self, host: &HostPmu) -> Result<UserPage, HostPerfError> {
        UserPage::map(host, &*self.fd, self.spec.event, self.spec.target, self.owner)
    }

    fn check_sampling(&self) -> Result<(), HostPerfError> {
        if self.spec.period == 0 {
            return Err(HostPerfError::NotSampling { event: self.spec.event });
        }
        Ok(())
    }

    fn since_origin(&self, raw: Reading) -> Reading {
        let (enabled, running) = self.origin;
        Reading {
            value: raw.value,
            enabled: raw.enabled.saturating_sub(enabled),
            running: raw.running.saturating_sub(running),
        }
    }

    fn read_raw(&self) -> Result<Reading, HostPerfError> {
        let event = self.spec.event;
        let mut words = [0; 3];
        match self.fd.read(&mut words).map_err(|e| HostPerfError::on_event("read", event, e))? {
            3 => Ok(Reading { value: words[0], enabled: words[1], running: words[2] }),
            0 => Err(HostPerfError::PinnedEvicted { event }),
            _ => Err(HostPerfError::BadRead { event, what: "not the three words that were asked for" }),
        }
    }

    fn ioctl(&self, call: &'static str, operation: Ioctl) -> Result<(), HostPerfError> {
        self.fd
            .ioctl(operation)
            .map(|_| ())
            .map_err(|errno| HostPerfError::on_event(call, self.spec.event, errno))
    }
}

impl Armed {
    fn used_up(self, value: u64) -> bool {
        value.wrapping_sub(self.at) >= self.period
    }
}
