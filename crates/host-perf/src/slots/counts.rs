//! Slots by category, and their conversion from and to PERF_METRICS.

use crate::event::{Level, Metric};

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

    pub(super) fn build(slots: u64, level: Level, mut part: impl FnMut(Metric) -> u64) -> Self {
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
