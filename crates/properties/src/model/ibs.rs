//! AMD's instruction-based sampling, eagerly: what is random is a range until it shows.

use super::Tick;
use vpmu::Profile;
use vpmu::event::Event;
use vpmu::ibs::{IbsSample, IbsTags};
use vpmu::precise::DataSource;

const FETCH_CTL: u32 = 0xC001_1030;
const OP_CTL: u32 = 0xC001_1033;
/// IBS_FETCH_CTL: IbsFetchEn, IbsFetchVal, IbsRandEn, IbsFetchL3MissOnly; IbsFetchCnt begins at bit 16.
const FETCH_EN: u64 = 1 << 48;
const FETCH_VAL: u64 = 1 << 49;
const FETCH_RAND: u64 = 1 << 57;
const FETCH_L3: u64 = 1 << 59;
/// IBS_OP_CTL: IbsOpL3MissOnly, IbsOpEn, IbsOpVal, IbsOpCntCtl; IbsOpCurCnt begins at bit 32.
const OP_L3: u64 = 1 << 16;
const OP_EN: u64 = 1 << 17;
const OP_VAL: u64 = 1 << 18;
const OP_COUNTS_OPS: u64 = 1 << 19;
/// The most that a random count begins with.
const RANDOM_OP: u64 = 127;
const RANDOM_FETCH: u64 = 15;

/// One of the two counters.
#[derive(Debug, Clone, Copy, Default)]
struct Periodic {
    enabled: bool,
    valid: bool,
    l3_miss_only: bool,
    max: u64,
    /// The count is one of these.
    least: u64,
    most: u64,
    /// Known where no random count decides it.
    tagged: Option<bool>,
}

impl Periodic {
    fn counts(&self) -> bool {
        self.enabled && !self.valid && self.max != 0
    }

    /// Goes on from a count, which may be so much more.
    fn begin(&mut self, count: u64, random: u64) {
        (self.least, self.most) = (count, count + random);
        self.tagged = Some(false);
        self.reach();
    }

    fn add(&mut self, count: u64) {
        if self.counts() && self.tagged != Some(true) {
            self.least += count;
            self.most += count;
            self.reach();
        }
    }

    fn reach(&mut self) {
        if !self.counts() {
            return;
        }
        self.tagged = match (self.least >= self.max, self.most >= self.max) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        };
        (self.least, self.most) = (self.least.min(self.max), self.most.min(self.max));
    }

    /// The count that a register shows, of which the lowest bits are not there.
    fn adopt(&mut self, what: &str, shown: u64, hidden: u32) -> Result<(), String> {
        let (first, last) = (shown << hidden, (shown << hidden) + ((1 << hidden) - 1));
        if first > self.most || last < self.least {
            return Err(format!("{what}: {shown:#x}, expected {:#x} to {:#x}", self.least, self.most));
        }
        (self.least, self.most) = (self.least.max(first), self.most.min(last));
        self.reach_if_unknown();
        Ok(())
    }

    fn reach_if_unknown(&mut self) {
        if self.tagged.is_none() {
            self.reach();
        }
    }
}

/// The two counters with their controls.
#[derive(Debug, Clone)]
pub(crate) struct Ibs {
    /// The filter by misses of the level-3 cache.
    filters: bool,
    fetch: Periodic,
    op: Periodic,
    counts_ops: bool,
    random_fetches: bool,
}

impl Ibs {
    /// IBS_FETCH_CTL and IBS_OP_CTL.
    pub(crate) const CONTROLS: [u32; 2] = [FETCH_CTL, OP_CTL];

    pub(crate) fn power_on(profile: &Profile) -> Self {
        let (fetch, op) = (Periodic { tagged: Some(false), ..Periodic::default() }, Periodic::default());
        let filters = profile.amd().is_some_and(|amd| amd.v2);
        let op = Periodic { tagged: Some(false), ..op };
        Self { filters, fetch, op, counts_ops: false, random_fetches: false }
    }

    pub(crate) fn write(&mut self, index: u32, value: u64) {
        match index {
            FETCH_CTL => {
                self.fetch = Periodic {
                    enabled: value & FETCH_EN != 0,
                    valid: value & FETCH_VAL != 0,
                    l3_miss_only: self.filters && value & FETCH_L3 != 0,
                    max: (value & 0xFFFF) << 4,
                    ..Periodic::default()
                };
                self.random_fetches = value & FETCH_RAND != 0;
                let random = if self.random_fetches { RANDOM_FETCH } else { 0 };
                self.fetch.begin((value >> 16 & 0xFFFF) << 4, random);
            }
            OP_CTL => {
                self.op = Periodic {
                    enabled: value & OP_EN != 0,
                    valid: value & OP_VAL != 0,
                    l3_miss_only: self.filters && value & OP_L3 != 0,
                    max: (value >> 20 & 0x7F) << 20 | (value & 0xFFFF) << 4,
                    ..Periodic::default()
                };
                self.counts_ops = value & OP_COUNTS_OPS != 0;
                let written = value >> 32 & 0x7FF_FFFF;
                let random = self.op.counts() && !self.counts_ops;
                self.op.begin(if random { 0 } else { written }, if random { RANDOM_OP } else { 0 });
            }
            _ => {}
        }
    }

    pub(crate) fn tick(&mut self, tick: &Tick) {
        let both = |event| [false, true].map(|os| tick.occurrences(event, os)).iter().sum();
        self.fetch.add(both(Event::InstRetiredAny));
        self.op.add(both(if self.counts_ops {
            Event::UopsRetiredSlots
        } else {
            Event::CpuClkUnhaltedThread
        }));
    }

    /// What was tagged has retired; returns what is sampled.
    pub(crate) fn sample(&mut self, tags: IbsTags, sample: &IbsSample) -> IbsTags {
        let mut sampled = IbsTags::default();
        if tags.fetch {
            let random = if self.random_fetches { RANDOM_FETCH } else { 0 };
            if self.fetch.l3_miss_only && !sample.fetch.l3_miss {
                self.fetch.begin(0, random);
            } else {
                (self.fetch.valid, self.fetch.tagged, sampled.fetch) = (true, Some(false), true);
            }
        }
        if tags.op {
            let from_memory = sample.access.is_some_and(|access| {
                access.load && access.served.is_some_and(|served| served.source == DataSource::Memory)
            });
            if self.op.l3_miss_only && !from_memory {
                self.op.begin(0, RANDOM_OP);
            } else {
                self.op.valid = true;
                self.op.begin(0, RANDOM_OP);
                sampled.op = true;
            }
        }
        sampled
    }

    /// Takes over the random bits of the counts that [`CONTROLS`](Self::CONTROLS) show.
    pub(crate) fn adopt(&mut self, [fetch, op]: [u64; 2]) -> Result<(), String> {
        for (what, shown, expected) in [
            ("IbsFetchVal", fetch & FETCH_VAL != 0, self.fetch.valid),
            ("IbsOpVal", op & OP_VAL != 0, self.op.valid),
        ] {
            if shown != expected {
                return Err(format!("{what}: {shown}, expected {expected}"));
            }
        }
        self.fetch.adopt("IbsFetchCnt", fetch >> 16 & 0xFFFF, 4)?;
        self.op.adopt("IbsOpCurCnt", op >> 32 & 0x7FF_FFFF, 0)
    }

    /// The tags are right where no hidden count decides them, and are known from here on.
    pub(crate) fn check_tags(&mut self, tags: IbsTags) -> Result<(), String> {
        for (what, counter, tagged) in [("fetch", &mut self.fetch, tags.fetch), ("op", &mut self.op, tags.op)]
        {
            if counter.tagged.is_some_and(|expected| expected != tagged) {
                return Err(format!("{what} tagged: {tagged}, expected {:?}", counter.tagged));
            }
            if counter.tagged.is_none() {
                counter.tagged = Some(tagged);
                if tagged {
                    counter.least = counter.max;
                } else {
                    counter.most = counter.most.min(counter.max - 1);
                }
            }
        }
        Ok(())
    }
}
