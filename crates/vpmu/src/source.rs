//! Where counts come from.
//!
//! A [`CountsSource`] holds running totals that never go down. The vPMU asks for a total when a
//! counter starts and again when the guest looks at it; the counter gets the difference. So a
//! source does no work per counter while the guest runs.

use crate::event::{Event, EventCode, EventUnion, Resolved};
use alloc::vec::Vec;
use core::fmt;
use core::ops::AddAssign;

/// What a count is worth. Every count that leaves the project carries one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Provenance {
    /// Counted by an engine that sees every instruction.
    Exact,
    /// Computed by a model of the core.
    Modelled,
    /// Counted by the host's hardware.
    Host,
    /// Made up from time and configured rates; says nothing about the guest's code.
    Synthetic,
    /// The source cannot know this event: the counter stands still.
    Unknown,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Exact => "exact",
            Self::Modelled => "modelled",
            Self::Host => "host",
            Self::Synthetic => "synthetic",
            Self::Unknown => "unknown",
        })
    }
}

/// Where the guest executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// CPL 0; EL1.
    Kernel,
    /// CPL 1 to 3; EL0.
    User,
}

/// Which privilege levels count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PrivilegeFilter {
    /// CPL 0; EL1.
    pub os: bool,
    /// CPL 1 to 3; EL0.
    pub usr: bool,
}

impl PrivilegeFilter {
    /// Both.
    pub const ALL: Self = Self { os: true, usr: true };

    /// True when no privilege level counts.
    #[must_use]
    pub fn is_empty(self) -> bool {
        !self.os && !self.usr
    }

    /// True when this privilege level counts.
    #[must_use]
    pub fn admits(self, level: Level) -> bool {
        match level {
            Level::Kernel => self.os,
            Level::User => self.usr,
        }
    }

    /// What counts of a total for each privilege level: `os` at CPL 0, `usr` at CPL 1 to 3.
    ///
    /// A source that counts by privilege level answers [`CountsSource::total`] and [`CountsSource::topdown`] with it.
    ///
    /// ```
    /// use vpmu::{PrivilegeFilter, TopdownSlots};
    ///
    /// let user_only = PrivilegeFilter { os: false, usr: true };
    /// assert_eq!(user_only.sum_of(1_000_u64, 20), 20);
    /// assert_eq!(PrivilegeFilter::ALL.sum_of(1_000_u64, 20), 1_020);
    /// let (kernel, user) = (TopdownSlots::default(), TopdownSlots { slots: 6, ..TopdownSlots::default() });
    /// assert_eq!(user_only.sum_of(kernel, user).slots, 6);
    /// ```
    #[must_use]
    pub fn sum_of<T: Default + AddAssign>(self, os: T, usr: T) -> T {
        let mut sum = T::default();
        if self.os {
            sum += os;
        }
        if self.usr {
            sum += usr;
        }
        sum
    }

    /// perf's modifier: `k`, `u` or nothing for both.
    #[must_use]
    pub fn perf_suffix(self) -> &'static str {
        match (self.os, self.usr) {
            (true, false) => ":k",
            (false, true) => ":u",
            (true, true) | (false, false) => "",
        }
    }
}

/// An event as a counter asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EventRequest {
    /// The code in the event select; for a fixed counter perf's pseudo code.
    pub code: EventCode,
    /// The named event that the whole code stands for, modifiers included.
    pub event: Option<Event>,
    /// The named event of event select and unit mask alone. With modifiers (CMASK, INV, E) the
    /// counter counts cycles or edges of this event.
    pub base: Option<Event>,
    /// The named events that event select and unit mask ask for together, when they have no name of their own. Their
    /// counts add up; who cannot count one of them cannot count the union.
    #[cfg_attr(feature = "serde", serde(default))]
    pub union: EventUnion,
    /// Most occurrences that the counter adds in one core cycle; more are lost. `None`: as many as there are.
    #[cfg_attr(feature = "serde", serde(default))]
    pub limit: Option<u8>,
    /// Loads of more core cycles than that are counted, which PEBS picks: MSR_PEBS_LD_LAT_THRESHOLD. `None` for
    /// everything else.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub threshold: Option<u16>,
}

impl EventRequest {
    /// A request for a named event without modifiers.
    #[must_use]
    pub fn named(event: Event, code: EventCode) -> Self {
        Self { code, event: Some(event), base: Some(event), ..Self::default() }
    }

    /// What counter `index` asks for with a code that has been looked up in the core's
    /// [`EventTable`](crate::event::EventTable). Silicon counts nothing useful on a counter that cannot count the
    /// event.
    #[must_use]
    pub fn resolved(code: EventCode, resolved: &Resolved, index: u32) -> Self {
        if resolved.counters.checked_shr(index).unwrap_or_default() & 1 == 0 {
            return Self { code, ..Self::default() };
        }
        let Resolved { exact, base, union, .. } = *resolved;
        Self { code, event: exact, base, union, limit: None, threshold: None }
    }

    /// The PMU itself makes these occurrences, and no source is asked for them: writes of PMSWINC_EL0 and overflows of
    /// the counter below. Their counts are exact.
    #[must_use]
    pub fn is_counted_by_the_pmu(&self) -> bool {
        matches!(self.event, Some(Event::SwIncr | Event::Chain))
    }

    /// What its counts are worth if `source` supplies those that the PMU does not make itself.
    #[must_use]
    pub fn provenance(&self, source: &dyn CountsSource) -> Provenance {
        if self.is_counted_by_the_pmu() { Provenance::Exact } else { source.provenance(self) }
    }

    /// The named events that are counted, modifiers aside: one, several that add up, or none.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        self.event.or(self.base).into_iter().chain(self.union.events())
    }
}

impl fmt::Display for EventRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.event, self.base) {
            (Some(event), _) => f.pad(event.name()),
            (None, _) => fmt::Display::fmt(&self.code, f),
        }
    }
}

/// Running totals of the TOPDOWN categories, in slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TopdownSlots {
    /// All slots.
    pub slots: u64,
    /// Slots of each PERF_METRICS field, in the order of the register's bytes (level 1, then level 2).
    pub fields: [u64; 8],
}

impl TopdownSlots {
    /// What has been added since `earlier`; a total that went down counts as no change.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut fields = [0; 8];
        for (field, (now, then)) in fields.iter_mut().zip(self.fields.iter().zip(&earlier.fields)) {
            *field = now.saturating_sub(*then);
        }
        Self { slots: self.slots.saturating_sub(earlier.slots), fields }
    }
}

/// Adds slots by category; sums stay at the most that they can say.
impl AddAssign for TopdownSlots {
    fn add_assign(&mut self, more: Self) {
        self.slots = self.slots.saturating_add(more.slots);
        for (field, more) in self.fields.iter_mut().zip(more.fields) {
            *field = field.saturating_add(more);
        }
    }
}

/// Names a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CounterId {
    /// General-purpose counter n.
    Gp(u8),
    /// Fixed-function counter n. Of an Arm CPU 0 is the cycle counter, PMCCNTR_EL0.
    Fixed(u8),
    /// The accumulator behind field n of PERF_METRICS.
    Metric(u8),
    /// AMD's instruction-based sampling: 0 the periodic counter of fetches, 1 that of ops.
    Ibs(u8),
}

/// A running counter, as a source or an engine needs to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Active {
    /// Which counter.
    pub counter: CounterId,
    /// What it counts. For a metric accumulator: the slots event; the category is the field.
    pub request: EventRequest,
    /// Where it counts.
    pub filter: PrivilegeFilter,
    /// Occurrences from now until it overflows, at least 1; for a source that
    /// [runs through samples](CountsSource::runs_through_samples) until the one that a record is about.
    pub until_overflow: u64,
    /// The overflow requests a PMI, so the engine has to stop there.
    pub interrupts: bool,
}

/// A running counter, as a record of measurements needs to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// Which counter.
    pub counter: CounterId,
    /// What it counts. For a metric accumulator: the slots event.
    pub request: EventRequest,
    /// Where it counts.
    pub filter: PrivilegeFilter,
    /// Its value as of the last update.
    pub value: u64,
    /// Its width in bits, at most 64.
    pub width: u32,
}

/// The running totals behind the counters of one vCPU.
pub trait CountsSource {
    /// What counts of this event are worth; [`Provenance::Unknown`] when the source cannot count it.
    fn provenance(&self, request: &EventRequest) -> Provenance;

    /// Occurrences so far at the given privilege levels.
    ///
    /// Never goes down between two calls with the same arguments. Called only for requests whose
    /// [`provenance`](Self::provenance) is not unknown. Cycles with a modified code (CMASK, INV,
    /// E) are the source's business.
    fn total(&mut self, request: &EventRequest, filter: PrivilegeFilter) -> u64;

    /// Slots so far by category, or `None` when the source knows no categories. The slots are the
    /// same number as the total of TOPDOWN.SLOTS.
    fn topdown(&mut self, filter: PrivilegeFilter) -> Option<TopdownSlots>;

    /// The engine runs by deadlines of this source up to and including the instruction that a PEBS record is about, and
    /// looks at each in which a run ends: counters of instructions need not be stopped at before it.
    fn runs_through_samples(&self) -> bool {
        false
    }

    /// The set of running counters has changed. A source that owns hardware counters opens, closes
    /// and re-arms them here; [`total`](Self::total) may already have been called for a new one.
    fn rearm(&mut self, _active: &[Active]) {}
}

/// A source whose totals are set by hand: for examples, tests and other deterministic drivers.
///
/// It knows every named event without modifiers and the unions of such events, and nothing else.
#[derive(Debug, Clone)]
pub struct ScriptedSource {
    os: [u64; Event::COUNT],
    usr: [u64; Event::COUNT],
    topdown_os: TopdownSlots,
    topdown_usr: TopdownSlots,
    /// Cycles at CPL 3 with several occurrences of an event: event, occurrences in each, cycles.
    bursts: Vec<(Event, u64, u64)>,
}

impl Default for ScriptedSource {
    fn default() -> Self {
        Self::new()
    }
}

impl ScriptedSource {
    /// All totals are 0.
    #[must_use]
    pub fn new() -> Self {
        Self {
            os: [0; Event::COUNT],
            usr: [0; Event::COUNT],
            topdown_os: TopdownSlots::default(),
            topdown_usr: TopdownSlots::default(),
            bursts: Vec::new(),
        }
    }

    /// Adds occurrences at CPL 0.
    pub fn add_os(&mut self, event: Event, count: u64) {
        self.os[event.counts_as().index()] += count;
    }

    /// Adds occurrences at CPL 3.
    pub fn add_user(&mut self, event: Event, count: u64) {
        self.usr[event.counts_as().index()] += count;
    }

    /// Adds `cycles` core cycles at CPL 3 with `each` occurrences in every one of them. All others happen one a
    /// cycle.
    pub fn add_user_cycles(&mut self, event: Event, each: u64, cycles: u64) {
        self.bursts.push((event.counts_as(), each, cycles));
    }

    fn of(&self, event: Event, limit: Option<u8>, filter: PrivilegeFilter) -> u64 {
        let index = event.index();
        let os = if filter.os { self.os[index] } else { 0 };
        if !filter.usr {
            return os;
        }
        let limit = limit.map_or(u64::MAX, u64::from);
        let bursts = self.bursts.iter().filter(|(burst, ..)| *burst == event);
        os + self.usr[index] + bursts.map(|(_, each, cycles)| each.min(&limit) * cycles).sum::<u64>()
    }

    /// Adds slots at CPL 3, by category; TOPDOWN.SLOTS grows with them.
    pub fn add_user_slots(&mut self, added: TopdownSlots) {
        self.topdown_usr += added;
        self.add_user(Event::TopdownSlots, added.slots);
    }

    /// Adds slots at CPL 0, by category; TOPDOWN.SLOTS grows with them.
    pub fn add_os_slots(&mut self, added: TopdownSlots) {
        self.topdown_os += added;
        self.add_os(Event::TopdownSlots, added.slots);
    }
}

impl CountsSource for ScriptedSource {
    fn provenance(&self, request: &EventRequest) -> Provenance {
        let united = !request.union.is_empty() && request.code.is_plain();
        if request.event.is_some() || united { Provenance::Exact } else { Provenance::Unknown }
    }

    fn total(&mut self, request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        let events = request.event.into_iter().chain(request.union.events());
        events.map(|event| self.of(event.counts_as(), request.limit, filter)).sum()
    }

    fn topdown(&mut self, filter: PrivilegeFilter) -> Option<TopdownSlots> {
        Some(filter.sum_of(self.topdown_os, self.topdown_usr))
    }
}
