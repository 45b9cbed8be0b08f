//! Slots and metrics at one privilege filter, on the host.

use super::VcpuThread;
use super::event::{CountedEvent, spec};
use super::mapping::SLOTS_P;
use super::progress::{Progress, Sample};
use host_perf::{Event as HostEvent, HostPerfError, HostPmu, Level, Metric, SlotsGroup};
use vpmu::TopdownSlots;
use vpmu::source::PrivilegeFilter;

/// Slots, then the metrics.
const COUNTS: usize = 9;
/// Overflows that are further away, in slots, are not signalled: they would take half an hour, and
/// a signal costs a hardware counter. They are noticed when the guest looks.
pub(super) const FAR: u64 = 1 << 46;

/// The slots group behind fixed counter 3 and PERF_METRICS.
#[derive(Debug)]
pub(super) struct CountedSlots {
    // Configuration.
    pub(super) filter: PrivilegeFilter,
    level: Level,
    // State.
    group: Option<SlotsGroup>,
    pub(super) running: bool,
    progress: Progress<COUNTS>,
    /// A group with metrics cannot signal, so this does.
    alarm: CountedEvent,
    /// The totals to be signalled.
    targets: [Option<u64>; COUNTS],
}

/// Opens a group for a trial.
pub(super) fn open(
    host: &HostPmu,
    level: Level,
    filter: PrivilegeFilter,
    thread: VcpuThread,
) -> Result<SlotsGroup, HostPerfError> {
    SlotsGroup::open(host, level, spec(HostEvent::Slots, filter, thread))
}

impl CountedSlots {
    pub(super) fn new(level: Level, filter: PrivilegeFilter) -> Self {
        Self {
            filter,
            level,
            group: None,
            running: false,
            progress: Progress::starting_at([0; COUNTS]),
            alarm: CountedEvent::new(SLOTS_P, filter, 0),
            targets: [None; COUNTS],
        }
    }

    pub(super) fn totals(&self) -> TopdownSlots {
        let [slots, fields @ ..] = self.progress.totals;
        TopdownSlots { slots, fields }
    }

    pub(super) fn progress(&self) -> &Progress<COUNTS> {
        &self.progress
    }

    /// Reads the group.
    pub(super) fn update(&mut self) -> Result<(), HostPerfError> {
        let Some(group) = &mut self.group else { return Ok(()) };
        let reading = group.read()?;
        let mut values = [reading.counts.slots; COUNTS];
        for (value, metric) in values[1..].iter_mut().zip(Metric::ALL) {
            *value = reading.counts.get(metric).unwrap_or(0);
        }
        self.progress.update(Sample { values, enabled: reading.enabled, running: reading.running });
        self.alarm.update()?;
        self.set_alarm().map(|_| ())
    }

    pub(super) fn start(&mut self, host: &HostPmu, thread: VcpuThread) -> Result<(), HostPerfError> {
        if self.running {
            return Ok(());
        }
        let group = match &mut self.group {
            Some(group) => group,
            None => self.group.insert(open(host, self.level, self.filter, thread)?),
        };
        group.enable()?;
        self.running = true;
        Ok(())
    }

    pub(super) fn stop(&mut self) -> Result<(), HostPerfError> {
        if !core::mem::take(&mut self.running) {
            return Ok(());
        }
        self.targets = [None; COUNTS];
        self.alarm.stop()?;
        if let Some(group) = &mut self.group {
            group.disable()?;
        }
        self.update()
    }

    /// Asks for a signal when the slots (index 0) or a field (from 1) have grown by that much.
    /// False when the host cannot signal.
    pub(super) fn wake_after(
        &mut self,
        distances: [Option<u64>; COUNTS],
        host: &HostPmu,
        thread: VcpuThread,
    ) -> Result<bool, HostPerfError> {
        for ((target, total), distance) in self.targets.iter_mut().zip(self.progress.totals).zip(distances) {
            *target = distance.filter(|&d| d < FAR).map(|distance| total.saturating_add(distance));
        }
        if self.targets.iter().all(Option::is_none) {
            self.alarm.stop()?;
            return Ok(true);
        }
        self.alarm.start(host, thread)?;
        self.set_alarm()
    }

    /// A field cannot grow faster than the slots, so it is safe to look again after as many slots.
    fn set_alarm(&mut self) -> Result<bool, HostPerfError> {
        let missing = self.targets.iter().zip(self.progress.totals);
        let nearest = missing.filter_map(|(target, total)| target.map(|t| t.saturating_sub(total))).min();
        match nearest {
            // Reached: the vPMU is about to notice.
            Some(0) | None => Ok(true),
            Some(distance) => self.alarm.wake_after(Some(distance)),
        }
    }
}
