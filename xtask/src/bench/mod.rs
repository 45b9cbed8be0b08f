//! `cargo xtask bench`: what the virtual PMU costs, measured side by side in one run.
//!
//! Ratios are of medians over interleaved rounds, so that a machine that slows down in between slows
//! both sides down.

mod access;
mod exits;
mod guest;
mod progress;
mod startup;
mod timing;

use crate::error::TaskError;
use crate::vpmu_cli::Vpmu;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

/// Arguments of `cargo xtask bench`.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct BenchArgs {
    /// Rounds of each side; 15, or 5 of what takes minutes
    #[arg(long)]
    rounds: Option<usize>,
    /// Measure only this
    #[arg(long, value_enum)]
    only: Option<Subject>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Subject {
    /// Calls into the register model
    Access,
    /// MSR exits of KVM
    Exits,
    /// Time to the first guest instruction
    Startup,
    /// Speed of guest code on the soft engine, QEMU and Bochs
    Speed,
    /// Speed of guest code with a model of the core
    Timing,
}

/// One measured figure.
#[derive(Debug)]
struct Figure {
    what: String,
    value: f64,
    unit: &'static str,
    /// Smallest and largest round.
    spread: Option<(f64, f64)>,
}

/// Rounds of what is measured quickly, and of guest code on several emulators.
const ROUNDS: usize = 15;
const LONG_ROUNDS: usize = 5;

/// What has been measured. Tables are printed as they come.
#[derive(Debug, Default)]
struct Report {
    json: bool,
    figures: Vec<Figure>,
    skipped: Vec<String>,
}

impl Report {
    fn add(&mut self, figures: Vec<Figure>, rounds: usize) {
        if !self.json && !figures.is_empty() {
            print(&figures, rounds);
        }
        self.figures.extend(figures);
    }

    fn skip(&mut self, reason: String) {
        if !self.json {
            anstream::println!("skipped {reason}");
        }
        self.skipped.push(reason);
    }
}

/// Measures everything that this machine can measure.
pub(crate) fn bench(args: &BenchArgs) -> Result<(), TaskError> {
    if cfg!(debug_assertions) {
        return Err(TaskError::Data(
            "only an optimised build is worth measuring: cargo xtask bench".to_owned(),
        ));
    }
    let vpmu = Vpmu::build()?;
    let wanted = |subject| args.only.is_none_or(|only| only == subject);
    let (rounds, long_rounds) = (args.rounds.unwrap_or(ROUNDS), args.rounds.unwrap_or(LONG_ROUNDS));
    let mut report = Report { json: args.json, ..Report::default() };
    if wanted(Subject::Access) {
        report.add(access::measure(rounds)?, rounds);
    }
    for (subject, measure) in
        [(Subject::Exits, exits::measure as fn(usize) -> _), (Subject::Startup, startup::measure)]
    {
        match vpmu.kvm_missing()? {
            _ if !wanted(subject) => {}
            Some(reason) => report.skip(format!("{subject:?}: {reason}")),
            None => report.add(measure(rounds)?, rounds),
        }
    }
    if wanted(Subject::Speed) {
        guest::measure(long_rounds, &mut report)?;
    }
    if wanted(Subject::Timing) {
        timing::measure(long_rounds, &mut report)?;
    }
    if report.json {
        let Report { figures, skipped, .. } = report;
        let rows: Vec<Value> = figures
            .iter()
            .map(|f| json!({ "what": f.what, "value": f.value, "unit": f.unit, "spread": f.spread }))
            .collect();
        let most = rounds.max(long_rounds);
        anstream::println!("{}", json!({ "rounds": most, "figures": rows, "skipped": skipped }));
    }
    Ok(())
}

fn print(figures: &[Figure], rounds: usize) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["measured", "median", "unit", "min .. max"]);
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for figure in figures {
        let spread = figure.spread.map_or_else(String::new, |(low, high)| format!("{low:.2} .. {high:.2}"));
        table.add_row([figure.what.clone(), format!("{:.2}", figure.value), figure.unit.to_owned(), spread]);
    }
    anstream::println!("{table}\n{rounds} rounds each");
}

/// The median with the extremes; an empty list gives zeros.
fn figure(what: impl Into<String>, unit: &'static str, mut samples: Vec<f64>) -> Figure {
    samples.sort_by(f64::total_cmp);
    let pick = |index: usize| samples.get(index).copied().unwrap_or(0.0);
    Figure {
        what: what.into(),
        value: pick(samples.len() / 2),
        unit,
        spread: Some((pick(0), pick(samples.len().saturating_sub(1)))),
    }
}

fn ratio(what: impl Into<String>, over: &Figure, under: &Figure) -> Figure {
    Figure { what: what.into(), value: over.value / under.value, unit: "ratio", spread: None }
}
