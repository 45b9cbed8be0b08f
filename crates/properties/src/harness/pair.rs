//! A vPMU and its model, side by side.

use super::engine::Engine;
use super::op::Op;
use super::variants::Variant;
use crate::model::counting::Tick;
use crate::model::rdpmc::Privilege;
use crate::model::{Answer, Cause, Model};
use vpmu::pmu::RdpmcContext;
use vpmu::state::VpmuState;
use vpmu::{CounterId, Fault, Profile, ReadOutcome, Vpmu, WriteOutcome};

const DEBUGCTL: u32 = 0x1D9;
const FREEZE_ON_PMI: u64 = 1 << 12;

/// When the vPMU gets to know what has been counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// At accesses and deadlines, as with an engine that stops where the vPMU asked to. The PMI
    /// must then be there at once, and freezing must stop every counter at once.
    Deadlines,
    /// At accesses only, so many overflows may come at once. When freezing starts would depend on
    /// that, so the guest does not use it.
    Lazy,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Deadlines => "deadlines",
            Self::Lazy => "lazy",
        }
    }
}

pub struct Pair {
    profile: Profile,
    mode: Mode,
    pub pmu: Vpmu,
    pub engine: Engine,
    pub model: Model,
    snapshot: Option<(VpmuState, Model)>,
}

fn differ<T: std::fmt::Debug>(what: &str, vpmu: T, model: T) -> Result<(), String> {
    Err(format!("{what}: vpmu {vpmu:x?}, model {model:x?}"))
}

fn same<T: std::fmt::Debug + PartialEq>(what: &str, vpmu: T, model: T) -> Result<(), String> {
    if vpmu == model { Ok(()) } else { differ(what, vpmu, model) }
}

impl Pair {
    pub fn power_on(variant: &Variant, mode: Mode) -> Self {
        let profile = (variant.profile)();
        Self {
            mode,
            pmu: Vpmu::new(profile.clone()),
            engine: Engine::default(),
            model: Model::power_on(variant.cpu()),
            profile,
            snapshot: None,
        }
    }

    pub fn step(&mut self, op: &Op) -> Result<(), String> {
        match op {
            Op::Wrmsr { index, value } => self.wrmsr(*index, *value)?,
            Op::Rdmsr { index } => self.rdmsr(*index)?,
            Op::Rdpmc { ecx, privilege } => self.rdpmc(*ecx, *privilege)?,
            Op::Advance { ticks } => {
                for tick in ticks {
                    self.tick(tick)?;
                }
            }
            Op::Migrate { fresh } => self.migrate(*fresh)?,
            Op::Snapshot => self.snapshot = Some((self.pmu.save(&mut self.engine), self.model.clone())),
            Op::RollBack => self.roll_back()?,
            Op::TakePmi => {
                self.catch_up();
                same("PMI taken", self.pmu.take_pmi(), self.model.take_pmi())?;
            }
            Op::Reset => {
                self.pmu.reset(&mut self.engine);
                self.model.reset();
            }
            Op::LookAtAll => self.compare_everything()?,
        }
        if self.mode == Mode::Deadlines {
            same("PMI request", self.pmu.pmi_pending(), self.model.pmi)?;
        }
        Ok(())
    }

    /// What an engine without deadlines does before it looks for a PMI.
    fn catch_up(&mut self) {
        if self.mode == Mode::Lazy {
            self.pmu.sync(&mut self.engine);
        }
    }

    fn tick(&mut self, tick: &Tick) -> Result<(), String> {
        self.engine.advance(tick);
        self.model.tick(tick);
        if self.mode == Mode::Lazy {
            return Ok(());
        }
        if self.engine.deadline_reached() {
            self.pmu.sync(&mut self.engine);
            // An engine that stops where nothing overflows would stop there for ever.
            same("deadline is still reached after sync", self.engine.deadline_reached(), false)?;
        }
        same("PMI request in the run", self.pmu.pmi_pending(), self.model.pmi)
    }

    fn wrmsr(&mut self, index: u32, mut value: u64) -> Result<(), String> {
        if self.mode == Mode::Lazy && index == DEBUGCTL {
            value &= !FREEZE_ON_PMI;
        }
        let vpmu = match self.pmu.write_msr(index, value, &mut self.engine) {
            WriteOutcome::Done => Answer::Done,
            WriteOutcome::Fault(fault) => Answer::Gp(cause(fault)),
            WriteOutcome::NotHandled => Answer::Unclaimed,
        };
        agree("WRMSR", vpmu, self.model.wrmsr(index, value))
    }

    fn rdmsr(&mut self, index: u32) -> Result<(), String> {
        let vpmu = answer(self.pmu.read_msr(index, &mut self.engine));
        agree("RDMSR", vpmu, self.model.rdmsr(index)).map_err(|what| format!("{index:#x}: {what}"))
    }

    fn rdpmc(&mut self, ecx: u32, privilege: Privilege) -> Result<(), String> {
        let context =
            RdpmcContext { cpl: privilege.cpl, pce: privilege.cr4_pce, protected_mode: privilege.cr0_pe };
        let vpmu = answer(self.pmu.rdpmc(ecx, context, &mut self.engine));
        agree("RDPMC", vpmu, self.model.rdpmc(ecx, privilege)).map_err(|what| format!("{ecx:#x}: {what}"))
    }

    fn migrate(&mut self, fresh: bool) -> Result<(), String> {
        let state = self.pmu.save(&mut self.engine);
        if fresh {
            self.compare_books()?;
            self.pmu = Vpmu::new(self.profile.clone());
            self.model.counted_gp = [0; 8];
            self.model.counted_fixed = [0; 4];
            self.model.counted_metrics = [0; 5];
        }
        self.pmu.restore(&state, &mut self.engine).map_err(|error| format!("restore: {error}"))?;
        same("state after restore", &self.pmu.save(&mut self.engine), &state)
    }

    /// The guest's state goes back; what was counted since stays in the books, and nowhere else.
    fn roll_back(&mut self) -> Result<(), String> {
        let Some((state, model)) = self.snapshot.clone() else { return Ok(()) };
        self.pmu.restore(&state, &mut self.engine).map_err(|error| format!("restore: {error}"))?;
        self.model = Model {
            counted_gp: self.model.counted_gp,
            counted_fixed: self.model.counted_fixed,
            counted_metrics: self.model.counted_metrics,
            ..model
        };
        Ok(())
    }

    /// Every register, every RDPMC index that exists, the PMI, the deadlines, the books.
    pub fn compare_everything(&mut self) -> Result<(), String> {
        self.catch_up();
        same("PMI request", self.pmu.pmi_pending(), self.model.pmi)?;
        for range in [0xC1..=0xC8, 0x4C1..=0x4C8, 0x186..=0x18D, 0x309..=0x30F, 0x38D..=0x392] {
            for index in range {
                self.rdmsr(index)?;
            }
        }
        for index in
            [0x329, 0x345, 0x1A0, 0x1A6, 0x1A7, 0x1C8, 0x1C9, 0x1D9, 0x3F1, 0x3F2, 0x3F6, 0x3F7, 0x600]
        {
            self.rdmsr(index)?;
        }
        let ring0 = Privilege { cpl: 0, cr4_pce: false, cr0_pe: true };
        for ecx in (0..9).chain(0x4000_0000..0x4000_0005) {
            self.rdpmc(ecx, ring0)?;
        }
        self.compare_deadlines()?;
        self.compare_books()
    }

    /// What runs, and how far each running counter is from its overflow.
    fn compare_deadlines(&mut self) -> Result<(), String> {
        self.pmu.sync(&mut self.engine);
        let model = &self.model;
        let mut gp = [None; 8];
        let mut fixed = [None; 4];
        let mut metrics = 0;
        for active in self.pmu.active() {
            match active.counter {
                CounterId::Gp(n) => gp[usize::from(n)] = Some(active),
                CounterId::Fixed(n) => fixed[usize::from(n)] = Some(active),
                CounterId::Metric(_) => metrics += 1,
            }
        }
        for (n, gp) in gp.iter().enumerate() {
            let rings = (model.gp_counts(n, true), model.gp_counts(n, false));
            if model.selected(n).is_some() {
                let left = gp.map(|a| (a.until_overflow, (a.filter.os, a.filter.usr)));
                let expected = ((1 << model.cpu.gp_width) - model.pmc[n], rings);
                same(&format!("deadline of PMC{n}"), left, (rings != (false, false)).then_some(expected))?;
            } else if rings == (false, false) {
                same(&format!("PMC{n} runs"), gp.is_some(), false)?;
            }
        }
        for (n, fixed) in fixed.iter().enumerate() {
            let rings = (model.fixed_counts(n, true), model.fixed_counts(n, false));
            let left = fixed.map(|a| (a.until_overflow, (a.filter.os, a.filter.usr)));
            let expected = (1_u64 << model.cpu.fixed_width.max(1)).wrapping_sub(model.fixed[n]);
            same(
                &format!("deadline of FIXED_CTR{n}"),
                left,
                (rings != (false, false)).then_some((expected, rings)),
            )?;
        }
        let slots_run = model.fixed_counts(3, true) || model.fixed_counts(3, false);
        let expected =
            if slots_run && model.global_ctrl >> 48 & 1 == 1 { model.cpu.metric_fields } else { 0 };
        same("metric accumulators that run", metrics, expected)
    }

    /// The ledger holds every occurrence that was counted, whatever happened to the counters.
    fn compare_books(&mut self) -> Result<(), String> {
        let ledger = self.pmu.ledger(&mut self.engine);
        let mut gp = [0; 8];
        let mut fixed = [0; 4];
        for (key, count) in ledger.entries() {
            match key.counter {
                CounterId::Gp(n) => gp[usize::from(n)] += count,
                CounterId::Fixed(n) => fixed[usize::from(n)] += count,
                CounterId::Metric(n) => return Err(format!("the ledger has an entry for metric {n}")),
            }
        }
        let topdown = ledger.topdown();
        let [a, b, c, d, ..] = topdown.fields;
        same("ledger, general-purpose", gp, self.model.counted_gp)?;
        same("ledger, fixed", fixed, self.model.counted_fixed)?;
        same("ledger, slots", [topdown.slots, a, b, c, d], self.model.counted_metrics)
    }
}

fn answer(outcome: ReadOutcome) -> Answer {
    match outcome {
        ReadOutcome::Value(value) => Answer::Value(value),
        ReadOutcome::Fault(fault) => Answer::Gp(cause(fault)),
        ReadOutcome::NotHandled => Answer::Unclaimed,
    }
}

fn cause(fault: Fault) -> Cause {
    match fault {
        Fault::Absent => Cause::Absent,
        Fault::ReadOnly => Cause::ReadOnly,
        Fault::ReservedBits(bits) => Cause::Reserved(bits),
        Fault::FixedBits(bits) => Cause::Unchangeable(bits),
        Fault::RdpmcIndex(ecx) => Cause::RdpmcIndex(ecx),
        Fault::RdpmcPrivilege => Cause::RdpmcPrivilege,
        Fault::BeyondDepth { .. } | Fault::Depth(_) | Fault::NonCanonical(_) => {
            panic!("{fault} without branch records")
        }
    }
}

/// An MSR that the model does not know may be left to the embedder or fault, but not work.
fn agree(what: &str, vpmu: Answer, model: Answer) -> Result<(), String> {
    match (vpmu, model) {
        (Answer::Gp(Cause::Absent), Answer::Unclaimed) => Ok(()),
        _ => same(what, vpmu, model),
    }
}
