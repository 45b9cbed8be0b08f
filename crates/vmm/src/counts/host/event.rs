//! One guest event at one privilege filter, on the host.

use super::VcpuThread;
use super::progress::{Progress, Sample};
use host_perf::{Counter, Event as HostEvent, EventSpec, Filter, HostPerfError, HostPmu, MAX_PERIOD};
use vpmu::source::PrivilegeFilter;

/// The period of a counter without a deadline: it never gets there.
const NEVER: u64 = 1 << 60;

pub(super) fn host_filter(filter: PrivilegeFilter) -> Filter {
    Filter { os: filter.os, usr: filter.usr }
}

pub(super) fn spec(event: HostEvent, filter: PrivilegeFilter, thread: VcpuThread) -> EventSpec {
    EventSpec::new(event).filter(host_filter(filter)).guest_only().thread(thread.tid)
}

/// Opens an event that can signal overflows, or one that cannot where the host has no interrupt
/// for its counters. True with the former.
pub(super) fn open(
    host: &HostPmu,
    spec: EventSpec,
    thread: VcpuThread,
) -> Result<(Counter, bool), HostPerfError> {
    match Counter::open(host, spec.period(NEVER)) {
        Ok(mut counter) => {
            counter.signal_thread(thread.tid, thread.signal)?;
            Ok((counter, true))
        }
        Err(HostPerfError::NoOverflow { .. }) => Ok((Counter::open(host, spec)?, false)),
        Err(error) => Err(error),
    }
}

/// A count, and a signal when it gets to a certain total.
#[derive(Debug)]
pub(super) struct CountedEvent {
    // Configuration.
    pub(super) event: HostEvent,
    pub(super) filter: PrivilegeFilter,
    // State.
    counter: Option<Counter>,
    signals: bool,
    pub(super) running: bool,
    progress: Progress<1>,
    raw: u64,
    alarm: Option<Alarm>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Alarm {
    /// Total to be signalled.
    target: u64,
    /// Raw count at which the signal comes.
    raw: u64,
}

impl CountedEvent {
    /// Not open yet; its total starts at `total`.
    pub(super) fn new(event: HostEvent, filter: PrivilegeFilter, total: u64) -> Self {
        Self {
            event,
            filter,
            counter: None,
            signals: false,
            running: false,
            progress: Progress::starting_at([total]),
            raw: 0,
            alarm: None,
        }
    }

    /// The total as of the last update.
    pub(super) fn total(&self) -> u64 {
        self.progress.totals[0]
    }

    pub(super) fn progress(&self) -> &Progress<1> {
        &self.progress
    }

    /// Reads the counter.
    pub(super) fn update(&mut self) -> Result<(), HostPerfError> {
        let Some(counter) = &self.counter else { return Ok(()) };
        let reading = counter.read()?;
        self.raw = reading.value;
        self.progress.update(Sample {
            values: [reading.value],
            enabled: reading.enabled,
            running: reading.running,
        });
        // The signal came by the raw count, but the scaled total is not there yet.
        match self.alarm {
            Some(alarm) if self.raw >= alarm.raw && self.total() < alarm.target => self.set(alarm.target),
            _ => Ok(()),
        }
    }

    pub(super) fn start(&mut self, host: &HostPmu, thread: VcpuThread) -> Result<(), HostPerfError> {
        if self.running {
            return Ok(());
        }
        if self.counter.is_none() {
            let (counter, signals) = open(host, spec(self.event, self.filter, thread), thread)?;
            self.counter = Some(counter);
            self.signals = signals;
        }
        if let Some(counter) = &mut self.counter {
            counter.enable()?;
            self.running = true;
        }
        Ok(())
    }

    pub(super) fn stop(&mut self) -> Result<(), HostPerfError> {
        if !core::mem::take(&mut self.running) {
            return Ok(());
        }
        if let Some(counter) = &mut self.counter {
            counter.disable()?;
        }
        self.update()
    }

    /// Asks for a signal after `distance` more occurrences than the last update saw, or for none.
    /// False when the host cannot signal.
    pub(super) fn wake_after(&mut self, distance: Option<u64>) -> Result<bool, HostPerfError> {
        let target = distance.map(|distance| self.total().saturating_add(distance));
        if target == self.alarm.map(|alarm| alarm.target) {
            return Ok(true);
        }
        match target {
            Some(_) if !self.signals => return Ok(false),
            Some(target) => self.set(target)?,
            None => {
                self.alarm = None;
                if let Some(counter) = &mut self.counter {
                    counter.set_period(NEVER)?;
                }
            }
        }
        Ok(true)
    }

    fn set(&mut self, target: u64) -> Result<(), HostPerfError> {
        let period = target.saturating_sub(self.total()).clamp(1, MAX_PERIOD);
        if let Some(counter) = &mut self.counter {
            counter.set_period(period)?;
            self.alarm = Some(Alarm { target, raw: self.raw.saturating_add(period) });
        }
        Ok(())
    }
}
