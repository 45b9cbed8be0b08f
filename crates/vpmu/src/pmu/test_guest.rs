//! The guest of the tests: accesses that have to go well, or to fault, and the PMIs that they request.

use crate::pmu::{Fault, RdpmcContext};
use crate::profile::Profile;
use crate::source::ScriptedSource;
use crate::state::VpmuState;
use crate::{Answer, Level, ReadOutcome, Vpmu, WriteOutcome};

pub(crate) struct Guest {
    pub(crate) pmu: Vpmu,
    pub(crate) source: ScriptedSource,
    /// A PMI has been requested since [`Guest::take_pmi`].
    pub(crate) pmi: bool,
}

impl Guest {
    pub(crate) fn on(profile: &Profile) -> Self {
        Self { pmu: Vpmu::new(profile.clone()), source: ScriptedSource::new(), pmi: false }
    }

    /// The outcome of an operation; the PMI that it requests waits for [`Guest::take_pmi`].
    pub(crate) fn note<T>(&mut self, answer: Answer<T>) -> T {
        answer.deliver(|| self.pmi = true)
    }

    pub(crate) fn sync(&mut self) {
        self.pmu.sync(&mut self.source).deliver(|| self.pmi = true);
    }

    pub(crate) fn take_pmi(&mut self) -> bool {
        core::mem::take(&mut self.pmi)
    }

    pub(crate) fn save(&mut self) -> VpmuState {
        let state = self.pmu.save(&mut self.source);
        self.note(state)
    }

    pub(crate) fn wrmsr(&mut self, index: u32, value: u64) {
        let answer = self.pmu.write_register(Level::Kernel, index, value, &mut self.source);
        assert_eq!(self.note(answer), WriteOutcome::Done, "{index:#x}={value:#x}");
    }

    pub(crate) fn fault(&mut self, index: u32, value: u64) -> Fault {
        let answer = self.pmu.write_register(Level::Kernel, index, value, &mut self.source);
        match self.note(answer) {
            WriteOutcome::Fault(fault) => fault,
            other => panic!("wrmsr {index:#x} = {value:#x}: {other:?}"),
        }
    }

    pub(crate) fn rdmsr(&mut self, index: u32) -> u64 {
        let answer = self.pmu.read_register(Level::Kernel, index, &mut self.source);
        match self.note(answer) {
            ReadOutcome::Value(value) => value,
            other => panic!("rdmsr {index:#x}: {other:?}"),
        }
    }

    pub(crate) fn rdpmc(&mut self, ecx: u32) -> ReadOutcome {
        let answer = self.pmu.rdpmc(ecx, RdpmcContext::RING0, &mut self.source);
        self.note(answer)
    }
}
