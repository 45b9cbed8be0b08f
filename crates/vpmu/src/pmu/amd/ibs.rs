//! Instruction-based sampling: the two periodic counters, and what the registers say of a sample.

use super::Amd;
use crate::event::{Event, EventCode};
use crate::ibs::{IbsAnswer, IbsBranch, IbsSample, IbsTags};
use crate::pmu::counter::Counter;
use crate::precise::{DataSource, MemoryAccess, Page, Translation};
use crate::register::When;
use crate::register::amd::{
    IbsBrTarget, IbsCtl, IbsDcLinAd, IbsDcPhysAd, IbsFetchCtl, IbsFetchCtlExt, IbsFetchLinAd, IbsFetchPhysAd,
    IbsOpCtl, IbsOpData, IbsOpData2, IbsOpData3, IbsOpRip, RegisterId,
};
use crate::source::{Active, CounterId, CountsSource, EventRequest, PrivilegeFilter};
use crate::state::{IbsState, RestoreError, VpmuState};

/// Bits of the periodic counters.
const WIDTH: u32 = 27;
/// Bits of IBS_FETCH_CTL's counts that no field shows.
const LOW: u32 = 4;

/// Data sources in IBS_OP_DATA2 (Linux `asm/amd-ibs.h`): before Zen 4, and from then on.
const OLD_LOCAL_CACHE: u64 = 2;
const LOCAL_CACHE: u64 = 1;
const DRAM: u64 = 3;
const IO: u64 = 7;

/// The periodic counters. A counter's value is its count and what takes it to the width at the maximum, so that it
/// wraps there.
#[derive(Debug, Clone)]
pub(super) struct Ibs {
    fetch: Counter,
    op: Counter,
    tags: IbsTags,
    /// State of SplitMix64.
    random: u64,
}

impl Ibs {
    pub(super) fn new() -> Self {
        let counter =
            |n, event| Counter::new(CounterId::Ibs(n), EventRequest::named(event, EventCode::default()));
        Self {
            // Of fetches no source knows more than that each instruction was fetched.
            fetch: counter(0, Event::InstRetiredAny),
            op: counter(1, Event::CpuClkUnhaltedThread),
            tags: IbsTags::default(),
            random: 0,
        }
    }

    /// So many pseudorandom bits, at most 32 (SplitMix64).
    fn random(&mut self, bits: u32) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.random;
        word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (word ^ word >> 31) >> (u64::BITS - bits)
    }

    /// The running counters.
    pub(super) fn active(&self) -> impl Iterator<Item = Active> + '_ {
        [&self.fetch, &self.op].into_iter().filter_map(|counter| counter.active(WIDTH, true))
    }
}

/// What a counter starts with to wrap at `max`.
fn biased(count: u64, max: u64) -> u64 {
    (1 << WIDTH) - max + count
}

impl IbsFetchCtl {
    fn max(self) -> u64 {
        self.max_count() << LOW
    }

    fn counts(self) -> bool {
        self.enable() && !self.valid() && self.max() != 0
    }
}

impl IbsOpCtl {
    fn max(self) -> u64 {
        self.max_count_high() << 20 | self.max_count() << LOW
    }

    fn counts(self) -> bool {
        self.enable() && !self.valid() && self.max() != 0
    }
}

impl Amd {
    pub(in crate::pmu) fn ibs_tags(&self) -> IbsTags {
        self.ibs.tags
    }

    /// Brings the periodic counters up to date, and their registers.
    pub(super) fn sync_ibs(&mut self, source: &mut dyn CountsSource) {
        let before = self.ibs.tags;
        if self.ibs.fetch.is_running() {
            let mut control = self.bank.get::<IbsFetchCtl>();
            let tagged = self.ibs.fetch.sync(WIDTH, source) != 0;
            let count = if tagged { control.max() } else { self.ibs.fetch.value - biased(0, control.max()) };
            control.set_count(count >> LOW);
            self.bank.set(control);
            self.ibs.tags.fetch |= tagged;
        }
        if self.ibs.op.is_running() {
            let mut control = self.bank.get::<IbsOpCtl>();
            let tagged = self.ibs.op.sync(WIDTH, source) != 0;
            control.set_count(if tagged {
                control.max()
            } else {
                self.ibs.op.value - biased(0, control.max())
            });
            self.bank.set(control);
            self.ibs.tags.op |= tagged;
        }
        if self.ibs.tags != before {
            self.run_ibs(source);
            // What has been reached is no deadline any more.
            self.rearm(source);
        }
    }

    /// Starts and stops the periodic counters as their registers say.
    pub(super) fn run_ibs(&mut self, source: &mut dyn CountsSource) {
        if !self.profile.has_ibs() {
            return;
        }
        let (fetch, op) = (self.bank.get::<IbsFetchCtl>(), self.bank.get::<IbsOpCtl>());
        let Ibs { tags, .. } = self.ibs;
        self.ibs.fetch.run(fetch.counts() && !tags.fetch, PrivilegeFilter::ALL, source);
        self.ibs.op.run(op.counts() && !tags.op, PrivilegeFilter::ALL, source);
    }

    /// A control register has been written. Counters must be up to date.
    pub(super) fn write_ibs(&mut self, id: RegisterId, value: u64) {
        match id {
            RegisterId::IbsFetchCtl => {
                let control = IbsFetchCtl(value);
                let low = if control.random() { self.ibs.random(LOW) } else { 0 };
                self.start_fetches(control, control.count() << LOW | low);
            }
            RegisterId::IbsOpCtl => {
                let control = IbsOpCtl(value);
                // Counting cycles hardware chooses the lowest bits; counting ops software says all.
                let random = control.counts() && !control.count_ops();
                let count = if random { self.ibs.random(7) } else { control.count() };
                self.start_ops(control, count);
            }
            _ => {}
        }
    }

    /// The counter of fetches goes on from a count, if its control says so.
    fn start_fetches(&mut self, control: IbsFetchCtl, count: u64) {
        self.ibs.tags.fetch = control.counts() && count >= control.max();
        let count = if control.counts() { count.min(control.max()) } else { count };
        self.ibs.fetch.reprogram(self.ibs.fetch.request);
        self.ibs.fetch.value = biased(count.min(control.max()), control.max());
        self.bank.set(control.with_count(count >> LOW));
    }

    /// The counter of cycles or ops goes on from a count, if its control says so.
    fn start_ops(&mut self, control: IbsOpCtl, count: u64) {
        self.ibs.tags.op = control.counts() && count >= control.max();
        let count = if control.counts() { count.min(control.max()) } else { count };
        // Of the dispatched ops those that retire, which alone can be sampled.
        let event = if control.count_ops() { Event::UopsRetiredSlots } else { Event::CpuClkUnhaltedThread };
        self.ibs.op.reprogram(EventRequest::named(event, EventCode::default()));
        self.ibs.op.value = biased(count.min(control.max()), control.max());
        self.bank.set(control.with_count(count));
    }

    /// What was tagged has retired.
    pub(in crate::pmu) fn ibs_sample(
        &mut self,
        tags: IbsTags,
        sample: &IbsSample,
        source: &mut dyn CountsSource,
    ) -> IbsAnswer {
        self.sync(source);
        let mut sampled = IbsTags::default();
        if tags.fetch && self.ibs.tags.fetch {
            sampled.fetch = self.sample_fetch(sample);
        }
        if tags.op && self.ibs.tags.op {
            sampled.op = self.sample_op(sample);
        }
        self.restart(source);
        let control = self.bank.get::<IbsCtl>();
        let interrupt =
            (sampled.any() && control.lvt_offset_valid()).then(|| crate::bits::low_u8(control.lvt_offset()));
        IbsAnswer { sampled, interrupt }
    }

    /// False if the sample is dropped, and the counter begins anew.
    fn sample_fetch(&mut self, sample: &IbsSample) -> bool {
        let control = self.bank.get::<IbsFetchCtl>();
        let fetch = sample.fetch;
        if control.l3_miss_only() && !fetch.l3_miss {
            let low = if control.random() { self.ibs.random(LOW) } else { 0 };
            self.start_fetches(control, low);
            return false;
        }
        self.ibs.tags.fetch = false;
        let mut control = control
            .with_latency(0)
            .with_valid(true)
            .with_complete(true)
            .with_icache_miss(fetch.icache_miss)
            .with_physical_valid(sample.physical.is_some())
            .with_page_size(match sample.page {
                Page::Small => 0,
                Page::Large => 1,
                Page::Huge => 2,
            })
            .with_l1_tlb_miss(fetch.l1_tlb_miss)
            .with_l2_tlb_miss(fetch.l2_tlb_miss)
            .with_l2_miss(fetch.l2_miss);
        if When::IbsL3Miss.holds(&self.profile) {
            control = control.with_l3_miss(fetch.l3_miss).with_op_cache_miss(fetch.icache_miss);
        }
        self.bank.set(control);
        self.bank.set(IbsFetchLinAd(sample.address));
        self.bank.set(IbsFetchPhysAd(sample.physical.unwrap_or_default()));
        self.bank.set(IbsFetchCtlExt(0));
        true
    }

    /// False if the sample is dropped, and the counter begins anew.
    fn sample_op(&mut self, sample: &IbsSample) -> bool {
        let control = self.bank.get::<IbsOpCtl>();
        let count = self.ibs.random(7);
        let missed = |access: MemoryAccess| {
            access.load && access.served.is_some_and(|served| served.source == DataSource::Memory)
        };
        if control.l3_miss_only() && !sample.access.is_some_and(missed) {
            self.start_ops(control, count);
            return false;
        }
        self.ibs.tags.op = false;
        self.bank.set(control.with_valid(true).with_count(count));
        self.bank.set(IbsOpRip(sample.address));
        let branch = sample.branch.unwrap_or_default();
        let IbsBranch { returned, target, mispredicted, fused } = branch;
        self.bank.set(
            IbsOpData(0)
                .with_completion_to_retire(sample.completion_to_retire.into())
                .with_tag_to_retire(sample.tag_to_retire.into())
                .with_returned(returned)
                .with_taken(target.is_some())
                .with_mispredicted(mispredicted)
                .with_branch(sample.branch.is_some())
                .with_fused(fused)
                .with_microcode(sample.microcode),
        );
        self.bank.set(IbsBrTarget(target.unwrap_or_default()));
        let access = sample.access.unwrap_or_default();
        self.bank.set(self.data_source(&access));
        self.bank.set(sample.access.map_or(IbsOpData3(0), |access| data_3(&access)));
        self.bank.set(IbsDcLinAd(access.address));
        self.bank.set(IbsDcPhysAd(access.physical.unwrap_or_default()));
        true
    }

    /// Only loads have a source.
    fn data_source(&self, access: &MemoryAccess) -> IbsOpData2 {
        let fine = When::IbsL3Miss.holds(&self.profile);
        let source = match access.served.map(|served| served.source) {
            _ if !access.load => 0,
            _ if access.uncacheable => IO,
            Some(DataSource::L3) if fine => LOCAL_CACHE,
            Some(DataSource::L3) => OLD_LOCAL_CACHE,
            Some(DataSource::Memory) => DRAM,
            // The miss that is on its way already has one, which nothing here knows.
            Some(DataSource::L1 | DataSource::InFlight | DataSource::L2) | None => 0,
        };
        // Lines of the last-level cache are not modified elsewhere.
        let shared = matches!(access.served.map(|served| served.source), Some(DataSource::L3)) && access.load;
        IbsOpData2(0).with_source(source).with_shared(shared)
    }

    pub(super) fn save_ibs(&self) -> IbsState {
        let low = self.ibs.fetch.value & crate::bits::low_bits(LOW);
        let shown = self.bank.get::<IbsFetchCtl>().counts() && self.ibs.fetch.is_running();
        IbsState { random: self.ibs.random, fetches: if shown { crate::bits::low_u8(low) } else { 0 } }
    }

    /// Counts end at their maximum, and only a running one has bits that no register shows.
    pub(super) fn check_ibs(&self, state: &VpmuState) -> Result<(), RestoreError> {
        let register = |index| state.registers.get(&index).copied().unwrap_or_default();
        let (fetch, op) = (IbsFetchCtl(register(IbsFetchCtl::INDEX)), IbsOpCtl(register(IbsOpCtl::INDEX)));
        let fetches = fetch.count() << LOW | u64::from(state.ibs.fetches);
        let hidden = !fetch.counts() && state.ibs.fetches != 0;
        if hidden || fetch.counts() && fetches > fetch.max() || op.counts() && op.count() > op.max() {
            return Err(RestoreError::Ibs);
        }
        Ok(())
    }

    /// Takes over what was counted; registers must be there.
    pub(super) fn restore_ibs(&mut self, state: &IbsState) {
        self.ibs = Ibs { random: state.random, ..Ibs::new() };
        if self.profile.has_ibs() {
            let fetch = self.bank.get::<IbsFetchCtl>();
            self.start_fetches(fetch, fetch.count() << LOW | u64::from(state.fetches));
            let op = self.bank.get::<IbsOpCtl>();
            self.start_ops(op, op.count());
        }
    }
}

/// Sizes by IBS_OP_DATA3.IbsOpMemWidth: 1 to 64 bytes are 1 to 7.
fn width(bytes: u16) -> u64 {
    match bytes {
        0 => 0,
        1..=64 => u64::from(bytes.next_power_of_two().trailing_zeros()) + 1,
        _ => 7,
    }
}

fn data_3(access: &MemoryAccess) -> IbsOpData3 {
    let data = IbsOpData3(0)
        .with_load(access.load)
        .with_store(access.store)
        .with_misaligned(access.address % 32 + u64::from(access.bytes) > 32)
        .with_uncacheable(access.uncacheable)
        .with_locked(access.locked)
        .with_linear_valid(true)
        .with_physical_valid(access.physical.is_some())
        .with_prefetch(access.prefetch)
        .with_width(width(access.bytes));
    let Some(served) = access.served else { return data };
    let missed = !matches!(served.source, DataSource::L1);
    let first = served.translation == Translation::L1Tlb;
    let second = served.translation == Translation::L2Tlb;
    data.with_dcache_miss(missed)
        .with_l2_miss(missed && served.source != DataSource::L2)
        .with_no_mab(served.source == DataSource::InFlight)
        .with_miss_latency(if missed && access.load { served.latency.into() } else { 0 })
        .with_l1_tlb_miss(!first)
        .with_l2_tlb_miss(served.translation == Translation::Walk)
        .with_l1_tlb_hit_2m(first && access.page == Page::Large)
        .with_l1_tlb_hit_1g(first && access.page == Page::Huge)
        .with_l2_tlb_hit_2m(second && access.page == Page::Large)
        .with_l2_tlb_hit_1g(second && access.page == Page::Huge)
        .with_tlb_refill_latency(if first { 0 } else { served.translation_latency.into() })
}
