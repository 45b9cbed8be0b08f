//! `vpmu stat -- PROGRAM`: what a program executed, in the style of `perf stat`.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`exports`] | formats of others |
//! | [`html`] | the counts as a page |

mod exports;
mod html;

use super::derived::{self, Level3, MetricValue};
use super::events::{self, Asked, Level};
use super::{Run, Watch};
use crate::args::StatArgs;
use crate::commands::compare::html::About;
use crate::commands::stat::model_off_silicon;
use crate::commands::tma::Tma;
use crate::error::CliError;
use crate::output::console::Target;
use crate::output::number::{duration, grouped};
use crate::output::table::{self, left, right, styled};
use crate::output::{DIM, HEADING, file, paint, print_json, remark, report, to_json};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;
use std::io;
use vmm::counts::timing::{Sampling, SamplingReport};
use vmm::engine::Detail;
use vmm::machine::program::spaces::SpaceCount;
use vpmu::Provenance;
use vpmu::event::Event;

/// An event in the results. What depends on the host is not among them.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// As it was asked for, without `:u` and `:k`.
    pub(super) event: String,
    /// Occurrences in the program; `None` if `:k` was asked for, or nothing can count it.
    pub(super) user: Option<u64>,
    /// In the kernel, in the program's address spaces; `None` for `:u`.
    pub(super) kernel: Option<u64>,
    /// Elsewhere, from the program's start to its end; only where both were asked for.
    pub(super) rest: Option<u64>,
    pub(super) provenance: Provenance,
    #[serde(skip)]
    relation: Option<(f64, &'static str)>,
}

/// The results as JSON.
#[derive(Debug, Serialize)]
struct Document<'a> {
    command: &'static str,
    program: Vec<String>,
    exit_code: u8,
    profile: &'a str,
    detail: Detail,
    /// The part that was counted, and how often it came; else the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Part>,
    events: &'a [Row],
    tma_user: &'a Option<Tma>,
    tma_kernel: &'a Option<Tma>,
    /// Parts of level 3 of the program itself.
    level3_user: &'a [Level3],
    /// The largest category of the program itself, its largest part, and so on, with shares.
    dominant_path: &'a [(&'static str, f64)],
    metrics: &'a [MetricValue],
    /// How counts that depend on the model of the core were estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Estimate>,
    guest_ns: u64,
}

/// How the rest was estimated from samples.
#[derive(Debug, Serialize)]
struct Estimate {
    /// Instructions of each sample, in detail before it, and from one to the next.
    unit: u32,
    warm_up: u32,
    period: u32,
    samples: u64,
    /// Half of the 95 % confidence interval of cycles per instruction, in percent; `None` for too few samples.
    error_percent: Option<f64>,
}

impl Estimate {
    fn new(report: &SamplingReport) -> Self {
        let Sampling { unit, warm_up, period } = report.sampling;
        let error_percent = report.error.map(|error| error * 100.0);
        Self { unit, warm_up, period, samples: report.units, error_percent }
    }

    /// A sentence.
    fn line(&self) -> String {
        let Self { unit, warm_up, period, samples, error_percent } = self;
        let error = error_percent.map_or("too few for an error".to_owned(), |error| {
            format!("cycles ±{error:.2} % (95 % confidence)")
        });
        let [unit, warm_up, period] = [unit, warm_up, period].map(|&count| grouped(count.into()));
        format!(
            "Estimated from {} samples of {unit} instructions after {warm_up} in detail, one each {period}: {error}\n",
            grouped(*samples)
        )
    }
}

/// A part of the program.
#[derive(Debug, Serialize)]
struct Part {
    roi: String,
    times: u64,
}

#[cfg(test)]
impl Row {
    pub(super) fn plain(event: &str, user: Option<u64>, kernel: Option<u64>, provenance: Provenance) -> Self {
        Self { event: event.to_owned(), user, kernel, rest: None, provenance, relation: None }
    }
}

/// `vpmu stat -- PROGRAM`.
pub(in crate::commands) fn stat(args: &StatArgs, json: bool) -> Result<u8, CliError> {
    let StatArgs { machine, program, event, output, .. } = args;
    let files = [
        ("--output", output.as_deref()),
        ("--csv", args.csv.as_deref()),
        ("--bencher", args.bencher.as_deref()),
        ("--github-benchmark", args.github_benchmark.as_deref()),
        ("--html", args.html.as_deref()),
    ];
    file::check(json && output.is_none(), &files)?;
    let detail = machine.detail.unwrap_or_default();
    let modelled = detail == Detail::Timing;
    let flags =
        [("--topdown", args.topdown), ("--detailed", args.detailed), ("--sample", args.sample.is_some())];
    for (flag, asked) in flags {
        if asked && !modelled {
            return Err(CliError::NeedsModel(flag));
        }
    }
    let metrics = derived::metrics(&args.metrics)?;
    // A report on stdout is alone there.
    let to_stdout =
        json && output.is_none() || files.iter().any(|(_, path)| path.is_some_and(file::is_stdout));
    let targets = [if to_stdout { Target::Nowhere } else { Target::Stdout }, Target::Stderr];
    let mut asked = Vec::new();
    let watch = args.sample.map_or(Watch::Counts, |period| Watch::Estimates(Sampling::every(period)));
    let run = Run::watched(machine, program, &args.region, targets, watch, |profile| {
        asked = match event.is_empty() {
            true => events::usual(profile, detail, args.detailed),
            false => events::parse(profile, event)?,
        };
        // What is derived from counts comes after what is shown.
        let derived = derived::requests(&metrics, modelled);
        Ok(asked.iter().map(|asked| asked.request).chain(derived).collect())
    })?;
    let rows = rows(&asked, &run);
    let report = &run.report;
    let tma = |slots: &Option<_>| slots.as_ref().and_then(|slots| Tma::new(slots, 2, Provenance::Modelled));
    let (tma_user, tma_kernel) = (tma(&report.topdown_user), tma(&report.topdown_kernel));
    let level3 = if modelled { derived::level3(&report.events) } else { Vec::new() };
    let path = tma_user.as_ref().map_or_else(Vec::new, |tma| derived::dominant_path(tma, &level3));
    let metrics = derived::values(&metrics, report);
    let document = Document {
        command: "stat",
        program: program.program.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        exit_code: run.exit_code(),
        profile: &run.profile.name,
        detail,
        region: args.region.roi.as_ref().map(|roi| Part { roi: roi.to_string(), times: report.region.times }),
        events: &rows,
        tma_user: &tma_user,
        tma_kernel: &tma_kernel,
        level3_user: &level3,
        dominant_path: &path,
        metrics: &metrics,
        sampling: report.sampling.as_ref().map(Estimate::new),
        guest_ns: report.guest_ns,
    };
    export(args, &document)?;
    let text = || match &args.field_separator {
        Some(separator) => exports::separated(separator, &rows, report.guest_ns),
        None => render(&document, &run, args.topdown),
    };
    match output {
        Some(path) => {
            let text =
                if json { to_json(&document)? } else { anstream::adapter::strip_str(&text()).to_string() };
            file::write(path, text.as_bytes())?;
        }
        None if json => print_json(&document)?,
        None => remark(&text()),
    }
    if !machine.quiet {
        let speed = report.instructions.user as f64 + report.instructions.kernel as f64;
        remark(&format!(
            "{} to the program's start, {} for it: {:.1} million instructions a second\n",
            duration(nanoseconds(report.startup)),
            duration(nanoseconds(report.ran)),
            speed / report.ran.as_secs_f64().max(1e-9) / 1e6
        ));
    }
    run.remarks();
    Ok(run.exit_code())
}

/// The files in formats of others.
fn export(args: &StatArgs, document: &Document<'_>) -> Result<(), CliError> {
    let words = shlex::try_join(document.program.iter().map(String::as_str));
    let line = words.unwrap_or_else(|_| document.program.join(" "));
    let name = args.name.as_deref().unwrap_or(&line);
    let rows = document.events;
    if let Some(path) = &args.csv {
        file::write(path, &exports::csv(rows).map_err(io::Error::from)?)?;
    }
    for (path, value) in [
        (&args.bencher, exports::bencher as fn(&str, &[Row]) -> Value),
        (&args.github_benchmark, exports::github),
    ] {
        if let Some(path) = path {
            // Nothing of ours beside it, not even the version of a schema.
            file::write(path, format!("{:#}\n", value(name, rows)).as_bytes())?;
        }
    }
    if let Some(path) = &args.html {
        let page = html::Page {
            program: &line,
            profile: document.profile,
            detail: document.detail.to_string(),
            rows,
            user: document.tma_user,
            kernel: document.tma_kernel,
            level3: document.level3_user,
            path: document.dominant_path,
            metrics: document.metrics,
            estimate: document.sampling.as_ref().map(Estimate::line),
        };
        file::write(path, page.render(&About::this()).as_bytes())?;
    }
    Ok(())
}

fn nanoseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The sum over all address spaces of the program.
fn program(count: SpaceCount) -> u64 {
    count.user.saturating_add(count.kernel)
}

fn rows(asked: &[Asked], run: &Run) -> Vec<Row> {
    let counted = &run.report.events;
    let total = |wanted: Event| {
        let found = counted.iter().find(|found| found.request.event.map(Event::counts_as) == Some(wanted));
        found.and_then(|found| found.count).map(program).filter(|count| *count > 0)
    };
    let rows = asked.iter().zip(counted).map(|(asked, counted)| {
        let event = counted.request.event.map(Event::counts_as);
        let of = |to: Event, scale: f64, unit| {
            let ratio = program(counted.count?) as f64 / total(to.counts_as())? as f64;
            Some((ratio * scale, unit))
        };
        let relation = match event {
            Some(Event::InstRetiredAny) => of(Event::CpuClkUnhaltedThread, 1.0, "insn per cycle"),
            Some(Event::BrInstRetiredAllBranches) => of(Event::InstRetiredAny, 100.0, "% of instructions"),
            Some(Event::BrMispRetiredAllBranches) => {
                of(Event::BrInstRetiredAllBranches, 100.0, "% of branches")
            }
            Some(Event::MemInstRetiredAllLoads | Event::MemInstRetiredAllStores) => {
                of(Event::InstRetiredAny, 100.0, "% of instructions")
            }
            Some(Event::MemLoadRetiredL1Miss | Event::MemLoadRetiredL2Miss | Event::MemLoadRetiredL3Miss) => {
                of(Event::MemInstRetiredAllLoads, 100.0, "% of loads")
            }
            _ => None,
        };
        let at = |level: Level, value: fn(&SpaceCount) -> u64| {
            counted.count.as_ref().filter(|_| [Level::Both, level].contains(&asked.level)).map(value)
        };
        Row {
            event: asked.name.clone(),
            user: at(Level::User, |count| count.user),
            kernel: at(Level::Kernel, |count| count.kernel),
            rest: at(Level::Both, |count| count.rest),
            provenance: counted.provenance,
            relation: relation.filter(|_| asked.level == Level::Both),
        }
    });
    rows.collect()
}

fn render(document: &Document<'_>, run: &Run, only_topdown: bool) -> String {
    let Document { program, profile, detail, events, .. } = document;
    let part = document.region.as_ref().map_or_else(String::new, |part| {
        format!(
            "{} of ",
            if part.times > 1 {
                format!("{} ({} times)", part.roi, grouped(part.times))
            } else {
                part.roi.clone()
            }
        )
    });
    let mut text = format!(
        "\n{} on {profile} ({detail})\n\n",
        paint(HEADING, format_args!("Counted by vpmu for {part}{}", program.join(" ")))
    );
    let heads = ["User", "Kernel", "Rest"].map(right);
    let [user, kernel, rest] = heads;
    let mut table = table::new(vec![left("Event"), user, kernel, rest, left("Comment"), left("Provenance")]);
    for row in events.iter().filter(|_| !only_topdown) {
        let cell = |count: Option<u64>| match count {
            Some(count) => right(grouped(count)),
            None if row.provenance == Provenance::Unknown => styled(right("<not counted>"), DIM),
            None => right(""),
        };
        let comment = row.relation.map_or_else(String::new, |(value, unit)| format!("# {value:.2} {unit}"));
        table.add_row(vec![
            left(&row.event),
            cell(row.user),
            cell(row.kernel),
            cell(row.rest),
            left(comment),
            styled(left(row.provenance), report::provenance_style(row.provenance)),
        ]);
    }
    if !only_topdown {
        text += &table::Fitting { prose: false, dispensable: &[3, 4, 5] }.render(&mut table);
        text.push('\n');
    }
    for (whose, tma) in
        [("The program itself", document.tma_user), ("The kernel for it", document.tma_kernel)]
    {
        if let Some(tma) = tma {
            let _ = writeln!(text, "{whose}: {}", tma.render());
        }
    }
    if let Some(tma) = document.tma_user {
        text += &derived::render_level3(tma, document.level3_user);
    }
    text += &derived::render_metrics(document.metrics);
    if let Some(estimate) = &document.sampling {
        text += &estimate.line();
    }
    let _ = writeln!(text, "{} of guest time", duration(run.report.guest_ns));
    if *detail == Detail::Timing {
        text += &model_off_silicon(&run.profile);
    }
    text
}
