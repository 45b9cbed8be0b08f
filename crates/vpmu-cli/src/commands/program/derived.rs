//! What follows from counts of a program: level 3 of TMA, its dominant path, and metrics by name.
//!
//! Formulas of level 3 are those of Intel's `TMA_Metrics` (`intel/perfmon`): shares of cycles, of which those below one
//! part of level 2 need not add up to it.

use crate::commands::tma::{Category, Tma};
use crate::error::CliError;
use crate::output::{DIM, HEADING, paint};
use crate::similar::most_similar;
use serde::Serialize;
use std::fmt::Write as _;
use vmm::guest_program::{EventCount, ProgramReport};
use vpmu::event::{Event, EventCode};
use vpmu::source::EventRequest;

const CYCLES: Event = Event::CpuClkUnhaltedThread;
const INSTRUCTIONS: Event = Event::InstRetiredAny;

/// A part of level 3: events that add up, and events that are taken off.
struct Part {
    name: &'static str,
    /// Its part of level 2.
    of: &'static str,
    plus: &'static [Event],
    minus: &'static [Event],
}

const fn part(of: &'static str, name: &'static str, plus: &'static [Event], minus: &'static [Event]) -> Part {
    Part { name, of, plus, minus }
}

const PARTS: [Part; 12] = [
    part("Fetch latency", "ICache misses", &[Event::IcacheDataStalls], &[]),
    part("Fetch latency", "ITLB misses", &[Event::IcacheTagStalls], &[]),
    part("Fetch latency", "Branch resteers", &[Event::IntMiscClearResteerCycles], &[]),
    part("Fetch latency", "DSB switches", &[Event::Dsb2miteSwitchesPenaltyCycles], &[]),
    part(
        "Memory bound",
        "L1 bound",
        &[Event::ExeActivityBoundOnLoads],
        &[Event::MemoryActivityStallsL1dMiss],
    ),
    part(
        "Memory bound",
        "L2 bound",
        &[Event::MemoryActivityStallsL1dMiss],
        &[Event::MemoryActivityStallsL2Miss],
    ),
    part(
        "Memory bound",
        "L3 bound",
        &[Event::MemoryActivityStallsL2Miss],
        &[Event::MemoryActivityStallsL3Miss],
    ),
    part("Memory bound", "DRAM bound", &[Event::MemoryActivityStallsL3Miss], &[]),
    part("Memory bound", "Store bound", &[Event::ExeActivityBoundOnStores], &[]),
    part("Core bound", "Divider", &[Event::ArithDivActive], &[]),
    part("Core bound", "Serializing operations", &[Event::ResourceStallsScoreboard], &[]),
    part(
        "Core bound",
        "Ports utilization",
        &[Event::ExeActivityExeBound0Ports, Event::ExeActivity1PortsUtil],
        &[],
    ),
];

/// A ratio of two events, times a number.
struct Metric {
    group: &'static str,
    name: &'static str,
    of: Event,
    to: Event,
    scale: f64,
}

const fn metric(group: &'static str, name: &'static str, of: Event, to: Event, scale: f64) -> Metric {
    Metric { group, name, of, to, scale }
}

/// Groups and names that `-M` takes.
const METRICS: [Metric; 13] = [
    metric("Summary", "ipc", INSTRUCTIONS, CYCLES, 1.0),
    metric("Summary", "uops-per-instruction", Event::UopsRetiredSlots, INSTRUCTIONS, 1.0),
    metric("Branches", "branches-per-instruction", Event::BrInstRetiredAllBranches, INSTRUCTIONS, 1.0),
    metric("Branches", "branch-mpki", Event::BrMispRetiredAllBranches, INSTRUCTIONS, 1000.0),
    metric(
        "Branches",
        "branch-misprediction-percent",
        Event::BrMispRetiredAllBranches,
        Event::BrInstRetiredAllBranches,
        100.0,
    ),
    metric("Memory", "loads-per-instruction", Event::MemInstRetiredAllLoads, INSTRUCTIONS, 1.0),
    metric("Memory", "stores-per-instruction", Event::MemInstRetiredAllStores, INSTRUCTIONS, 1.0),
    metric("Cache", "l1d-mpki", Event::MemLoadRetiredL1Miss, INSTRUCTIONS, 1000.0),
    metric("Cache", "l2-mpki", Event::MemLoadRetiredL2Miss, INSTRUCTIONS, 1000.0),
    metric("Cache", "l3-mpki", Event::MemLoadRetiredL3Miss, INSTRUCTIONS, 1000.0),
    metric("Cache", "l1d-miss-percent", Event::MemLoadRetiredL1Miss, Event::MemInstRetiredAllLoads, 100.0),
    metric("TLB", "dtlb-walks-mpki", Event::DtlbLoadMissesWalkCompleted, INSTRUCTIONS, 1000.0),
    metric("TLB", "itlb-walks-mpki", Event::ItlbMissesWalkCompleted, INSTRUCTIONS, 1000.0),
];

/// A part of level 3 in the results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Level3 {
    pub(super) name: &'static str,
    /// Its part of level 2.
    pub(super) of: &'static str,
    /// Share of the program's own cycles.
    pub(super) percent_of_cycles: f64,
}

/// A metric in the results, of the program's own counts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct MetricValue {
    pub(super) group: &'static str,
    pub(super) name: &'static str,
    /// `None` if one of its events is not counted, or never occurred.
    pub(super) value: Option<f64>,
}

/// A name or group of metrics each.
pub(super) fn metrics(asked: &[String]) -> Result<Vec<usize>, CliError> {
    let words = asked.iter().flat_map(|list| list.split(',')).map(str::trim).filter(|word| !word.is_empty());
    let mut found = Vec::new();
    for word in words {
        let of_word = |metric: &Metric| {
            [metric.group, metric.name].iter().any(|name| name.eq_ignore_ascii_case(word))
                || word.eq_ignore_ascii_case("all")
        };
        let before = found.len();
        found.extend((0..METRICS.len()).filter(|index| of_word(&METRICS[*index])));
        if found.len() == before {
            let names = METRICS.iter().flat_map(|metric| [metric.group, metric.name]);
            let similar = most_similar(word, names);
            return Err(CliError::UnknownMetric { name: word.to_owned(), similar });
        }
    }
    found.dedup();
    Ok(found)
}

/// The events that metrics and level 3 need.
pub(super) fn requests(metrics: &[usize], level3: bool) -> Vec<EventRequest> {
    let of_metrics = metrics.iter().flat_map(|index| [METRICS[*index].of, METRICS[*index].to]);
    let of_parts = PARTS.iter().flat_map(|part| part.plus.iter().chain(part.minus)).copied().chain([CYCLES]);
    let of_parts = of_parts.filter(|_| level3);
    let mut events: Vec<Event> = of_metrics.chain(of_parts).collect();
    events.sort_unstable_by_key(|event| event.name());
    events.dedup();
    events.into_iter().map(|event| EventRequest::named(event, EventCode::default())).collect()
}

/// What the program itself counted of an event.
fn user(counted: &[EventCount], event: Event) -> Option<u64> {
    let is_it = |found: &&EventCount| found.request.event.map(Event::counts_as) == Some(event.counts_as());
    counted.iter().find(is_it)?.count.map(|count| count.user)
}

pub(super) fn values(metrics: &[usize], report: &ProgramReport) -> Vec<MetricValue> {
    let value = |metric: &Metric| {
        let (of, to) = (user(&report.events, metric.of)?, user(&report.events, metric.to)?);
        (to > 0).then(|| of as f64 * metric.scale / to as f64)
    };
    let metrics = metrics.iter().map(|index| &METRICS[*index]);
    metrics
        .map(|metric| MetricValue { group: metric.group, name: metric.name, value: value(metric) })
        .collect()
}

/// The parts of level 3 that the model knows.
pub(super) fn level3(counted: &[EventCount]) -> Vec<Level3> {
    let Some(cycles) = user(counted, CYCLES).filter(|cycles| *cycles > 0) else { return Vec::new() };
    let sum = |events: &[Event]| events.iter().map(|event| user(counted, *event)).sum::<Option<u64>>();
    let parts = PARTS.iter().filter_map(|part| {
        let stalled = sum(part.plus)?.saturating_sub(sum(part.minus)?);
        let percent_of_cycles = stalled as f64 * 100.0 / cycles as f64;
        Some(Level3 { name: part.name, of: part.of, percent_of_cycles })
    });
    parts.collect()
}

/// The largest category, its larger part, and the largest part of that.
pub(super) fn dominant_path(tma: &Tma, level3: &[Level3]) -> Vec<(&'static str, f64)> {
    let mut path = Vec::new();
    let Some(first) = tma.dominant(1) else { return path };
    path.push((first.name, first.percent));
    // Parts follow their category.
    let behind = tma.categories.iter().skip_while(|category| category.name != first.name).skip(1);
    let parts = behind.take_while(|category| category.level > 1);
    let Some(second) = parts.max_by_key(|category: &&Category| category.slots) else { return path };
    path.push((second.name, second.percent));
    let below = level3.iter().filter(|part| part.of == second.name);
    let third = below.max_by(|one, other| one.percent_of_cycles.total_cmp(&other.percent_of_cycles));
    path.extend(third.map(|part| (part.name, part.percent_of_cycles)));
    path
}

/// Level 3 below the breakdown, and the path.
pub(super) fn render_level3(tma: &Tma, level3: &[Level3]) -> String {
    let path = dominant_path(tma, level3);
    let on_path = |name: &str| path.iter().any(|(other, _)| *other == name);
    let mut text = String::new();
    if !level3.is_empty() {
        let _ = writeln!(text, "{} (shares of cycles)", paint(HEADING, "Level 3"));
    }
    for part in level3 {
        let mark = if on_path(part.name) { " <" } else { "" };
        let name = format!("{}: {}", part.of, part.name);
        let row = format!("  {name:<38}{:>6.2} %{mark}", part.percent_of_cycles);
        let _ = writeln!(text, "{}", if on_path(part.name) { row } else { paint(DIM, row) });
    }
    let path: Vec<String> = path.iter().map(|(name, percent)| format!("{name} {percent:.2} %")).collect();
    let _ = writeln!(text, "{}: {}", paint(HEADING, "Dominant path"), path.join(" > "));
    text
}

pub(super) fn render_metrics(metrics: &[MetricValue]) -> String {
    let mut text = String::new();
    for MetricValue { group, name, value } in metrics {
        let value = value.map_or_else(|| "<not counted>".to_owned(), |value| format!("{value:.4}"));
        let _ = writeln!(text, "  {:<40}{value:>14}", format!("{group}: {name}"));
    }
    if text.is_empty() {
        text
    } else {
        format!("{}\n{text}", paint(HEADING, "Metrics of the program itself"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vmm::machine::program::spaces::SpaceCount;
    use vpmu::{Provenance, TopdownSlots};

    fn counted(counts: &[(Event, u64)]) -> Vec<EventCount> {
        let count = |(event, user): &(Event, u64)| EventCount {
            request: EventRequest::named(*event, EventCode::default()),
            count: Some(SpaceCount { user: *user, kernel: 7, rest: 9 }),
            provenance: Provenance::Modelled,
        };
        counts.iter().map(count).collect()
    }

    #[test]
    fn the_path_goes_through_the_largest_part_of_each_level() {
        let counts = counted(&[
            (CYCLES, 1_000),
            (Event::ExeActivityBoundOnLoads, 500),
            (Event::MemoryActivityStallsL1dMiss, 450),
            (Event::MemoryActivityStallsL2Miss, 400),
            (Event::MemoryActivityStallsL3Miss, 100),
            (Event::ArithDivActive, 900),
        ]);
        let level3 = level3(&counts);
        let shares: Vec<_> = level3.iter().map(|part| (part.name, part.percent_of_cycles)).collect();
        let memory = [("L1 bound", 5.0), ("L2 bound", 5.0), ("L3 bound", 30.0), ("DRAM bound", 10.0)];
        assert_eq!(shares, [&memory[..], &[("Divider", 90.0)]].concat(), "stores are not counted");
        let slots = TopdownSlots { slots: 100, fields: [30, 5, 5, 60, 0, 5, 5, 40] };
        let tma = Tma::new(&slots, 2, Provenance::Modelled).unwrap();
        let path: Vec<_> = dominant_path(&tma, &level3).into_iter().map(|(name, _)| name).collect();
        // Not the divider, which is below another part.
        assert_eq!(path, ["Backend bound", "Memory bound", "L3 bound"]);
    }

    #[test]
    fn metrics_are_found_by_group_and_by_name_and_need_both_events() {
        let of = |words: &[&str]| metrics(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let names =
            |found: Vec<usize>| found.into_iter().map(|index| METRICS[index].name).collect::<Vec<_>>();
        assert_eq!(names(of(&["ipc,cache"]).unwrap())[..2], ["ipc", "l1d-mpki"]);
        assert!(
            matches!(of(&["ipx"]), Err(CliError::UnknownMetric { similar: Some(name), .. }) if name == "ipc")
        );
        assert_eq!(of(&["all"]).unwrap().len(), METRICS.len());
        let events = requests(&of(&["ipc"]).unwrap(), false);
        assert_eq!(events.len(), 2);
    }
}
