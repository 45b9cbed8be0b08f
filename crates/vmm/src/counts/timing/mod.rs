//! Counts of the soft engine with a model of the core: every event that the model knows.
//!
//! Instructions and branches are exact, everything else is what the model computes. A counter overflows after the
//! very instruction in which it passes its top: [`TimingCore`] looks at every one, if it has to.

mod core;
mod event;
mod probe;
mod quantity;

pub use self::core::{SharedCore, TimingCore};
pub use self::probe::Probe;
use super::operations::{self, Selection};
use super::source::Source;
use super::watch::{Rate, counted, every_cycle};
use core_model::CORES;
pub use core_model::{Sampling, SamplingReport, Uncore};
use event::Total;
use quantity::Quantity;
use std::collections::HashMap;
use vpmu::event::{Event, EventCode};
use vpmu::source::{EventRequest, PrivilegeFilter};
use vpmu::{Active, CountsSource, Profile, Provenance, TopdownSlots};

/// Why there is no model of a profile's core.
#[derive(Debug, thiserror::Error)]
pub enum TimingError {
    /// No core has been described.
    #[error("there is no model of {core}, the core of {profile}")]
    NoModel {
        /// The profile.
        profile: String,
        /// Its core.
        core: &'static str,
    },
    /// A defect of ours.
    #[error("the model of {core}: {reason}")]
    Table {
        /// The core.
        core: &'static str,
        /// What is wrong.
        reason: core_model::TableError,
    },
}

/// The core that a profile's CPU is made of, if there is a model of it.
#[must_use]
pub fn core_of(profile: &Profile) -> Option<&'static core_model::Core> {
    CORES.iter().copied().find(|core| core.name == profile.core)
}

/// How far the model of a profile's core is off silicon, in a few words; `None` without a model.
#[must_use]
pub fn off_silicon(profile: &Profile) -> Option<String> {
    let core = core_of(profile)?;
    Some(core_model::comparison(core).map_or_else(
        || "not compared with silicon".to_owned(),
        |comparison| {
            let core_model::Comparison { cpu, measured, loops, loops_ninetieth, .. } = comparison;
            let (blocks, mean) = loops;
            format!(
                "cycles {mean:.1} % off silicon on average, 90 % of {blocks} loops less than {loops_ninetieth:.1} % \
                 ({cpu}, {measured})"
            )
        },
    ))
}

/// The source of the soft engine with `--detail timing`.
#[derive(Debug)]
pub struct TimingSource {
    core: SharedCore,
    /// All kinds of microcode assists that the CPU's event has.
    assists: Total,
    /// The CPU has events for operations by type.
    operations: bool,
    /// Numbers of the execution ports, in the order of [`CoreTotals::ports`](core_model::CoreTotals::ports).
    ports: Vec<u32>,
    /// What the requests of this run stand for.
    resolved: HashMap<EventRequest, Option<Resolved>>,
}

/// What a request stands for.
#[derive(Debug, Clone)]
struct Resolved {
    quantity: Quantity,
    provenance: Provenance,
    rate: Rate,
}

/// Requests after which all are resolved anew, so that a guest cannot make them many.
const MOST_RESOLVED: usize = 1 << 10;

impl TimingSource {
    /// A source for this core.
    #[must_use]
    pub fn new(profile: &Profile, core: SharedCore) -> Self {
        let ports = port_numbers(&core.drive().model().ports());
        let assists = event::assists(profile.events);
        let operations = operations::types(profile).is_some();
        Self { core, assists, operations, ports, resolved: HashMap::new() }
    }

    fn resolve(&self, request: &EventRequest) -> Option<Resolved> {
        let quantity = self.quantity(request)?;
        let exact = is_exact(request);
        let unlimited = matches!(quantity, Quantity::Flops(_, None) | Quantity::Operations(_));
        let provenance = if exact || unlimited { Provenance::Exact } else { Provenance::Modelled };
        let width = self.core.drive().width();
        let rate = match request.event {
            _ if exact => Rate::Instruction(1),
            // Slots, and no more than there are.
            Some(Event::UopsRetiredSlots) if request.code.is_plain() => Rate::Cycle(width),
            _ => quantity.rate(width),
        };
        Some(Resolved { quantity, provenance, rate })
    }

    /// As [`resolve`](Self::resolve), once for each request.
    fn resolved(&mut self, request: &EventRequest) -> Option<&Resolved> {
        if !self.resolved.contains_key(request) {
            if self.resolved.len() >= MOST_RESOLVED {
                self.resolved.clear();
            }
            let resolved = self.resolve(request);
            if let Some(Resolved { quantity, .. }) = &resolved {
                self.core.drive().prepare(quantity);
            }
            self.resolved.insert(*request, resolved);
        }
        self.resolved.get(request)?.as_ref()
    }

    fn quantity(&self, request: &EventRequest) -> Option<Quantity> {
        let code = request.code.normalized();
        if self.operations
            && let Some(selection) = Selection::of(request)
        {
            return Some(Quantity::Operations(selection));
        }
        if let Some(threshold) = request.threshold {
            return Some(Quantity::SlowLoads(threshold));
        }
        if (request.event.is_some() || code.is_plain())
            && let Some(flops) = flops(request)
        {
            return Some(flops);
        }
        // What is known by cycle happens less often than 15 times in each, and a usual limit takes nothing from it.
        if let (Some(limit @ ..15), Some(by_cycle)) =
            (request.limit, request.event.and_then(|event| event::by_cycle(event.counts_as())))
        {
            return Some(Quantity::Limited(by_cycle, limit));
        }
        if let Some(known) = request.event.and_then(|event| self.plain(event)) {
            return Some(known);
        }
        match (request.event, request.base) {
            (_, Some(base)) if !code.is_plain() => self.modified(base, code),
            // Skylake's unit mask has a bit more than that of the uops.
            (Some(Event::IdqDsbCyclesAny | Event::IdqDsbCyclesOk), None) => {
                Some(Quantity::ByCycle(|totals| &totals.dsb_uops, code))
            }
            (None, None) if code.is_plain() && !request.union.is_empty() => {
                let parts: Option<Vec<Quantity>> =
                    request.union.events().map(|event| self.plain(event)).collect();
                parts.map(Quantity::Sum)
            }
            _ => None,
        }
    }

    /// Plain occurrences.
    fn plain(&self, event: Event) -> Option<Quantity> {
        use Event as E;
        let event = event.counts_as();
        Some(match event {
            E::CpuClkUnhaltedThread | E::CpuClkUnhaltedDistributed | E::CpuClkUnhaltedRefTsc => {
                Quantity::Cycles
            }
            // The sibling is never there.
            E::CpuClkUnhaltedRefXclk | E::CpuClkUnhaltedRefDistributed | E::CpuClkUnhaltedOneThreadActive => {
                Quantity::Crystal
            }
            E::TopdownSlots => Quantity::Slots,
            E::MiscRetiredLbrInserts => Quantity::BranchRecords,
            E::AssistsAny => Quantity::Total(self.assists),
            _ => match event::ports(event) {
                Some(numbers) => Quantity::Ports(self.port_positions(numbers)),
                None => Quantity::Total(event::total(event)?),
            },
        })
    }

    /// The positions of ports as bits.
    fn port_positions(&self, numbers: &[u32]) -> u32 {
        let ports = self.ports.iter().take(core_model::PORTS).enumerate();
        ports.filter(|(_, number)| numbers.contains(number)).fold(0, |set, (position, _)| set | 1 << position)
    }

    /// With CMASK, INV or E: how often something happens within a cycle.
    fn modified(&self, base: Event, code: EventCode) -> Option<Quantity> {
        let base = base.counts_as();
        if let Some(by_cycle) = event::by_cycle(base) {
            return Some(Quantity::ByCycle(by_cycle, code));
        }
        // Known without a look at each cycle: what happens equally often in each, and more than can happen.
        let per_cycle = match self.plain(base)? {
            Quantity::Cycles => (1, 1),
            Quantity::Slots => {
                let width = self.core.drive().width();
                (width, width)
            }
            // Each uop may be two fused instructions.
            _ if base == Event::InstRetiredAny => {
                (0, 2 * u64::from(self.core.drive().model().core().retire_width))
            }
            _ => return None,
        };
        if base == Event::InstRetiredAny && u64::from(code.cmask.max(1)) <= per_cycle.1 {
            return Some(Quantity::InstructionsByCycle(code));
        }
        let always = every_cycle(code, per_cycle).filter(|_| !code.edge)?;
        Some(if always { Quantity::Cycles } else { Quantity::Never })
    }
}

/// True for counts that do not depend on the model: instructions and branches.
fn is_exact(request: &EventRequest) -> bool {
    match request.event {
        Some(event) => event.counts_as() == Event::InstRetiredAny || event::is_retired_branch(event),
        None => {
            let plain = !request.union.is_empty() && request.code.is_plain();
            plain && request.union.events().all(event::is_retired_branch)
        }
    }
}

/// What a request for floating-point operations counts. In no cycle are there more than 255, so that only a counter
/// that adds less has a limit.
fn flops(request: &EventRequest) -> Option<Quantity> {
    let kinds = request.events().map(event::flop_kinds).collect::<Option<Vec<u8>>>()?;
    let limit = request.limit.filter(|limit| *limit < u8::MAX);
    (!kinds.is_empty()).then(|| Quantity::Flops(kinds.iter().fold(0, |all, kind| all | kind), limit))
}

/// The numbers in the names of ports.
fn port_numbers(names: &[&str]) -> Vec<u32> {
    let number = |name: &&str| name.rsplit_once("Port").and_then(|(_, digits)| digits.parse().ok());
    names.iter().map(|name| number(name).unwrap_or(u32::MAX)).collect()
}

impl CountsSource for TimingSource {
    fn provenance(&self, request: &EventRequest) -> Provenance {
        let known = self.resolved.get(request).cloned();
        let resolved = known.unwrap_or_else(|| self.resolve(request));
        resolved.map_or(Provenance::Unknown, |resolved| resolved.provenance)
    }

    fn total(&mut self, request: &EventRequest, filter: PrivilegeFilter) -> u64 {
        let core = self.core.clone();
        let Some(Resolved { quantity, .. }) = self.resolved(request) else { return 0 };
        core.drive().sum(quantity, filter)
    }

    fn topdown(&mut self, filter: PrivilegeFilter) -> Option<TopdownSlots> {
        let mut core = self.core.drive();
        let mut slots = TopdownSlots { slots: core.sum(&Quantity::Slots, filter), ..TopdownSlots::default() };
        for (field, total) in slots.fields.iter_mut().enumerate() {
            *total = core.sum(&Quantity::Field(field), filter);
        }
        Some(slots)
    }

    fn rearm(&mut self, active: &[Active]) {
        // There is one threshold of latencies at a time.
        for threshold in active.iter().filter_map(|counter| counter.request.threshold) {
            self.core.drive().prepare(&Quantity::SlowLoads(threshold));
        }
        let watched: Vec<_> = active
            .iter()
            .filter(|counter| counter.interrupts)
            .filter_map(|counter| {
                let width = self.core.drive().width();
                let field = |field: u8| {
                    let quantity = Quantity::Field(field.into());
                    let rate = quantity.rate(width);
                    Some((quantity, rate))
                };
                let request = || {
                    let Resolved { quantity, rate, .. } = self.resolved(&counter.request)?.clone();
                    Some((quantity, rate))
                };
                let (quantity, rate) = counted(counter, field, request)?;
                Some((counter, quantity, rate))
            })
            .collect();
        self.core.drive().watch(watched);
    }
}

impl Source for TimingSource {
    /// The best that the source has; what is only modelled says so in its own provenance.
    fn label(&self) -> Provenance {
        Provenance::Exact
    }
}

#[cfg(test)]
mod tests;
