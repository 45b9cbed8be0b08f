//! The naive model beside the vPMU.

use super::{Checked, Machine, same};
use crate::model::{Books, Tick};
use crate::op::Notice;
use crate::report::Reached;
use std::mem;
use vpmu::pmu::RdpmcContext;
use vpmu::{CounterId, Level, ReadOutcome, WriteOutcome};

impl Machine<'_> {
    /// Something is counted.
    pub(super) fn pass(&mut self, notice: Notice, tick: Tick) -> Checked {
        if notice == Notice::Later {
            self.occur(&tick);
            self.unnoticed.events.extend(tick.events);
            self.unnoticed.slots.extend(tick.slots);
            self.behind = true;
            return Ok(());
        }
        self.catch_up();
        if notice == Notice::AtOnce {
            self.count(&tick)?;
        } else {
            self.occur(&tick);
            if self.totals.deadline_reached() {
                self.note(Reached::Deadlines);
                self.pmu.sync(&mut self.totals);
                // An engine that stops where nothing overflows would stop there for ever.
                same(
                    "deadline is still reached after it was noticed",
                    self.totals.deadline_reached(),
                    false,
                )?;
            }
        }
        self.behind = false;
        if let Some(model) = &mut self.model {
            model.tick(&tick, &mut self.books);
        }
        if let Some(ibs) = &mut self.ibs {
            ibs.tick(&tick);
        }
        Ok(())
    }

    /// What the vPMU has not heard of yet reaches the model, as one batch as the vPMU will see it.
    pub(super) fn catch_up(&mut self) {
        let tick = mem::take(&mut self.unnoticed);
        if let Some(ibs) = &mut self.ibs {
            ibs.tick(&tick);
        }
        let Some(model) = self.model.as_mut().filter(|_| self.behind) else { return };
        if model.freezes() {
            self.pmu.sync(&mut self.totals);
        }
        model.tick(&tick, &mut self.books);
    }

    /// The PMI request is there as soon as the vPMU can know of it.
    pub(super) fn check_pmi(&mut self) -> Checked {
        let Some(model) = self.model.as_mut().filter(|_| !self.behind) else { return Ok(()) };
        same("PMI request, by the model", self.pmu.pmi_pending(), *model.pmi())
    }

    /// An outcome as the model has it.
    pub(super) fn check_write(&mut self, index: u32, value: u64, outcome: WriteOutcome) -> Checked {
        let expected = self.model.as_mut().and_then(|model| model.wrmsr(index, value));
        expected.map_or(Ok(()), |expected| same("WRMSR, by the model", outcome, expected))
    }

    pub(super) fn check_read(&self, index: u32, outcome: ReadOutcome) -> Checked {
        let expected = self.model.as_ref().and_then(|model| model.rdmsr(index));
        let what = || format!("RDMSR {index:#x}, by the model");
        expected.map_or(Ok(()), |expected| same(&what(), outcome, expected))
    }

    pub(super) fn check_rdpmc(&mut self, ecx: u32, context: RdpmcContext, outcome: ReadOutcome) -> Checked {
        let expected = self.model.as_mut().map(|model| model.rdpmc(ecx, context));
        expected.map_or(Ok(()), |expected| same("RDPMC, by the model", outcome, expected))
    }

    /// Every register, and of Intel's counters the ledger, which holds every occurrence that was counted, whatever
    /// happened to the counters.
    pub(super) fn check_model(&mut self) -> Checked {
        if self.model.is_none() {
            return Ok(());
        }
        for slot in &self.subject.slots {
            let outcome = self.pmu.read_register(Level::Kernel, slot.index, &mut self.totals);
            self.check_read(slot.index, outcome)?;
        }
        if self.subject.profile.intel().is_none() {
            return Ok(());
        }
        let ledger = self.pmu.ledger(&mut self.totals);
        let mut found = Books::default();
        for (key, count) in ledger.entries() {
            match key.counter {
                CounterId::Gp(n) => found.gp[usize::from(n)] += count,
                CounterId::Fixed(n) => found.fixed[usize::from(n)] += count,
                CounterId::Metric(n) => return Err(format!("the ledger has an entry for metric {n}")),
                CounterId::Ibs(n) => return Err(format!("the ledger has an entry for IBS {n}")),
            }
        }
        let topdown = ledger.topdown();
        let [a, b, c, d, ..] = topdown.fields;
        found.metrics = [topdown.slots, a, b, c, d];
        same("ledger", &found, &self.books)
    }
}
