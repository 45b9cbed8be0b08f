//! The vPMU and the naive model side by side.

use super::model::{HAPPENING, Model, Refused};
use super::{Op, Subject};
use crate::machine::{Checked, same};
use crate::model::{Occurrences, Tick};
use crate::op::Notice;
use crate::report::{Reached, Report};
use crate::totals::Totals;
use crate::{Latched, Saved};
use vpmu::event::Event;
use vpmu::{Active, CounterId, Fault, Level, ReadOutcome, WriteOutcome};

pub(crate) struct Machine<'a> {
    subject: &'a Subject,
    pmu: Latched,
    totals: Totals,
    model: Model,
    snapshot: Option<(Saved, Model)>,
    /// Occurrences that the vPMU may not have looked at.
    behind: bool,
    report: &'a mut Report,
}

/// What a guest sees of an outcome; `None` for a register that is not the PMU's.
fn seen<T>(outcome: Result<T, Option<Fault>>) -> Option<Result<T, Refused>> {
    match outcome {
        Ok(value) => Some(Ok(value)),
        Err(None) => None,
        Err(Some(Fault::Trapped)) => Some(Err(Refused::Trapped)),
        Err(Some(_)) => Some(Err(Refused::Undefined)),
    }
}

impl<'a> Machine<'a> {
    pub(crate) fn power_on(subject: &'a Subject, report: &'a mut Report) -> Self {
        Self {
            subject,
            pmu: subject.pristine.clone(),
            totals: Totals::default(),
            model: Model::power_on(&subject.profile),
            snapshot: None,
            behind: false,
            report,
        }
    }

    pub(crate) fn step(&mut self, op: &Op) -> Checked {
        self.report.operations += 1;
        self.report.compared += 1;
        let (line, chained) = (self.pmu.line(), self.model.chained);
        match *op {
            Op::Write { level, register, value } => self.write(level, register, value)?,
            Op::Read { level, register } => self.read(level, register)?,
            Op::Count { event, os, count, notice } => self.count(event, os, count, notice)?,
            Op::ToOverflow { which, beyond } => self.run_to_overflow(which, beyond)?,
            Op::Migrate { fresh } => self.migrate(fresh)?,
            Op::Snapshot => {
                self.snapshot = Some((self.pmu.save(&mut self.totals), self.model.clone()));
                self.behind = false;
            }
            Op::RollBack => self.roll_back()?,
            Op::Tamper { word, value, flip } => self.tamper(word, value, flip)?,
            Op::Reset => self.reset()?,
            Op::Look => self.look()?,
        }
        if self.model.chained != chained {
            self.note(Reached::Chained);
        }
        if self.behind {
            return Ok(());
        }
        if !line && self.pmu.line() {
            self.note(Reached::LinesRaised);
        }
        same("interrupt line, as answers tell it", self.pmu.line(), self.pmu.interrupt_line())?;
        same("interrupt line, by the model", self.pmu.line(), self.model.line())
    }

    /// Checks everything that can be checked at any time.
    pub(crate) fn finish(&mut self) -> Checked {
        self.look()?;
        self.migrate(true)?;
        self.look()
    }

    fn note(&mut self, what: Reached) {
        self.report.note(what);
    }

    fn sync(&mut self) {
        self.pmu.sync(&mut self.totals);
        self.behind = false;
    }

    fn note_access<T>(&mut self, seen: &Option<Result<T, Refused>>) {
        self.note(match seen {
            Some(Ok(_)) => Reached::SystemRegisters,
            Some(Err(Refused::Trapped)) => Reached::Trapped,
            Some(Err(Refused::Undefined)) => Reached::Undefined,
            None => Reached::NotOurs,
        });
    }

    fn write(&mut self, level: Level, register: u32, value: u64) -> Checked {
        let found = seen(match self.pmu.write_register(level, register, value, &mut self.totals) {
            WriteOutcome::Done => Ok(()),
            WriteOutcome::Fault(fault) => Err(Some(fault)),
            WriteOutcome::NotHandled => Err(None),
        });
        // A refused access may come before anything that happened.
        self.sync();
        self.note_access(&found);
        same("MSR", found, self.model.write(level, register, value))
    }

    fn read(&mut self, level: Level, register: u32) -> Checked {
        let found = seen(match self.pmu.read_register(level, register, &mut self.totals) {
            ReadOutcome::Value(value) => Ok(value),
            ReadOutcome::Fault(fault) => Err(Some(fault)),
            ReadOutcome::NotHandled => Err(None),
        });
        self.sync();
        self.note_access(&found);
        same("MRS", found, self.model.read(level, register))
    }

    fn count(&mut self, event: Event, os: bool, count: u64, notice: Notice) -> Checked {
        if notice == Notice::AtDeadline {
            self.sync();
        }
        self.model.tick(event, os, count);
        self.totals.pass(&Tick::from(Occurrences { event, os, each: 1, cycles: count }));
        self.behind = true;
        match notice {
            Notice::AtOnce => self.sync(),
            // What interrupts is told beforehand: without a deadline the line stays as it is.
            Notice::AtDeadline => {
                if self.totals.deadline_reached() {
                    self.note(Reached::Deadlines);
                    self.pmu.sync(&mut self.totals);
                    let reached = self.totals.deadline_reached();
                    same("deadline is still reached after it was noticed", reached, false)?;
                }
                same("interrupt line at a deadline", self.pmu.line(), self.model.line())?;
            }
            Notice::Later => {}
        }
        Ok(())
    }

    fn run_to_overflow(&mut self, which: u8, beyond: i8) -> Checked {
        self.sync();
        let running: Vec<Active> = self.pmu.active().collect();
        let Some(active) = running.get(usize::from(which) % running.len().max(1)) else { return Ok(()) };
        let distance = active.until_overflow.saturating_add_signed(beyond.into());
        let own = Totals::event(&active.request);
        let event = HAPPENING.into_iter().find(|event| Some(event.counts_as()) == own);
        // A longer count would wrap the totals.
        let Some(event) = event.filter(|_| distance < 1 << 50) else { return Ok(()) };
        self.count(event, active.filter.os, distance, Notice::AtOnce)?;
        if beyond < 0 {
            return Ok(());
        }
        self.note(Reached::ArmOverflows);
        let flags = self.pmu.read_register(Level::Kernel, super::PMOVSSET, &mut self.totals);
        let set = matches!(flags, ReadOutcome::Value(flags) if flags >> index(active.counter) & 1 != 0);
        same("overflow flag at the overflow", set, true)
    }

    fn migrate(&mut self, fresh: bool) -> Checked {
        let state = self.pmu.save(&mut self.totals);
        let active: Vec<Active> = self.pmu.active().collect();
        if fresh {
            self.model.books = [0; 32];
            self.pmu = self.subject.pristine.clone();
        }
        same("restore", self.pmu.restore(&state, &mut self.totals), Ok(()))?;
        self.behind = false;
        self.note(Reached::Saved);
        same("state after restore", self.pmu.save(&mut self.totals), state)?;
        same("running counters after restore", self.pmu.active().collect(), active)
    }

    fn roll_back(&mut self) -> Checked {
        let Some((state, model)) = self.snapshot.clone() else { return Ok(()) };
        self.model.roll_back(&model);
        same("restore of an older state", self.pmu.restore(&state, &mut self.totals), Ok(()))?;
        self.behind = false;
        self.note(Reached::RolledBack);
        same("older state after restore", self.pmu.save(&mut self.totals).state, state.state)
    }

    /// A changed state is taken as it is or refused, and then nothing changes.
    fn tamper(&mut self, word: u8, value: u64, flip: bool) -> Checked {
        let before = self.pmu.save(&mut self.totals);
        self.behind = false;
        let mut state = before.clone();
        let at = usize::from(word) % state.state.registers.len();
        if let Some(word) = state.state.registers.values_mut().nth(at) {
            *word = if flip { *word ^ value } else { value };
        }
        let taken = self.pmu.restore(&state, &mut self.totals).is_ok();
        self.note(if taken { Reached::TamperedTaken } else { Reached::TamperedRefused });
        let expected = if taken { &state } else { &before };
        let found = self.pmu.save(&mut self.totals);
        same("state after restore of a changed one", &found.state, &expected.state)?;
        // The model cannot follow.
        same("restore", self.pmu.restore(&before, &mut self.totals), Ok(()))
    }

    fn reset(&mut self) -> Checked {
        self.pmu.reset(&mut self.totals);
        self.model.reset();
        self.behind = false;
        self.note(Reached::Resets);
        let state = self.pmu.save(&mut self.totals).state;
        same("state after reset", state, self.subject.pristine.clone().save(&mut self.totals).state)
    }

    /// Every register, the ledger, and what runs.
    fn look(&mut self) -> Checked {
        self.sync();
        self.note(Reached::Looks);
        let subject = self.subject;
        for &register in &subject.registers {
            for level in [Level::Kernel, Level::User] {
                self.read(level, register).map_err(|what| format!("{register:#x} at {level:?}: {what}"))?;
            }
        }
        let mut found = [0; 32];
        for (key, count) in self.pmu.ledger(&mut self.totals).entries() {
            found[index(key.counter)] += count;
        }
        same("ledger", found, self.model.books)?;
        let interrupting = self.pmu.active().filter(|active| active.interrupts);
        let expected: Vec<(CounterId, u64)> = interrupting
            .map(|active| (active.counter, self.totals.of(&active).saturating_add(active.until_overflow)))
            .collect();
        let found = self.totals.deadlines.iter().map(|(active, deadline)| (active.counter, *deadline));
        same("deadlines", found.collect(), expected)
    }
}

/// The counter's bit.
fn index(counter: CounterId) -> usize {
    match counter {
        CounterId::Gp(n) => n.into(),
        CounterId::Fixed(_) | CounterId::Metric(_) | CounterId::Ibs(_) => 31,
    }
}
