//! `vpmu compare`: what the guest read, next to what the VMM counted meanwhile, and what the host's own PMU says.
//!
//! | file | what it does |
//! | --- | --- |
//! | `mod.rs` | runs, and prints tables |
//! | `native.rs` | the same workload on the host |
//! | `html.rs` | the page |
//! | `csv.rs` | lines for spreadsheets |

mod csv;
pub(super) mod html;
mod native;

use super::run::Document;
use super::stat::{title, worth};
use super::tma;
use crate::args::{CompareArgs, StrategyKind};
use crate::error::CliError;
use crate::machine::Plan;
use crate::measured::{self, Measured, MetricReading, Reading};
use crate::output::console::Target;
use crate::output::file;
use crate::output::number::{counted, grouped, signed, signed_decimal};
use crate::output::progress::Progress;
use crate::output::table::{self, left, right, styled};
use crate::output::{BAD, DIM, GOOD, HEADING, WARN, paint, print, print_json, remark, report};
use comfy_table::Cell;
use serde::Serialize;
use std::fmt::Write as _;
use std::io;
use vmm::machine::Outcome;
use vmm::run::RunReport;
use vpmu::Provenance;

/// What the table shows where there is nothing to show.
const NONE: &str = "-";

/// What `vpmu compare --json` adds to the report.
#[derive(Debug, Serialize)]
struct Comparison {
    comparison: Vec<Measured>,
    agreement: Agreement,
    no_native: Option<String>,
    /// Why no PERF_METRICS fields and slots are shown, and how to get them.
    no_tma: Option<String>,
}

/// What is shown.
struct Compared<'a> {
    windows: &'a [Measured],
    agreement: Agreement,
    /// Why PERF_METRICS is left out.
    no_tma: Option<String>,
    /// Why there is no native column, if a window is named after a workload.
    no_native: Option<String>,
    /// Show what rebuilding PERF_METRICS from metric counts would lose.
    converted: bool,
}

/// How well the two views agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
struct Agreement {
    /// Counter readings that can be compared.
    counters: usize,
    /// Of these: equal to the VMM's total.
    counters_equal: usize,
    /// PERF_METRICS fields that can be compared.
    metrics: usize,
    /// Of these: exactly what the VMM's slots round to.
    metrics_equal: usize,
}

impl Agreement {
    fn of(windows: &[Measured]) -> Self {
        let differences: Vec<i128> =
            windows.iter().flat_map(|w| &w.counters).filter_map(|r| r.difference).collect();
        let steps: Vec<i64> =
            windows.iter().flat_map(|w| &w.metrics).filter_map(|m| m.unexplained_steps).collect();
        Self {
            counters: differences.len(),
            counters_equal: differences.iter().filter(|&&difference| difference == 0).count(),
            metrics: steps.len(),
            metrics_equal: steps.iter().filter(|&&steps| steps == 0).count(),
        }
    }

    fn render(self) -> String {
        let mut text = String::new();
        let mut say = |equal: usize, of: usize, thing: &str, what: &str| {
            if of > 0 {
                let style = if equal == of { GOOD } else { WARN };
                let share = paint(style, format_args!("{} of {}", grouped(equal as u64), counted(of, thing)));
                let _ = writeln!(text, "{share} {what}");
            }
        };
        say(self.counters_equal, self.counters, "counter reading", "equal the VMM's totals");
        say(self.metrics_equal, self.metrics, "PERF_METRICS field", "are what the VMM's slots round to");
        text
    }
}

pub(super) fn compare(args: &CompareArgs, json: bool) -> Result<u8, CliError> {
    let plan = Plan::new(&args.machine)?;
    let (html, csv) = (args.html.as_deref(), args.csv.as_deref());
    file::check(json, &[("--html", html), ("--csv", csv)])?;
    let quiet = args.machine.quiet;
    let progress = Progress::start(plan.activity(), quiet);
    let target = if json || quiet { Target::Nowhere } else { Target::Stderr };
    let mut report = plan.run(target, &progress)?;
    let mut windows = measured::windows(&report);
    let interrupted = matches!(report.outcome, Outcome::Interrupted { .. });
    let known = !interrupted && windows.iter().any(|window| workloads::find(&window.label).is_some());
    let refused = known.then(|| native::fill(&mut windows)).and_then(Result::err);
    let no_native = refused.map(|error| error.with_advice());
    let converted = args.strategy == StrategyKind::Converted;
    // That the register holds what the slots round to is true of any slots; what they say of the code is not.
    let agreement = Agreement::of(&windows);
    let no_tma = tma::withhold(&mut report, &mut windows);
    let compared = Compared { windows: &windows, agreement, no_tma, no_native, converted };
    if let Some(path) = html {
        file::write(
            path,
            html::page(plan.image_name(), &report, &compared, &html::About::this()).as_bytes(),
        )?;
    }
    if let Some(path) = csv {
        let mut lines = Vec::new();
        csv::write(&windows, &mut lines).map_err(io::Error::from)?;
        file::write(path, &lines)?;
    }
    if json {
        let Compared { no_native, no_tma, .. } = compared;
        let more = Comparison { comparison: windows, agreement, no_native, no_tma };
        print_json(&Document::new("compare", &plan, &report, more))?;
    } else {
        // A report that goes to stdout is alone there.
        if ![html, csv].into_iter().flatten().any(file::is_stdout) {
            print(&render(plan.image_name(), &report, &compared))?;
        }
        remark(&report::warnings(&report));
        remark(&report::postmortem(&report, plan.symbols()));
    }
    Ok(plan.exit_code(&report))
}

fn render(image: &str, report: &RunReport, compared: &Compared<'_>) -> String {
    let windows = compared.windows;
    let mut text = format!("\n{}\n", title("Guest and VMM:", image, report));
    if windows.is_empty() {
        text +=
            "\nThe guest measured nothing: it never wrote a GLOBAL_CTRL that enables a counter and then 0.\n";
    }
    for (number, window) in (1..).zip(windows) {
        text += &render_window(number, window, compared.converted);
    }
    if compared.agreement != Agreement::default() {
        let _ = write!(text, "\n{}", compared.agreement.render());
    }
    if let Some(why) = compared.no_tma.as_ref().filter(|_| !windows.is_empty()) {
        let _ = writeln!(text, "{why}");
    }
    if let Some(why) = &compared.no_native {
        let _ = writeln!(text, "{}", paint(DIM, format_args!("no native column: {why}")));
    }
    if !matches!(report.outcome, Outcome::Exit { status: 1 }) {
        let (_, outcome) = report::outcome(&report.outcome);
        let _ = writeln!(text, "{}", paint(BAD, outcome));
    }
    text += &worth(report);
    text
}

fn render_window(number: usize, window: &Measured, converted: bool) -> String {
    let mut text = format!("\n{}\n", paint(HEADING, window.name(number)));
    if window.counters.is_empty() && window.metrics.is_empty() {
        text += "  no counter ran\n";
    }
    if !window.counters.is_empty() {
        text += &counters(&window.counters);
    }
    if !window.metrics.is_empty() {
        if !window.counters.is_empty() {
            text.push('\n');
        }
        text += &metrics(&window.metrics, converted);
    }
    text
}

fn counters(readings: &[Reading]) -> String {
    let mut table = table::new(vec![
        left("Counter"),
        left("Event"),
        right("Guest read"),
        right("VMM counted"),
        right("Difference"),
        right("Diff %"),
        left("Provenance"),
    ]);
    for reading in readings {
        let vmm = match reading.vmm {
            Some(vmm) => right(grouped(vmm)),
            None => styled(right("<not counted>"), DIM),
        };
        let difference = reading.difference.map(|d| (signed(d), d == 0));
        let percent = reading.difference_percent.map(|p| (signed_decimal(p, 3), p == 0.0));
        table.add_row(vec![
            left(&reading.counter),
            left(format!("{}{}", reading.event, reading.filter)),
            right(reading.guest.map_or_else(|| NONE.to_owned(), grouped)),
            vmm,
            judged(difference),
            judged(percent),
            provenance(reading.provenance),
        ]);
    }
    table::Fitting { prose: false, dispensable: &[5, 4, 6] }.render(&mut table)
}

/// One step of a PERF_METRICS field is 100/255 points; the columns say how many the guest is off.
fn metrics(readings: &[MetricReading], converted: bool) -> String {
    let native = readings.iter().any(|reading| reading.native_percent.is_some());
    let mut heads = vec![left("PERF_METRICS"), right("Field")];
    heads.extend(native.then(|| right("Native %")));
    heads.extend(["Guest %", "VMM %", "Points", "8-bit rounding", "Other steps"].map(right));
    if converted {
        heads.extend(["Rebuilt", "Rebuilt points", "Lost steps"].map(right));
    }
    heads.push(left("Provenance"));
    let mut table = table::new(heads);
    for reading in readings {
        let percent = |percent: Option<f64>| percent.map_or_else(|| NONE.to_owned(), |p| format!("{p:.2}"));
        let steps = reading.unexplained_steps.map(|steps| (signed(steps.into()), steps == 0));
        let mut row = vec![
            left(reading.metric),
            right(reading.guest_field.map_or_else(|| NONE.to_owned(), |field| field.to_string())),
        ];
        row.extend(native.then(|| right(percent(reading.native_percent))));
        row.extend([
            right(percent(reading.guest_percent)),
            right(percent(Some(reading.vmm_percent))),
            right(reading.difference_points.map_or_else(|| NONE.to_owned(), |p| signed_decimal(p, 2))),
            right(signed_decimal(reading.rounding_points, 2)),
            judged(steps),
        ]);
        if converted {
            row.extend([
                right(reading.rebuilt_field),
                right(signed_decimal(reading.rebuilt_points, 2)),
                judged(Some((signed(reading.rebuilt_steps.into()), reading.rebuilt_steps == 0))),
            ]);
        }
        row.push(provenance(reading.provenance));
        table.add_row(row);
    }
    // What the heading says too, then what only explains; at the end there are guest, VMM and what was lost.
    let (last, rounding) = (table.column_count().saturating_sub(1), 5 + usize::from(native));
    let mut dispensable = vec![last, rounding];
    dispensable.extend(converted.then_some([rounding + 3, rounding + 2]).into_iter().flatten());
    dispensable.extend([rounding - 1, 1, rounding + 1]);
    table::Fitting { prose: false, dispensable: &dispensable }.render(&mut table)
}

fn provenance(provenance: Provenance) -> Cell {
    styled(left(provenance), report::provenance_style(provenance))
}

/// A difference: green where there is none, yellow where there is one.
fn judged(difference: Option<(String, bool)>) -> Cell {
    match difference {
        Some((text, true)) => styled(right(text), GOOD),
        Some((text, false)) => styled(right(text), WARN),
        None => right(NONE),
    }
}

#[cfg(test)]
mod tests;
