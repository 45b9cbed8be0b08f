//! `cargo xtask bench`: what the virtual PMU costs, measured side by side in one run.
//!
//! Ratios are of medians over interleaved rounds, so that a machine that slows down in between slows
//! both sides down.

mod access;
mod exits;
mod guest;
mod startup;
mod timing;

use crate::error::TaskError;
use crate::vpmu_cli::Vpmu;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

/// Arguments of `cargo xtask bench`.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct BenchArgs {
    /// Rounds of each side
    #[arg(long, default_value_t = 15)]
    rounds: usize,
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

/// Measures everything that this machine can measure.
pub(crate) fn bench(args: &BenchArgs) -> Result<(), TaskError> {
    if cfg!(debug_assertions) {
        return Err(TaskError::Data(
            "only an optimised build is worth measuring: cargo xtask bench".to_owned(),
        ));
    }
    let vpmu = Vpmu::build()?;
    let wanted = |subject| args.only.is_none_or(|only| only == subject);
    let mut figures = Vec::new();
    let mut skipped = Vec::new();
    if wanted(Subject::Access) {
        figures.extend(access::measure(args.rounds)?);
    }
    for (subject, measure) in
        [(Subject::Exits, exits::measure as fn(usize) -> _), (Subject::Startup, startup::measure)]
    {
        match vpmu.kvm_missing()? {
            _ if !wanted(subject) => {}
            Some(reason) => skipped.push(format!("{subject:?}: {reason}")),
            None => figures.extend(measure(args.rounds)?),
        }
    }
    if wanted(Subject::Speed) {
        let (speed, missing) = guest::measure(args.rounds)?;
        figures.extend(speed);
        skipped.extend(missing);
    }
    if wanted(Subject::Timing) {
        figures.extend(timing::measure(args.rounds)?);
    }
    if args.json {
        let rows: Vec<Value> = figures
            .iter()
            .map(|f| json!({ "what": f.what, "value": f.value, "unit": f.unit, "spread": f.spread }))
            .collect();
        anstream::println!("{}", json!({ "rounds": args.rounds, "figures": rows, "skipped": skipped }));
        return Ok(());
    }
    print(&figures, args.rounds);
    for reason in skipped {
        anstream::println!("skipped {reason}");
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
