//! What the model says of one instruction: what its totals have grown by when that has retired.

use core_model::{CoreTotals, Translation};
use vpmu::ibs::IbsFetch;
use vpmu::precise::{self, DataSource, Served};

/// Totals of both privilege levels; or what one instruction added to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Probe {
    fused: u64,
    mispredicted: u64,
    icache_misses: u64,
    code_misses: u64,
    fetch: Translated,
    loads: Translated,
    stores: Translated,
    load_latency: u64,
    fill_buffer_hits: u64,
    l2_hits: u64,
    l3_hits: u64,
    l3_misses: u64,
    store_l2_hits: u64,
    store_l2_misses: u64,
    store_l3_misses: u64,
    store_latency: u64,
    cycles: u64,
}

/// Translations for one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Translated {
    second: u64,
    walks: u64,
    cycles: u64,
}

impl Translated {
    fn add(&mut self, totals: &Translation) {
        self.second += totals.second_level_hits;
        self.walks += totals.walks_4k + totals.walks_2m + totals.walks_1g;
        self.cycles += totals.walk_cycles;
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            second: self.second - earlier.second,
            walks: self.walks - earlier.walks,
            cycles: self.cycles - earlier.cycles,
        }
    }

    fn by(self) -> precise::Translation {
        match self {
            Self { walks: 1.., .. } => precise::Translation::Walk,
            Self { second: 1.., .. } => precise::Translation::L2Tlb,
            _ => precise::Translation::L1Tlb,
        }
    }
}

impl Probe {
    pub(super) fn add(&mut self, totals: &CoreTotals) {
        self.fused += totals.macro_fused;
        for branches in &totals.branches {
            self.mispredicted += branches.mispredicted_taken + branches.mispredicted_not_taken;
        }
        self.icache_misses += totals.icache.misses;
        self.code_misses += totals.l2_code_reads.misses;
        self.fetch.add(&totals.fetch_translation);
        self.loads.add(&totals.load_translation);
        self.stores.add(&totals.store_translation);
        self.load_latency += totals.load_latency;
        self.fill_buffer_hits += totals.fill_buffer_hits;
        self.l2_hits += totals.l2_hits;
        self.l3_hits += totals.l3_hits;
        self.l3_misses += totals.l3_misses;
        self.store_l2_hits += totals.l2_ownership.hits;
        self.store_l2_misses += totals.l2_ownership.misses;
        self.store_l3_misses += totals.offcore_ownership_misses;
        self.store_latency += totals.store_latency;
        self.cycles += totals.cycles;
    }

    /// What has been added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            fused: self.fused - earlier.fused,
            mispredicted: self.mispredicted - earlier.mispredicted,
            icache_misses: self.icache_misses - earlier.icache_misses,
            code_misses: self.code_misses - earlier.code_misses,
            fetch: self.fetch.since(earlier.fetch),
            loads: self.loads.since(earlier.loads),
            stores: self.stores.since(earlier.stores),
            load_latency: self.load_latency - earlier.load_latency,
            fill_buffer_hits: self.fill_buffer_hits - earlier.fill_buffer_hits,
            l2_hits: self.l2_hits - earlier.l2_hits,
            l3_hits: self.l3_hits - earlier.l3_hits,
            l3_misses: self.l3_misses - earlier.l3_misses,
            store_l2_hits: self.store_l2_hits - earlier.store_l2_hits,
            store_l2_misses: self.store_l2_misses - earlier.store_l2_misses,
            store_l3_misses: self.store_l3_misses - earlier.store_l3_misses,
            store_latency: self.store_latency - earlier.store_latency,
            cycles: self.cycles - earlier.cycles,
        }
    }

    /// The instruction is one uop with the one before it.
    #[must_use]
    pub fn is_fused(&self) -> bool {
        self.fused > 0
    }

    /// It is a mispredicted branch.
    #[must_use]
    pub fn is_mispredicted(&self) -> bool {
        self.mispredicted > 0
    }

    /// How it was fetched, as far as its line was looked up.
    #[must_use]
    pub fn fetched(&self) -> IbsFetch {
        IbsFetch {
            icache_miss: self.icache_misses > 0,
            l2_miss: self.code_misses > 0,
            // Nothing says which of the misses of the second level the third has.
            l3_miss: false,
            l1_tlb_miss: self.fetch.by() != precise::Translation::L1Tlb,
            l2_tlb_miss: self.fetch.by() == precise::Translation::Walk,
        }
    }

    /// How its access was served: a load's, or a store's.
    #[must_use]
    pub fn served(&self, load: bool) -> Served {
        let source = match *self {
            Self { l3_misses: 1.., .. } if load => DataSource::Memory,
            Self { l3_hits: 1.., .. } if load => DataSource::L3,
            Self { l2_hits: 1.., .. } if load => DataSource::L2,
            Self { fill_buffer_hits: 1.., .. } if load => DataSource::InFlight,
            Self { store_l3_misses: 1.., .. } if !load => DataSource::Memory,
            Self { store_l2_misses: 1.., .. } if !load => DataSource::L3,
            Self { store_l2_hits: 1.., .. } if !load => DataSource::L2,
            _ => DataSource::L1,
        };
        let translated = if load { self.loads } else { self.stores };
        Served {
            source,
            latency: saturate(if load { self.load_latency } else { self.store_latency }),
            translation: translated.by(),
            translation_latency: saturate(translated.cycles),
        }
    }
}

fn saturate(cycles: u64) -> u16 {
    u16::try_from(cycles).unwrap_or(u16::MAX)
}
