//! Slots and topdown metrics: the events behind fixed counter 3 and PERF_METRICS.
//!
//! Hardware keeps PERF_METRICS as 8-bit fractions, but perf events are counts. The kernel therefore reads the
//! pair, adds `slots * byte / 255` (rounded down) to each metric event, and zeroes both registers. So a count
//! is only as fine as 1/255 of the slots between two kernel reads, and a fraction that is rebuilt from counts
//! is rounded twice. [`SlotCounts::to_metrics`] and [`SlotCounts::from_metrics`] are these two conversions;
//! [`SlotsGroup::user_metrics`] avoids them.

mod counts;
mod raw;

pub use counts::{Level2Counts, SlotCounts};
pub use raw::{RawMetrics, UserMetrics};

use crate::counter::{Total, scale};
use crate::error::HostPerfError;
use crate::event::{Event, Level, Metric};
use crate::group::{Group, GroupReading};
use crate::host::HostPmu;
use crate::spec::EventSpec;

/// Slot counts with the times that tell how much was really counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotsReading {
    /// Counts while on the PMU.
    pub counts: SlotCounts,
    /// Nanoseconds during which the group was enabled and its thread ran.
    pub enabled: u64,
    /// Nanoseconds of these on the PMU.
    pub running: u64,
}

impl SlotsReading {
    /// Whether the group had to share fixed counter 3.
    pub fn is_multiplexed(&self) -> bool {
        self.running < self.enabled
    }

    /// The counts extrapolated to the whole enabled time; `None` when nothing was counted.
    pub fn scaled(&self) -> Option<SlotCounts> {
        let scale = |value| scale(value, self.enabled, self.running);
        let slots = scale(self.counts.slots)?;
        let part = |m| self.counts.get(m).and_then(scale).unwrap_or(0);
        Some(SlotCounts::build(slots, self.counts.level(), part))
    }
}

/// A group of `slots` (leader) and the topdown metrics of one level. Starts disabled.
#[derive(Debug)]
pub struct SlotsGroup {
    group: Group,
    level: Level,
    /// Of the slots, then of each metric.
    totals: [Total; 9],
}

impl SlotsGroup {
    /// Opens the group; all of it counts as `leader` says, which must be for [`Event::Slots`].
    ///
    /// # Errors
    /// [`HostPerfError::NoPmu`], [`HostPerfError::NoTopdown`] when the host has fewer metrics, else as
    /// [`Group::open`].
    pub fn open(host: &HostPmu, level: Level, leader: EventSpec) -> Result<Self, HostPerfError> {
        if leader.event != Event::Slots {
            return Err(HostPerfError::BadGroup { event: leader.event, rule: "`slots` leads a slots group" });
        }
        let has = host.core_pmu().ok_or(HostPerfError::NoPmu)?.topdown_level();
        if has < Some(level) {
            return Err(HostPerfError::NoTopdown { wanted: level, has });
        }
        let sibling = |metric: &Metric| EventSpec { event: Event::Topdown(*metric), pinned: false, ..leader };
        let siblings: Vec<_> = level.metrics().iter().map(sibling).collect();
        let group = Group::open(host, leader, &siblings)?;
        Ok(SlotsGroup { group, level, totals: Default::default() })
    }

    /// Which metrics it counts.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Starts counting; the kernel zeroes fixed counter 3 and PERF_METRICS. Also brings an evicted pinned
    /// group back.
    ///
    /// # Errors
    /// [`HostPerfError::Os`].
    pub fn enable(&mut self) -> Result<(), HostPerfError> {
        self.group.enable()
    }

    /// Stops counting; the counts stay.
    ///
    /// # Errors
    /// [`HostPerfError::Os`].
    pub fn disable(&mut self) -> Result<(), HostPerfError> {
        self.group.disable()
    }

    /// Reads slots and metrics of one moment, since the open. The kernel zeroes the two registers with every
    /// such read, so reading before and after an interval gives the interval the full 8 bits.
    ///
    /// # Errors
    /// [`HostPerfError::PinnedEvicted`] when a pinned group could not get fixed counter 3.
    pub fn read(&mut self) -> Result<SlotsReading, HostPerfError> {
        let GroupReading { values, enabled, running } = self.group.read()?;
        let part = |m: Metric| values.get(1 + m as usize).copied().unwrap_or(0);
        let slots = values.first().copied().unwrap_or(0);
        Ok(SlotsReading { counts: SlotCounts::build(slots, self.level, part), enabled, running })
    }

    /// Counts since the open, extrapolated where multiplexed. No field ever decreases.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn total(&mut self) -> Result<SlotCounts, HostPerfError> {
        let now = self.read()?.scaled();
        let [slots, metrics @ ..] = &mut self.totals;
        let slots = slots.update(now.map(|counts| counts.slots));
        let part = |m: Metric| metrics[m as usize].update(now.and_then(|counts| counts.get(m)));
        Ok(SlotCounts::build(slots, self.level, part))
    }

    /// Maps the pages of slots and of the first metric, for reading the raw registers on the counted thread.
    ///
    /// # Errors
    /// [`HostPerfError::WrongThread`] elsewhere, [`HostPerfError::NoUserRdpmc`] where it is not allowed.
    pub fn user_metrics(&self, host: &HostPmu) -> Result<UserMetrics, HostPerfError> {
        Ok(UserMetrics { slots: self.group.user_page(host, 0)?, metric: self.group.user_page(host, 1)? })
    }
}
