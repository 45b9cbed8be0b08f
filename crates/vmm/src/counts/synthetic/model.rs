//! Totals as a function of run time.
//!
//! The model keeps nothing but configuration: a total is computed from the nanoseconds run so far.
//! So it cannot drift, it does not depend on how time was cut into slices, and it never goes down.

use super::derived::{Derived, derived};
use super::rate::{Decimal, Rate, part};
use super::rates::{Fractions, Rates};
use crate::counts::source::Slice;
use std::borrow::Cow;
use std::sync::Arc;
use vpmu::event::{Event, EventUnion};
use vpmu::metrics::{ALL_FIELDS, LEVEL1_FIELDS};
use vpmu::source::{EventRequest, PrivilegeFilter};
use vpmu::{Profile, TopdownSlots};

/// Something that can be totalled. Arrays are by privilege level: CPL 0, then above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Quantity {
    /// The sum of these rates; without any, something that never happens.
    Rates(Arc<[[Rate; 2]]>),
    /// All slots.
    Slots,
    /// Slots of a PERF_METRICS field.
    Field(usize),
}

#[derive(Debug)]
pub(super) struct Model {
    cycles: Rate,
    cycles_hz: u64,
    slots_per_cycle: u64,
    metrics_level: u8,
    fractions: [Fractions; 2],
    /// By [`Event::index`]; `None` is an unknown event.
    events: Vec<Option<Quantity>>,
    every_cycle: Quantity,
    never: Quantity,
    /// No quantity grows by this much in a nanosecond.
    fastest_per_ns: u64,
}

impl Model {
    pub(super) fn new(profile: &Profile, rates: &Rates, tsc_hz: u64) -> Self {
        let cycles = Rate::per_cycle(rates.frequency_hz, Decimal::ONE);
        let constant = |rate| Quantity::Rates(Arc::new([[rate; 2]]));
        let events = Event::ALL.map(|event| match derived(event) {
            Some(Derived::CoreCycles) => Some(constant(cycles)),
            Some(Derived::TscCycles) => Some(constant(Rate::per_second(tsc_hz))),
            Some(Derived::CrystalCycles) => Some(constant(Rate::per_second(profile.crystal_hz.into()))),
            Some(Derived::Slots) => Some(Quantity::Slots),
            Some(Derived::Field(field)) => {
                let field = usize::from(field);
                (field < fields(profile.metrics_level())).then_some(Quantity::Field(field))
            }
            None => {
                let mut sum = Vec::new();
                collect(event, rates, &mut sum).then(|| Quantity::Rates(sum.into()))
            }
        });
        let mut model = Self {
            fastest_per_ns: 1,
            cycles,
            cycles_hz: rates.frequency_hz,
            slots_per_cycle: profile.slots_per_cycle.into(),
            metrics_level: profile.metrics_level(),
            fractions: rates.topdown,
            events: events.into(),
            every_cycle: constant(cycles),
            never: Quantity::Rates(Arc::new([])),
        };
        let fastest = model.events.iter().flatten().chain([&Quantity::Slots]).map(|quantity| {
            let (os, usr) = (model.growth(quantity, 0), model.growth(quantity, 1));
            os.0.count(1).max(usr.0.count(1)).saturating_add(1)
        });
        // A union of unit masks adds several.
        model.fastest_per_ns = fastest.max().unwrap_or(1).saturating_mul(EventUnion::MOST as u64);
        model
    }

    /// What a request counts; `None` when the rates do not say.
    pub(super) fn quantity(&self, request: &EventRequest) -> Option<Cow<'_, Quantity>> {
        let quantity = self.unlimited(request)?;
        // What happens at a rate happens equally often in each cycle.
        match (&*quantity, request.limit.and_then(|limit| Decimal::whole(limit.into()))) {
            (Quantity::Rates(rates), Some(limit)) => {
                let most = Rate::per_cycle(self.cycles_hz, limit);
                let sum = |side: usize| rates.iter().fold(Rate::default(), |sum, rate| sum.plus(rate[side]));
                let sides = [0, 1].map(sum);
                if sides.iter().all(|rate| *rate <= most) {
                    return Some(quantity);
                }
                Some(Cow::Owned(Quantity::Rates(Arc::new([sides.map(|rate| rate.min(most))]))))
            }
            _ => Some(quantity),
        }
    }

    fn unlimited(&self, request: &EventRequest) -> Option<Cow<'_, Quantity>> {
        if let Some(event) = request.event {
            return self.events.get(event.index())?.as_ref().map(Cow::Borrowed);
        }
        if !request.union.is_empty() {
            return self.united(request).map(Cow::Owned);
        }
        // Modifiers ask how often something happens within a cycle. Rates do not tell, except for
        // what happens equally often in every cycle.
        let per_cycle = match derived(request.base?)? {
            Derived::CoreCycles => 1,
            Derived::Slots => self.slots_per_cycle,
            _ => return None,
        };
        let code = request.code;
        if code.edge || code.cmask == 0 {
            return None;
        }
        let reached = per_cycle >= u64::from(code.cmask);
        Some(Cow::Borrowed(if reached != code.inv { &self.every_cycle } else { &self.never }))
    }

    /// Events that add up, if all have rates.
    fn united(&self, request: &EventRequest) -> Option<Quantity> {
        let mut sum = Vec::new();
        for event in request.union.events().filter(|_| request.code.is_plain()) {
            match self.events.get(event.index())?.as_ref()? {
                Quantity::Rates(rates) => sum.extend(rates.iter()),
                Quantity::Slots | Quantity::Field(_) => return None,
            }
        }
        (!sum.is_empty()).then(|| Quantity::Rates(sum.into()))
    }

    /// What the accumulator behind a PERF_METRICS field counts.
    pub(super) fn field(&self, field: u8) -> Option<Quantity> {
        let field = usize::from(field);
        (field < fields(self.metrics_level)).then_some(Quantity::Field(field))
    }

    /// Occurrences in `run`. Each privilege level is rounded on its own, so that the totals of
    /// `:u` and `:k` add up to that of both.
    pub(super) fn total(&self, quantity: &Quantity, filter: PrivilegeFilter, run: Slice) -> u64 {
        let at = |side: usize, ns| match quantity {
            Quantity::Rates(rates) => {
                rates.iter().fold(0_u64, |sum, rate| sum.saturating_add(rate[side].count(ns)))
            }
            Quantity::Slots => self.slots(ns),
            Quantity::Field(field) => self.partition(side, self.slots(ns))[*field],
        };
        sides(filter).map(|side| at(side, ns_of(run, side))).fold(0, u64::saturating_add)
    }

    /// Occurrences between two points of run time.
    pub(super) fn since(&self, quantity: &Quantity, filter: PrivilegeFilter, then: Slice, now: Slice) -> u64 {
        self.total(quantity, filter, now).saturating_sub(self.total(quantity, filter, then))
    }

    /// A lower bound of the nanoseconds that `count` occurrences of the most frequent quantity take.
    pub(super) fn fastest_to(&self, count: u64) -> u64 {
        count / self.fastest_per_ns
    }

    /// Slots in `run` by category; `None` for a profile without PERF_METRICS.
    pub(super) fn topdown(&self, filter: PrivilegeFilter, run: Slice) -> Option<TopdownSlots> {
        if self.metrics_level == 0 {
            return None;
        }
        let mut sum = TopdownSlots::default();
        for side in sides(filter) {
            let slots = self.slots(ns_of(run, side));
            sum.slots = sum.slots.saturating_add(slots);
            let parts = self.partition(side, slots).into_iter().take(fields(self.metrics_level));
            for (field, part) in sum.fields.iter_mut().zip(parts) {
                *field = field.saturating_add(part);
            }
        }
        Some(sum)
    }

    /// A lower bound, at least 1, of the nanoseconds until `count` more occurrences, however they
    /// are spread over the privilege levels; `None` when they never come.
    pub(super) fn earliest(&self, quantity: &Quantity, filter: PrivilegeFilter, count: u64) -> Option<u64> {
        let (fastest, slack) = sides(filter)
            .map(|side| self.growth(quantity, side))
            .reduce(|(a, ahead), (b, more)| (a.max(b), ahead.saturating_add(more)))?;
        fastest.earliest(count, slack)
    }

    /// Within any n nanoseconds fewer than `n · rate + slack` occurrences happen.
    fn growth(&self, quantity: &Quantity, side: usize) -> (Rate, u64) {
        let slots = Rate(self.cycles.0.saturating_mul(self.slots_per_cycle.into()));
        match quantity {
            // Rounding down puts one occurrence at most on the other side of the interval's start.
            Quantity::Rates(rates) => {
                let sum = rates.iter().fold(Rate::default(), |sum, rate| sum.plus(rate[side]));
                (sum, rates.len() as u64)
            }
            Quantity::Slots => (slots, self.slots_per_cycle),
            // A field is made by four divisions at most.
            Quantity::Field(field) => {
                let fraction = self.fractions[side][*field].nanos();
                (slots.share(fraction, level1_sum(&self.fractions[side])), self.slots_per_cycle + 4)
            }
        }
    }

    /// Whether the total depends on how run time is spread over the privilege levels.
    pub(super) fn depends_on_mix(&self, quantity: &Quantity, filter: PrivilegeFilter) -> bool {
        filter != PrivilegeFilter::ALL
            || match quantity {
                Quantity::Rates(rates) => rates.iter().any(|[os, usr]| os != usr),
                Quantity::Slots => false,
                Quantity::Field(_) => self.fractions[0] != self.fractions[1],
            }
    }

    fn slots(&self, ns: u64) -> u64 {
        self.cycles.count(ns).saturating_mul(self.slots_per_cycle)
    }

    /// Deals `slots` out to the fields.
    ///
    /// Rounding four products on their own would not add up, and giving the remainder to one of
    /// them would let it go down at times. So one category after the other takes its part of
    /// what is left: when one more slot comes, each step either takes it or passes it on.
    fn partition(&self, side: usize, slots: u64) -> [u64; ALL_FIELDS] {
        let fractions = &self.fractions[side];
        let mut fields = [0; ALL_FIELDS];
        let mut rest = slots;
        let mut weight = level1_sum(fractions);
        for index in 0..LEVEL1_FIELDS {
            let own = fractions[index].nanos();
            fields[index] = part(rest, own, weight);
            rest -= fields[index];
            weight -= own;
            fields[LEVEL1_FIELDS + index] =
                part(fields[index], fractions[LEVEL1_FIELDS + index].nanos(), own);
        }
        fields
    }
}

/// PERF_METRICS fields of a level.
fn fields(level: u8) -> usize {
    match level {
        0 | 1 => LEVEL1_FIELDS,
        _ => ALL_FIELDS,
    }
}

fn level1_sum(fractions: &Fractions) -> u64 {
    fractions.iter().take(LEVEL1_FIELDS).map(|fraction| fraction.nanos()).sum()
}

/// Index 0 is CPL 0, index 1 everything above.
fn sides(filter: PrivilegeFilter) -> impl Iterator<Item = usize> {
    [filter.os, filter.usr].into_iter().enumerate().filter_map(|(side, counts)| counts.then_some(side))
}

fn ns_of(run: Slice, side: usize) -> u64 {
    if side == 0 { run.os } else { run.usr }
}

/// Collects the rates that make up an event; false when one of them is not configured.
fn collect(event: Event, rates: &Rates, sum: &mut Vec<[Rate; 2]>) -> bool {
    if let Some(per_cycle) = rates.events.get(&event.counts_as()) {
        sum.push(per_cycle.map(|rate| Rate::per_cycle(rates.frequency_hz, rate)));
        return true;
    }
    let parts = event.parts();
    !parts.is_empty() && parts.iter().all(|&part| collect(part, rates, sum))
}
