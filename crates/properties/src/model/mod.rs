//! Naive second implementations of the PMUs' rules, to compare the vPMU with.
//!
//! They are eager: a model keeps every register for itself and adds to each counter as the guest runs. The vPMU is
//! lazy.

mod amd;
mod ibs;
mod intel;
mod logged;

pub(crate) use ibs::Ibs;
pub(crate) use logged::{COUNTERS, Logged};

use std::fmt::Debug;
use vpmu::event::Event;
use vpmu::pmu::RdpmcContext;
use vpmu::{Profile, ReadOutcome, WriteOutcome};

/// Occurrences that fall between two instants at which the vPMU could look.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tick {
    /// Occurrences of events other than slots.
    pub(crate) events: Vec<Occurrences>,
    /// Slots by category.
    pub(crate) slots: Vec<Slots>,
}

/// `cycles` cycles with `each` occurrences of an event in each of them, at CPL 0 when `os`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Occurrences {
    pub(crate) event: Event,
    pub(crate) os: bool,
    pub(crate) each: u64,
    pub(crate) cycles: u64,
}

/// Slots in the order of PERF_METRICS' bytes: the first four add up to all slots.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots {
    pub(crate) os: bool,
    pub(crate) fields: [u64; 8],
}

impl Slots {
    /// All slots.
    pub(crate) fn total(&self) -> u64 {
        self.fields[..4].iter().sum()
    }
}

impl From<Occurrences> for Tick {
    fn from(occurrences: Occurrences) -> Self {
        Self { events: vec![occurrences], slots: Vec::new() }
    }
}

impl From<Slots> for Tick {
    fn from(slots: Slots) -> Self {
        Self { events: Vec::new(), slots: vec![slots] }
    }
}

impl Tick {
    /// Occurrences of an event, `limit` of them in a cycle at most.
    fn limited(&self, event: Event, os: bool, limit: u64) -> u64 {
        let events = self.events.iter().filter(|e| e.event.counts_as() == event.counts_as() && e.os == os);
        events.map(|e| e.each.min(limit) * e.cycles).sum()
    }

    /// Occurrences of an event.
    fn occurrences(&self, event: Event, os: bool) -> u64 {
        let slots = self.slots.iter().filter(|s| event == Event::TopdownSlots && s.os == os);
        self.limited(event, os, u64::MAX) + slots.map(Slots::total).sum::<u64>()
    }
}

/// Occurrences counted on each counter of an Intel CPU since power-on, whatever was written in between: what the
/// vPMU's ledger has to say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Books {
    pub(crate) gp: [u64; 8],
    pub(crate) fixed: [u64; 4],
    /// Slots counted while the metrics were enabled, and those of each level-1 category.
    pub(crate) metrics: [u64; 5],
}

/// The PMU of one logical processor.
pub(crate) trait Model: Debug + Send + Sync {
    /// What the model knows: event codes as bits of the event select, each with an event that happens.
    fn codes(&self) -> Vec<(u64, Option<Event>)>;
    /// RDMSR; `None` for a register that the model does not know.
    fn rdmsr(&self, index: u32) -> Option<ReadOutcome>;
    /// WRMSR; `None` for a register that the model does not know.
    fn wrmsr(&mut self, index: u32, value: u64) -> Option<WriteOutcome>;
    /// RDPMC.
    fn rdpmc(&mut self, ecx: u32, context: RdpmcContext) -> ReadOutcome;
    /// Something is counted.
    fn tick(&mut self, tick: &Tick, books: &mut Books);
    /// Whether a PMI freezes counters, so that it matters when the vPMU hears of an overflow.
    fn freezes(&self) -> bool;
    /// #DB.
    fn debug_exception(&mut self);
    /// The PMI request.
    fn pmi(&mut self) -> &mut bool;
    /// RESET.
    fn reset(&mut self);
    /// A copy.
    fn boxed(&self) -> Box<dyn Model>;
}

/// Which model speaks for a profile.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Ice Lake, without branch records.
    SunnyCove,
    /// Sapphire Rapids, without branch records.
    GoldenCove,
    /// Zen 2 to 4.
    Zen,
}

impl Kind {
    /// The model at power-on.
    pub(crate) fn power_on(self, profile: &Profile) -> Box<dyn Model> {
        match self {
            Self::SunnyCove => Box::new(intel::Intel::power_on(profile, intel::Core::SunnyCove)),
            Self::GoldenCove => Box::new(intel::Intel::power_on(profile, intel::Core::GoldenCove)),
            Self::Zen => Box::new(amd::Amd::power_on(profile)),
        }
    }
}

/// Mask of the counter bits.
fn ones(width: u32) -> u64 {
    (1 << width) - 1
}

/// Bit `n` of `value`.
fn bit(value: u64, n: u32) -> bool {
    (value >> n) & 1 == 1
}
