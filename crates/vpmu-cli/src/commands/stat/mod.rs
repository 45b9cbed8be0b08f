//! `vpmu stat`: what the guest counted, in the style of `perf stat`.

mod csv;

use super::run::Document;
use super::tma::{self, Tma, WindowTma};
use crate::args::StatArgs;
use crate::error::CliError;
use crate::formula;
use crate::machine::Plan;
use crate::measured::{self, Measured, quantity, together};
use crate::output::console::Target;
use crate::output::file;
use crate::output::number::{duration, grouped};
use crate::output::progress::Progress;
use crate::output::table::{self, left, right, styled};
use crate::output::{BAD, DIM, HEADING, WARN, paint, print, print_json, remark, report};
use serde::Serialize;
use std::fmt::Write as _;
use std::io;
use vmm::engine::Detail;
use vmm::machine::Outcome;
use vmm::run::{CountRow, RunReport};
use vpmu::event::Event;
use vpmu::profile::PROFILES;
use vpmu::{Profile, Provenance};

/// What a count is set in relation to, and how that reads.
struct Relation {
    event: Event,
    to: Event,
    unit: &'static str,
}

const PERCENT_OF_INSTRUCTIONS: &str = "% of instructions";
const RELATIONS: [Relation; 9] = [
    Relation { event: Event::InstRetiredAny, to: Event::CpuClkUnhaltedThread, unit: "insn per cycle" },
    Relation {
        event: Event::CpuClkUnhaltedThread,
        to: Event::CpuClkUnhaltedRefTsc,
        unit: "per reference cycle",
    },
    Relation { event: Event::TopdownSlots, to: Event::CpuClkUnhaltedThread, unit: "slots per cycle" },
    Relation {
        event: Event::BrInstRetiredAllBranches,
        to: Event::InstRetiredAny,
        unit: PERCENT_OF_INSTRUCTIONS,
    },
    Relation {
        event: Event::BrMispRetiredAllBranches,
        to: Event::BrInstRetiredAllBranches,
        unit: "% of all branches",
    },
    Relation {
        event: Event::LongestLatCacheMiss,
        to: Event::LongestLatCacheReference,
        unit: "% of all cache refs",
    },
    Relation {
        event: Event::MemInstRetiredAllLoads,
        to: Event::InstRetiredAny,
        unit: PERCENT_OF_INSTRUCTIONS,
    },
    Relation {
        event: Event::MemInstRetiredAllStores,
        to: Event::InstRetiredAny,
        unit: PERCENT_OF_INSTRUCTIONS,
    },
    Relation {
        event: Event::MemLoadRetiredL1Miss,
        to: Event::MemInstRetiredAllLoads,
        unit: "% of all loads",
    },
];

/// One line of the table.
#[derive(Debug, Clone, Serialize)]
pub(super) struct StatRow {
    pub(super) counter: String,
    pub(super) event: String,
    pub(super) filter: &'static str,
    /// `None`: the source cannot count this event.
    pub(super) count: Option<u64>,
    pub(super) provenance: Provenance,
    pub(super) comment: Option<Comment>,
}

/// A count in relation to another.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Comment {
    pub(super) value: f64,
    pub(super) unit: &'static str,
}

/// What `vpmu stat --json` adds to the report.
#[derive(Debug, Serialize)]
pub(super) struct Stat {
    pub(super) stat: Vec<StatRow>,
    pub(super) tma: Option<Tma>,
    /// Why there is none, and how to get one.
    no_tma: Option<String>,
    /// The breakdown of each measuring window.
    pub(super) windows_tma: Vec<WindowTma>,
    /// The same by a published formula, from what the guest read from general-purpose counters.
    pub(super) windows_formula: Vec<WindowTma>,
}

impl Stat {
    fn new(report: &RunReport, windows: &[Measured]) -> Self {
        let rows = report.counted.iter().map(|row| (row.event.as_str(), row.provenance));
        // Without PERF_METRICS only a model of the core knows slots.
        let otherwise = if report.metrics_level == 0 { Provenance::Modelled } else { report.counts };
        let worth = measured::slots_provenance(rows, otherwise);
        let level = shown_level(report);
        let no_tma = tma::missing(report);
        let real = if no_tma.is_none() { windows } else { &[] };
        let mut topdown = report.topdown;
        if report.metrics_level == 0 {
            for window in windows.iter().filter_map(|window| window.topdown.as_ref()) {
                topdown += *window;
            }
        }
        Self {
            stat: report.counted.iter().map(|row| stat_row(row, windows)).collect(),
            tma: no_tma.is_none().then(|| Tma::new(&topdown, level, worth)).flatten(),
            no_tma,
            windows_formula: (1..)
                .zip(real)
                .filter_map(|(number, window)| {
                    let slots = formula::level1(&window.counters, report.slots_per_cycle)?;
                    let tma = Tma::new(&slots, 1, worth)?;
                    Some(WindowTma { name: window.name(number), tma })
                })
                .collect(),
            windows_tma: (1..)
                .zip(real)
                .filter_map(|(number, window)| {
                    let tma = Tma::new(&window.topdown?, level, worth)?;
                    Some(WindowTma { name: window.name(number), tma })
                })
                .collect(),
        }
    }
}

/// The TMA level that can be shown: a model of the core knows level 2 where PERF_METRICS has only level 1.
pub(super) fn shown_level(report: &RunReport) -> u8 {
    if report.detail == Some(Detail::Timing) { 2 } else { report.metrics_level }
}

fn stat_row(row: &CountRow, windows: &[Measured]) -> StatRow {
    StatRow {
        counter: row.counter.clone(),
        event: row.event.clone(),
        filter: row.filter,
        count: row.count,
        provenance: row.provenance,
        comment: comment(row, windows),
    }
}

fn comment(row: &CountRow, windows: &[Measured]) -> Option<Comment> {
    let event = quantity(&row.event)?;
    let relation = RELATIONS.iter().find(|relation| relation.event.counts_as() == event)?;
    let (count, of) = together(windows, &row.counter, (&row.event, row.filter), relation.to)?;
    let ratio = (of != 0).then(|| count as f64 / of as f64)?;
    let value = if relation.unit.starts_with('%') { ratio * 100.0 } else { ratio };
    Some(Comment { value, unit: relation.unit })
}

pub(super) fn stat(args: &StatArgs, json: bool) -> Result<u8, CliError> {
    let plan = Plan::new(&args.machine)?;
    let csv = args.csv.as_deref();
    file::check(json, &[("--csv", csv)])?;
    let quiet = args.machine.quiet;
    let progress = Progress::start(plan.activity(), quiet);
    let target = if json || quiet { Target::Nowhere } else { Target::Stderr };
    let mut report = plan.run(target, &progress)?;
    let mut windows = measured::windows(&report);
    tma::withhold(&mut report, &mut windows);
    let stat = Stat::new(&report, &windows);
    if let Some(path) = csv {
        file::write(path, &csv::lines(&stat).map_err(io::Error::from)?)?;
    }
    if json {
        print_json(&Document::new("stat", &plan, &report, stat))?;
    } else {
        // A report that goes to stdout is alone there.
        if !csv.is_some_and(file::is_stdout) {
            print(&render(plan.image_name(), &report, &stat))?;
        }
        remark(&report::warnings(&report));
        remark(&report::postmortem(&report, plan.symbols()));
    }
    Ok(plan.exit_code(&report))
}

fn render(image: &str, report: &RunReport, stat: &Stat) -> String {
    let mut text = format!("\n{}\n\n", title("Counted by", image, report));
    if stat.stat.is_empty() {
        text += "  The guest programmed no counter.\n";
    } else {
        text += &rows(&stat.stat);
    }
    text.push('\n');
    match &stat.tma {
        Some(tma) => {
            text += &tma.render();
            if stat.windows_tma.len() > 1 {
                text += "\n";
                text += &tma::render_windows(&stat.windows_tma);
            }
        }
        None if stat.no_tma.is_some() => {
            let _ = writeln!(text, "{}", stat.no_tma.as_deref().unwrap_or_default());
        }
        None if report.metrics_level == 0 => {}
        None => text += "No top-down breakdown: the guest counted no slots with PERF_METRICS enabled.\n",
    }
    if !stat.windows_formula.is_empty() {
        let heading = "Level 1 by the published formula, from what the guest read";
        let _ = writeln!(text, "\n{}", paint(HEADING, heading));
        text += &tma::render_windows(&stat.windows_formula);
    }
    let _ =
        writeln!(text, "\n{} run time, {} start-up", duration(report.run_ns), duration(report.startup_ns));
    if !matches!(report.outcome, Outcome::Exit { status: 1 }) {
        let (_, outcome) = report::outcome(&report.outcome);
        let _ = writeln!(text, "{}", paint(BAD, outcome));
    }
    text += &worth(report);
    text += &off_silicon(report);
    text
}

/// A line that says how far modelled cycles are off those of silicon, of profiles that the program has.
fn off_silicon(report: &RunReport) -> String {
    let profile = PROFILES.iter().find(|profile| profile.name == report.profile);
    let timing = report.detail == Some(Detail::Timing);
    profile.filter(|_| timing).map_or_else(String::new, |profile| model_off_silicon(profile))
}

/// The same of a profile with a model of its core.
pub(super) fn model_off_silicon(profile: &Profile) -> String {
    vmm::counts::timing::off_silicon(profile).map_or_else(String::new, |text| {
        format!("{} {} model: {text}\n", paint(WARN.bold(), "note:"), profile.name)
    })
}

/// `Counted by smoke on sapphire-rapids (kvm, synthetic counts)`; with the soft engine, which knows some events
/// exactly and models others, `(soft, counts)` or `(soft, timing)` as `--detail` says.
pub(super) fn title(what: &str, image: &str, report: &RunReport) -> String {
    let counts = match report.detail {
        Some(detail) => detail.to_string(),
        None => paint(report::provenance_style(report.counts), format_args!("{} counts", report.counts)),
    };
    format!(
        "{} on {} ({}, {counts})",
        paint(HEADING, format_args!("{what} {image}")),
        report.profile,
        report.engine,
    )
}

/// A line that says what the counts are worth, unless they are simply true.
pub(super) fn worth(report: &RunReport) -> String {
    match report.counts {
        Provenance::Exact | Provenance::Host => String::new(),
        other => format!("{} {other} counts are {}\n", paint(WARN.bold(), "note:"), report::worth(other)),
    }
}

fn rows(rows: &[StatRow]) -> String {
    let mut table =
        table::new(vec![left("Counter"), right("Count"), left("Event"), left("Comment"), left("Provenance")]);
    for row in rows {
        let count = match row.count {
            Some(count) => right(grouped(count)),
            None => styled(right("<not counted>"), DIM),
        };
        let comment = row
            .comment
            .as_ref()
            .map_or_else(String::new, |comment| format!("# {:.2} {}", comment.value, comment.unit));
        table.add_row(vec![
            left(&row.counter),
            count,
            left(format!("{}{}", row.event, row.filter)),
            left(comment),
            styled(left(row.provenance), report::provenance_style(row.provenance)),
        ]);
    }
    // The comment repeats what the counts say.
    table::Fitting { prose: false, dispensable: &[3, 4] }.render(&mut table)
}

#[cfg(test)]
mod tests;
