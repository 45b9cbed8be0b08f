//! The vPMU in the machine: the state machine of `crates/vpmu`, its counts source, the trace of
//! accesses and the measuring windows.

mod injections;
pub mod interval;
mod stats;
mod tape;
pub mod trace;
pub mod window;

pub use injections::{Injection, PlannedFault};
pub use stats::AccessStats;
pub use tape::{Divergence, Recorder, ReplayReport, Replayer, TapeError};

use crate::counts::{Slice, Source};
use crate::machine::error::{SaveRestoreError, StateError};
use crate::machine::exceptions::MsrAccess;
use injections::Injections;
use interval::{Interval, IntervalRecorder};
use platform::time::GuestTime;
use serde::{Deserialize, Serialize};
use tape::{Asked, Tape};
use trace::{Access, Tracer};
use vpmu::event::ArchEvent;
use vpmu::ibs::{IbsAnswer, IbsSample, IbsTags};
use vpmu::inject::Skid;
use vpmu::pebs::{DebugStore, PebsAnswer, PebsSample};
use vpmu::pmu::{CounterId, Fault, LBR_COMPONENT_WORDS, Ledger, LedgerKey, RdpmcContext};
use vpmu::register::rdpmc_msr;
use vpmu::source::{EventRequest, PrivilegeFilter};
use vpmu::state::VpmuState;
use vpmu::{
    Answer, BranchFilter, BranchRecord, Level, PmiRequests, Profile, Provenance, ReadOutcome, TopdownSlots,
    Vpmu, WriteOutcome,
};
use window::{RecorderState, WindowRecorder};

/// Where an access comes from, for the trace.
#[derive(Debug, Clone, Copy, Default)]
pub struct Origin {
    /// Guest time.
    pub now: GuestTime,
    /// Address of the instruction, when the engine knows it at no cost.
    pub rip: Option<u64>,
}

/// CPL 0, and above it.
const LEVELS: [PrivilegeFilter; 2] =
    [PrivilegeFilter { os: true, usr: false }, PrivilegeFilter { os: false, usr: true }];

/// The saved state of a [`PmuDevice`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PmuState {
    vpmu: VpmuState,
    counted: Vec<(LedgerKey, u64)>,
    topdown: TopdownSlots,
    dropped: u64,
    windows: RecorderState,
    intervals: IntervalRecorder,
    stats: AccessStats,
}

/// The vPMU of the machine's vCPU.
#[derive(Debug)]
pub struct PmuDevice {
    vpmu: Vpmu,
    source: Box<dyn Source>,
    tracer: Option<Tracer>,
    windows: WindowRecorder,
    intervals: IntervalRecorder,
    /// What the guest wrote to the label port last.
    label: String,
    stats: AccessStats,
    /// Instructions retired, of an engine that counts them.
    instructions: Option<u64>,
    injections: Injections,
    tape: Tape,
}

impl PmuDevice {
    /// A vPMU in its RESET state.
    #[must_use]
    pub fn new(profile: Profile, source: Box<dyn Source>, tracer: Option<Tracer>) -> Self {
        Self {
            vpmu: Vpmu::new(profile),
            source,
            tracer,
            windows: WindowRecorder::default(),
            intervals: IntervalRecorder::default(),
            label: String::new(),
            stats: AccessStats::default(),
            instructions: None,
            injections: Injections::default(),
            tape: Tape::default(),
        }
    }

    /// From here on faults happen as planned, and interrupts are late.
    pub fn inject(&mut self, plan: &[PlannedFault], skid: Option<Skid>) {
        self.injections = Injections::start(&mut self.vpmu, plan, skid);
    }

    /// From here on what the guest asks and gets is recorded.
    pub fn record(&mut self, recorder: Recorder) {
        self.tape.recorder = Some(recorder);
    }

    /// From here on the guest gets what is in a recording, until it asks for something else.
    pub fn replay(&mut self, replayer: Replayer) {
        self.tape.replayer = Some(Box::new(replayer));
    }

    /// What has become of a replay.
    #[must_use]
    pub fn replayed(&self) -> Option<ReplayReport> {
        self.tape.report()
    }

    /// What has become of planned faults.
    #[must_use]
    pub fn injections(&self) -> &[Injection] {
        self.injections.rows()
    }

    /// So many instructions have retired.
    pub fn set_instructions(&mut self, retired: u64) {
        self.instructions = Some(retired);
        self.vpmu.set_instructions(retired);
    }

    /// Instructions until a fault or a late interrupt is due.
    #[must_use]
    pub fn until_injection(&self) -> Option<u64> {
        let due = [self.vpmu.until_injection(), self.tape.until_due(self.instructions)];
        due.into_iter().flatten().min()
    }

    /// Does what is due now.
    pub fn inject_due(&mut self) -> PmiRequests {
        if self.until_injection() != Some(0) {
            return PmiRequests::NONE;
        }
        let pmis = self.vpmu.inject_due(&mut *self.source);
        self.note_pmis(pmis)
    }

    /// The CPU waits for an interrupt: see [`Vpmu::end_skid`].
    pub fn end_skid(&mut self) -> PmiRequests {
        let pmis = self.vpmu.end_skid();
        self.note_pmis(pmis)
    }

    /// Notes what has gone wrong.
    pub fn follow_injections(&mut self, now: GuestTime) {
        if !self.injections.is_active() {
            return;
        }
        let Self { vpmu, tracer, injections, instructions, .. } = self;
        injections.follow(vpmu, instructions.is_some(), now, |injection| {
            if let Some(tracer) = tracer {
                tracer.injected(injection.line, &injection.fault, now);
            }
        });
    }

    /// The profile shown to the guest.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        self.vpmu.profile()
    }

    /// The counts source.
    #[must_use]
    pub fn source(&self) -> &dyn Source {
        &*self.source
    }

    /// Totals of the source at CPL 0 and above it.
    pub(crate) fn totals(&mut self, request: &EventRequest) -> [u64; 2] {
        LEVELS.map(|filter| self.source.total(request, filter))
    }

    /// Slots by category at CPL 0 and above it, where the source knows them.
    pub(super) fn topdown(&mut self) -> [TopdownSlots; 2] {
        LEVELS.map(|filter| self.source.topdown(filter).unwrap_or_default())
    }

    /// From here on counts come from another source. Counters keep what they have.
    ///
    /// # Errors
    /// As [`save_and_restore`](Self::save_and_restore).
    pub fn replace_source(&mut self, source: Box<dyn Source>) -> Answer<Result<(), SaveRestoreError>> {
        let (state, pmis) = self.vpmu.save(&mut *self.source).into_parts();
        self.source = source;
        Answer::new(self.restart_from(&state), pmis)
    }

    /// What a count of this request is worth.
    #[must_use]
    pub fn provenance(&self, request: &EventRequest) -> Provenance {
        request.provenance(&*self.source)
    }

    /// CPUID.0AH:EBX bits of the architectural events that the profile has and the source cannot count.
    ///
    /// "Not available" is what the guest should know: it then does without, where a counter that stands
    /// still would look like a measurement.
    #[must_use]
    pub fn unavailable_events(&self) -> u32 {
        if let Some(recorded) = self.tape.unavailable_events() {
            return recorded;
        }
        let profile = self.profile();
        let announced = profile.intel().map_or(0, |pmu| pmu.arch_events);
        ArchEvent::ALL.into_iter().filter(|arch| arch.bit < announced).fold(0, |bits, arch| {
            let known = profile.events.resolve(arch.code);
            let request = EventRequest::resolved(arch.code, &known, known.counters.trailing_zeros());
            let absent = self.provenance(&request) == Provenance::Unknown;
            bits | u32::from(absent) << arch.bit
        })
    }

    /// How many accesses there were.
    #[must_use]
    pub fn stats(&self) -> &AccessStats {
        &self.stats
    }

    /// RDMSR by the guest. Nothing is noted of registers that are not the PMU's.
    pub fn rdmsr(&mut self, index: u32, origin: Origin) -> Answer<ReadOutcome> {
        self.read_register(Level::Kernel, index, origin)
    }

    /// RDMSR, or MRS of a system register. Nothing is noted of registers that are not the PMU's.
    pub fn read_register(&mut self, level: Level, index: u32, origin: Origin) -> Answer<ReadOutcome> {
        let answer = self.vpmu.read_register(level, index, &mut *self.source);
        let (outcome, pmis) = answer.into_parts();
        if outcome == ReadOutcome::NotHandled {
            return Answer::new(outcome, pmis);
        }
        let outcome =
            self.tape.read(Asked::Read { level, index }, outcome, self.instructions, self.vpmu.profile());
        self.stats.rdmsr += 1;
        self.note_read(Access::Rdmsr, index, outcome, origin);
        let pmis = self.note_pmis(pmis);
        if let ReadOutcome::Value(value) = outcome {
            self.counter_read(Some(index), value);
        }
        Answer::new(outcome, pmis)
    }

    /// WRMSR by the guest. Nothing is noted of registers that are not the PMU's.
    pub fn wrmsr(&mut self, index: u32, value: u64, origin: Origin) -> Answer<WriteOutcome> {
        self.write_register(Level::Kernel, index, value, origin)
    }

    /// WRMSR, or MSR of a system register. Nothing is noted of registers that are not the PMU's.
    pub fn write_register(
        &mut self,
        level: Level,
        index: u32,
        value: u64,
        origin: Origin,
    ) -> Answer<WriteOutcome> {
        let before = self.windows.before_write(index, &mut self.vpmu, &mut *self.source);
        let (before, mut pmis) = before.into_parts();
        let (outcome, more) = self.vpmu.write_register(level, index, value, &mut *self.source).into_parts();
        pmis += more;
        if outcome == WriteOutcome::NotHandled {
            return Answer::new(outcome, pmis);
        }
        let written = (level, index, value);
        let outcome = self.tape.write(written, outcome, self.instructions, self.vpmu.profile());
        self.windows.after_write(before, index, value, outcome, &self.vpmu, &mut *self.source);
        self.stats.wrmsr += 1;
        if matches!(outcome, WriteOutcome::Fault(_)) {
            self.stats.faults += 1;
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.write(self.vpmu.profile(), index, value, outcome, origin);
        }
        Answer::new(outcome, self.note_pmis(pmis))
    }

    /// RDPMC by the guest.
    pub fn rdpmc(&mut self, ecx: u32, context: RdpmcContext, origin: Origin) -> Answer<ReadOutcome> {
        let (outcome, pmis) = self.vpmu.rdpmc(ecx, context, &mut *self.source).into_parts();
        let outcome = self.tape.read(Asked::Rdpmc { ecx }, outcome, self.instructions, self.vpmu.profile());
        self.stats.rdpmc += 1;
        self.note_read(Access::Rdpmc, ecx, outcome, origin);
        let pmis = self.note_pmis(pmis);
        if let ReadOutcome::Value(value) = outcome {
            self.counter_read(rdpmc_msr(self.vpmu.profile().vendor(), ecx), value);
        }
        Answer::new(outcome, pmis)
    }

    /// See [`Vpmu::interrupt_line`].
    #[must_use]
    pub fn interrupt_line(&self) -> bool {
        self.tape.line().unwrap_or_else(|| self.vpmu.interrupt_line())
    }

    /// Which taken branches the guest wants recorded; see [`Vpmu::branch_filter`].
    #[must_use]
    pub fn branch_filter(&self) -> BranchFilter {
        self.vpmu.branch_filter()
    }

    /// The guest has taken a branch.
    pub fn record_branch(&mut self, branch: &BranchRecord) {
        if self.vpmu.logs_events() {
            self.vpmu.record_branch_with_events(branch, &mut *self.source);
        } else {
            self.vpmu.record_branch(branch);
        }
    }

    /// See [`Vpmu::logs_events`].
    #[must_use]
    pub fn logs_branch_events(&self) -> bool {
        self.vpmu.logs_events()
    }

    /// See [`Vpmu::interrupted`].
    pub fn interrupted(&mut self) {
        self.vpmu.interrupted();
    }

    /// See [`Vpmu::debug_exception`].
    pub fn debug_exception(&mut self) {
        self.vpmu.debug_exception();
    }

    /// See [`Vpmu::steps_on_branches`].
    #[must_use]
    pub fn steps_on_branches(&self) -> bool {
        self.vpmu.steps_on_branches()
    }

    /// See [`Vpmu::lbr_component_words`].
    #[must_use]
    pub fn lbr_component_words(&self) -> usize {
        self.vpmu.lbr_component_words()
    }

    /// See [`Vpmu::save_lbr_component`].
    pub fn save_lbr_component(&self, words: &mut [u64; LBR_COMPONENT_WORDS]) {
        self.vpmu.save_lbr_component(words);
    }

    /// See [`Vpmu::restore_lbr_component`].
    ///
    /// # Errors
    /// Bits that the registers do not have, or no such records; nothing changes.
    pub fn restore_lbr_component(&mut self, words: Option<&[u64; LBR_COMPONENT_WORDS]>) -> Result<(), Fault> {
        self.vpmu.restore_lbr_component(words)
    }

    /// See [`Vpmu::pebs_armed`].
    #[must_use]
    pub fn pebs_armed(&self) -> bool {
        self.vpmu.pebs_armed()
    }

    /// The next run may end in an instruction that a PEBS record is about, because a counter of instructions writes
    /// them.
    #[must_use]
    pub fn runs_through_samples(&self) -> bool {
        self.source.runs_through_samples() && self.vpmu.pebs_samples_instructions()
    }

    /// See [`Vpmu::pebs_wants_access`].
    #[must_use]
    pub fn pebs_wants_access(&self) -> bool {
        self.vpmu.pebs_wants_access()
    }

    /// See [`Vpmu::pebs_due`].
    #[must_use]
    pub fn pebs_due(&self) -> bool {
        self.vpmu.pebs_due()
    }

    /// See [`Vpmu::write_pebs`].
    pub fn write_pebs(
        &mut self,
        sample: &PebsSample,
        store: &mut dyn DebugStore,
        origin: Origin,
    ) -> PmiRequests {
        let PebsAnswer { record, pmis } = self.vpmu.write_pebs(sample, store, &mut *self.source);
        match record {
            Some(Ok(())) => self.stats.pebs_records += 1,
            Some(Err(_)) => self.stats.pebs_lost += 1,
            None => {}
        }
        if let (Some(tracer), Some(record)) = (&mut self.tracer, record) {
            tracer.pebs(record, origin);
        }
        self.note_pmis(pmis)
    }

    /// See [`Vpmu::ibs_tags`].
    #[must_use]
    pub fn ibs_tags(&self) -> IbsTags {
        self.vpmu.ibs_tags()
    }

    /// See [`Vpmu::ibs_sample`].
    pub fn ibs_sample(
        &mut self,
        tags: IbsTags,
        sample: &IbsSample,
        origin: Origin,
    ) -> (IbsAnswer, PmiRequests) {
        let (answer, pmis) = self.vpmu.ibs_sample(tags, sample, &mut *self.source).into_parts();
        self.stats.ibs_samples += u64::from(answer.sampled.fetch) + u64::from(answer.sampled.op);
        if let Some(tracer) = self.tracer.as_mut().filter(|_| answer.sampled.any()) {
            tracer.ibs(answer.sampled, origin);
        }
        (answer, self.note_pmis(pmis))
    }

    /// See [`Vpmu::skip_branches`].
    pub fn skip_branches(&mut self, count: u64) {
        self.vpmu.skip_branches(count);
    }

    /// See [`Vpmu::needs_every_branch`].
    #[must_use]
    pub fn needs_every_branch(&self) -> bool {
        self.vpmu.needs_every_branch()
    }

    /// The guest has read this register, which may be a counter.
    fn counter_read(&mut self, msr: Option<u32>, value: u64) {
        let Some(id) = msr.and_then(|msr| self.vpmu.counter_at(msr)) else { return };
        self.stats.metrics += u64::from(matches!(id, CounterId::Metric(_)));
        self.windows.guest_read(id, value);
    }

    fn note_read(&mut self, access: Access, index: u32, outcome: ReadOutcome, origin: Origin) {
        if matches!(outcome, ReadOutcome::Fault(_)) {
            self.stats.faults += 1;
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.read(self.vpmu.profile(), access, index, outcome, origin);
        }
    }

    fn note_pmis(&mut self, pmis: PmiRequests) -> PmiRequests {
        let pmis = self.tape.requests(pmis, self.instructions);
        // Of a line each rise.
        let requested = u64::from(pmis.count()) + u64::from(pmis.line() == Some(true));
        if requested > 0 || self.injections.is_active() {
            // The overflow may have frozen counters.
            self.windows.refresh(&self.vpmu, &mut *self.source);
            self.stats.pmis += requested;
        }
        pmis
    }

    /// The guest has run. Overflows within the slice happen at their point in it, so that
    /// freezing and the other counters see the right moment.
    pub fn advance(&mut self, slice: Slice) -> PmiRequests {
        let mut pmis = PmiRequests::NONE;
        let mut rest = slice;
        while let Some(part) = self.source.overflow_within(rest) {
            self.source.advance(part);
            rest = rest.after(part);
            pmis += self.poll();
        }
        self.source.advance(rest);
        pmis
    }

    /// Looks for overflows now.
    pub fn poll(&mut self) -> PmiRequests {
        let pmis = self.vpmu.sync(&mut *self.source);
        self.note_pmis(pmis)
    }

    /// Notes in the trace what became of a PMI.
    pub fn trace_pmi(&mut self, delivery: &'static str, now: GuestTime) {
        if let Some(tracer) = &mut self.tracer {
            tracer.pmi(delivery, now);
        }
    }

    /// Notes in the trace an access to an MSR that is not implemented.
    pub fn trace_unknown_msr(&mut self, access: MsrAccess, origin: Origin) {
        if let Some(tracer) = &mut self.tracer {
            tracer.unknown(access, origin);
        }
    }

    /// Notes in the trace an instruction that the engine does not implement.
    pub fn trace_unimplemented(&mut self, code: &str, origin: Origin) {
        if let Some(tracer) = &mut self.tracer {
            tracer.unimplemented(code, origin);
        }
    }

    /// Names the next measuring window and the next interval.
    pub fn label_window(&mut self, label: String) {
        self.label = window::printable(label);
        self.windows.set_label(self.label.clone());
    }

    /// The guest marks the beginning of an interval.
    pub fn begin_interval(&mut self) {
        let label = std::mem::take(&mut self.label);
        // The name is used up.
        self.windows.set_label(String::new());
        self.windows.set_interval(Some(&label));
        self.intervals.begin(label, &mut *self.source);
    }

    /// The guest marks the end of an interval.
    pub fn end_interval(&mut self) {
        self.windows.set_interval(None);
        self.intervals.end(&mut *self.source);
    }

    /// The name of the interval that lasts.
    pub(super) fn interval(&self) -> Option<&str> {
        self.intervals.open()
    }

    /// The source counts in another way from here on: it is told anew what it has to look out for. Counters are up to
    /// date.
    pub(super) fn rearm(&mut self) {
        self.vpmu.rearm(&mut *self.source);
    }

    /// The intervals that the guest has marked.
    #[must_use]
    pub fn intervals(&self) -> Vec<Interval> {
        self.intervals.intervals(&*self.source)
    }

    /// The measuring windows so far.
    #[must_use]
    pub fn windows(&self) -> &[window::Window] {
        self.windows.windows()
    }

    /// How many windows found no room.
    #[must_use]
    pub fn dropped_windows(&self) -> u64 {
        self.windows.dropped()
    }

    /// What the guest has counted, for the report at the end of its run: a PMI that is due now finds no guest.
    pub fn ledger(&mut self) -> &Ledger {
        drop(self.vpmu.sync(&mut *self.source));
        self.vpmu.ledger()
    }

    /// Saves the state with what reports know: everything that [`resume`](Self::resume) needs.
    pub fn save_all(&mut self) -> Answer<PmuState> {
        let pmis = self.poll();
        let (vpmu, more) = self.vpmu.save(&mut *self.source).into_parts();
        debug_assert_eq!(more.count(), 0, "counters are up to date");
        let ledger = self.vpmu.ledger();
        let (topdown, dropped) = (*ledger.topdown(), ledger.dropped());
        let counted = ledger.entries().map(|(key, count)| (*key, count)).collect();
        let state = PmuState {
            vpmu,
            counted,
            topdown,
            dropped,
            windows: self.windows.save(),
            intervals: self.intervals.clone(),
            stats: self.stats,
        };
        Answer::new(state, pmis)
    }

    /// Goes on from a saved state, with the source's totals as they were.
    ///
    /// # Errors
    /// What no vPMU of this profile could have saved.
    pub fn resume(&mut self, saved: &PmuState) -> Result<(), StateError> {
        self.windows = WindowRecorder::resume(saved.windows.clone()).ok_or(StateError::Window)?;
        self.label = self.windows.label().to_owned();
        self.vpmu.restore(&saved.vpmu, &mut *self.source)?;
        self.vpmu.set_ledger(Ledger::resume(&saved.counted, saved.topdown, saved.dropped));
        self.stats = saved.stats;
        self.intervals = saved.intervals.clone();
        self.windows.set_interval(self.intervals.open());
        Ok(())
    }

    /// Saves the state, resets the vPMU and restores it from the serialised bytes. The answer has an error when these
    /// could not be written, read or restored.
    pub fn save_and_restore(&mut self) -> Answer<Result<(), SaveRestoreError>> {
        let pmis = self.poll();
        let (state, more) = self.vpmu.save(&mut *self.source).into_parts();
        debug_assert_eq!(more.count(), 0, "counters are up to date");
        Answer::new(self.restart_from(&state), pmis)
    }

    fn restart_from(&mut self, state: &VpmuState) -> Result<(), SaveRestoreError> {
        let bytes = serde_json::to_vec(state)?;
        self.vpmu.reset(&mut *self.source);
        Ok(self.vpmu.restore(&serde_json::from_slice(&bytes)?, &mut *self.source)?)
    }

    /// Ends a recording.
    ///
    /// # Errors
    /// The first error in writing it.
    pub fn finish_recording(&mut self) -> std::io::Result<()> {
        self.tape.finish()
    }

    /// Writes out what the trace still buffers.
    ///
    /// # Errors
    /// The first error in writing the trace file.
    pub fn finish_trace(&mut self) -> std::io::Result<()> {
        match &mut self.tracer {
            Some(tracer) => tracer.finish(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
