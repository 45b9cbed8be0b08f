//! Counting, overflow, freezing, PMI.

use super::precise::pebs_bit;
use super::{Checked, Machine, same};
use crate::model::{Occurrences, Slots, Tick};
use crate::op::Notice;
use crate::report::Reached;
use crate::totals::Totals;
use vpmu::event::Event;
use vpmu::pmu::RdpmcContext;
use vpmu::profile::{PmuKind, Vendor};
use vpmu::register::low_bits;
use vpmu::{Active, CounterId, ReadOutcome};

const DEBUGCTL: u32 = 0x1D9;
const GLOBAL_CTRL: u32 = 0x38F;
const FIXED_CTR3: u32 = 0x30C;
const PERF_METRICS: u32 = 0x329;
/// Width of the accumulators behind PERF_METRICS, and of a merged pair.
const WIDE: u32 = 64;

/// A running counter before something was counted.
struct Running {
    active: Active,
    /// What it held; of a metric: 0.
    value: u64,
    /// Its source's total.
    total: u64,
}

impl Machine<'_> {
    /// The status register, if this CPU has one.
    pub(super) fn read_status(&mut self) -> Option<u64> {
        self.read(match self.subject.profile.vendor() {
            Vendor::Intel => 0x38E,
            _ => 0xC000_0300,
        })
    }

    /// True for both counters of a merged pair.
    pub(super) fn is_merged(&mut self, counter: u32) -> bool {
        let profile = &self.subject.profile;
        let odd = counter | 1;
        if odd >= u32::from(profile.gp_counters)
            || !profile.amd().is_some_and(|amd| amd.merge && amd.ext_core)
        {
            return false;
        }
        // Event FFFH with EN.
        let control = self.read_or_0(self.subject.select_of(odd));
        control & 0xF_0000_00FF == 0xF_0000_00FF && control >> 22 & 1 != 0
    }

    fn width(&mut self, counter: CounterId) -> u32 {
        match counter {
            CounterId::Gp(n) if self.is_merged(u32::from(n)) && n % 2 == 0 => WIDE,
            CounterId::Gp(_) => u32::from(self.subject.profile.gp_width),
            CounterId::Fixed(_) => u32::from(self.subject.profile.fixed_width()),
            CounterId::Metric(_) => vpmu::metrics::ACCUMULATOR_BITS,
            CounterId::Ibs(_) => 27,
        }
    }

    /// What a counter shows; metrics and IBS have no counter.
    fn value(&mut self, counter: CounterId) -> Result<u64, String> {
        let ecx = match counter {
            CounterId::Gp(n) => u32::from(n),
            CounterId::Fixed(n) => 0x4000_0000 + u32::from(n),
            CounterId::Metric(_) | CounterId::Ibs(_) => return Ok(0),
        };
        match self.pmu.rdpmc(ecx, RdpmcContext::RING0, &mut self.totals) {
            ReadOutcome::Value(value) => Ok(value),
            outcome => Err(format!("RDPMC of a running counter: {outcome:x?}")),
        }
    }

    /// A counter goes on until its overflow, or close to it.
    pub(super) fn run_to_overflow(&mut self, which: u8, beyond: i8) -> Checked {
        self.sync();
        let count = self.pmu.active().count();
        let Some(active) = self.pmu.active().nth(usize::from(which) % count.max(1)) else { return Ok(()) };
        // A longer count would wrap the totals.
        let distance = active.until_overflow.saturating_add_signed(i64::from(beyond));
        if distance > 1 << 50 {
            return Ok(());
        }
        let os = active.filter.os;
        let slots = |n: usize| {
            let mut fields = [0; 8];
            // Slots of level 2 are slots of level 1 too.
            (fields[n], fields[n % 4]) = (distance, distance);
            Some(Tick::from(Slots { os, fields }))
        };
        let tick = match active.counter {
            CounterId::Metric(n) => slots(usize::from(n)),
            CounterId::Fixed(3) => slots(0),
            _ => Totals::event(&active.request)
                .filter(|event| *event != Event::TopdownSlots.counts_as() && self.subject.happens(*event))
                .map(|event| Tick::from(Occurrences { event, os, each: 1, cycles: distance })),
        };
        tick.map_or(Ok(()), |tick| self.pass(Notice::AtOnce, tick))
    }

    /// Something is counted and noticed: every running counter moves by what happened where it counts, and whatever
    /// overflows has its consequences. The others stand still.
    pub(super) fn count(&mut self, tick: &Tick) -> Checked {
        self.pmu.sync(&mut self.totals);
        let running = self.running()?;
        let standing = self.standing(&running)?;
        let before = [self.read_status().unwrap_or(0), self.read_or_0(GLOBAL_CTRL), self.read_or_0(DEBUGCTL)];
        let pmi = self.pmu.pmi_pending();
        let (pebs, due) = (self.pebs_counters(), self.pmu.pebs_due());
        let mut sampled = Some(due);
        self.occur(tick);
        self.pmu.sync(&mut self.totals);
        for (counter, value) in standing {
            same(&format!("{counter:?}, which does not run"), self.value(counter)?, value)?;
        }
        let mut overflowed = 0_u64;
        let mut interrupt = false;
        for Running { active, value, total } in running {
            let counted = self.totals.of(&active) - total;
            let wrapped = match active.counter {
                CounterId::Metric(_) | CounterId::Ibs(_) => counted >= active.until_overflow,
                counter => {
                    let width = self.width(counter);
                    let sum = u128::from(value) + u128::from(counted);
                    let expected = sum as u64 & low_bits(width);
                    let found = self.value(counter)?;
                    same(
                        &format!("{counter:?} {width} bits wide, {value:#x} + {counted:#x}"),
                        found,
                        expected,
                    )?;
                    self.note(if width == WIDE { Reached::MergedCounted } else { Reached::Counted });
                    sum >> width != 0
                }
            };
            if pebs & pebs_bit(active.counter) != 0 {
                self.check_pebs_counter(&active, value, counted, wrapped, &mut sampled)?;
                continue;
            }
            if wrapped {
                overflowed |= status_bit(active.counter);
                // What IBS tags has to retire before it interrupts.
                interrupt |= active.interrupts && !matches!(active.counter, CounterId::Ibs(_));
                self.note(match active.counter {
                    CounterId::Metric(_) => Reached::MetricsOverflows,
                    CounterId::Gp(_) | CounterId::Fixed(_) | CounterId::Ibs(_) => Reached::Overflows,
                });
            }
        }
        if let Some(sampled) = sampled {
            same("PEBS record due", self.pmu.pebs_due(), sampled)?;
        }
        same("PMI pending", self.pmu.pmi_pending(), pmi | interrupt)?;
        self.check_consequences(before, overflowed, interrupt)
    }

    fn running(&mut self) -> Result<Vec<Running>, String> {
        let active: Vec<Active> = self.pmu.active().collect();
        active
            .into_iter()
            .map(|active| {
                let total = self.totals.of(&active);
                Ok(Running { active, value: self.value(active.counter)?, total })
            })
            .collect()
    }

    /// The counters that do not run, but for the upper half of a pair that does, with their values.
    fn standing(&mut self, running: &[Running]) -> Result<Vec<(CounterId, u64)>, String> {
        let runs = |counter| running.iter().any(|running| running.active.counter == counter);
        let profile = &self.subject.profile;
        let fixed = if self.read_status().is_some() { profile.fixed_counters() } else { 0 };
        let mut standing = Vec::new();
        for counter in (0..profile.gp_counters).map(CounterId::Gp).chain((0..fixed).map(CounterId::Fixed)) {
            let upper_half = match counter {
                CounterId::Gp(n) if n % 2 == 1 => runs(CounterId::Gp(n - 1)) && self.is_merged(n.into()),
                _ => false,
            };
            if !runs(counter) && !upper_half {
                standing.push((counter, self.value(counter)?));
            }
        }
        Ok(standing)
    }

    /// Another guest uses PERF_METRICS for a while; what is saved, cleared and written back as the manual says is
    /// what it was (SDM volume 3, "Performance Metrics").
    pub(super) fn switch_metrics(&mut self, slots: Slots) -> Checked {
        if self.subject.profile.metrics_level() == 0 {
            return Ok(());
        }
        let pair = [FIXED_CTR3, PERF_METRICS];
        let saved = pair.map(|index| self.read_or_0(index));
        for index in pair {
            self.wrmsr(index, 0)?;
        }
        self.pass(Notice::AtOnce, Tick::from(slots))?;
        for (index, value) in pair.into_iter().zip(saved) {
            self.wrmsr(index, value)?;
        }
        self.note(Reached::MetricsSwitched);
        same("FIXED_CTR3 and PERF_METRICS, written back", pair.map(|index| self.read_or_0(index)), saved)
    }

    /// Status, freezing and enables after overflows; `before` holds status, GLOBAL_CTRL and DEBUGCTL.
    pub(super) fn check_consequences(
        &mut self,
        before: [u64; 3],
        overflowed: u64,
        interrupt: bool,
    ) -> Checked {
        let [mut status, mut enables, mut debugctl] = before;
        // FREEZE_LBRS_ON_PMI and FREEZE_PERFMON_ON_PMI.
        let freeze = if interrupt { debugctl >> 11 & 3 } else { 0 };
        if freeze != 0 {
            self.note(Reached::Frozen);
        }
        status |= overflowed;
        match &self.subject.profile.pmu {
            PmuKind::Intel(pmu) if pmu.version < 4 => {
                debugctl &= !(freeze & 1);
                if freeze & 2 != 0 {
                    enables = 0;
                }
            }
            PmuKind::Intel(_) | PmuKind::Amd(_) | PmuKind::Arm(_) => status |= freeze << 58,
        }
        if let Some(found) = self.read_status() {
            same("status after counting", found, status)?;
        }
        same("GLOBAL_CTRL after counting", self.read_or_0(GLOBAL_CTRL), enables)?;
        same("DEBUGCTL after counting", self.read_or_0(DEBUGCTL), debugctl)
    }

    /// Bits 47:0 of a merged pair are in the even counter, bits 63:48 in bits 15:0 of the odd one.
    pub(super) fn check_pair(&mut self, even: u32) -> Checked {
        let count = self.read_or_0(self.subject.counter_of(even));
        let odd = self.read_or_0(self.subject.counter_of(even + 1));
        same("bits 63:48 of the pair", count >> 48, odd & 0xFFFF)
    }
}

fn status_bit(counter: CounterId) -> u64 {
    match counter {
        CounterId::Gp(n) => 1 << n,
        CounterId::Fixed(n) => 1 << (32 + n),
        CounterId::Metric(_) => 1 << 48,
        CounterId::Ibs(_) => 0,
    }
}
