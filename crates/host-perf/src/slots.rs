//! Slots and topdown metrics: the events behind fixed counter 3 and PERF_METRICS.
//!
//! Hardware keeps PERF_METRICS as 8-bit fractions, but perf events are counts. The kernel therefore reads the
//! pair, adds `slots * byte / 255` (rounded down) to each metric event, and zeroes both registers. So a count
//! is only as fine as 1/255 of the slots between two kernel reads, and a fraction that is rebuilt from counts
//! is rounded twice. [`SlotCounts::to_metrics`] and [`SlotCounts::from_metrics`] are these two conversions;
//! [`SlotsGroup::user_metrics`] avoids them.

use crate::counter::{Total, scale};
use crate::error::HostPerfError;
use crate::event::{Event, Level, Metric};
use crate::group::{Group, GroupReading};
use crate::probe::HostPmu;
use crate::spec::EventSpec;
use crate::user_page::UserMetrics;

/// Slots of an interval and how many of them fell into each category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCounts {
    /// All issue slots: pipeline width times unhalted core cycles.
    pub slots: u64,
    /// Slots that retired a micro-op.
    pub retiring: u64,
    /// Slots lost to work that was thrown away.
    pub bad_spec: u64,
    /// Slots that the front end did not fill.
    pub fe_bound: u64,
    /// Slots that the back end could not take.
    pub be_bound: u64,
    /// The second level, where the host has it.
    pub level2: Option<Level2Counts>,
}

/// The second level: each field is a part of its level 1 parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level2Counts {
    /// Part of `retiring`.
    pub heavy_ops: u64,
    /// Part of `bad_spec`.
    pub br_mispredict: u64,
    /// Part of `fe_bound`.
    pub fetch_lat: u64,
    /// Part of `be_bound`.
    pub mem_bound: u64,
}

impl SlotCounts {
    /// Which levels are present.
    pub fn level(&self) -> Level {
        if self.level2.is_some() { Level::Two } else { Level::One }
    }

    /// The count of one category; `None` for a second-level one that is not present.
    pub fn get(&self, metric: Metric) -> Option<u64> {
        Some(match metric {
            Metric::Retiring => self.retiring,
            Metric::BadSpec => self.bad_spec,
            Metric::FeBound => self.fe_bound,
            Metric::BeBound => self.be_bound,
            Metric::HeavyOps => self.level2?.heavy_ops,
            Metric::BrMispredict => self.level2?.br_mispredict,
            Metric::FetchLat => self.level2?.fetch_lat,
            Metric::MemBound => self.level2?.mem_bound,
        })
    }

    /// Counts from a raw PERF_METRICS value, with the kernel's formula: `slots * byte / 255`, rounded down.
    pub fn from_metrics(slots: u64, metrics: u64, level: Level) -> Self {
        let part = |m: Metric| {
            let product = u128::from(slots) * u128::from(m.of(metrics));
            u64::try_from(product / 255).unwrap_or(u64::MAX) // never above `slots`
        };
        Self::build(slots, level, part)
    }

    /// The raw PERF_METRICS value for these counts: each byte is `255 * count / slots`, rounded to nearest.
    /// Bytes of an absent second level are 0, and so is everything when there are no slots.
    ///
    /// From 510 slots on, `from_metrics` followed by `to_metrics` gives the same bytes back; from 255 slots on
    /// a byte is off by one at most. Below, the counts themselves are too small to hold 255 steps.
    pub fn to_metrics(&self) -> u64 {
        let slots = u128::from(self.slots);
        let byte = |m: Metric| {
            let count = u128::from(self.get(m).unwrap_or(0));
            let rounded = (255 * count + slots / 2).checked_div(slots).unwrap_or(0);
            u8::try_from(rounded).unwrap_or(u8::MAX)
        };
        u64::from_le_bytes(Metric::ALL.map(byte))
    }

    /// What was added since `earlier`. The level is the lower one of the two; fields never go below 0.
    pub fn since(&self, earlier: &SlotCounts) -> SlotCounts {
        let part = |m| self.get(m).unwrap_or(0).saturating_sub(earlier.get(m).unwrap_or(0));
        let level = self.level().min(earlier.level());
        Self::build(self.slots.saturating_sub(earlier.slots), level, part)
    }

    fn build(slots: u64, level: Level, mut part: impl FnMut(Metric) -> u64) -> Self {
        SlotCounts {
            slots,
            retiring: part(Metric::Retiring),
            bad_spec: part(Metric::BadSpec),
            fe_bound: part(Metric::FeBound),
            be_bound: part(Metric::BeBound),
            level2: (level == Level::Two).then(|| Level2Counts {
                heavy_ops: part(Metric::HeavyOps),
                br_mispredict: part(Metric::BrMispredict),
                fetch_lat: part(Metric::FetchLat),
                mem_bound: part(Metric::MemBound),
            }),
        }
    }
}

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
