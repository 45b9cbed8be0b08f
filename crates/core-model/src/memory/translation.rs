//! TLBs and page walks.

use super::limits::Overlap;
use crate::core::{Core, Geometry};
use crate::sets::Sets;
use crate::totals::{CoreTotals, Translation};

/// Entries of page directories and page tables that a line holds, as log2.
const ENTRIES_SHIFT: u32 = 3;

/// Nothing was translated.
const NOTHING: (u64, u8) = (u64::MAX, 0);

/// What a translation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Fetch,
    Load,
    Store,
}

/// A page: its number with its size.
#[derive(Debug, Clone, Copy)]
struct Page {
    key: u64,
    linear: u64,
    bits: u32,
}

impl Page {
    #[inline]
    fn new(linear: u64, bits: u8) -> Self {
        let bits = u32::from(bits.clamp(12, 30));
        // Sizes share the second level: they must not look alike there.
        let kind = u64::from(bits / 9);
        Self { key: linear >> bits | kind << 58, linear, bits }
    }
}

#[derive(Debug)]
pub(crate) struct Tlbs {
    /// What each purpose translated last: 4 KiB of linear addresses, and the page size. It is the newest of its set.
    last: [(u64, u8); 3],
    load: Sets,
    load_large: Sets,
    store: Sets,
    fetch: Sets,
    fetch_large: Sets,
    second: Sets,
    /// Page directory entries that the walker remembers.
    directories: Sets,
    /// Lines of page tables that were walked lately, and are therefore in the second-level cache.
    tables: Sets,
    walkers: Overlap,
    second_latency: u64,
    walk_base: u64,
    near: u64,
    far: u64,
}

impl Tlbs {
    pub(crate) fn new(core: &Core) -> Self {
        let memory = &core.memory;
        Self {
            last: [NOTHING; 3],
            load: Sets::new(memory.dtlb_load),
            load_large: Sets::new(memory.dtlb_load_large),
            store: Sets::new(memory.dtlb_store),
            fetch: Sets::new(core.front_end.itlb),
            fetch_large: Sets::new(core.front_end.itlb_large),
            second: Sets::new(memory.stlb),
            directories: Sets::new(Geometry { sets: 1, ways: 32 }),
            tables: Sets::new(Geometry { sets: 128, ways: 8 }),
            walkers: Overlap::new(memory.walkers),
            second_latency: memory.stlb_latency.into(),
            walk_base: memory.walk_base.into(),
            near: memory.l2_latency.into(),
            far: memory.llc_latency.into(),
        }
    }

    /// Translates; the cycles that it takes in addition to a hit of the first level, and whether both levels missed.
    #[inline]
    pub(crate) fn translate(
        &mut self,
        totals: &mut CoreTotals,
        purpose: Purpose,
        linear: u64,
        page_bits: u8,
        at: u64,
    ) -> (u64, bool) {
        let part = (linear >> 12, page_bits);
        if std::mem::replace(&mut self.last[purpose as usize], part) == part {
            return (0, false);
        }
        self.look_up(totals, purpose, Page::new(linear, page_bits), at)
    }

    fn look_up(&mut self, totals: &mut CoreTotals, purpose: Purpose, page: Page, at: u64) -> (u64, bool) {
        let large = page.bits > 12;
        let first = match purpose {
            Purpose::Load if large => &mut self.load_large,
            Purpose::Load => &mut self.load,
            Purpose::Store => &mut self.store,
            Purpose::Fetch if large => &mut self.fetch_large,
            Purpose::Fetch => &mut self.fetch,
        };
        if first.bring(page.key) {
            return (0, false);
        }
        self.miss(totals, purpose, page, at)
    }

    fn miss(&mut self, totals: &mut CoreTotals, purpose: Purpose, page: Page, at: u64) -> (u64, bool) {
        let counts: &mut Translation = match purpose {
            Purpose::Fetch => &mut totals.fetch_translation,
            Purpose::Load => &mut totals.load_translation,
            Purpose::Store => &mut totals.store_translation,
        };
        if self.second.bring(page.key) {
            counts.second_level_hits += 1;
            return (self.second_latency, false);
        }
        let walk = self.walk(page);
        let start = self.walkers.admit(at);
        self.walkers.add(start, start + walk);
        counts.walk_cycles += walk;
        match page.bits {
            0..21 => counts.walks_4k += 1,
            21..30 => counts.walks_2m += 1,
            _ => counts.walks_1g += 1,
        }
        (start - at + self.second_latency + walk, true)
    }

    /// Cycles of a walk: one access to the last level of tables, and another one if the walker does not remember
    /// the entry above it.
    fn walk(&mut self, page: Page) -> u64 {
        let mut cycles = self.walk_base + self.table_access(page.linear >> page.bits);
        let above = page.linear >> (page.bits + 9) | u64::from(page.bits) << 56;
        if !self.directories.bring(above) {
            cycles += self.table_access(page.linear >> (page.bits + 9) | 1 << 56);
        }
        cycles
    }

    fn table_access(&mut self, entry: u64) -> u64 {
        let line = entry >> ENTRIES_SHIFT;
        if self.tables.bring(line) { self.near } else { self.far }
    }

    pub(crate) fn flush(&mut self) {
        self.last = [NOTHING; 3];
        for sets in [
            &mut self.load,
            &mut self.load_large,
            &mut self.store,
            &mut self.fetch,
            &mut self.fetch_large,
            &mut self.second,
            &mut self.directories,
        ] {
            sets.clear();
        }
    }

    pub(crate) fn forget(&mut self, linear: u64) {
        self.last = [NOTHING; 3];
        for bits in [12, 21, 30] {
            let page = Page::new(linear, bits);
            for sets in [
                &mut self.load,
                &mut self.load_large,
                &mut self.store,
                &mut self.fetch,
                &mut self.fetch_large,
                &mut self.second,
            ] {
                sets.remove(page.key);
            }
        }
        self.directories.clear();
    }
}
