//! Caches, prefetchers, and the time that lines take.

use super::last_level::LastLevel;
use super::limits::{Bandwidth, Overlap};
use super::prefetch::{Streams, Strides};
use crate::core::{Core, Geometry, Uncore};
use crate::sets::Lines;
use crate::totals::{CoreTotals, Lookups};

/// Lines on their way that are remembered, by the low bits of their number.
const ARRIVALS: usize = 256;

/// Where a line was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    L1,
    /// On its way to the first level already.
    FillBuffer,
    L2,
    L3,
    Memory,
}

impl Level {
    pub(crate) fn of_number(number: u64) -> Option<Self> {
        [Self::L1, Self::FillBuffer, Self::L2, Self::L3, Self::Memory].into_iter().nth(number as usize)
    }

    /// How many levels of caches missed.
    pub(crate) fn misses(self) -> u32 {
        match self {
            Self::L1 => 0,
            Self::FillBuffer | Self::L2 => 1,
            Self::L3 => 2,
            Self::Memory => 3,
        }
    }
}

/// Where a lookup of the second level comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    Load,
    Store,
    Fetch,
    Prefetcher,
    Software,
}

/// Lines that are on their way to a level, and when they come.
#[derive(Debug)]
struct Arrivals {
    lines: Box<[(u64, u64); ARRIVALS]>,
    latest: u64,
}

impl Arrivals {
    fn new() -> Self {
        Self { lines: Box::new([(u64::MAX, 0); ARRIVALS]), latest: 0 }
    }

    /// When the line comes; 0 if that is unknown or `at` is later than every arrival.
    #[inline]
    fn of(&self, line: u64, at: u64) -> u64 {
        if at >= self.latest {
            return 0;
        }
        let (known, cycle) = self.lines[line as usize % ARRIVALS];
        if known == line { cycle } else { 0 }
    }

    fn add(&mut self, line: u64, cycle: u64) {
        self.lines[line as usize % ARRIVALS] = (line, cycle);
        self.latest = self.latest.max(cycle);
    }
}

#[derive(Debug)]
pub(crate) struct Caches {
    l1: Lines,
    l2: Lines,
    llc: LastLevel,
    l1_arrivals: Arrivals,
    l2_arrivals: Arrivals,
    llc_arrivals: Arrivals,
    fill_buffers: Overlap,
    l2_fill_buffers: Overlap,
    llc_lines: Bandwidth,
    memory_lines: Bandwidth,
    streams: Streams,
    strides: Strides,
    l2_latency: u64,
    llc_latency: u64,
    memory_latency: u64,
    adjacent_line: bool,
    stream_distances: [u64; 2],
    /// Cycles that lines have taken of the first level since the last store: see `Memory::fill_cycles`.
    filling: u64,
    fill_cycles: u64,
    /// The way between the first two levels.
    l1_lines: Bandwidth,
    l1_line_cycles: [u32; 2],
}

impl Caches {
    pub(crate) fn new(core: &Core) -> Self {
        let memory = &core.memory;
        Self {
            l1: Lines::new(memory.l1d),
            l2: Lines::new(memory.l2),
            llc: LastLevel::new(memory.llc),
            l1_arrivals: Arrivals::new(),
            l2_arrivals: Arrivals::new(),
            llc_arrivals: Arrivals::new(),
            fill_buffers: Overlap::new(memory.fill_buffers),
            l2_fill_buffers: Overlap::new(memory.l2_fill_buffers),
            llc_lines: Bandwidth::new(memory.llc_line_cycles),
            memory_lines: Bandwidth::new(memory.memory_line_cycles),
            streams: Streams::new(),
            strides: Strides::new(),
            l2_latency: memory.l2_latency.into(),
            llc_latency: memory.llc_latency.into(),
            memory_latency: memory.memory_latency.into(),
            adjacent_line: memory.adjacent_line,
            stream_distances: [memory.stream_distance.into(), memory.stream_llc_distance.into()],
            filling: 0,
            fill_cycles: memory.fill_cycles.into(),
            l1_lines: Bandwidth::new(memory.l1_line_cycles[0]),
            l1_line_cycles: memory.l1_line_cycles,
        }
    }

    /// Changes what is outside of the core, as far as that says anything; another last level is empty.
    pub(crate) fn set_uncore(&mut self, llc: Geometry, uncore: Uncore) {
        if let Some(bytes) = uncore.llc {
            self.llc.resize(llc.resized(bytes.get()));
        }
        if let Some(cycles) = uncore.llc_lifetime {
            self.llc.lose_after(cycles);
        }
        if let Some(cycles) = uncore.memory_latency {
            self.memory_latency = cycles.get().into();
        }
    }

    /// A demand access of the first level; where the line was, and when it can be used. The latency of a hit is not
    /// part of it.
    #[inline]
    pub(crate) fn access(
        &mut self,
        totals: &mut CoreTotals,
        line: u64,
        at: u64,
        asker: Asker,
    ) -> (Level, u64) {
        if !self.l1.is_newest(line) {
            return self.access_older(totals, line, at, asker);
        }
        if asker == Asker::Store {
            self.l1.mark_newest(line);
        }
        self.hit(line, at)
    }

    #[inline(always)]
    fn hit(&self, line: u64, at: u64) -> (Level, u64) {
        let arrival = self.l1_arrivals.of(line, at);
        if arrival > at { (Level::FillBuffer, arrival) } else { (Level::L1, at) }
    }

    /// The same for a line that is not the newest of its set.
    fn access_older(&mut self, totals: &mut CoreTotals, line: u64, at: u64, asker: Asker) -> (Level, u64) {
        let old = self.l1.exchange(line);
        if asker == Asker::Store {
            self.l1.mark_newest(line);
        }
        match old {
            Some(old) => self.miss(totals, line, at, asker, old),
            None => self.hit(line, at),
        }
    }

    /// Brings a line to the first level, in the place of an old one.
    fn miss(
        &mut self,
        totals: &mut CoreTotals,
        line: u64,
        at: u64,
        asker: Asker,
        old: Option<(u64, bool)>,
    ) -> (Level, u64) {
        let start = self.fill_buffers.admit(at);
        totals.fill_buffers_full_cycles += start - at;
        let start = self.exchange(start, old);
        let (level, arrival) = self.second(totals, line, start, asker);
        self.fill_buffers.add(start, arrival);
        totals.l1d_pending += arrival - start;
        self.replace_first(totals, old);
        self.l1_arrivals.add(line, arrival);
        (level, arrival)
    }

    /// When a line that is asked for at `at` has the way to the first level, where it takes the place of an old one.
    #[inline]
    fn exchange(&mut self, at: u64, old: Option<(u64, bool)>) -> u64 {
        let [comes, leaves] = self.l1_line_cycles;
        match old {
            _ if comes == 0 => at,
            Some((_, true)) => self.l1_lines.take_cycles(at, comes + leaves),
            _ => self.l1_lines.take(at),
        }
    }

    fn replace_first(&mut self, totals: &mut CoreTotals, old: Option<(u64, bool)>) {
        totals.l1d_replacements += 1;
        self.filling += self.fill_cycles;
        if let Some((old, true)) = old {
            self.write_back(totals, old);
        }
    }

    /// Cycles that lines have taken of the first level since it was asked last.
    #[inline]
    pub(crate) fn take_filling(&mut self) -> u64 {
        std::mem::take(&mut self.filling)
    }

    /// A modified line leaves the first level.
    fn write_back(&mut self, totals: &mut CoreTotals, line: u64) {
        let old = self.l2.exchange(line);
        self.l2.mark_newest(line);
        if let Some(old) = old {
            self.replace_second(totals, old);
        }
    }

    /// Looks a line up in the second level, and further out if need be; when it arrives.
    pub(crate) fn second(
        &mut self,
        totals: &mut CoreTotals,
        line: u64,
        at: u64,
        asker: Asker,
    ) -> (Level, u64) {
        let old = self.l2.exchange(line);
        let lookups: &mut Lookups = match asker {
            Asker::Load => &mut totals.l2_data_reads,
            Asker::Store => &mut totals.l2_ownership,
            Asker::Fetch => &mut totals.l2_code_reads,
            Asker::Prefetcher => &mut totals.l2_prefetches,
            Asker::Software => &mut totals.l2_software_prefetches,
        };
        let found = if let Some(old) = old {
            lookups.misses += 1;
            totals.l1_prefetches.misses += u64::from(asker == Asker::Prefetcher);
            match asker {
                Asker::Load => totals.offcore_data_reads += 1,
                Asker::Store => totals.offcore_ownership += 1,
                _ => {}
            }
            let start = self.l2_fill_buffers.admit(at);
            let found = self.fetch(totals, line, start, old);
            if found.0 == Level::Memory {
                match asker {
                    Asker::Load => totals.offcore_data_read_misses += 1,
                    Asker::Store => totals.offcore_ownership_misses += 1,
                    Asker::Fetch => totals.offcore_code_read_misses += 1,
                    Asker::Prefetcher | Asker::Software => {}
                }
            }
            found
        } else {
            lookups.hits += 1;
            totals.l1_prefetches.hits += u64::from(asker == Asker::Prefetcher);
            let arrival = self.l2_arrivals.of(line, at);
            (Level::L2, arrival.max(at) + self.l2_latency)
        };
        // The streamer sees all requests for data from the first level, its prefetches included.
        if matches!(asker, Asker::Load | Asker::Store | Asker::Prefetcher) {
            self.stream(totals, line, at);
            if self.adjacent_line && old.is_some() && !self.l2.contains(line ^ 1) {
                self.prefetch_second(totals, line ^ 1, at);
            }
        }
        found
    }

    /// Brings a line to the second level, which has a buffer for it, in the place of an old one.
    fn fetch(
        &mut self,
        totals: &mut CoreTotals,
        line: u64,
        start: u64,
        old: Option<(u64, bool)>,
    ) -> (Level, u64) {
        let (level, arrival) = if self.llc.touch(line, start) {
            totals.llc.hits += 1;
            let arrival = self.llc_arrivals.of(line, start);
            (Level::L3, self.llc_lines.take(start).max(arrival) + self.llc_latency)
        } else {
            totals.llc.misses += 1;
            (Level::Memory, self.memory_lines.take(start) + self.memory_latency)
        };
        self.l2_fill_buffers.add(start, arrival);
        self.replace_second(totals, old);
        (level, arrival)
    }

    fn replace_second(&mut self, totals: &mut CoreTotals, old: Option<(u64, bool)>) {
        totals.l2_lines_in += 1;
        if let Some((old, modified)) = old {
            if modified {
                totals.l2_lines_out_modified += 1;
            } else {
                totals.l2_lines_out_silent += 1;
            }
            // The last level takes what the second drops.
            self.llc.bring(old);
        }
    }

    /// A prefetch to the second level, which does not have the line.
    fn prefetch_second(&mut self, totals: &mut CoreTotals, line: u64, at: u64) {
        if !self.l2_fill_buffers.fits(at) {
            // Prefetches do not wait for buffers.
            return;
        }
        totals.l2_prefetches.misses += 1;
        let old = self.l2.insert(line);
        let (_, arrival) = self.fetch(totals, line, at, old);
        self.l2_arrivals.add(line, arrival.saturating_sub(self.l2_latency));
    }

    /// A prefetch to the last level only.
    fn prefetch_third(&mut self, totals: &mut CoreTotals, line: u64, at: u64) {
        if !self.l2_fill_buffers.fits(at) || self.l2.contains(line) || self.llc.contains(line) {
            return;
        }
        totals.llc_prefetches += 1;
        let arrival = self.memory_lines.take(at) + self.memory_latency;
        self.l2_fill_buffers.add(at, arrival);
        self.llc.bring(line);
        self.llc_arrivals.add(line, arrival.saturating_sub(self.llc_latency));
    }

    /// The streamer: a page that is walked in one direction.
    fn stream(&mut self, totals: &mut CoreTotals, line: u64, at: u64) {
        let [near, far] = self.streams.see(line, self.stream_distances);
        for line in near.lines() {
            if self.l2.contains(line) {
                totals.l2_prefetches.hits += 1;
            } else {
                self.prefetch_second(totals, line, at);
            }
        }
        for line in far.lines() {
            self.prefetch_third(totals, line, at);
        }
    }

    /// The first level's prefetcher: an instruction that loads at equal distances.
    #[inline]
    pub(crate) fn stride(&mut self, totals: &mut CoreTotals, rip: u64, physical: u64, at: u64) {
        if let Some(line) = self.strides.see(rip, physical)
            && !self.l1.contains(line)
        {
            self.prefetch_missing(totals, line, at, Asker::Prefetcher);
        }
    }

    /// A prefetch instruction to the first level.
    pub(crate) fn prefetch_first(&mut self, totals: &mut CoreTotals, line: u64, at: u64) {
        if !self.l1.touch(line) {
            self.prefetch_missing(totals, line, at, Asker::Software);
        }
    }

    /// A prefetch to the first level, which does not have the line.
    fn prefetch_missing(&mut self, totals: &mut CoreTotals, line: u64, at: u64, asker: Asker) {
        if !self.fill_buffers.fits(at) {
            return;
        }
        let old = self.l1.insert(line);
        let at = self.exchange(at, old);
        let (_, arrival) = self.second(totals, line, at, asker);
        self.fill_buffers.add(at, arrival);
        self.replace_first(totals, old);
        self.l1_arrivals.add(line, arrival);
    }

    /// A prefetch instruction to the second level only.
    pub(crate) fn prefetch_outer(&mut self, totals: &mut CoreTotals, line: u64, at: u64) {
        totals.l2_only_prefetches += 1;
        let (_, arrival) = self.second(totals, line, at, Asker::Software);
        self.l2_arrivals.add(line, arrival.saturating_sub(self.l2_latency));
    }

    /// True if the first level has the line.
    #[inline]
    pub(crate) fn holds(&mut self, line: u64) -> bool {
        self.l1.touch(line)
    }

    pub(crate) fn flush_line(&mut self, line: u64) {
        self.l1.remove(line);
        self.l2.remove(line);
        self.llc.remove(line);
    }

    pub(crate) fn flush(&mut self) {
        self.l1.clear();
        self.l2.clear();
        self.llc.clear();
    }
}
