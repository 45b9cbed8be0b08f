//! Counts of the host's hardware, limited to guest mode of the vCPU thread.
//!
//! | file | what it does |
//! | --- | --- |
//! | `mod.rs` | the source: which events are open, and what went wrong |
//! | `mapping.rs` | which host event counts what a guest asks for |
//! | `event.rs`, `slots.rs` | one event, one slots group: total and overflow signal |
//! | `progress.rs` | totals from readings that may be estimates |
//!
//! What a guest counts is opened when the vPMU first runs it and stopped when it does not any more.
//! A stopped event keeps its descriptor, because guests stop and start their counters all the time,
//! but takes no hardware counter; of these only the most recently used are kept.
//!
//! PERF_METRICS is rebuilt from perf's metric events, which the kernel has rounded to 1/255 of the
//! slots since its last read (`host_perf::SlotCounts`). The raw register is not passed through.

#![expect(unsafe_code, reason = "gettid")]

mod event;
mod mapping;
mod progress;
mod slots;

use super::source::Source;
use event::{CountedEvent, spec};
use host_perf::{HostPerfError, HostPmu, Level};
use mapping::{Backing, Mapping};
pub use mapping::{Hosts, hosts_that_count};
use slots::CountedSlots;
use std::cell::RefCell;
use std::collections::HashMap;
use vpmu::source::{EventRequest, PrivilegeFilter};
use vpmu::{Active, CounterId, CountsSource, Profile, Provenance, TopdownSlots};

/// Most events kept, running ones included. A vPMU runs 12 counters at most.
const MAX_EVENTS: usize = 24;
/// Most trial results kept: a guest chooses the codes.
const MAX_TRIALS: usize = 1024;
/// Most different problems kept.
const MAX_PROBLEMS: usize = 16;

/// The thread that runs the vCPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VcpuThread {
    /// Kernel thread id.
    pub tid: i32,
    /// The signal that makes it leave the guest. Its handler must be installed.
    pub signal: i32,
}

impl VcpuThread {
    /// The calling thread.
    #[must_use]
    pub fn current(signal: i32) -> Self {
        // SAFETY: gettid has no arguments and cannot fail.
        Self { tid: unsafe { libc::gettid() }, signal }
    }
}

/// An event that had to share a hardware counter, so that its counts are estimates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Multiplexed {
    /// The host's name of the event, with perf's privilege modifier.
    pub event: String,
    /// Parts in a thousand of the time in which it counted.
    pub counted_permille: u64,
}

/// The host source.
#[derive(Debug)]
pub struct HostSource {
    // Configuration.
    host: HostPmu,
    mapping: Mapping,
    thread: VcpuThread,
    // State.
    /// Most recently used last.
    events: Vec<CountedEvent>,
    slots: Vec<CountedSlots>,
    /// The highest total of a forgotten event: new ones start here, so that no total goes down.
    floor: u64,
    /// Whether the host counts it, found out by opening it once.
    trials: RefCell<HashMap<Backing, bool>>,
    // Reports.
    problems: RefCell<Vec<String>>,
}

impl HostSource {
    /// A source for the vCPU that `thread` runs.
    ///
    /// # Errors
    /// Why guests cannot be counted on this host.
    pub fn new(host: HostPmu, profile: &Profile, thread: VcpuThread) -> Result<Self, HostPerfError> {
        host.can_count_guest()?;
        let mapping = Mapping::new(&host, profile);
        let source = Self {
            mapping,
            thread,
            events: Vec::new(),
            slots: Vec::new(),
            floor: 0,
            trials: RefCell::default(),
            problems: RefCell::default(),
            host,
        };
        if profile.metrics_level() > 0 && !mapping.metrics {
            let has = match mapping.level {
                None => "no slots counter",
                Some(_) => "only four metrics",
            };
            let name = &profile.name;
            source.note(format!(
                "the host has {has}, so PERF_METRICS of {name} stands still; use a host of that generation"
            ));
        }
        Ok(source)
    }

    /// The events that had to share a hardware counter.
    #[must_use]
    pub fn multiplexed(&self) -> Vec<Multiplexed> {
        let shared = |what: String, filter: PrivilegeFilter, permille: Option<u64>| {
            permille
                .map(|counted_permille| Multiplexed { event: what + filter.perf_suffix(), counted_permille })
        };
        let event = |e: &CountedEvent| shared(e.event.to_string(), e.filter, e.progress().shared_permille());
        let slots = |s: &CountedSlots| shared("slots".to_owned(), s.filter, s.progress().shared_permille());
        self.events.iter().filter_map(event).chain(self.slots.iter().filter_map(slots)).collect()
    }

    fn backing(&self, request: &EventRequest) -> Option<Backing> {
        let backing = self.mapping.backing(request)?;
        self.counts(backing).then_some(backing)
    }

    /// Opens it once to see. Refused events are unknown, not 0.
    fn counts(&self, backing: Backing) -> bool {
        if let Some(&result) = self.trials.borrow().get(&backing) {
            return result;
        }
        let filter = PrivilegeFilter::ALL;
        let trial = match (backing, self.mapping.level) {
            (Backing::Event(event), _) => {
                event::open(&self.host, spec(event, filter, self.thread), self.thread).map(drop)
            }
            (Backing::Slots, Some(level)) => slots::open(&self.host, level, filter, self.thread).map(drop),
            (Backing::Slots, None) => Err(HostPerfError::NoTopdown { wanted: Level::One, has: None }),
        };
        if let Err(error) = &trial {
            self.note(error.with_advice());
        }
        let mut trials = self.trials.borrow_mut();
        if trials.len() >= MAX_TRIALS {
            trials.retain(|known, _| match known {
                Backing::Event(event) => self.events.iter().any(|e| e.event == *event),
                Backing::Slots => true,
            });
        }
        trials.insert(backing, trial.is_ok());
        trial.is_ok()
    }

    /// The entry of an event, most recently used from now on. Not opened yet if it is new.
    fn event(&mut self, event: host_perf::Event, filter: PrivilegeFilter) -> usize {
        let known = self.events.iter().position(|e| e.event == event && e.filter == filter);
        let entry = match known {
            Some(index) => self.events.remove(index),
            None => {
                self.forget_one();
                CountedEvent::new(event, filter, self.floor)
            }
        };
        self.events.push(entry);
        self.events.len() - 1
    }

    fn forget_one(&mut self) {
        if self.events.len() < MAX_EVENTS {
            return;
        }
        if let Some(index) = self.events.iter().position(|event| !event.running) {
            let forgotten = self.events.remove(index);
            self.floor = self.floor.max(forgotten.total());
        }
    }

    fn slots(&mut self, filter: PrivilegeFilter) -> Option<usize> {
        let level = self.mapping.level?;
        let known = self.slots.iter().position(|slots| slots.filter == filter);
        Some(known.unwrap_or_else(|| {
            self.slots.push(CountedSlots::new(level, filter));
            self.slots.len() - 1
        }))
    }

    fn note(&self, problem: String) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < MAX_PROBLEMS && !problems.contains(&problem) {
            log::warn!("host counts: {problem}");
            problems.push(problem);
        }
    }

    fn check(&self, result: Result<(), HostPerfError>) {
        if let Err(error) = result {
            self.note(error.with_advice());
        }
    }

    fn check_signal(&self, result: Result<bool, HostPerfError>) {
        match result {
            Ok(true) => {}
            Ok(false) => self.note(
                "the host's counters cannot interrupt, so overflows are noticed at the guest's next access; \
                 use another host for sampling"
                    .to_owned(),
            ),
            Err(error) => self.note(error.with_advice()),
        }
    }

    fn rearm_events(&mut self, wanted: &[(host_perf::Event, PrivilegeFilter, Option<u64>)]) {
        let position = |event: &CountedEvent| {
            wanted.iter().position(|(host, filter, _)| *host == event.event && *filter == event.filter)
        };
        let (mut stopped, mut started) = (Vec::new(), Vec::new());
        for event in &mut self.events {
            match position(event) {
                None => stopped.push(event.stop()),
                Some(index) => {
                    let started_now = event.start(&self.host, self.thread);
                    started.push(started_now.and_then(|()| event.wake_after(wanted[index].2)));
                }
            }
        }
        stopped.into_iter().for_each(|result| self.check(result));
        started.into_iter().for_each(|result| self.check_signal(result));
    }

    fn rearm_slots(&mut self, wanted: &[(PrivilegeFilter, [Option<u64>; 9])]) {
        let (mut stopped, mut started) = (Vec::new(), Vec::new());
        for slots in &mut self.slots {
            match wanted.iter().find(|(filter, _)| *filter == slots.filter) {
                None => stopped.push(slots.stop()),
                Some((_, distances)) => {
                    let started_now = slots.start(&self.host, self.thread);
                    started.push(
                        started_now.and_then(|()| slots.wake_after(*distances, &self.host, self.thread)),
                    );
                }
            }
        }
        stopped.into_iter().for_each(|result| self.check(result));
        started.into_iter().for_each(|result| self.check_signal(result));
    }
}

impl CountsSource for HostSource {
    fn provenance(&self, request: &EventRequest) -> Provenance {
        match self.backing(request) {
            Some(_) => Provenance::Host,
            None => Provenance::Unknown,
        }
    }

    fn total(&mut self, request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        match self.backing(request) {
            Some(Backing::Event(event)) => {
                let index = self.event(event, filter);
                let result = self.events[index].update();
                self.check(result);
                self.events[index].total()
            }
            Some(Backing::Slots) => {
                let Some(index) = self.slots(filter) else { return 0 };
                let result = self.slots[index].update();
                self.check(result);
                self.slots[index].totals().slots
            }
            None => 0,
        }
    }

    fn topdown(&mut self, filter: PrivilegeFilter) -> Option<TopdownSlots> {
        if !self.mapping.metrics || !self.counts(Backing::Slots) {
            return None;
        }
        let index = self.slots(filter)?;
        let result = self.slots[index].update();
        self.check(result);
        Some(self.slots[index].totals())
    }

    /// Opens and starts what has become active, stops the rest. The guest does not run meanwhile,
    /// so that a total taken just before is where the count begins.
    fn rearm(&mut self, active: &[Active]) {
        let mut events: Vec<(host_perf::Event, PrivilegeFilter, Option<u64>)> = Vec::new();
        let mut slots: Vec<(PrivilegeFilter, [Option<u64>; 9])> = Vec::new();
        for counter in active {
            let distance = counter.interrupts.then_some(counter.until_overflow);
            let filter = counter.filter;
            let backing = match counter.counter {
                CounterId::Metric(_) => Some(Backing::Slots),
                _ => self.backing(&counter.request),
            };
            match backing {
                Some(Backing::Event(event)) => {
                    self.event(event, filter);
                    match events.iter_mut().find(|(e, f, _)| *e == event && *f == filter) {
                        Some((_, _, nearest)) => *nearest = nearer(*nearest, distance),
                        None => events.push((event, filter, distance)),
                    }
                }
                Some(Backing::Slots) => {
                    self.slots(filter);
                    let index = match counter.counter {
                        CounterId::Metric(field) => 1 + usize::from(field),
                        _ => 0,
                    };
                    let known = slots.iter().position(|(f, _)| *f == filter).unwrap_or_else(|| {
                        slots.push((filter, [None; 9]));
                        slots.len() - 1
                    });
                    if let Some(nearest) = slots[known].1.get_mut(index) {
                        *nearest = nearer(*nearest, distance);
                    }
                }
                None => {}
            }
        }
        self.rearm_events(&events);
        self.rearm_slots(&slots);
    }
}

/// The shorter one of two distances, where `None` is infinite.
fn nearer(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.into_iter().chain(b).min()
}

impl Source for HostSource {
    fn label(&self) -> Provenance {
        Provenance::Host
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.problems.borrow().clone();
        warnings.extend(self.multiplexed().into_iter().map(|Multiplexed { event, counted_permille }| {
            format!(
                "{event} shared a hardware counter and counted {}.{} % of the time, so its counts are \
                 estimates; count fewer events at once, or stop other users of the PMU (NMI watchdog, profilers)",
                counted_permille / 10,
                counted_permille % 10
            )
        }));
        warnings
    }
}

#[cfg(test)]
pub(super) mod fake_host;
#[cfg(test)]
mod tests;
