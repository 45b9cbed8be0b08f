//! PEBS records and IBS samples.

use super::{Checked, Machine, same};
use crate::report::Reached;
use crate::retirement::{Retirement, Store};
use crate::totals::Totals;
use vpmu::event::Event;
use vpmu::pebs::Lost;
use vpmu::register::low_bits;
use vpmu::{Active, CounterId};

const PEBS_ENABLE: u32 = 0x3F1;
const PEBS_DATA_CFG: u32 = 0x3F2;
const DS_AREA: u32 = 0x600;
const DEBUGCTL: u32 = 0x1D9;
const GLOBAL_CTRL: u32 = 0x38F;
const FIXED_CTR_CTRL: u32 = 0x38D;
/// IA32_PERF_GLOBAL_STATUS: the buffer has reached its threshold.
const OVF_BUFFER: u64 = 1 << 62;
/// Bytes from the start of the management area to the words about the buffer, to its index, to the first reset value,
/// and to that of the first fixed counter.
const BUFFER: u64 = 32;
const INDEX: u64 = 40;
const RESETS: u64 = 64;
const FIXED_RESETS: u64 = 128;

/// The bit of a counter in IA32_PEBS_ENABLE.
pub(super) fn pebs_bit(counter: CounterId) -> u64 {
    match counter {
        CounterId::Gp(n) => 1 << n,
        CounterId::Fixed(n) => 1 << (32 + n),
        CounterId::Metric(_) | CounterId::Ibs(_) => 0,
    }
}

/// What a record of a size comes to in this memory, and whether the threshold is reached.
fn expected_record(area: u64, size: usize, store: &mut Store) -> Result<bool, Lost> {
    let mut word = |offset| store.word(area.wrapping_add(offset)).ok_or(Lost::NotMapped);
    let [base, index] = [word(BUFFER)?, word(INDEX)?];
    let [maximum, threshold] = [word(BUFFER + 16)?, word(BUFFER + 24)?];
    let end = u128::from(index) + size as u128;
    if index < base || end > u128::from(maximum) {
        return Err(Lost::Full);
    }
    if !store.takes(index, size) {
        return Err(Lost::NotMapped);
    }
    Ok(end >= u128::from(threshold))
}

impl Machine<'_> {
    /// Counters that write PEBS records.
    pub(super) fn pebs_counters(&mut self) -> u64 {
        self.read_or_0(PEBS_ENABLE) & self.subject.profile.pebs_counters()
    }

    /// A counter that writes records has counted; `due` is whether one is due, as far as that can be said.
    pub(super) fn check_pebs_counter(
        &mut self,
        active: &Active,
        value: u64,
        counted: u64,
        wrapped: bool,
        due: &mut Option<bool>,
    ) -> Checked {
        let width = match active.counter {
            CounterId::Gp(_) => self.subject.profile.gp_width,
            _ => self.subject.profile.fixed_width(),
        };
        let left = (low_bits(width.into()) - value).saturating_add(1);
        if wrapped && active.until_overflow != 1 && self.runs_through(active) {
            // One of those that make it overflow, or are behind that, is what the run ended in.
            let behind = value.wrapping_add(counted) & low_bits(width.into()) != 0;
            let happened = behind || self.is_distributed(active.counter);
            *due = due.map(|due| due || happened);
        } else if self.is_distributed(active.counter) && active.until_overflow == 1 && left <= 2 {
            // The event that makes it overflow is sampled. With two left it may also have overflowed a round ago.
            *due = if left == 2 { None } else { due.map(|due| due || counted > 0) };
        } else if left == 1 && active.until_overflow == 1 {
            // It is about to overflow, or has done so a whole round ago.
            *due = None;
        } else if active.until_overflow == 1 && counted > 0 {
            *due = due.map(|_| true);
        }
        if wrapped {
            same("a record is awaited", self.pmu.pebs_armed() || self.pmu.pebs_due(), true)?;
        }
        Ok(())
    }

    /// The engine need not stop before what a record of this counter is about: an instruction.
    pub(super) fn runs_through(&mut self, active: &Active) -> bool {
        self.totals.through
            && self.pebs_counters() & pebs_bit(active.counter) != 0
            && Totals::event(&active.request) == Some(Event::InstRetiredAny)
    }

    /// Its records are about the event that makes it overflow: fixed counter 0 of adaptive PEBS, counter 0 of Golden
    /// Cove with what retires and is no instruction, counter 1 of Skylake with INST_RETIRED.PREC_DIST.
    pub(super) fn is_distributed(&mut self, counter: CounterId) -> bool {
        let adaptive = self.subject.profile.pebs_counters() >> 32 != 0;
        match counter {
            CounterId::Fixed(0) => adaptive,
            CounterId::Gp(0) if adaptive && self.subject.profile.metrics_level() == 2 => {
                let select = self.read_or_0(self.subject.select_of(0)) & 0xFF;
                [0xC4, 0xC5, 0xC6, 0xCD, 0xD0, 0xD1, 0xD2, 0xD3, 0xD4].contains(&select)
            }
            CounterId::Gp(1) if !adaptive => self.read_or_0(self.subject.select_of(1)) & 0xFFFF == 0x01C0,
            _ => false,
        }
    }

    /// An instruction retires.
    pub(super) fn retire(&mut self, retirement: &Retirement) -> Checked {
        self.retirement = retirement.clone();
        self.sync();
        let counters = self.pebs_counters();
        let tags = self.pmu.ibs_tags();
        let precise = |active: Active| match active.counter {
            CounterId::Ibs(0) => !tags.fetch,
            CounterId::Ibs(_) => !tags.op,
            counter => counters & pebs_bit(counter) != 0,
        };
        let awaited: Vec<CounterId> =
            self.pmu.active().filter(|active| precise(*active)).map(|active| active.counter).collect();
        for counter in awaited {
            // To its overflow, and of PEBS to the event behind it.
            for _ in 0..if counters == 0 || self.pmu.pebs_armed() { 1 } else { 2 } {
                let which = self.pmu.active().position(|active| active.counter == counter);
                match which.and_then(|which| u8::try_from(which).ok()) {
                    Some(which) if !self.pmu.pebs_due() => self.run_to_overflow(which, 0)?,
                    _ => break,
                }
            }
        }
        self.write_pebs()?;
        self.sample_ibs()
    }

    /// The record that is due is written; if there is none, nothing happens.
    pub(super) fn write_pebs(&mut self) -> Checked {
        let retirement = &self.retirement;
        let due = self.pmu.pebs_due();
        let state = self.pmu.save(&mut self.totals);
        let (mut store, sample) = (retirement.store(), retirement.pebs());
        let mut before = store.clone();
        let area = self.read_or_0(DS_AREA);
        let registers =
            [self.read_status().unwrap_or(0), self.read_or_0(GLOBAL_CTRL), self.read_or_0(DEBUGCTL)];
        let pmi = self.pmu.pmi_pending();
        let answer = self.pmu.write_pebs(&sample, &mut store, &mut self.totals);
        same("a record of what was due", answer.is_some(), due)?;
        let Some(answer) = answer else {
            same("writes without a record", store.written.len(), 0)?;
            return same("state without a record", self.pmu.save(&mut self.totals), state);
        };
        same("a record is due after it was written", self.pmu.pebs_due(), false)?;
        // A lost record does not tell its size.
        let (basic, with_groups) = self.record_sizes();
        let sizes = store.written.first().map_or([basic, with_groups], |(_, bytes)| [bytes.len(); 2]);
        let expected = sizes.map(|size| expected_record(area, size, &mut before));
        let expected = expected.into_iter().find(|one| one.map(drop) == answer).unwrap_or(expected[0]);
        same("record", answer, expected.map(drop))?;
        match expected {
            Ok(_) => self.note(Reached::PebsRecords),
            Err(Lost::Full) => self.note(Reached::PebsLost),
            Err(Lost::NotMapped) => self.note(Reached::PebsNotMapped),
        }
        let threshold = expected == Ok(true);
        if threshold {
            self.note(Reached::PebsThresholds);
        }
        same("PMI pending after a record", self.pmu.pmi_pending(), pmi | threshold)?;
        self.check_consequences(registers, if threshold { OVF_BUFFER } else { 0 }, threshold)?;
        self.check_resets(area, &mut store)
    }

    /// Bytes of a record without and with the groups of MSR_PEBS_DATA_CFG.
    fn record_sizes(&mut self) -> (usize, usize) {
        if self.subject.profile.pebs_counters() >> 32 == 0 {
            return (200, 200);
        }
        let config = self.read_or_0(PEBS_DATA_CFG);
        let group = |n: u64, bytes: usize| if config >> n & 1 != 0 { bytes } else { 0 };
        let records = usize::try_from(config >> 24 & 0xFF).unwrap_or(0) + 1;
        (32, 32 + group(0, 32) + group(1, 144) + group(2, 256) + group(3, 24 * records))
    }

    /// The record says which counters it is about: these hold their reset values.
    fn check_resets(&mut self, area: u64, store: &mut Store) -> Checked {
        let written = std::mem::take(&mut store.written);
        let [(_, record), (index, _)] = &written[..] else {
            return same("writes of a record that is lost", written.len() < 2, true);
        };
        same("address of the index", *index, area.wrapping_add(INDEX))?;
        let word = |n: usize| {
            let bytes = record.get(8 * n..8 * n + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map(u64::from_le_bytes).ok_or("a record without its words")
        };
        let (basic, with_groups) = self.record_sizes();
        let adaptive = basic == 32;
        let counters = word(if adaptive { 2 } else { 18 })?;
        same("counters of a record", counters & !self.pebs_counters(), 0)?;
        same("a record is about a counter", counters != 0, true)?;
        if adaptive {
            let size = if self.adapts(counters) { with_groups } else { basic };
            same("size of a record", record.len(), size)?;
            same("size in a record", word(0)? >> 48, size as u64)?;
        } else {
            same("size of a record", record.len(), basic)?;
        }
        for n in (0..64).filter(|n| counters >> n & 1 != 0) {
            let (address, width, offset) = match n {
                0..32 => {
                    (self.subject.counter_of(n), self.subject.profile.gp_width, RESETS + 8 * u64::from(n))
                }
                _ => {
                    let fixed = n - 32;
                    (0x309 + fixed, self.subject.profile.fixed_width(), FIXED_RESETS + 8 * u64::from(fixed))
                }
            };
            if let Some(reset) = store.word(area.wrapping_add(offset)) {
                let expected = reset & low_bits(width.into());
                same("counter after its record", self.read_or_0(address), expected)?;
            }
        }
        Ok(())
    }

    /// One of these counters has its ADAPTIVE bit.
    fn adapts(&mut self, counters: u64) -> bool {
        let fixed = self.read_or_0(FIXED_CTR_CTRL);
        (0..32).any(|n| {
            let gp = counters >> n & 1 != 0 && self.read_or_0(self.subject.select_of(n)) >> 34 & 1 != 0;
            gp || n < 8 && counters >> (32 + n) & 1 != 0 && fixed >> (32 + 4 * n) & 1 != 0
        })
    }

    /// What IBS makes of it is what its model does.
    fn sample_ibs(&mut self) -> Checked {
        let tags = self.pmu.ibs_tags();
        if !tags.any() {
            return Ok(());
        }
        self.check_ibs()?;
        let sample = self.retirement.ibs();
        let control = self.read_or_0(0xC001_103A);
        let answer = self.pmu.ibs_sample(tags, &sample, &mut self.totals);
        let Some(ibs) = &mut self.ibs else { return Err(String::from("tags without IBS")) };
        let sampled = ibs.sample(tags, &sample);
        same("sampled by IBS", answer.sampled, sampled)?;
        let entry = (sampled.any() && control >> 8 & 1 != 0).then_some((control & 0xF) as u8);
        same("interrupt of IBS", answer.interrupt, entry)?;
        for (reached, noted) in [
            (Reached::IbsFetches, sampled.fetch),
            (Reached::IbsOps, sampled.op),
            (Reached::IbsDropped, sampled != tags),
        ] {
            if noted {
                self.note(reached);
            }
        }
        self.adopt_ibs()?;
        let branch = sample.branch.unwrap_or_default();
        let access = sample.access.unwrap_or_default();
        if sampled.fetch {
            same("IBS_FETCH_LINADDR", self.read_or_0(0xC001_1031), sample.address)?;
        }
        if sampled.op {
            same("IBS_OP_RIP", self.read_or_0(0xC001_1034), sample.address)?;
            same("IBS_BR_TARGET", self.read_or_0(0xC001_103B), branch.target.unwrap_or(0))?;
            let kind = u64::from(branch.returned)
                | u64::from(branch.target.is_some()) << 1
                | u64::from(branch.mispredicted) << 2
                | u64::from(sample.branch.is_some()) << 3;
            same("branch in IBS_OP_DATA", self.read_or_0(0xC001_1035) >> 34 & 0xF, kind)?;
            let kind = u64::from(access.load) | u64::from(access.store) << 1;
            same("access in IBS_OP_DATA3", self.read_or_0(0xC001_1037) & 3, kind)?;
            same("IBS_DC_LINADDR", self.read_or_0(0xC001_1038), access.address)?;
        }
        self.check_ibs()
    }

    /// A control of IBS has been written.
    pub(super) fn note_ibs_write(&mut self, index: u32, value: u64) {
        if let Some(ibs) = &mut self.ibs {
            ibs.write(index, value);
        }
    }

    /// The model takes over what is random.
    fn adopt_ibs(&mut self) -> Checked {
        let shown = crate::model::Ibs::CONTROLS.map(|index| self.read_or_0(index));
        self.ibs.as_mut().map_or(Ok(()), |ibs| ibs.adopt(shown))
    }

    /// Controls and tags are the model's.
    pub(super) fn check_ibs(&mut self) -> Checked {
        if self.ibs.is_none() || self.behind {
            return Ok(());
        }
        self.adopt_ibs()?;
        let Some(ibs) = &mut self.ibs else { return Ok(()) };
        ibs.check_tags(self.pmu.ibs_tags())
    }
}
