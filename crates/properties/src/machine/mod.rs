//! A vPMU that goes through a sequence, and what is checked on the way.
//!
//! | file | what has to hold |
//! | --- | --- |
//! | `access.rs` | every RDMSR, WRMSR and RDPMC does what the declarations say, and nothing else |
//! | `counting.rs` | counters move by what was counted; overflow, freezing and PMI follow from it |
//! | `branches.rs` | branch records with the events that they hold, and their XSAVE component |
//! | `precise.rs` | PEBS records and IBS samples |
//! | `state.rs` | saving and restoring |
//! | `look.rs` | what every register shows at any time |
//! | `beside.rs` | where the CPU has a naive model, it says the same |

mod access;
mod beside;
mod branches;
mod counting;
mod look;
mod precise;
mod state;

use crate::model::{Books, COUNTERS, Ibs, Logged, Model, Tick};
use crate::op::Op;
use crate::report::{Reached, Report};
use crate::retirement::Retirement;
use crate::subject::Subject;
use crate::totals::Totals;
use crate::{Latched, Saved};
use std::fmt::Debug;
use vpmu::{Active, CounterId, Level, ReadOutcome};

/// What was broken, in words.
pub(crate) type Checked = Result<(), String>;

/// What to go back to.
struct Snapshot {
    saved: Saved,
    model: Option<Box<dyn Model>>,
    ibs: Option<Ibs>,
    logged: Option<Logged>,
}

pub(crate) struct Machine<'a> {
    subject: &'a Subject,
    pmu: Latched,
    totals: Totals,
    /// Clock of the branch records.
    cycle: u64,
    snapshot: Option<Snapshot>,
    model: Option<Box<dyn Model>>,
    /// A naive model of IBS.
    ibs: Option<Ibs>,
    /// A naive model of the events that branch records hold.
    logged: Option<Logged>,
    /// The instruction that retires when a sample is due.
    retirement: Retirement,
    /// What the model has counted.
    books: Books,
    /// What was counted and the vPMU may not have looked at.
    unnoticed: Tick,
    behind: bool,
    report: &'a mut Report,
}

/// Complains unless both are the same.
#[allow(clippy::needless_pass_by_value, reason = "most are numbers")]
pub(crate) fn same<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Checked {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:x?}, expected {expected:x?}")) }
}

impl<'a> Machine<'a> {
    pub(crate) fn power_on(subject: &'a Subject, report: &'a mut Report) -> Self {
        Self {
            subject,
            pmu: subject.pristine.clone(),
            totals: Totals::of_engine(subject.through),
            cycle: 0,
            snapshot: None,
            model: subject.model.as_ref().map(|model| model.boxed()),
            ibs: subject.profile.has_ibs().then(|| Ibs::power_on(&subject.profile)),
            logged: subject.logs_events().then(Logged::default),
            retirement: Retirement::default(),
            books: Books::default(),
            unnoticed: Tick::default(),
            behind: false,
            report,
        }
    }

    pub(crate) fn step(&mut self, op: &Op) -> Checked {
        self.report.operations += 1;
        self.report.compared += u64::from(self.model.is_some());
        if !matches!(op, Op::Count { .. } | Op::Slots { .. }) {
            self.catch_up();
        }
        // Before anything else happens, as the engine does.
        if self.pmu.pebs_due() {
            self.write_pebs()?;
        }
        self.act(op)?;
        self.follow_branches();
        self.check_pmi()
    }

    fn act(&mut self, op: &Op) -> Checked {
        match *op {
            Op::Wrmsr { index, value } => self.wrmsr(index, value),
            Op::Rdmsr { index } => self.rdmsr(index),
            Op::Rdpmc { ecx, context } => self.rdpmc(ecx, context),
            Op::Count { occurrences, notice } => self.pass(notice, Tick::from(occurrences)),
            Op::Slots { slots, notice } => self.pass(notice, Tick::from(slots)),
            Op::SwitchMetrics { slots } => self.switch_metrics(slots),
            Op::ToOverflow { which, beyond } => self.run_to_overflow(which, beyond),
            Op::Branch { kind, levels: (from_cpl, cpl), from, to, mispredicted, cycles } => {
                self.cycle += cycles;
                let cycle = self.cycle;
                self.branch(&vpmu::BranchRecord { from, to, kind, from_cpl, cpl, mispredicted, cycle })
            }
            Op::Interrupt => self.interrupt(),
            Op::DebugException => self.debug_exception(),
            Op::Xrstors { change } => self.xrstors(change),
            Op::Migrate { fresh } => self.migrate(fresh),
            Op::Snapshot => {
                let model = self.model.as_ref().map(|model| model.boxed());
                let saved = self.pmu.save(&mut self.totals);
                let (ibs, logged) = (self.ibs.clone(), self.logged.clone());
                self.snapshot = Some(Snapshot { saved, model, ibs, logged });
                Ok(())
            }
            Op::RollBack => self.roll_back(),
            Op::Tamper { word, value, flip } => self.tamper(word, value, flip),
            Op::TakePmi => self.take_pmi(),
            Op::Retire(ref retirement) => self.retire(retirement),
            Op::Reset => self.reset(),
            Op::Look => self.look(),
        }
    }

    /// Checks everything that can be checked at any time.
    pub(crate) fn finish(&mut self) -> Checked {
        self.catch_up();
        self.sync();
        if self.pmu.pebs_due() {
            self.write_pebs()?;
        }
        self.look()?;
        self.migrate(true)?;
        self.look()
    }

    /// The vPMU looks at what was counted.
    fn sync(&mut self) {
        self.pmu.sync(&mut self.totals);
        self.follow_branches();
        self.behind = false;
    }

    /// Something happens in the guest, which the vPMU may not look at yet.
    fn occur(&mut self, tick: &Tick) {
        let Some(logged) = &mut self.logged else { return self.totals.pass(tick) };
        let active: Vec<Active> = self.pmu.active().collect();
        let before: Vec<u64> = active.iter().map(|active| self.totals.of(active)).collect();
        self.totals.pass(tick);
        for (active, before) in active.iter().zip(before) {
            if let CounterId::Gp(n) = active.counter {
                logged.counted(n, self.totals.of(active) - before);
            }
        }
    }

    /// The event selects of counters whose events can be logged, where there are such.
    fn selects(&mut self) -> [u64; COUNTERS] {
        let mut selects = [0; COUNTERS];
        if self.logged.is_some() {
            for (n, select) in (0..).zip(&mut selects) {
                *select = self.read_or_0(self.subject.select_of(n));
            }
        }
        selects
    }

    /// Recording of branches may have begun or ended.
    fn follow_branches(&mut self) {
        if let Some(logged) = &mut self.logged {
            logged.follow(!self.pmu.branch_filter().is_empty());
        }
    }

    fn note(&mut self, what: Reached) {
        self.report.note(what);
    }

    /// A register's value, if it can be read now.
    fn read(&mut self, index: u32) -> Option<u64> {
        match self.pmu.read_register(Level::Kernel, index, &mut self.totals) {
            ReadOutcome::Value(value) => Some(value),
            ReadOutcome::Fault(_) | ReadOutcome::NotHandled => None,
        }
    }

    /// A register's value; 0 when the profile does not have it.
    fn read_or_0(&mut self, index: u32) -> u64 {
        self.read(index).unwrap_or(0)
    }

    fn take_pmi(&mut self) -> Checked {
        self.sync();
        let pending = self.pmu.pmi_pending();
        same("PMI taken", self.pmu.take_pmi(), pending)?;
        if let Some(model) = &mut self.model {
            same("PMI taken, by the model", pending, std::mem::take(model.pmi()))?;
        }
        if pending {
            self.note(Reached::PmiTaken);
        }
        same("PMI pending after it was taken", self.pmu.pmi_pending(), false)
    }

    fn reset(&mut self) -> Checked {
        self.pmu.reset(&mut self.totals);
        self.behind = false;
        if let Some(model) = &mut self.model {
            model.reset();
        }
        self.ibs = self.ibs.as_ref().map(|_| Ibs::power_on(&self.subject.profile));
        self.logged = self.logged.as_ref().map(|_| Logged::default());
        self.note(Reached::Resets);
        let state = self.pmu.save(&mut self.totals);
        same("state after RESET", state, self.subject.pristine.clone().save(&mut self.totals))
    }
}
