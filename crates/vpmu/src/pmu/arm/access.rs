//! MRS and MSR: who may, and what each register does.

use super::Arm;
use crate::bits::low_u32;
use crate::event::Event;
use crate::pmu::{Fault, ReadOutcome, WriteOutcome};
use crate::profile::BeyondLast;
use crate::register::arm::{CYCLE_COUNTER, Pmactlr, Pmcr, Pmselr, Pmuserenr, RegisterId};
use crate::register::set::RegisterSet;
use crate::register::{Access, Holder, Located, UserAccess};
use crate::source::{CountsSource, Level};

/// What an access reaches, after PMSELR_EL0.
enum Target {
    /// A register, and which instance.
    Register(RegisterId, u32),
    /// Nothing: reads as 0, writes are ignored.
    Nothing,
}

/// Which way an access goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

impl Arm {
    /// Executes MRS.
    pub(in crate::pmu) fn read(
        &mut self,
        level: Level,
        id: RegisterId,
        located: Located,
        source: &mut dyn CountsSource,
    ) -> ReadOutcome {
        let target = match self.target(level, Direction::Read, id, located) {
            Ok(target) => target,
            Err(fault) => return ReadOutcome::Fault(fault),
        };
        ReadOutcome::Value(match target {
            Target::Nothing => 0,
            Target::Register(RegisterId::Pmevcntr, n) => self.read_event_counter(n, source),
            Target::Register(RegisterId::Pmccntr, _) => self.read_cycle_counter(source),
            Target::Register(id @ RegisterId::PmovsSet, n) => {
                self.sync(source);
                self.value(id, n)
            }
            Target::Register(RegisterId::Pmceid0, _) => self.common_events(0, source),
            Target::Register(RegisterId::Pmceid1, _) => self.common_events(32, source),
            Target::Register(id, n) => self.value(id, n),
        })
    }

    /// Executes MSR. On a fault nothing has changed.
    pub(in crate::pmu) fn write(
        &mut self,
        level: Level,
        id: RegisterId,
        located: Located,
        value: u64,
        source: &mut dyn CountsSource,
    ) -> WriteOutcome {
        let (id, n) = match self.target(level, Direction::Write, id, located) {
            Ok(Target::Register(id, n)) => (id, n),
            Ok(Target::Nothing) => return WriteOutcome::Done,
            Err(fault) => return WriteOutcome::Fault(fault),
        };
        // Overflows that happened before this access come first.
        self.sync(source);
        let stored = self.masks.of(id).stored;
        let old = self.value(id, n);
        match (id, located.register.access) {
            (RegisterId::PmswInc, _) => self.count_by_software(value & stored, level),
            (_, Access::SetBits) => self.set_value(id, n, old | value & stored),
            (_, Access::ClearBits) => self.set_value(id, n, old & !(value & stored)),
            _ => self.set_value(id, n, value & stored | old & !stored),
        }
        match id {
            RegisterId::Pmcr => self.zero_counters(Pmcr(value)),
            RegisterId::Pmevtyper => self.reprogram(n),
            RegisterId::Pmresr => self.reprogram_all(),
            _ => {}
        }
        match id.register().holder {
            // A new value starts and stops nothing; it only moves a deadline.
            Holder::Counter => self.rearm(source),
            Holder::Bank | Holder::BranchStack | Holder::None => self.restart(source),
        }
        WriteOutcome::Done
    }

    /// Checks an access, and finds what it reaches.
    fn target(
        &self,
        level: Level,
        direction: Direction,
        id: RegisterId,
        located: Located,
    ) -> Result<Target, Fault> {
        let n = located.instance;
        let register = located.register;
        match (register.access, direction) {
            (Access::Indirect, _) => return Err(Fault::Absent),
            (Access::ReadOnly, Direction::Write) => return Err(Fault::ReadOnly),
            (Access::WriteOnly, Direction::Read) => return Err(Fault::WriteOnly),
            _ => {}
        }
        if !register.when.holds(&self.profile) {
            return Err(Fault::Absent);
        }
        if level == Level::User {
            self.check_user(register.user, direction)?;
        }
        if self.masks.of(id).check_present(&located).is_err() {
            return beyond(self.arm.direct_beyond);
        }
        let select = low_u32(self.bank.get::<Pmselr>().select());
        let selected = |events, cycle: Option<RegisterId>, beyond: BeyondLast| match cycle {
            _ if select < self.counters() => Ok(Target::Register(events, select)),
            Some(cycle) if select == CYCLE_COUNTER => Ok(Target::Register(cycle, 0)),
            _ => self::beyond(beyond),
        };
        match id {
            RegisterId::Pmxevtyper => {
                selected(RegisterId::Pmevtyper, Some(RegisterId::Pmccfiltr), self.arm.selected_beyond)
            }
            RegisterId::Pmxevcntr => selected(RegisterId::Pmevcntr, None, self.arm.selected_beyond),
            // Drivers that reset all elements go beyond the last.
            RegisterId::Pmxevcntcr => {
                selected(RegisterId::EventControl, Some(RegisterId::CycleControl), BeyondLast::Zero)
            }
            id => Ok(Target::Register(id.owner(), n)),
        }
    }

    /// Whether EL0 may make this access.
    fn check_user(&self, user: UserAccess, direction: Direction) -> Result<(), Fault> {
        let allowed: Pmuserenr = self.bank.get();
        let reads = direction == Direction::Read;
        let denied = Fault::Trapped;
        let (ok, fault) = match user {
            UserAccess::Never => (false, Fault::Privilege),
            UserAccess::Read => (reads, Fault::Privilege),
            UserAccess::Matrix => (self.bank.get::<Pmactlr>().user_enable(), Fault::Privilege),
            UserAccess::Enabled => (allowed.enable(), denied),
            UserAccess::SoftwareIncrement => (allowed.enable() || allowed.software_increment(), denied),
            UserAccess::CycleCounter => (allowed.enable() || reads && allowed.cycle_counter(), denied),
            UserAccess::EventCounter => (allowed.enable() || reads && allowed.event_counters(), denied),
            UserAccess::Select => (allowed.enable() || allowed.event_counters(), denied),
        };
        if ok { Ok(()) } else { Err(fault) }
    }

    /// PMCR_EL0.P and C: counters become 0, overflow flags stay.
    fn zero_counters(&mut self, written: Pmcr) {
        if written.event_reset() {
            self.events.iter_mut().for_each(|counter| counter.value = 0);
        }
        if written.cycle_reset() {
            self.cycles.value = 0;
        }
    }

    /// PMSWINC_EL0, executed at this level.
    fn count_by_software(&mut self, counters: u64, level: Level) {
        for n in (0..self.counters()).filter(|n| counters >> n & 1 != 0) {
            let width = self.width();
            let counter = &mut self.events[n as usize];
            // Enabled, with a filter that may admit the level.
            if counter.request.event == Some(Event::SwIncr) && counter.enabled && counter.filter.admits(level)
            {
                let wraps = counter.add(1, width);
                self.carry(n, wraps);
            }
        }
    }

    /// The value of a register that has one, as of the last synchronisation.
    pub(super) fn value(&self, id: RegisterId, n: u32) -> u64 {
        match id.register().holder {
            Holder::Counter if id == RegisterId::Pmccntr => self.cycles.value,
            Holder::Counter => self.events[n as usize].value,
            Holder::Bank => self.bank.word(id, n),
            Holder::BranchStack | Holder::None => 0,
        }
    }

    /// Replaces the value of a register that has one.
    pub(super) fn set_value(&mut self, id: RegisterId, n: u32, value: u64) {
        match id.register().holder {
            Holder::Counter if id == RegisterId::Pmccntr => self.cycles.value = value,
            Holder::Counter => self.events[n as usize].value = value,
            Holder::Bank => *self.bank.word_mut(id, n) = value,
            Holder::BranchStack | Holder::None => {}
        }
    }

    /// Reads one counter without touching the others, unless it has just wrapped or others may have changed it.
    fn read_event_counter(&mut self, n: u32, source: &mut dyn CountsSource) -> u64 {
        let counter = &self.events[n as usize];
        let chained = counter.request.event == Some(Event::Chain);
        if !chained && let Some(value) = counter.peek(self.width(), source) {
            return value;
        }
        self.sync(source);
        self.events[n as usize].value
    }

    /// As [`Self::read_event_counter`] for the cycle counter.
    fn read_cycle_counter(&mut self, source: &mut dyn CountsSource) -> u64 {
        if let Some(value) = self.cycles.peek(super::CYCLE_WIDTH, source) {
            return value;
        }
        self.sync(source);
        self.cycles.value
    }
}

fn beyond(beyond: BeyondLast) -> Result<Target, Fault> {
    match beyond {
        BeyondLast::Undefined => Err(Fault::Absent),
        BeyondLast::Zero => Ok(Target::Nothing),
    }
}
