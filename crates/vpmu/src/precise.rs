//! What precise sampling (PEBS, IBS) says of an instruction's memory access: the same for every vendor.

/// Size of a page in the TLB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Page {
    /// 4 KiB.
    #[default]
    Small,
    /// 2 or 4 MiB.
    Large,
    /// 1 GiB.
    Huge,
}

/// Where data came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataSource {
    /// The level-1 data cache; a store's data is in the buffer before it.
    L1,
    /// A line that was on its way already.
    InFlight,
    /// The level-2 cache.
    L2,
    /// The last-level cache.
    L3,
    /// Memory.
    Memory,
}

/// Where a translation came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Translation {
    /// The first level of the TLB.
    L1Tlb,
    /// Its second level.
    L2Tlb,
    /// A walk of the page tables.
    Walk,
}

/// How an access was served, as a model of the core knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Where its data came from.
    pub source: DataSource,
    /// Core cycles from its start to its data; of a store from when it could be written to when the cache has it.
    pub latency: u16,
    /// Where its translation came from.
    pub translation: Translation,
    /// Core cycles of these for the translation.
    pub translation_latency: u16,
}

/// The memory access of a sampled instruction: of several the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryAccess {
    /// Linear address.
    pub address: u64,
    /// Physical address, if it has one.
    pub physical: Option<u64>,
    /// Page that it is in.
    pub page: Page,
    /// Bytes; 0 is unknown.
    pub bytes: u16,
    /// It reads.
    pub load: bool,
    /// It writes.
    pub store: bool,
    /// It is atomic.
    pub locked: bool,
    /// It only fetches a line.
    pub prefetch: bool,
    /// It went to a device.
    pub uncacheable: bool,
    /// How it was served; `None` without a model of the core.
    pub served: Option<Served>,
}
