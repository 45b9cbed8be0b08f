//! What has to hold at any time.

use super::precise::pebs_bit;
use super::{Checked, Machine, same};
use crate::report::Reached;
use vpmu::metrics::{ALL_FIELDS, FULL_SCALE, LEVEL1_FIELDS, field};
use vpmu::profile::{PmuKind, Vendor};
use vpmu::register::low_bits;
use vpmu::{Active, CounterId};

const CTR_FROZEN: u64 = 1 << 59;

impl Machine<'_> {
    pub(super) fn look(&mut self) -> Checked {
        self.note(Reached::Looks);
        self.sync();
        let subject = self.subject;
        let (mut unread, mut totals) = (self.pmu.clone(), self.totals.clone());
        self.check_model()?;
        self.check_ibs()?;
        for slot in &subject.slots {
            if let Some(value) = self.read(slot.index) {
                self.check_value(slot, value).map_err(|what| format!("{:#x}: {what}", slot.index))?;
            }
        }
        for group in &subject.aliases {
            for &index in &group[1..] {
                same(&format!("alias {index:#x}"), self.read(index), self.read(group[0]))?;
            }
        }
        self.check_running()?;
        self.check_metrics()?;
        if subject.profile.vendor() == Vendor::Amd {
            for even in (0..u32::from(subject.profile.gp_counters)).step_by(2) {
                if self.is_merged(even) {
                    self.check_pair(even)?;
                }
            }
        }
        same("state after looking", self.pmu.save(&mut self.totals), unread.save(&mut totals))
    }

    /// The enables of a general-purpose counter: its select, and the bit in the global register.
    fn is_enabled(&mut self, counter: CounterId) -> Result<(bool, bool), String> {
        let frozen = self.read_status().unwrap_or(0) & CTR_FROZEN != 0;
        let global = self.read(match self.subject.profile.vendor() {
            Vendor::Intel => 0x38F,
            _ => 0xC000_0301,
        });
        let global = if frozen { 0 } else { global.unwrap_or(u64::MAX) };
        Ok(match counter {
            CounterId::Gp(n) => {
                let select = self.read_or_0(self.subject.select_of(u32::from(n)));
                (
                    select >> 22 & 1 != 0 && select >> 16 & 3 != 0 && global >> n & 1 != 0,
                    select >> 20 & 1 != 0,
                )
            }
            CounterId::Fixed(n) => {
                let nibble = self.read_or_0(0x38D) >> (4 * n) & 0xF;
                (nibble & 3 != 0 && global >> (32 + n) & 1 != 0, nibble & 8 != 0)
            }
            CounterId::Metric(_) => (global >> 48 & 1 != 0, true),
            CounterId::Ibs(0) => (self.read_or_0(0xC001_1030) >> 48 & 3 == 1, true),
            CounterId::Ibs(_) => (self.read_or_0(0xC001_1033) >> 17 & 3 == 1, true),
        })
    }

    /// What runs is enabled, and stops where it overflows; fixed counters run whenever they are enabled.
    fn check_running(&mut self) -> Checked {
        self.sync();
        let active: Vec<Active> = self.pmu.active().collect();
        for active in &active {
            same(&format!("{:?} runs", active.counter), true, self.is_enabled(active.counter)?.0)?;
            let pebs = self.pebs_counters() & pebs_bit(active.counter) != 0;
            same("it interrupts", active.interrupts, self.is_enabled(active.counter)?.1 || pebs)?;
            if pebs && active.until_overflow == 1 && (self.pmu.pebs_armed() || self.pmu.pebs_due()) {
                continue;
            }
            let left = match active.counter {
                CounterId::Metric(_) => continue,
                CounterId::Ibs(0) => continue,
                CounterId::Ibs(_) => {
                    let control = self.read_or_0(0xC001_1033);
                    ((control >> 20 & 0x7F) << 20 | (control & 0xFFFF) << 4) - (control >> 32 & 0x7FF_FFFF)
                }
                CounterId::Gp(n) => {
                    let merged = self.is_merged(u32::from(n));
                    let width = if merged { 64 } else { u32::from(self.subject.profile.gp_width) };
                    let value = self.read_or_0(self.subject.counter_of(u32::from(n)));
                    (low_bits(width) - value).saturating_add(1)
                }
                CounterId::Fixed(n) => {
                    low_bits(u32::from(self.subject.profile.fixed_width()))
                        - self.read_or_0(0x309 + u32::from(n))
                        + 1
                }
            };
            // Precise distribution looks at what makes the counter overflow by itself.
            let before = u64::from(pebs && left > 1 && self.is_distributed(active.counter));
            same(&format!("{:?} until overflow", active.counter), active.until_overflow, left - before)?;
        }
        for n in 0..self.subject.profile.fixed_counters() {
            let counter = CounterId::Fixed(n);
            let runs = active.iter().any(|active| active.counter == counter);
            if self.read_status().is_some() {
                same(&format!("{counter:?} runs"), runs, self.is_enabled(counter)?.0)?;
            }
        }
        self.check_deadlines(&active)
    }

    /// The engine stops where a counter that interrupts overflows: there, and nowhere else.
    fn check_deadlines(&mut self, active: &[Active]) -> Checked {
        let waits = self.pmu.pebs_armed() || self.pmu.pebs_due();
        let found: Vec<_> =
            self.totals.deadlines.iter().map(|(active, deadline)| (active.counter, *deadline)).collect();
        let mut expected = Vec::new();
        for active in active.iter().filter(|active| active.interrupts) {
            let overflow = self.totals.of(active).saturating_add(active.until_overflow);
            // Where it runs through, the deadline is behind what is sampled; at once where that is awaited, of which
            // nothing is seen if another counter waits.
            let behind = (active.counter, overflow.saturating_add(1));
            let unknown = waits && active.until_overflow == 1 && found.contains(&behind);
            let through = self.runs_through(active) && (active.until_overflow != 1 || !waits || unknown);
            expected.push(if through { behind } else { (active.counter, overflow) });
        }
        same("deadlines", found, expected)
    }

    /// The fields of PERF_METRICS add up to one whole when the categories add up to the slots.
    fn check_metrics(&mut self) -> Checked {
        let PmuKind::Intel(pmu) = &self.subject.profile.pmu else { return Ok(()) };
        if pmu.metrics_level == 0 {
            return Ok(());
        }
        let state = self.pmu.save(&mut self.totals).state;
        let value = self.read_or_0(0x329);
        let (metrics, slots) = (&state.metrics, self.read_or_0(0x30C));
        if !metrics.counted || slots == 0 {
            return same("PERF_METRICS without counts", value, metrics.written);
        }
        let level1: u128 = metrics.accumulators[..LEVEL1_FIELDS].iter().map(|&n| u128::from(n)).sum();
        if level1 == u128::from(slots) {
            let fields = (0..LEVEL1_FIELDS).map(|n| field(value, n)).sum::<u64>();
            same("sum of the fields of level 1", fields, FULL_SCALE)?;
            for n in 0..LEVEL1_FIELDS {
                let exact = u128::from(metrics.accumulators[n]) * u128::from(FULL_SCALE);
                let shown = u128::from(field(value, n)) * u128::from(slots);
                same(
                    &format!("field {n} is less than one step off"),
                    exact.abs_diff(shown) < slots.into(),
                    true,
                )?;
            }
            self.note(Reached::Whole);
        }
        for n in LEVEL1_FIELDS..ALL_FIELDS {
            let limit = if pmu.metrics_level >= 2 { field(value, n - LEVEL1_FIELDS) } else { 0 };
            same(&format!("field {n} is within its parent"), field(value, n) <= limit, true)?;
        }
        Ok(())
    }
}
