//! PEBS: which counters are armed, and the records.

use super::{FIXED, Intel, ones};
use crate::event::Event;
use crate::pebs::{DebugStore, Lost, NotMapped, PebsSample};
use crate::pmu::counter::Counter;
use crate::precise::{DataSource, Translation};
use crate::register::intel::{
    DsArea, FixedCtrCtrl, PebsDataCfg, PebsEnable, PerfEvtSel, PerfGlobalStatus, RegisterId,
};
use crate::register::{When, low_bits};
use crate::source::{CounterId, CountsSource};
use alloc::vec::Vec;

/// The debug store's management area: eight words, of which the second half is about PEBS (SDM vol. 3B, "DS Save Area
/// and 64-bit Mode Operation").
mod area {
    /// Bytes from its start to the buffer's base, index, absolute maximum and threshold.
    pub(super) const BUFFER: u64 = 32;
    /// To the index.
    pub(super) const INDEX: u64 = 40;
    /// To the reset value of general-purpose counter 0.
    pub(super) const RESET: u64 = 64;
    /// Reset values of general-purpose counters; those of fixed counters follow (Linux, MAX_PEBS_EVENTS_FMT4).
    pub(super) const GP_RESETS: u64 = 8;
}

/// Counters that write records, as bits of IA32_PEBS_ENABLE.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Writers {
    /// All.
    pub(super) enabled: u64,
    /// Those of them that do so when they overflow.
    distributed: u64,
    /// One of them counts instructions.
    instructions: bool,
    /// Some record has the group of memory accesses.
    access: bool,
}

/// Counters between an overflow and their record, as bits of IA32_PEBS_ENABLE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pebs {
    /// Their next event is sampled: they have overflowed, or that event makes them do so.
    pub(super) armed: u64,
    /// That event has happened.
    pub(super) due: u64,
}

/// The bit of a counter.
pub(super) fn bit(counter: CounterId) -> u64 {
    match counter {
        CounterId::Gp(n) => 1 << n,
        CounterId::Fixed(n) => 1 << (FIXED + u32::from(n)),
        CounterId::Metric(_) | CounterId::Ibs(_) => 0,
    }
}

/// Each instruction counts one, if it counts.
fn counts_instructions(counter: &Counter) -> bool {
    counter.request.event.map(Event::counts_as) == Some(Event::InstRetiredAny)
}

impl Pebs {
    /// Brings a counter up to date. True if it has overflowed and writes no records.
    pub(super) fn sync(
        &mut self,
        writers: Writers,
        counter: &mut Counter,
        width: u32,
        source: &mut dyn CountsSource,
    ) -> bool {
        let tally = counter.tally;
        let wrapped = counter.sync(width, source) != 0;
        let bit = bit(counter.id);
        if writers.enabled & bit == 0 {
            return wrapped;
        }
        if self.armed & bit != 0 {
            if counter.tally != tally {
                self.armed &= !bit;
                self.due |= bit;
            }
        } else if wrapped && self.due & bit == 0 {
            // The engine may have gone on to the event already.
            let happened = writers.distributed & bit != 0 || counter.value != 0;
            let through = happened && counts_instructions(counter) && source.runs_through_samples();
            *(if through { &mut self.due } else { &mut self.armed }) |= bit;
        }
        self.foresee(writers, counter, width);
        false
    }

    /// The next event makes it overflow, and is the one to be sampled.
    fn foresee(&mut self, writers: Writers, counter: &Counter, width: u32) {
        let bit = bit(counter.id);
        let about = writers.distributed & !self.due & bit != 0 && counter.is_running();
        if about && counter.until_overflow(width) == 1 {
            self.armed |= bit;
        }
    }

    /// Occurrences until a counter, one of those that write records, has to be looked at; `through` is whether the
    /// source [runs through samples](CountsSource::runs_through_samples).
    pub(super) fn deadline(
        self,
        writers: Writers,
        counter: &Counter,
        until_overflow: u64,
        through: bool,
    ) -> u64 {
        let bit = bit(counter.id);
        let distributed = writers.distributed & bit != 0;
        match until_overflow {
            // The next event has to be seen.
            _ if (self.armed | self.due) & bit != 0 => 1,
            until if through && counts_instructions(counter) => until.saturating_add(u64::from(!distributed)),
            // What makes it overflow is looked at by itself.
            until @ 2.. if distributed => until - 1,
            until => until,
        }
    }
}

impl Intel {
    /// Counters that write records.
    pub(super) fn pebs_counters(&self) -> u64 {
        self.bank.get::<PebsEnable>().0 & self.profile.pebs_counters()
    }

    /// What the registers say, and which counters run.
    pub(super) fn writers(&self) -> Writers {
        let enabled = self.pebs_counters();
        if enabled == 0 {
            return Writers::default();
        }
        let samples = |counter: &Counter| enabled & self.running & bit(counter.id) != 0;
        let mut counters = self.gp.iter().chain(&self.fixed);
        Writers {
            enabled,
            distributed: self.distributed(enabled),
            instructions: counters.any(|counter| samples(counter) && counts_instructions(counter)),
            access: !When::PebsBaseline.holds(&self.profile) || self.groups(enabled).memory_info(),
        }
    }

    /// Of these counters, which write records, those whose record is about the very event that makes them overflow:
    /// precise distribution. Before adaptive PEBS that is INST_RETIRED.PREC_DIST on counter 1, then instructions on
    /// fixed counter 0 (SDM vol. 3B, "Precise Distribution of Instructions Retired"), and from Golden Cove on, with all
    /// fields of PERF_METRICS, precise events other than instructions on counter 0 (Linux
    /// `arch/x86/events/intel/core.c`, what `:ppp` is limited to).
    fn distributed(&self, enabled: u64) -> u64 {
        let code = |n| self.bank.nth::<PerfEvtSel>(n).0 & 0xFFFF;
        let fixed_0 = 1 << FIXED;
        enabled
            & match self.profile.metrics_level() {
                _ if !When::PebsBaseline.holds(&self.profile) => u64::from(code(1) == PREC_DIST) << 1,
                2.. => fixed_0 | u64::from(matches!(code(0) & 0xFF, 0xC4..=0xC6 | 0xCD | 0xD0..=0xD4)),
                _ => fixed_0,
            }
    }

    /// Counters have new values, or run since now.
    pub(super) fn foresee_overflows(&mut self) {
        let writers = self.writers;
        if writers.distributed == 0 {
            return;
        }
        for counter in &self.gp {
            self.pebs.foresee(writers, counter, self.profile.gp_width.into());
        }
        for counter in &self.fixed {
            self.pebs.foresee(writers, counter, self.intel.fixed_width.into());
        }
    }

    pub(in crate::pmu) fn pebs_armed(&self) -> bool {
        self.pebs.armed != 0
    }

    /// A counter of instructions writes records.
    pub(in crate::pmu) fn pebs_samples_instructions(&self) -> bool {
        self.writers.instructions
    }

    pub(in crate::pmu) fn pebs_due(&self) -> bool {
        self.pebs.due != 0
    }

    /// Some record has the group of memory accesses.
    pub(in crate::pmu) fn pebs_wants_access(&self) -> bool {
        self.writers.access
    }

    /// IA32_PEBS_ENABLE or a counter has been written.
    pub(super) fn pebs_written(&mut self, id: RegisterId, n: u32) {
        let kept = match id.owner() {
            RegisterId::PebsEnable => self.pebs_counters(),
            RegisterId::Pmc => !(1 << n),
            RegisterId::FixedCtr => !(1 << (FIXED + n)),
            _ => return,
        };
        self.pebs.armed &= kept;
        self.pebs.due &= kept;
    }

    /// Writes the record that is due, and loads the counters' reset values.
    pub(in crate::pmu) fn write_pebs(
        &mut self,
        sample: &PebsSample,
        store: &mut dyn DebugStore,
        source: &mut dyn CountsSource,
    ) -> Option<Result<(), Lost>> {
        let due = core::mem::take(&mut self.pebs.due);
        if due == 0 {
            return None;
        }
        let mut record = Words::new();
        self.record(due, sample, &mut record);
        let mut bytes = record.bytes();
        if let Some(shorter) = self.truncate_pebs.take() {
            bytes = bytes.get(..shorter.into()).unwrap_or(bytes);
        }
        let start = self.bank.get::<DsArea>().0;
        let written = write(start, bytes, store);
        for n in ones(due) {
            let (counter, slot, width) = match n.checked_sub(FIXED) {
                None => (self.gp.get_mut(n as usize), u64::from(n), self.profile.gp_width),
                Some(fixed) => {
                    let slot = area::GP_RESETS + u64::from(fixed);
                    (self.fixed.get_mut(fixed as usize), slot, self.intel.fixed_width)
                }
            };
            if let Some(counter) = counter
                && let Ok(reset) = word(store, start.wrapping_add(area::RESET + 8 * slot))
            {
                counter.value = reset & low_bits(width.into());
            }
        }
        if written == Ok(true) {
            self.overflow(PerfGlobalStatus::default().with_ovf_buffer(true), true, source);
        } else {
            self.foresee_overflows();
            self.rearm(source);
        }
        Some(written.map(drop))
    }

    /// The record for these counters.
    fn record(&self, counters: u64, sample: &PebsSample, words: &mut Words) {
        if When::PebsBaseline.holds(&self.profile) {
            self.adaptive(counters, sample, words);
        } else {
            self.format_3(counters, sample, words);
        }
    }

    /// Format 4: the basic group, and those that MSR_PEBS_DATA_CFG adds for counters with their ADAPTIVE bit.
    fn adaptive(&self, counters: u64, sample: &PebsSample, words: &mut Words) {
        let config = self.groups(counters);
        // The first word says what the record has, and in bits 63:48 its size.
        words.all([config.0, sample.event_ip, counters, sample.tsc]);
        if config.memory_info() {
            words.all(self.memory(counters, sample));
            words.all([0]);
        }
        if config.gprs() {
            words.all([sample.rflags, sample.rip]);
            words.all(sample.gpr);
        }
        if config.xmms() {
            for register in &sample.xmm {
                words.put(&register.to_le_bytes());
            }
        }
        if config.lbrs() {
            let depth = self.ring.depth();
            for n in (0..=config.lbr_entries()).map(crate::bits::low_u32) {
                let entry = if u64::from(n) < depth { self.ring.entry(self.ring.back(n)) } else { [0; 3] };
                words.branches(entry);
            }
        }
        words.set_size();
    }

    /// The groups behind the basic one in a record for these counters.
    fn groups(&self, counters: u64) -> PebsDataCfg {
        let fixed = self.bank.get::<FixedCtrCtrl>();
        let adapts = (0..u32::from(self.profile.gp_counters))
            .any(|n| counters >> n & 1 != 0 && self.bank.nth::<PerfEvtSel>(n).adaptive())
            || (0..u32::from(self.intel.fixed_counters))
                .any(|n| counters >> (FIXED + n) & 1 != 0 && fixed.adaptive(n));
        if adapts { self.bank.get() } else { PebsDataCfg::default() }
    }

    /// Format 3, of Skylake: all registers, and the instruction behind the sampled one beside its own address.
    fn format_3(&self, counters: u64, sample: &PebsSample, words: &mut Words) {
        let [ax, cx, dx, bx, sp, bp, si, di, rest @ ..] = sample.gpr;
        words.all([sample.rflags, sample.rip, ax, bx, cx, dx, si, di, bp, sp]);
        words.all(rest);
        words.all([counters]);
        words.all(self.memory(counters, sample));
        words.all([sample.event_ip, 0, sample.tsc]);
    }

    /// Address, source and latency of the access.
    fn memory(&self, counters: u64, sample: &PebsSample) -> [u64; 3] {
        let Some(access) = sample.memory else { return [0; 3] };
        let Some(served) = access.served else { return [access.address, 0, 0] };
        let of_stores = (0..u32::from(self.profile.gp_counters))
            .any(|n| counters >> n & 1 != 0 && self.bank.nth::<PerfEvtSel>(n).0 & 0xFFFF == STORE_SAMPLE);
        let source = match served.source {
            _ if access.uncacheable => source::UNCACHED,
            DataSource::L1 => source::L1,
            // What is known of a plain store is whether it hit.
            _ if !access.load && !of_stores => 0,
            DataSource::InFlight => source::FILL_BUFFER,
            DataSource::L2 => source::L2,
            DataSource::L3 => source::L3,
            DataSource::Memory => source::LOCAL_MEMORY,
        };
        let walked = u64::from(served.translation == Translation::Walk) << source::STLB_MISS;
        // Of stores only those have one that are sampled for it.
        let latency = if access.load || of_stores { u64::from(served.latency) } else { 0 };
        // From Golden Cove on, which has all fields of PERF_METRICS: of the instruction, and of its access.
        let latency = if self.profile.metrics_level() > 1 { latency | latency << 32 } else { latency };
        [access.address, source | walked | u64::from(access.locked) << source::LOCKED, latency]
    }
}

/// INST_RETIRED.PREC_DIST of Skylake: event select and unit mask.
const PREC_DIST: u64 = 0x1C0;
/// MEM_TRANS_RETIRED.STORE_SAMPLE: event select and unit mask.
const STORE_SAMPLE: u64 = 0x2CD;

/// The data source word (SDM vol. 3B, "Data Source Encoding for Load Latency Record"; Linux
/// `arch/x86/events/intel/ds.c`).
mod source {
    pub(super) const L1: u64 = 0x1;
    pub(super) const FILL_BUFFER: u64 = 0x2;
    pub(super) const L2: u64 = 0x3;
    pub(super) const L3: u64 = 0x4;
    pub(super) const LOCAL_MEMORY: u64 = 0xA;
    pub(super) const UNCACHED: u64 = 0xF;
    /// Bit: the access missed both levels of the TLB.
    pub(super) const STLB_MISS: u32 = 4;
    /// Bit: it was atomic.
    pub(super) const LOCKED: u32 = 5;
}

/// Puts the record into the buffer. True if that has reached its threshold.
fn write(start: u64, record: &[u8], store: &mut dyn DebugStore) -> Result<bool, Lost> {
    let at = |offset| start.wrapping_add(offset);
    let mut bytes = [0; 32];
    store.read(at(area::BUFFER), &mut bytes)?;
    let (words, _) = bytes.as_chunks();
    let [base, index, maximum, threshold] = core::array::from_fn(|n| u64::from_le_bytes(words[n]));
    let end = index.checked_add(record.len() as u64).filter(|end| index >= base && *end <= maximum);
    let end = end.ok_or(Lost::Full)?;
    store.write(index, record)?;
    store.write(at(area::INDEX), &end.to_le_bytes())?;
    Ok(end >= threshold)
}

fn word(store: &mut dyn DebugStore, address: u64) -> Result<u64, NotMapped> {
    let mut bytes = [0; 8];
    store.read(address, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

impl From<NotMapped> for Lost {
    fn from(_: NotMapped) -> Self {
        Self::NotMapped
    }
}

/// Bytes of the largest record without branches: the basic group, that of the memory access, general-purpose and XMM
/// registers (Linux `arch/x86/include/asm/perf_event.h`, `struct pebs_basic` and those behind it).
const LARGEST: usize = 8 * (4 + 4 + 18 + 2 * 16);

/// A record while it is put together.
struct Words {
    bytes: [u8; LARGEST],
    len: usize,
    /// What is behind these: branches.
    more: Vec<u8>,
}

impl Words {
    fn new() -> Self {
        Self { bytes: [0; LARGEST], len: 0, more: Vec::new() }
    }

    /// What is there. With branches it is put together for that.
    fn bytes(&mut self) -> &[u8] {
        let fixed = self.bytes.get(..self.len).unwrap_or_default();
        if self.more.is_empty() {
            return fixed;
        }
        self.more.splice(..0, fixed.iter().copied());
        self.len = 0;
        &self.more
    }

    fn put<const N: usize>(&mut self, bytes: &[u8; N]) {
        match self.bytes.get_mut(self.len..).and_then(<[u8]>::first_chunk_mut) {
            Some(place) => {
                *place = *bytes;
                self.len += N;
            }
            None => self.more.extend_from_slice(bytes),
        }
    }

    fn all(&mut self, words: impl IntoIterator<Item = u64>) {
        words.into_iter().for_each(|word| self.put(&word.to_le_bytes()));
    }

    /// From here on there are branches.
    fn branches(&mut self, words: impl IntoIterator<Item = u64>) {
        self.more.extend(words.into_iter().flat_map(u64::to_le_bytes));
    }

    /// Bits 63:48 of the first word.
    fn set_size(&mut self) {
        let size = u16::try_from(self.len + self.more.len()).unwrap_or(u16::MAX);
        if let Some(field) = self.bytes.get_mut(6..8) {
            field.copy_from_slice(&size.to_le_bytes());
        }
    }
}
