//! A vPMU whose requests for a PMI wait until they are taken, as in a local APIC that nothing reads in between.

use std::ops::{Deref, DerefMut};
use vpmu::ibs::{IbsAnswer, IbsSample, IbsTags};
use vpmu::pebs::{DebugStore, Lost, PebsSample};
use vpmu::pmu::{Ledger, RdpmcContext};
use vpmu::state::{RestoreError, VpmuState};
use vpmu::{Answer, CountsSource, Level, PmiRequests, Profile, ReadOutcome, Vpmu, WriteOutcome};

/// See the module.
#[derive(Debug, Clone)]
pub struct Latched {
    pmu: Vpmu,
    pmi: bool,
    line: bool,
}

/// A saved vPMU with its PMI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The vPMU's own state.
    pub state: VpmuState,
    /// A PMI that has not been taken.
    pub pmi: bool,
}

impl Deref for Latched {
    type Target = Vpmu;

    fn deref(&self) -> &Vpmu {
        &self.pmu
    }
}

impl DerefMut for Latched {
    fn deref_mut(&mut self) -> &mut Vpmu {
        &mut self.pmu
    }
}

impl Latched {
    /// See [`Vpmu::new`].
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self { pmu: Vpmu::new(profile), pmi: false, line: false }
    }

    fn latch<T>(&mut self, answer: Answer<T>) -> T {
        let (outcome, requests) = answer.into_parts();
        self.note(requests);
        outcome
    }

    fn note(&mut self, requests: PmiRequests) {
        self.line = requests.line().unwrap_or(self.line);
        requests.deliver(|| self.pmi = true);
    }

    /// See [`Vpmu::read_register`].
    pub fn read_register(&mut self, level: Level, index: u32, source: &mut impl CountsSource) -> ReadOutcome {
        let answer = self.pmu.read_register(level, index, source);
        self.latch(answer)
    }

    /// See [`Vpmu::write_register`].
    pub fn write_register(
        &mut self,
        level: Level,
        index: u32,
        value: u64,
        source: &mut impl CountsSource,
    ) -> WriteOutcome {
        let answer = self.pmu.write_register(level, index, value, source);
        self.latch(answer)
    }

    /// See [`Vpmu::rdpmc`].
    pub fn rdpmc(&mut self, ecx: u32, context: RdpmcContext, source: &mut impl CountsSource) -> ReadOutcome {
        let answer = self.pmu.rdpmc(ecx, context, source);
        self.latch(answer)
    }

    /// See [`Vpmu::sync`].
    pub fn sync(&mut self, source: &mut impl CountsSource) {
        let requests = self.pmu.sync(source);
        self.note(requests);
    }

    /// See [`Vpmu::ledger`]; brings the counters up to date first.
    pub fn ledger(&mut self, source: &mut impl CountsSource) -> &Ledger {
        self.sync(source);
        self.pmu.ledger()
    }

    /// See [`Vpmu::save`].
    pub fn save(&mut self, source: &mut impl CountsSource) -> Saved {
        let answer = self.pmu.save(source);
        let state = self.latch(answer);
        Saved { state, pmi: self.pmi }
    }

    /// See [`Vpmu::restore`].
    ///
    /// # Errors
    /// As there; nothing changes.
    pub fn restore(&mut self, saved: &Saved, source: &mut impl CountsSource) -> Result<(), RestoreError> {
        // Overflows until now are this vPMU's, whether or not it is replaced.
        self.sync(source);
        self.pmu.restore(&saved.state, source)?;
        self.pmi = saved.pmi;
        self.line = self.pmu.interrupt_line();
        Ok(())
    }

    /// See [`Vpmu::reset`].
    pub fn reset(&mut self, source: &mut impl CountsSource) {
        self.pmu.reset(source);
        self.pmi = false;
        self.line = self.pmu.interrupt_line();
    }

    /// See [`Vpmu::write_pebs`].
    pub fn write_pebs(
        &mut self,
        sample: &PebsSample,
        store: &mut dyn DebugStore,
        source: &mut impl CountsSource,
    ) -> Option<Result<(), Lost>> {
        let answer = self.pmu.write_pebs(sample, store, source);
        self.note(answer.pmis);
        answer.record
    }

    /// See [`Vpmu::ibs_sample`].
    pub fn ibs_sample(
        &mut self,
        tags: IbsTags,
        sample: &IbsSample,
        source: &mut impl CountsSource,
    ) -> IbsAnswer {
        let answer = self.pmu.ibs_sample(tags, sample, source);
        self.latch(answer)
    }

    /// Takes the PMI.
    pub fn take_pmi(&mut self) -> bool {
        std::mem::take(&mut self.pmi)
    }

    /// The level of an Arm CPU's interrupt line, as the vPMU has told it.
    #[must_use]
    pub fn line(&self) -> bool {
        self.line
    }

    /// True while a PMI waits.
    #[must_use]
    pub fn pmi_pending(&self) -> bool {
        self.pmi
    }
}
