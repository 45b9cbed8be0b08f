//! The guest of the tests: MRS and MSR by the names of registers.

use crate::event::Event;
use crate::profile::{FALKOR, Profile};
use crate::register::index_by_name;
use crate::source::{Level, ScriptedSource};
use crate::state::VpmuState;
use crate::{Answer, Fault, PmiRequests, ReadOutcome, Vpmu, WriteOutcome};
use alloc::format;

pub(super) struct Guest {
    pub(super) pmu: Vpmu,
    pub(super) source: ScriptedSource,
    pub(super) level: Level,
    /// Level of the interrupt line, as answers have told it.
    pub(super) line: bool,
}

/// Number of a register.
pub(super) fn register(name: &str) -> u32 {
    index_by_name(name).unwrap_or_else(|| panic!("no register {name}"))
}

impl Guest {
    pub(super) fn on(profile: Profile) -> Self {
        Self { pmu: Vpmu::new(profile), source: ScriptedSource::new(), level: Level::Kernel, line: false }
    }

    pub(super) fn falkor() -> Self {
        Self::on(FALKOR)
    }

    /// What an operation ends in.
    fn note<T>(&mut self, answer: Answer<T>) -> T {
        let (outcome, requests) = answer.into_parts();
        self.apply(&requests);
        outcome
    }

    /// Answers tell each change of the line, once.
    fn apply(&mut self, requests: &PmiRequests) {
        assert_eq!(requests.count(), 0, "an Arm CPU has a line");
        if let Some(line) = requests.line() {
            assert_ne!(line, self.line, "told twice");
            self.line = line;
        }
        assert_eq!(self.line, self.pmu.interrupt_line());
    }

    pub(super) fn read(&mut self, register: u32) -> ReadOutcome {
        let answer = self.pmu.read_register(self.level, register, &mut self.source);
        self.note(answer)
    }

    pub(super) fn write(&mut self, register: u32, value: u64) -> WriteOutcome {
        let answer = self.pmu.write_register(self.level, register, value, &mut self.source);
        self.note(answer)
    }

    #[track_caller]
    pub(super) fn mrs(&mut self, name: &str) -> u64 {
        match self.read(register(name)) {
            ReadOutcome::Value(value) => value,
            outcome => panic!("mrs {name}: {outcome:?}"),
        }
    }

    #[track_caller]
    pub(super) fn msr(&mut self, name: &str, value: u64) {
        assert_eq!(self.write(register(name), value), WriteOutcome::Done, "msr {name}, {value:#x}");
    }

    #[track_caller]
    pub(super) fn read_fault(&mut self, name: &str) -> Fault {
        match self.read(register(name)) {
            ReadOutcome::Fault(fault) => fault,
            outcome => panic!("mrs {name}: {outcome:?}"),
        }
    }

    #[track_caller]
    pub(super) fn write_fault(&mut self, name: &str, value: u64) -> Fault {
        match self.write(register(name), value) {
            WriteOutcome::Fault(fault) => fault,
            outcome => panic!("msr {name}, {value:#x}: {outcome:?}"),
        }
    }

    /// Event counter `n` counts this from now on, enabled; PMCR_EL0.E is set.
    pub(super) fn count(&mut self, n: u32, event: u64) {
        self.msr(&format!("PMEVTYPER{n}"), event);
        self.msr("PMCNTENSET", 1 << n);
        self.msr("PMCR", 1);
    }

    pub(super) fn counter(&mut self, n: u32) -> u64 {
        self.mrs(&format!("PMEVCNTR{n}"))
    }

    pub(super) fn set_counter(&mut self, n: u32, value: u64) {
        self.msr(&format!("PMEVCNTR{n}"), value);
    }

    /// Occurrences at EL1 and at EL0.
    pub(super) fn happen(&mut self, event: Event, kernel: u64, user: u64) {
        self.source.add_os(event, kernel);
        self.source.add_user(event, user);
    }

    pub(super) fn sync(&mut self) {
        let requests = self.pmu.sync(&mut self.source);
        self.apply(&requests);
    }

    pub(super) fn save(&mut self) -> VpmuState {
        let answer = self.pmu.save(&mut self.source);
        self.note(answer)
    }

    pub(super) fn reset(&mut self) {
        self.pmu.reset(&mut self.source);
        self.line = self.pmu.interrupt_line();
    }
}
